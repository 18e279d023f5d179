"""Calls as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from datetime import timedelta

from tablewright.runtime import DemoUser, OnProgress, ResourceNotFound, Runtime, System
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.mail.event_mail import MailRetries
from tablewright.systems.calls.api import router
from tablewright.systems.calls.model import Status, design
from tablewright.systems.calls.reminders import ReminderTurns, consumers
from tablewright.systems.calls.roles import ADMINS, CUSTOMERS, ROLES, SCHEDULERS
from tablewright.systems.calls.service import Basis, Calls, NewCall
from tablewright.systems.unreadable_log import UnreadableLog

__all__ = ["system"]

# Who calls whom, in how many hours from now; those in the past have taken place.
_CALLS = (
    ("ada", "p-garcia", -72),
    ("ada", "p-okafor", -24),
    ("bob", "p-garcia", -5),
    ("ada", "p-garcia", 2),
    ("bob", "p-lindholm", 26),
    ("ada", "p-okafor", 48),
    ("cy", "p-lindholm", 170),
)


def _service(runtime: Runtime) -> Calls:
    return Calls(runtime.store, runtime.clock, UnreadableLog("calls", runtime.metrics, runtime.now))


async def _demo(runtime: Runtime, service: Calls, on_progress: OnProgress) -> None:
    now = runtime.now().replace(minute=0, second=0, microsecond=0)
    for number, (user, provider, hours) in enumerate(_CALLS, 1):
        call_id = f"demo-{number}"
        try:
            call = await service.get(call_id, consistent=True)
        except ResourceNotFound:
            new = NewCall(user, provider, now + timedelta(hours=hours), call_id=call_id)
            call = await service.create(new, UNKEYED)
        if hours < 0 and call.status is Status.SCHEDULED:
            await service.change_status(call_id, Status.COMPLETED, basis=Basis(call.version))
        on_progress("calls", number, len(_CALLS))


system = System(
    "calls",
    "Calls",
    "Scheduled, completed and cancelled calls between users and providers.",
    design,
    router,
    service=_service,
    roles=ROLES,
    consumers=lambda runtime, service: consumers(runtime),
    background=lambda runtime, service: [
        ReminderTurns(runtime.consumer_store, runtime.now),
        MailRetries(runtime.mailer.on(runtime.consumer_store), name="calls.mail-retries", role="notifications"),
    ],
    demo=_demo,
    demo_users=(
        DemoUser("ada", (CUSTOMERS,), "a customer, who sees her own calls"),
        DemoUser("cleo", (SCHEDULERS,), "somebody who plans calls", "cleo@example.org"),
        DemoUser("root", (ADMINS,), "looks after calls", "root@example.org"),
    ),
    screens="tablewright.systems.calls.app.calls_app",
)
