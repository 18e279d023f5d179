"""Calls as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from tablewright.runtime import DemoUser, Runtime, System
from tablewright.runtime.mail.event_mail import MailRetries
from tablewright.systems.calls import demo_calls
from tablewright.systems.calls.api import router
from tablewright.systems.calls.model import design
from tablewright.systems.calls.reminders import ReminderTurns, consumers
from tablewright.systems.calls.roles import ADMINS, CUSTOMERS, ROLES, SCHEDULERS
from tablewright.systems.calls.service import Calls
from tablewright.systems.unreadable_log import UnreadableLog

__all__ = ["system"]


def _service(runtime: Runtime) -> Calls:
    return Calls(runtime.store, runtime.clock, UnreadableLog("calls", runtime.metrics, runtime.now))


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
    demo=demo_calls.fill,
    demo_users=(
        DemoUser("ada", (CUSTOMERS,), "a customer, who sees her own calls"),
        DemoUser("cleo", (SCHEDULERS,), "plans calls, such as those of p-garcia, p-okafor and ada", "cleo@example.org"),
        DemoUser("root", (ADMINS,), "looks after calls", "root@example.org"),
    ),
    screens="tablewright.systems.calls.app.calls_app",
)
