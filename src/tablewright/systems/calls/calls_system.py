"""Calls as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tablewright.runtime import Background, DemoUser, OnProgress, Runtime, System
from tablewright.systems.calls.api import router
from tablewright.systems.calls.model import design
from tablewright.systems.calls.roles import ADMINS, CUSTOMERS, ROLES, SCHEDULERS
from tablewright.systems.calls.service import Calls
from tablewright.systems.unreadable_log import UnreadableLog

if TYPE_CHECKING:
    from tablewright.runtime import ConsumerSpec

__all__ = ["system"]


def _service(runtime: Runtime) -> Calls:
    return Calls(runtime.store, runtime.clock, UnreadableLog("calls", runtime.metrics, runtime.now))


def _consumers(runtime: Runtime, service: Calls) -> Sequence[ConsumerSpec]:
    from tablewright.systems.calls.reminders import consumers

    return consumers(runtime)


def _background(runtime: Runtime, service: Calls) -> Sequence[Background]:
    from tablewright.runtime.mail.event_mail import MailRetries
    from tablewright.systems.calls.reminders import ReminderTurns

    return [
        ReminderTurns(runtime.consumer_store, runtime.now),
        MailRetries(runtime.mailer.on(runtime.consumer_store), name="calls.mail-retries", role="notifications"),
    ]


async def _demo(runtime: Runtime, service: Calls, on_progress: OnProgress) -> None:
    from tablewright.systems.calls import demo_calls

    await demo_calls.fill(runtime, service, on_progress)


system = System(
    "calls",
    "Calls",
    "Scheduled, completed and cancelled calls between users and providers.",
    design,
    router,
    service=_service,
    roles=ROLES,
    consumers=_consumers,
    background=_background,
    demo=_demo,
    demo_users=(
        DemoUser("ada", (CUSTOMERS,), "a customer, who sees her own calls"),
        DemoUser("cleo", (SCHEDULERS,), "schedules calls, such as for p-garcia, p-okafor and ada", "cleo@example.org"),
        DemoUser("root", (ADMINS,), "administers calls", "root@example.org"),
    ),
    screens="tablewright.systems.calls.app.calls_app",
)
