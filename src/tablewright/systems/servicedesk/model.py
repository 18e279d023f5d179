"""Service Desk: the tickets of an AI voice service desk.

One table, ``poc-itsm-tickets``; the prefix marks it as no production system. A ticket is found by its id, and the
tickets of a caller newest first. Comments lie inside their ticket, which bounds a ticket at 400 KB of them.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
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
    Query,
    Table,
    Traffic,
    UpdatedAt,
    Volume,
    Write,
    attr,
)
from tablewright.runtime.audit import READ_AUDIT, RECORD_CHANGE
from tablewright.runtime.idempotency import KEEP_RESPONSE
from tablewright.runtime.identity.deny_list import CHECK_CALLER
from tablewright.runtime.internal_tables import internal_table

tickets = Table(
    "poc-itsm-tickets",
    "ticket_id",
    indexes=[GlobalIndex("CallerIdIndex", "caller_id", "created_at")],
    tags={"Environment": "PoC", "Project": "AI-L1-Support"},
)


class Status(StrEnum):
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    RESOLVED = "resolved"
    CLOSED = "closed"


# From each status, those that may follow; what was resolved or closed can be opened again.
FOLLOWING = {
    Status.OPEN: frozenset({Status.IN_PROGRESS}),
    Status.IN_PROGRESS: frozenset({Status.RESOLVED}),
    Status.RESOLVED: frozenset({Status.CLOSED, Status.OPEN}),
    Status.CLOSED: frozenset({Status.OPEN}),
}


class Comment(BaseModel):
    """What somebody added to a ticket."""

    comment_text: str
    added_at: datetime
    # The sub of the token; None in what another program wrote.
    added_by: str | None = None


class Ticket(Entity, table=tickets):
    """An issue that a caller reported."""

    ticket_id: UUID
    # A session's id, or the keyed hash of a phone number: never the number itself.
    caller_id: str
    issue_description: str
    status: Status = Status.OPEN
    created_at: CreatedAt = None
    updated_at: UpdatedAt = None
    comments: list[Comment] = Field(default_factory=list)
    # Beyond the seven of the document: who opened it, by the sub of the token.
    created_by: str | None = None

    @Get()
    def by_id(self, ticket_id: UUID) -> None:
        """A ticket."""

    @Query("CallerIdIndex", range="created_at", newest_first=True, expected=10)
    def of_caller(self, caller_id: str, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The tickets of a caller, newest first."""

    @Query("CallerIdIndex", range="created_at", newest_first=True, expected=10)
    def open_of_caller(
        self, caller_id: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> FieldCondition:
        """The tickets of a caller that are open or in progress, newest first."""
        return attr(self.status).is_in(Status.OPEN, Status.IN_PROGRESS)


design = Design(
    "Service Desk",
    about=__doc__,
    tables=[tickets],
    internal_tables=[internal_table],
    writes=[
        Write("create ticket", ItemWrite(Ticket, "create")),
        Write("add comment", ItemWrite(Ticket, "update", sets=["updated_at"], appends=["comments"])),
        Write("change status", ItemWrite(Ticket, "update", sets=["status", "updated_at"])),
        KEEP_RESPONSE,
        RECORD_CHANGE,
    ],
    roles={
        "api": [
            "Ticket.by_id",
            "Ticket.of_caller",
            "Ticket.open_of_caller",
            "create ticket",
            "add comment",
            "change status",
        ],
        "runtime": [CHECK_CALLER, READ_AUDIT, "keep response", "record change"],
    },
    volume={Ticket: Volume(items=10_000, size=2_000)},
    traffic={
        "create ticket": Traffic(per_second=0.5, peak=5),
        "Ticket.by_id": Traffic(per_second=2, peak=20),
        "add comment": Traffic(per_second=1, peak=10),
        "Ticket.of_caller": Traffic(per_second=0.5, peak=5),
    },
    accepted=[
        AcceptedFinding(
            "unbounded-list",
            "Ticket.comments",
            "the document keeps comments inside their ticket; a comment that would take it past 400 KB is refused",
        )
    ],
)
