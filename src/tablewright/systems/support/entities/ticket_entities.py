"""Tickets, their events, the people who worked on them, and feedback on the help."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from tablewright.model import (
    Collection,
    CollectionQuery,
    CreatedAt,
    Entity,
    FieldGroup,
    Get,
    Keys,
    Large,
    Numbered,
    Personal,
    Projection,
    Query,
    Unique,
    UpdatedAt,
    Version,
    attr,
    sharded,
    when,
)
from tablewright.systems.support.entities.support_tables import (
    ESCALATION_SHARDS,
    RECENT_SHARDS,
    STATUS_SHARDS,
    UNANSWERED_SHARDS,
    tickets,
)

__all__ = [
    "CUSTOMER_MESSAGE",
    "FOLLOWING",
    "INTERNAL_EVENTS",
    "NOTE",
    "OPEN",
    "STAFF_MESSAGE",
    "SYSTEM_EVENTS",
    "Case",
    "Conversation",
    "Event",
    "Feedback",
    "Helper",
    "Priority",
    "Status",
    "Ticket",
]


class Status(StrEnum):
    NEW = "NEW"
    PROCESSING = "PROCESSING"
    READY = "READY"
    FAILED = "FAILED"
    ESCALATED = "ESCALATED"


class Priority(StrEnum):
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    CRITICAL = "CRITICAL"


# The allowed transitions.
FOLLOWING = {
    Status.NEW: frozenset({Status.PROCESSING, Status.FAILED, Status.ESCALATED}),
    Status.PROCESSING: frozenset({Status.READY, Status.FAILED, Status.ESCALATED}),
    Status.READY: frozenset({Status.PROCESSING}),
    Status.FAILED: frozenset({Status.PROCESSING, Status.ESCALATED}),
    Status.ESCALATED: frozenset({Status.PROCESSING, Status.READY, Status.FAILED}),
}
# There is still work to do.
OPEN = tuple(status for status in Status if status is not Status.READY)


class Ticket(Entity, table=tickets, type_name="ticket"):
    """A problem that a customer needs help with."""

    ticket_id: str
    customer_id: Annotated[str, Personal("subject")]
    status: Status = Status.NEW
    priority: Priority = Priority.MEDIUM
    symptom_text: Annotated[str, Personal()] = Field(max_length=10_000)
    created_at: CreatedAt = None
    updated_at: UpdatedAt = None
    # When it became READY; the time from its creation until then is its resolution time.
    completed_at: datetime | None = None
    completed_by: Annotated[str | None, Personal("reference")] = None
    escalated_at: datetime | None = None
    escalation_reason: Annotated[str | None, Personal()] = Field(default=None, max_length=2_000)
    assigned_to: Annotated[str | None, Personal("reference")] = None
    # Logs and traces; in the object store once the item would be larger than 350 KB.
    data: Annotated[str, Large()] = ""
    version: Version = 0

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="METADATA",
        GSI1PK="CUSTOMER#{customer_id}",
        GSI1SK="STATUS#{status}#{created_at}",
        GSI2PK=sharded("STATUS#{status}", STATUS_SHARDS),
        GSI2SK="{created_at}",
        GSI4PK=sharded(when("ESCALATED", status=Status.ESCALATED), ESCALATION_SHARDS),
        GSI4SK="{escalated_at}",
        GSI5PK=when("ENGINEER#{assigned_to}", status=Status.ESCALATED),
        GSI6PK=sharded("TICKETS", RECENT_SHARDS),
        GSI7PK=when("ASSIGNEE#{assigned_to}", status=OPEN),
    )

    @Get()
    def by_id(self, ticket_id: str) -> None:
        """A ticket with its data, which the other patterns do not load."""

    @Get(many=True, load_large=False)
    def summary(self, ticket_id: str) -> None:
        """A ticket without its data."""

    @Query("customer-time-index", newest_first=True, load_large=False, expected=20)
    def of_customer(self, customer_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """The tickets of a customer, newest first."""

    @Query("GSI1-customer-index", newest_first=True, load_large=False, expected=20)
    def of_customer_in_status(
        self, customer_id: str, status: Status, *, since: date | None = None, until: date | None = None
    ) -> None:
        """The tickets of a customer with a status, newest first."""

    @Query("GSI2-status-index", newest_first=True, load_large=False, expected=100)
    def by_status(self, status: Status, *, since: date | None = None, until: date | None = None) -> None:
        """The tickets with a status, newest first."""


class TicketId(Projection[Ticket]):
    """The id of a ticket."""

    ticket_id: str

    @Query("recent-tickets-index", newest_first=True, expected=100)
    def recent(self, *, since: date | None = None, until: date | None = None) -> None:
        """The ids of all tickets, newest first."""

    @Query("assignee-index", newest_first=True, expected=20)
    def of_assignee(self, assigned_to: str) -> None:
        """The ids of a person's tickets that are not READY, newest first."""


class EscalatedTicket(Projection[Ticket]):
    """An escalated ticket, as it is listed."""

    ticket_id: str
    priority: Priority
    customer_id: str
    escalation_reason: str | None
    escalated_at: datetime | None
    assigned_to: str | None

    @Query("escalated-tickets-index", newest_first=True, expected=50)
    def escalated(self, *, since: date | None = None, until: date | None = None) -> None:
        """The escalated tickets, newest first."""

    @Query("engineer-index", newest_first=True, expected=20)
    def escalated_to(self, assigned_to: str, *, since: date | None = None, until: date | None = None) -> None:
        """The escalated tickets of an engineer, newest first."""


