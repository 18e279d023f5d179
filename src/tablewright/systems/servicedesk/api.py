"""The service desk over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, NotRequired
from uuid import UUID

from fastapi import Depends, Path, Query
from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from tablewright.model.values.attribute_codec import time_text
from tablewright.runtime import (
    Caller,
    Changing,
    Cursor,
    IdempotencyKey,
    Limit,
    Reading,
    Responder,
    allow,
    documented,
    service_of,
)
from tablewright.runtime.audit import AuditPage
from tablewright.runtime.http.json_values import ApiModel, Said
from tablewright.runtime.search.search_route import search_route
from tablewright.systems.response_views import page_end
from tablewright.systems.servicedesk.model import Comment, Priority, QueuedTicket, Status, Ticket, answer_due
from tablewright.systems.servicedesk.roles import ADMINS, AGENTS, VOICE_AGENTS
from tablewright.systems.servicedesk.service import ServiceDesk, Written
from tablewright.systems.servicedesk.ticket_numbers import number_of
from tablewright.systems.system_router import SystemRouter, UnreadableList
from tablewright.systems.unreadable_log import UnreadableItem

router = SystemRouter("desk")

Desk = Annotated[ServiceDesk, Depends(service_of)]
Agent = Annotated[Caller, allow(VOICE_AGENTS, AGENTS, ADMINS)]
Person = Annotated[Caller, allow(AGENTS, ADMINS)]
Admin = Annotated[Caller, allow(ADMINS)]

# Enough for anything that is said on the phone; 400 KB hold several.
Text = Annotated[Said, Field(max_length=50_000)]
CallerId = Annotated[Said, Field(max_length=200, examples=["poc-user-001"])]
# ISO 8601 in UTC with microseconds. The JSON encoder formats datetimes itself, in a fifth of the time.
Time = Annotated[datetime | str, WithJsonSchema({"type": "string"})]

_EXAMPLE: dict[str, Any] = {
    "ticket_id": "33567ee8-f182-4f8a-b03e-2f1515915471",
    "caller_id": "poc-user-001",
    "issue_description": "My laptop won't turn on",
    "status": "open",
    "created_at": "2026-02-09T12:20:25.343883Z",
    "updated_at": "2026-02-09T12:20:25.343883Z",
    "comments": [],
    "created_by": "voice-agent",
    "number": "TK-4F7-K9Q-2",
    "priority": "P3",
    "assignee": "sam",
    "first_answered_at": "2026-02-09T12:31:07.104511Z",
    "answer_due": "2026-02-09T16:20:25.343883Z",
    "masked": [],
}


class Strict(ApiModel):
    model_config = ConfigDict(extra="forbid")


class NewTicket(Strict):
    caller_id: CallerId = Field(description="a session id, or a phone number; only a keyed hash of a number is stored")
    issue_description: Text = Field(examples=["My laptop won't turn on"])


class NewComment(Strict):
    comment_text: Text = Field(examples=["Tried restarting but still not working"])


class StatusChange(Strict):
    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "in_progress"}]})

    status: Status
    expected: Status | None = Field(
        None, description="the status that the change is based on; 409 if the current one differs"
    )


class Assignment(Strict):
    assignee: Annotated[Said, Field(max_length=200, examples=["sam"])] | None = Field(
        description="the `sub` of the new assignee; null for none"
    )


class PriorityChange(Strict):
    priority: Priority = Field(description="P1 urgent, P2 high, P3 normal, P4 low")


class CommentView(TypedDict):
    """A comment on a ticket."""

    comment_text: str
    added_at: Time
    added_by: Annotated[str | None, Field(description="the `sub` of its author", examples=["sam"])]


@with_config(ConfigDict(json_schema_extra={"examples": [_EXAMPLE]}))
class TicketView(TypedDict):
    """A ticket."""

    ticket_id: UUID
    caller_id: str
    issue_description: str
    status: Status
    created_at: Time
    updated_at: Time
    comments: list[CommentView]
    created_by: Annotated[str | None, Field(description="the `sub` of the person or agent that opened it")]
    number: Annotated[str, Field(description="can be spoken; the last character is a check character")]
    priority: Priority
    assignee: Annotated[str | None, Field(description="the `sub` of the assignee")]
    first_answered_at: Annotated[Time | None, Field(description="when a person first added a comment")]
    answer_due: Annotated[
        Time | None,
        Field(description="deadline of the first answer by a person; null once given, or if the ticket is done"),
    ]
    masked: NotRequired[
        Annotated[list[str], Field(description="the kinds of secrets that were masked in the text of this request")]
    ]


class QueuedView(TypedDict):
    """A ticket in a list of the queue, without its comments."""

    ticket_id: UUID
    number: str
    caller_id: str
    issue_description: str
    status: Status
    priority: Priority
    assignee: str | None
    created_at: Time
    created_by: str | None
    answer_due: Time | None


class QueuePage(TypedDict):
    tickets: list[QueuedView]
    cursor: NotRequired[Annotated[str | None, Field(description="for the next page; null on the last one")]]
    unreadable: list[UnreadableItem]


class TicketPage(TypedDict):
    tickets: list[TicketView]
    cursor: NotRequired[Annotated[str | None, Field(description="for older tickets; null on the last page")]]
    unreadable: list[UnreadableItem]


@router.post("/tickets", status_code=201, responses=documented(409), tags=["tickets"])
async def create_ticket(
    body: NewTicket, desk: Desk, agent: Agent, idempotency_key: IdempotencyKey = None
) -> TicketView:
    """Open a ticket. Secrets in the description are masked before anything is stored."""
    responder = Responder(_written, agent.user_id, idempotency_key)
    return await desk.create(body.caller_id, body.issue_description, responder)


@router.get("/tickets/{ticket_id}", responses=documented(404, 409), tags=["tickets"])
async def get_ticket(ticket_id: UUID, desk: Desk, _: Agent, reading: Reading) -> TicketView:
    """A ticket with its comments."""
    return _view(reading.of(await desk.get(ticket_id)))


@router.post("/tickets/{ticket_id}/comments", status_code=201, responses=documented(404, 409), tags=["tickets"])
async def add_comment(
    ticket_id: UUID,
    body: NewComment,
    desk: Desk,
    agent: Agent,
    changing: Changing,
    idempotency_key: IdempotencyKey = None,
) -> TicketView:
    """Add a comment to a ticket."""
    responder = Responder(_written, agent.user_id, idempotency_key)
    is_answer = agent.has(AGENTS, ADMINS)
    return await desk.add_comment(ticket_id, body.comment_text, responder, changing.seen, is_answer=is_answer)


@router.get("/tickets", responses=documented(400), tags=["tickets"])
async def list_tickets(
    caller: Annotated[Said, Query(max_length=200, description="the caller as given: an id or a number")],
    desk: Desk,
    _: Agent,
    open_only: Annotated[bool, Query(description="only tickets that are open or in progress")] = False,
    limit: Limit = 10,
    cursor: Cursor = None,
) -> TicketPage:
    """The newest tickets of a caller."""
    # An unescaped plus in a URL is decoded as a space.
    if caller[0] == " " and caller[1:2].isdigit():
        caller = f"+{caller[1:]}"
    page = await desk.of_caller(caller, open_only=open_only, limit=limit, cursor=cursor)
    found = [_view(ticket) for ticket in page.items]
    return {"tickets": found, **page_end(page)}


@router.patch("/tickets/{ticket_id}", responses=documented(404, 409), tags=["tickets"])
async def change_status(ticket_id: UUID, body: StatusChange, desk: Desk, _: Person, changing: Changing) -> TicketView:
    """Change the status of a ticket: open, in_progress, resolved, closed; and back to open.

    Send the status that you saw as `expected`, or `If-Match`: of two requests based on the same state, one is refused.
    """
    ticket = await desk.change_status(ticket_id, body.status, expected=body.expected, seen=changing.seen)
    return _view(changing.of(ticket))


@router.get("/numbers/{number}", responses=documented(400, 404, 409), tags=["tickets"])
async def get_by_number(
    number: Annotated[Said, Path(max_length=50, examples=["TK-4F7-K9Q-2"])], desk: Desk, _: Agent, reading: Reading
) -> TicketView:
    """The ticket with a number, as a caller says it: spaces, dashes and case do not matter.

    A number with a wrong check character was misheard, and is refused with 400.
    """
    return _view(reading.of(await desk.by_number(number)))


@router.get("/queue", responses=documented(400), tags=["queue"])
async def queue(
    desk: Desk,
    person: Person,
    assignee: Annotated[
        Said | None, Query(max_length=200, description="only tickets that are assigned to this person")
    ] = None,
    unassigned: Annotated[bool, Query(description="only unassigned tickets")] = False,
    limit: Limit = 25,
    cursor: Cursor = None,
) -> QueuePage:
    """Tickets that are open or in progress: the most urgent first, and of those the oldest."""
    page = await desk.queue(assignee=assignee, unassigned=unassigned, limit=limit, cursor=cursor)
    return {"tickets": [_queued(ticket) for ticket in page.items], **page_end(page)}


@router.post("/tickets/{ticket_id}/take", responses=documented(404, 409), tags=["queue"])
async def take(ticket_id: UUID, desk: Desk, _: Person, changing: Changing) -> TicketView:
    """Take an unassigned ticket: it is assigned to you, and set in progress."""
    return _view(changing.of(await desk.take(ticket_id, changing.seen)))


@router.put("/tickets/{ticket_id}/assignee", responses=documented(404, 409), tags=["queue"])
async def assign(ticket_id: UUID, body: Assignment, desk: Desk, _: Person, changing: Changing) -> TicketView:
    """Assign a ticket to a person, or remove the assignment."""
    return _view(changing.of(await desk.assign(ticket_id, body.assignee, changing.seen)))


@router.put("/tickets/{ticket_id}/priority", responses=documented(404, 409), tags=["queue"])
async def set_priority(ticket_id: UUID, body: PriorityChange, desk: Desk, _: Person, changing: Changing) -> TicketView:
    """Set how soon a ticket needs an answer: P1 within 15 minutes, P2 an hour, P3 four hours, P4 a day."""
    return _view(changing.of(await desk.set_priority(ticket_id, body.priority, changing.seen)))


@router.get("/tickets/{ticket_id}/audit", responses=documented(400, 404), tags=["tickets"])
async def audit(ticket_id: UUID, desk: Desk, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> AuditPage:
    """The audit of a ticket, newest first: who changed what, when and how. Admins only."""
    return await desk.audit(ticket_id, limit=limit, cursor=cursor)


@router.get("/unreadable", tags=["maintenance"])
async def unreadable(desk: Desk, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: their keys, reasons and counts."""
    return UnreadableList.of(desk.unreadable_log)


