"""The service desk over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, NotRequired
from uuid import UUID

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, with_config
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
from tablewright.runtime.http.json_values import Said
from tablewright.systems.response_views import page_end
from tablewright.systems.servicedesk.model import Comment, Status, Ticket
from tablewright.systems.servicedesk.roles import ADMINS, AGENTS, VOICE_AGENTS
from tablewright.systems.servicedesk.service import ServiceDesk, Written
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
# ISO 8601 in UTC with microseconds. What writes the JSON of an answer writes times as well, in a fifth of the time.
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
    "masked": [],
}


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewTicket(Strict):
    caller_id: CallerId = Field(description="a session's id, or a phone number, of which only a keyed hash is stored")
    issue_description: Text = Field(examples=["My laptop won't turn on"])


class NewComment(Strict):
    comment_text: Text = Field(examples=["Tried restarting but still not working"])


class StatusChange(Strict):
    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "in_progress"}]})

    status: Status
    expected: Status | None = Field(None, description="the status that the change is based on; 409 if it is another")


class CommentView(TypedDict):
    """What somebody added to a ticket."""

    comment_text: str
    added_at: Time
    added_by: Annotated[str | None, Field(description="the `sub` of whoever added it", examples=["sam"])]


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
    created_by: Annotated[str | None, Field(description="the `sub` of whoever opened it")]
    masked: NotRequired[
        Annotated[list[str], Field(description="the kinds of secrets that were masked in the text that was just sent")]
    ]


class TicketPage(TypedDict):
    tickets: list[TicketView]
    cursor: NotRequired[Annotated[str | None, Field(description="for older tickets; null when there are no more")]]
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
    return await desk.add_comment(ticket_id, body.comment_text, responder, changing.seen)


@router.get("/tickets", responses=documented(400), tags=["tickets"])
async def list_tickets(
    caller: Annotated[Said, Query(max_length=200, description="as it was given: an id or a number")],
    desk: Desk,
    _: Agent,
    open_only: Annotated[bool, Query(description="only those that are open or in progress")] = False,
    limit: Limit = 10,
    cursor: Cursor = None,
) -> TicketPage:
    """The newest tickets of a caller."""
    # The plus of a number means a blank in an address, unless it is escaped.
    if caller[0] == " " and caller[1:2].isdigit():
        caller = f"+{caller[1:]}"
    page = await desk.of_caller(caller, open_only=open_only, limit=limit, cursor=cursor)
    found = [_view(ticket) for ticket in page.items]
    return {"tickets": found, **page_end(page)}


@router.patch("/tickets/{ticket_id}", responses=documented(404, 409), tags=["tickets"])
async def change_status(ticket_id: UUID, body: StatusChange, desk: Desk, _: Person, changing: Changing) -> TicketView:
    """Change the status of a ticket: open, in_progress, resolved, closed; and back to open.

    Say which status you saw, by `expected` or `If-Match`: of two who saw the same one, the second is refused.
    """
    ticket = await desk.change_status(ticket_id, body.status, expected=body.expected, seen=changing.seen)
    return _view(changing.of(ticket))


@router.get("/tickets/{ticket_id}/audit", responses=documented(400, 404), tags=["tickets"])
async def audit(ticket_id: UUID, desk: Desk, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> AuditPage:
    """Who changed what of a ticket, when and by which call, newest first. Admins only."""
    return await desk.audit(ticket_id, limit=limit, cursor=cursor)


@router.get("/unreadable", tags=["maintenance"])
async def unreadable(desk: Desk, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: which, what is wrong, how often."""
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
        "masked": [*masked],
    }


def _comment(comment: Comment) -> CommentView:
    added_at = _time(comment.added_at)
    return {"comment_text": comment.comment_text, "added_at": added_at, "added_by": comment.added_by}


def _time(value: datetime | None) -> Time:
    if value is None:
        return ""
    # Microseconds would be left out where there are none, and another offset kept.
    try:
        return value if value.microsecond and not value.utcoffset() else time_text(value)
    except ValueError:
        # Within a day of the first or the last time there is, which another program wrote, there is no other offset.
        return value.isoformat()