CUSTOMER_MESSAGE, STAFF_MESSAGE, NOTE = "customer_message", "staff_message", "internal_note"
# Events that the system itself writes, with a change or a message.
SYSTEM_EVENTS = frozenset(
    {
        "ticket_created",
        "status_changed",
        "reassigned",
        "assigned",
        "priority_changed",
        CUSTOMER_MESSAGE,
        STAFF_MESSAGE,
        NOTE,
    }
)
# Events that customers never see.
INTERNAL_EVENTS = frozenset({NOTE})


class Event(Entity, table=tickets, type_name="event"):
    """Something that happened to a ticket."""

    ticket_id: Annotated[str, Personal("part")]
    day: date
    number: int = 0
    timestamp: datetime
    event_type: str
    old_status: Status | None = None
    new_status: Status | None = None
    details: Annotated[dict[str, Any], Personal("mention")] = Field(default_factory=dict)
    # The author's sub; None if another program wrote it.
    author: Annotated[str | None, Personal("reference")] = None
    # Of a message: the ticket's customer, who may find it.
    customer_id: Annotated[str | None, Personal("reference")] = None

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{day}#{number:06}")

    @Numbered()
    def number_per_ticket(self) -> FieldGroup[int]:
        return attr(self.number).per(self.ticket_id)

    @Get(many=True)
    def by_id(self, ticket_id: str, day: date, number: int) -> None:
        """An event of a ticket."""

    @Query(newest_first=True, expected=10)
    def latest(self, ticket_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """The events of a ticket, newest first."""

    @Query(expected=20)
    def between(self, ticket_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """The events of a ticket, in chronological order."""


class Helper(Entity, table=tickets, type_name="helper"):
    """A person who worked on a ticket: changed its status, was assigned to it, or wrote an event."""

    ticket_id: Annotated[str, Personal("part")]
    helper_id: Annotated[str, Personal("subject")]

    keys = Keys(PK="TICKET#{ticket_id}", SK="HELPER#{helper_id}")

    @Get(consistent=True)
    def by_id(self, ticket_id: str, helper_id: str) -> None:
        """The record that a person worked on a ticket."""


class Conversation(Entity, table=tickets, type_name="conversation"):
    """Who wrote last about a ticket; a separate item, as a ticket may be large, and messages do not change it."""

    ticket_id: Annotated[str, Personal("part")]
    last_message_at: datetime
    is_answered: bool

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="CONVERSATION",
        GSI8PK=sharded(when("UNANSWERED", is_answered=False), UNANSWERED_SHARDS),
        GSI8SK="{last_message_at}",
    )


class UnansweredTicket(Projection[Conversation]):
    """The id of a ticket whose customer wrote last."""

    ticket_id: str

    @Query("unanswered-index", expected=50)
    def waiting(self) -> None:
        """The ids of the tickets whose customer wrote last, the longest wait first."""


class Feedback(Entity, table=tickets, type_name="feedback"):
    """Feedback on the help with a ticket; several can have the same time.

    A customer gives it on the help of an operator, and an operator on the help that the ticket got before.
    """

    ticket_id: Annotated[str, Personal("part")]
    feedback_id: str
    given_by: Annotated[str, Personal("author")]
    # The operator that it is about, or who gave it: all feedback about or by an operator is found by this.
    operator_id: Annotated[str, Personal("reference")]
    # Of a customer's feedback: the ticket and the operator, as there is only one for both.
    once: Annotated[str | None, Unique(), Personal("mention")] = None
    submitted_at: datetime
    rating: int = Field(ge=1, le=5)
    was_helpful: bool | None = None
    comment: Annotated[str | None, Personal()] = Field(default=None, max_length=5_000)
    # The sender's sub: a program may have asked the customer.
    submitted_by: Annotated[str | None, Personal("reference")] = None

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="FEEDBACK#{submitted_at}#{feedback_id}",
        GSI3PK="OPERATOR#{operator_id}",
        GSI3SK="{submitted_at}",
    )

    @Get(many=True)
    def by_id(self, ticket_id: str, submitted_at: datetime, feedback_id: str) -> None:
        """Feedback on a ticket."""

    @Query(newest_first=True, expected=5)
    def of_ticket(self, ticket_id: str) -> None:
        """The feedback on a ticket, newest first."""

    @property
    def about(self) -> str | None:
        """The person whose help it is about; None for feedback by an operator."""
        return None if self.given_by == self.operator_id else self.operator_id


class FeedbackOfOperator(Projection[Feedback]):
    """Feedback as an operator sees it."""

    ticket_id: str
    rating: int = Field(ge=1, le=5)
    was_helpful: bool | None
    given_by: str

    @Query("GSI3-operator-index", newest_first=True, expected=50)
    def by_operator(self, operator_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """The feedback about and by an operator, newest first."""


class Case(Collection):
    """A ticket with its events and feedback."""

    ticket: Ticket
    events: list[Event]
    feedback: list[Feedback]

    @CollectionQuery(load_large=False, expected=20)
    def of_ticket(self, ticket_id: str) -> None:
        """A ticket, its events and its feedback."""