def _written(written: Written) -> TicketView:
    return _view(written.ticket, written.masked)


def _view(ticket: Ticket, masked: Sequence[str] = ()) -> TicketView:
    return {
        "ticket_id": ticket.ticket_id,
        "caller_id": ticket.caller_id,
        "issue_description": ticket.issue_description,
        "status": ticket.status,
        "created_at": _time(ticket.created_at),
        "updated_at": _time(ticket.updated_at),
        "comments": [_comment(comment) for comment in ticket.comments],
        "created_by": ticket.created_by,
        "number": _number(ticket),
        "priority": ticket.priority,
        "assignee": ticket.assignee,
        "first_answered_at": ticket.first_answered_at and _time(ticket.first_answered_at),
        "answer_due": (due := answer_due(ticket)) and _time(due),
        "masked": [*masked],
    }


def _queued(ticket: QueuedTicket) -> QueuedView:
    return {
        "ticket_id": ticket.ticket_id,
        "number": _number(ticket),
        "caller_id": ticket.caller_id,
        "issue_description": ticket.issue_description,
        "status": ticket.status,
        "priority": ticket.priority,
        "assignee": ticket.assignee,
        "created_at": _time(ticket.created_at),
        "created_by": ticket.created_by,
        "answer_due": (due := answer_due(ticket)) and _time(due),
    }


def _number(ticket: Ticket | QueuedTicket) -> str:
    # A ticket that another program wrote stores no number.
    return ticket.number or number_of(ticket.ticket_id)


def _comment(comment: Comment) -> CommentView:
    added_at = _time(comment.added_at)
    return {"comment_text": comment.comment_text, "added_at": added_at, "added_by": comment.added_by}


def _time(value: datetime | None) -> Time:
    if value is None:
        return ""
    # The encoder would omit zero microseconds, and keep an offset other than UTC.
    try:
        return value if value.microsecond and not value.utcoffset() else time_text(value)
    except ValueError:
        # Another program wrote a time within a day of the first or last possible one: it cannot be converted to UTC.
        return value.isoformat()


router.routes += search_route("servicedesk", AGENTS, ADMINS).routes
