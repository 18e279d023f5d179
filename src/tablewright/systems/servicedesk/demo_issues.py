"""Demo data: tickets of the last few hours, opened by the voice agent and handled at the desk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from tablewright.runtime import OnProgress, Responder
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.identity.actor import Actor, acting
from tablewright.systems.servicedesk.model import Priority, Status
from tablewright.systems.servicedesk.service import ServiceDesk, Written

__all__ = ["fill"]

# Nobody signs in as this agent, so the demo user at the desk starts without tickets.
_VOICE_AGENT, _AGENT = "voice-agent", "alex"


@dataclass(frozen=True)
class _Issue:
    """A ticket: who called, about what, with which priority, and how long ago."""

    caller: str
    text: str
    priority: Priority
    minutes_ago: int
    said: tuple[str, ...] = ()
    answer: str = ""
    taken: bool = False
    resolved: bool = False


_ISSUES = (
    _Issue(
        "poc-user-001",
        "My laptop won't turn on after pressing the power button",
        Priority.P1,
        6,
        ("Checked the charger: it is fine",),
    ),
    _Issue(
        "poc-user-001",
        "Email not working in Outlook",
        Priority.P3,
        55,
        ("Tried restarting Outlook but still not working",),
        "Which error does Outlook show when you press F9?",
        taken=True,
    ),
    _Issue("poc-user-002", "The VPN drops every ten minutes", Priority.P2, 25),
    _Issue(
        "poc-user-003",
        "I cannot print to the second floor",
        Priority.P4,
        130,
        ("The queue shows the job as paused",),
    ),
    _Issue("poc-user-004", "The meeting room screen stays black", Priority.P2, 48, ("Two cables were tried",)),
    _Issue(
        "poc-user-005",
        "Locked out of payroll after the password change",
        Priority.P1,
        35,
        answer="I have unlocked it. Please sign in once with the new password.",
        taken=True,
    ),
    _Issue("poc-user-006", "I need a licence for the drawing program", Priority.P4, 420),
    _Issue(
        "poc-user-002",
        "No sound in calls since this morning",
        Priority.P3,
        600,
        answer="The headset was off in the settings; it works now.",
        taken=True,
        resolved=True,
    ),
    _Issue(
        "poc-user-007",
        "The shared folder of the project is gone",
        Priority.P2,
        900,
        answer="It is restored from last night's backup.",
        taken=True,
        resolved=True,
    ),
)


async def fill(desk_at: Callable[[float], ServiceDesk], now: float, on_progress: OnProgress) -> None:
    """Fill in the demo data; what an interrupted fill has left stays unchanged. ``desk_at`` is the desk at a time."""
    for number, issue in enumerate(_ISSUES, 1):
        await _fill_one(desk_at(now - 60 * issue.minutes_ago), number, issue)
        on_progress("tickets", number, len(_ISSUES))


async def _fill_one(desk: ServiceDesk, number: int, issue: _Issue) -> None:
    acting.set(Actor(_VOICE_AGENT, "create_ticket"))
    ticket_id = UUID(await desk.create(issue.caller, issue.text, Responder(_ticket_id, "demo", f"demo-{number}")))
    ticket = await desk.get(ticket_id, consistent=True)
    acting.set(Actor(_VOICE_AGENT, "add_comment"))
    for comment in issue.said[len(ticket.comments) :]:
        await desk.add_comment(ticket_id, comment, UNKEYED)
    acting.set(Actor(_VOICE_AGENT, "set_priority"))
    if ticket.priority is not issue.priority:
        await desk.set_priority(ticket_id, issue.priority)
    acting.set(Actor(_AGENT, "take"))
    if issue.taken and ticket.status is Status.OPEN:
        await desk.take(ticket_id)
    acting.set(Actor(_AGENT, "add_comment"))
    if issue.answer and len(ticket.comments) <= len(issue.said):
        await desk.add_comment(ticket_id, issue.answer, UNKEYED, is_answer=True)
    acting.set(Actor(_AGENT, "change_status"))
    if issue.resolved and ticket.status is not Status.RESOLVED:
        await desk.change_status(ticket_id, Status.RESOLVED)


def _ticket_id(written: Written) -> str:
    return str(written.ticket.ticket_id)
