"""Support as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from tablewright.runtime import (
    Background,
    DemoUser,
    OnProgress,
    Runtime,
    System,
)
from tablewright.systems.support.api import router
from tablewright.systems.support.facade import SupportFacade
from tablewright.systems.support.maintenance_jobs import CONSUMER
from tablewright.systems.support.model import design, tickets
from tablewright.systems.support.roles import ADMINS, CUSTOMERS, ENGINEERS, OPERATORS, ROLES, SERVICES
from tablewright.systems.support.service import Support
from tablewright.systems.support.support_search import SEARCH
from tablewright.systems.support.training_export import BATCH_SIZE, EXPORTED, Export, FirstExport
from tablewright.systems.support.training_export import WINDOW as EXPORT_WINDOW
from tablewright.systems.unreadable_log import UnreadableLog

if TYPE_CHECKING:
    from tablewright.runtime import ConsumerSpec

__all__ = ["settle_of", "system"]

# How many seconds Amazon's streams may be behind their table.
_SETTLE = 5.0


def _service(runtime: Runtime) -> SupportFacade:
    unreadable_log = UnreadableLog("support", runtime.metrics, runtime.now)
    support = Support(runtime.store, runtime.clock, unreadable_log)
    folder, export = runtime.settings.training_export, None
    if folder is not None:
        export = Export(
            runtime.consumer_store, folder, runtime.privacy_secret, runtime.now, unreadable_log=unreadable_log
        )
    return SupportFacade(
        support,
        runtime.maintenance_store,
        unreadable_log,
        settle=settle_of(runtime),
        export=export,
        has_background=not runtime.is_function,
    )


def settle_of(runtime: Runtime) -> float:
    """How many seconds the stream may be behind its table."""
    return 0 if runtime.settings.is_embedded else _SETTLE


def _consumers(runtime: Runtime, facade: SupportFacade) -> Sequence[ConsumerSpec]:
    from tablewright.runtime import ConsumerSpec
    from tablewright.systems.support.metric_counters import COUNTED, count

    window = timedelta(seconds=runtime.settings.batch_window)
    consumers = [
        ConsumerSpec(
            CONSUMER, tickets, count, batch_size=100, window=window, bisect=True, retries=3, change_filter=COUNTED
        )
    ]
    if facade.export is not None:
        export = facade.export
        consumers.append(
            ConsumerSpec(
                export.consumer_name,
                tickets,
                export.handle,
                batch_size=BATCH_SIZE,
                window=EXPORT_WINDOW,
                change_filter=EXPORTED,
            )
        )
    return consumers


def _background(runtime: Runtime, facade: SupportFacade) -> Sequence[Background]:
    found: list[Background] = [facade]
    if facade.export is not None:
        found.append(FirstExport(facade.export, settle=settle_of(runtime)))
    return found


async def _demo(runtime: Runtime, facade: SupportFacade, on_progress: OnProgress) -> None:
    from tablewright.systems.support.demo_tickets import fill

    await fill(runtime, facade.support, on_progress)


system = System(
    "support",
    "Support",
    "Tickets of an AI technical support service, with their events, feedback and real-time metrics.",
    design,
    router,
    service=_service,
    roles=ROLES,
    consumers=_consumers,
    background=_background,
    demo=_demo,
    search=SEARCH,
    demo_users=(
        DemoUser("cust_1", (CUSTOMERS,), "a customer with two tickets"),
        DemoUser("cust_2", (CUSTOMERS,), "another customer, with tickets of her own"),
        DemoUser("op_9", (OPERATORS,), "an operator", "operator@example.org"),
        DemoUser("eng_7", (ENGINEERS,), "an engineer who handles escalations", "engineer@example.org"),
        DemoUser("answers", (SERVICES,), "the program that answers tickets"),
        DemoUser("ines", (ADMINS,), "administers support", "ines@example.org"),
    ),
    screens="tablewright.systems.support.app.support_app",
)
