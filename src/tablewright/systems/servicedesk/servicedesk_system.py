"""Service Desk as the runtime knows it (``system``): design, routes, service, consumers, and demo data."""

from __future__ import annotations

from uuid import UUID

from tablewright.runtime import DemoUser, OnProgress, Responder, Runtime, System
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.actor import Actor, acting
from tablewright.systems.servicedesk.api import router
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.desk_search import SEARCH
from tablewright.systems.servicedesk.model import Priority, Status, design
from tablewright.systems.servicedesk.roles import ADMINS, AGENTS, ROLES, VOICE_AGENTS
from tablewright.systems.servicedesk.service import ServiceDesk, Written
from tablewright.systems.unreadable_log import UnreadableLog

__all__ = ["system"]

_ISSUES = (
    (
        "poc-user-001",
        "My laptop won't turn on after pressing the power button",
        ("Checked the charger: it is fine",),
        Priority.P1,
    ),
    ("poc-user-001", "Email not working in Outlook", ("Tried restarting Outlook but still not working",), Priority.P3),
    ("poc-user-002", "The VPN drops every ten minutes", (), Priority.P2),
    ("poc-user-003", "I cannot print to the second floor", ("The queue shows the job as paused",), Priority.P4),
)


def _service(runtime: Runtime) -> ServiceDesk:
    unreadable_log = UnreadableLog("servicedesk", runtime.metrics, runtime.now)
    return ServiceDesk(runtime.store, _caller_ids(runtime), runtime.clock, unreadable_log)


def _caller_ids(runtime: Runtime) -> CallerIds:
    settings = runtime.settings
    return CallerIds(runtime.privacy_secret, country=settings.caller_country, emails=settings.hash_caller_emails)


def _identities(runtime: Runtime, person: str) -> list[str]:
    """A caller is known by a hash of the phone number, or of the mail address."""
    return [_caller_ids(runtime).of(person)]


def _ticket_id(written: Written) -> str:
    return str(written.ticket.ticket_id)


async def _demo(runtime: Runtime, desk: ServiceDesk, on_progress: OnProgress) -> None:
    for number, (caller, issue, comments, priority) in enumerate(_ISSUES, 1):
        acting.set(Actor("voice-agent", "create_ticket"))
        made = await desk.create(caller, issue, Responder(_ticket_id, "demo", f"demo-{number}"))
        ticket = await desk.get(UUID(made), consistent=True)
        acting.set(Actor("voice-agent", "add_comment"))
        for comment in comments[len(ticket.comments) :]:
            await desk.add_comment(ticket.ticket_id, comment, UNKEYED)
        acting.set(Actor("voice-agent", "change_status"))
        if number == 2 and ticket.status is Status.OPEN:
            await desk.change_status(ticket.ticket_id, Status.IN_PROGRESS)
        acting.set(Actor("voice-agent", "set_priority"))
        if priority is not ticket.priority:
            await desk.set_priority(ticket.ticket_id, priority)
        on_progress("tickets", number, len(_ISSUES))


system = System(
    "servicedesk",
    "Service Desk",
    "Tickets of an AI voice service desk.",
    design,
    router,
    service=_service,
    roles=ROLES,
    demo=_demo,
    demo_users=(
        DemoUser("voice-agent", (VOICE_AGENTS,), "the voice agent that opens tickets"),
        DemoUser("sam", (AGENTS,), "somebody at the desk", "sam@example.org"),
        DemoUser("dora", (ADMINS,), "looks after the desk", "dora@example.org"),
    ),
    identities=_identities,
    search=SEARCH,
    screens="tablewright.systems.servicedesk.app.desk_app",
)
