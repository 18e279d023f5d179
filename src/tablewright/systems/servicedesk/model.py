"""Service Desk: the tickets of an AI voice service desk.

One table, ``poc-itsm-tickets``; the prefix marks it as a non-production system. Tickets are read by id, and those of a
caller newest first. Comments are stored inside their ticket, which limits a ticket to 400 KB.

The document has seven attributes. People at the desk need more: number, priority, assignee, and the time of the first
answer by a person. Tickets that are open or in progress are in the queue, by priority and age:

    CallerIdIndex    tickets of a caller, newest first
    QueueIndex       the queue, spread over shards
    AssigneeIndex    the tickets of the queue, by assignee
    NumberIndex      tickets by number, as callers name them
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from tablewright.model import (
    AcceptedFinding,
    CreatedAt,
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Personal,
    Projection,
    Query,
    Reaction,
    Table,
    Traffic,
    UpdatedAt,
    Volume,
    Write,
    attr,
    sharded,
    when,
)
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.idempotency import KEEP_RESPONSE
from tablewright.runtime.identity.deny_list import CHECK_CALLER
from tablewright.runtime.identity.stored_notices import NOTIFIED
from tablewright.runtime.internal_tables import internal_table

# What the queue shows. Comments are left out: each would cost a write to two more indexes.
_LISTED = [
    "number",
    "caller_id",
    "issue_description",
    "status",
    "priority",
    "assignee",
    "created_at",
    "created_by",
    "first_answered_at",
]

tickets = Table(
    "poc-itsm-tickets",
    "ticket_id",
    indexes=[
        GlobalIndex("CallerIdIndex", "caller_id", "created_at"),
        GlobalIndex("QueueIndex", "queue", "queue_order", include=_LISTED),
        GlobalIndex("AssigneeIndex", "agent_queue", "queue_order", include=_LISTED),
        GlobalIndex("NumberIndex", "number", include=[]),
    ],
    # For the screens, which follow the queue.
    stream="NEW_AND_OLD_IMAGES",
    tags={"Environment": "PoC", "Project": "AI-L1-Support"},
)


class Status(StrEnum):
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    RESOLVED = "resolved"
    CLOSED = "closed"


# The allowed transitions; resolved and closed tickets can be reopened.
FOLLOWING = {
    Status.OPEN: frozenset({Status.IN_PROGRESS}),
    Status.IN_PROGRESS: frozenset({Status.RESOLVED}),
    Status.RESOLVED: frozenset({Status.CLOSED, Status.OPEN}),
    Status.CLOSED: frozenset({Status.OPEN}),
}


IN_QUEUE = (Status.OPEN, Status.IN_PROGRESS)
QUEUE_SHARDS = 4


class Priority(StrEnum):
    """How soon a ticket needs an answer; ordered by name."""

    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"


FIRST_ANSWER = {
    Priority.P1: timedelta(minutes=15),
    Priority.P2: timedelta(hours=1),
    Priority.P3: timedelta(hours=4),
    Priority.P4: timedelta(days=1),
}
"""The longest time until the first answer by a person."""


class Comment(BaseModel):
    """A comment on a ticket."""

    comment_text: Annotated[str, Personal()]
    added_at: datetime
    # The sub of the token; None if another program wrote it.
    added_by: Annotated[str | None, Personal("author")] = None


class Ticket(Entity, table=tickets):
    """An issue that a caller reported."""

    ticket_id: UUID
    # A session's id, or the keyed hash of a phone number: never the number itself.
    caller_id: Annotated[str, Personal("subject")]
    issue_description: Annotated[str, Personal()]
    status: Status = Status.OPEN
    created_at: CreatedAt = None
    updated_at: UpdatedAt = None
    comments: list[Comment] = Field(default_factory=list)
    # Beyond the seven of the document: who opened it, by the sub of the token.
    created_by: Annotated[str | None, Personal("reference")] = None
    number: str | None = None
    priority: Priority = Priority.P3
    # The sub of the assignee.
    assignee: Annotated[str | None, Personal("reference")] = None
    first_answered_at: datetime | None = None

    keys = Keys(
        queue=sharded(when("QUEUE", status=[*IN_QUEUE]), QUEUE_SHARDS),
        queue_order="{priority}#{created_at}",
        agent_queue=when("AGENT#{assignee}", status=[*IN_QUEUE]),
    )

    @Get()
    def by_id(self, ticket_id: UUID) -> None:
        """A ticket."""

    @Get(many=True)
    def found(self, ticket_id: UUID) -> None:
        """Tickets that a search has found."""

    @Query("CallerIdIndex", newest_first=True, expected=10)
    def of_caller(self, caller_id: str, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The tickets of a caller, newest first."""

    @Query("CallerIdIndex", newest_first=True, expected=10)
    def open_of_caller(
        self, caller_id: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> FieldCondition:
        """The tickets of a caller that are open or in progress, newest first."""
        return attr(self.status).is_in(*IN_QUEUE)


class QueuedTicket(Projection[Ticket]):
    """A ticket in a list of the queue."""

    ticket_id: UUID
    number: str | None
    caller_id: str
    issue_description: str
    status: Status
    priority: Priority
    assignee: str | None
    created_at: CreatedAt
    created_by: str | None
    first_answered_at: datetime | None

    @Query("QueueIndex", expected=25)
    def in_queue(self) -> None:
        """The queue: the most urgent first, and of those the oldest."""

    @Query("QueueIndex", expected=25)
    def unassigned(self) -> FieldCondition:
        """The unassigned tickets of the queue."""
        return attr(self.assignee).absent()

    @Query("AssigneeIndex", expected=10)
    def of_agent(self, assignee: str) -> None:
        """The tickets of the queue that are assigned to a person."""


class TicketId(Projection[Ticket]):
    """The id of a ticket."""

    ticket_id: UUID

    @Query("NumberIndex", expected=1)
    def by_number(self, number: str) -> None:
        """The id of the ticket with a number."""


def answer_due(ticket: Ticket | QueuedTicket) -> datetime | None:
    """The deadline of the first answer by a person; None once it is given, or if the ticket is done."""
    if ticket.first_answered_at is not None or ticket.status not in IN_QUEUE or ticket.created_at is None:
        return None
    try:
        return ticket.created_at + FIRST_ANSWER[ticket.priority]
    except OverflowError:  # of the last day of the year 9999
        return None


def _change(name: str, *fields: object) -> Write:
    """A change of a ticket that is read before and after it."""
    change = ItemWrite(Ticket, "update", sets=[*fields, Ticket.updated_at])
    return Write(name, change, AUDITED, reads=[Ticket.by_id, Ticket.by_id])


design = Design(
    "Service Desk",
    about=__doc__,
    tables=[tickets],
    internal_tables=[internal_table],
    writes=[
        Write("create ticket", ItemWrite(Ticket, "create", sets=[Ticket.number])),
        Write(
            "add comment",
            ItemWrite(Ticket, "update", sets=[Ticket.updated_at], appends=[Ticket.comments]),
            reads=[Ticket.by_id],
        ),
        Write(
            "answer",
            ItemWrite(Ticket, "update", sets=[Ticket.updated_at, Ticket.first_answered_at], appends=[Ticket.comments]),
            reads=[Ticket.by_id],
        ),
        Write(
            "comment on assigned ticket",
            ItemWrite(Ticket, "update", sets=[Ticket.updated_at, Ticket.first_answered_at], appends=[Ticket.comments]),
            NOTIFIED,
            reads=[Ticket.by_id, Ticket.by_id],
        ),
        _change("change status", Ticket.status),
        _change("take", Ticket.status, Ticket.assignee),
        _change("assign", Ticket.assignee),
        _change("set priority", Ticket.priority),
        KEEP_RESPONSE,
    ],
    reactions=[Reaction("find ticket", Ticket, effect="index", consumer="search")],
    roles={
        # What the document allows; and what people at the desk need beyond it, such as audited changes.
        "api": [
            "Ticket.by_id",
            "Ticket.of_caller",
            "Ticket.open_of_caller",
            "create ticket",
            "add comment",
        ],
        "desk": [
            "QueuedTicket.in_queue",
            "QueuedTicket.unassigned",
            "QueuedTicket.of_agent",
            "TicketId.by_number",
            "Ticket.found",
            "answer",
            "comment on assigned ticket",
            "change status",
            "take",
            "assign",
            "set priority",
        ],
        "runtime": [CHECK_CALLER, READ_AUDIT, "keep response"],
    },
    volume={Ticket: Volume(items=10_000, size=2_000)},
    traffic={
        "create ticket": Traffic(per_second=0.5, peak=5),
        "Ticket.by_id": Traffic(per_second=2, peak=20),
        "add comment": Traffic(per_second=1, peak=10),
        "Ticket.of_caller": Traffic(per_second=0.5, peak=5),
        "QueuedTicket.in_queue": Traffic(per_second=1, peak=5),
        "answer": Traffic(per_second=0.5, peak=5),
    },
    accepted=[
        AcceptedFinding(
            "unbounded-list",
            "Ticket.comments",
            "the document stores comments inside their ticket; a comment that would exceed 400 KB is refused",
        ),
        AcceptedFinding(
            "filter-reads-most",
            "QueuedTicket.unassigned",
            "the queue has only tickets that are not done, and most of them are unassigned",
        ),
    ],
)
