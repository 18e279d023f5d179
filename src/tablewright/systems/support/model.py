"""Support: the tickets of an AI technical support, in one table.

    TICKET#<id>       METADATA                        Ticket
                      EVENT#<day>#<number>            Event, numbered without gaps for each ticket
                      FEEDBACK#<time>#<id>            Feedback of the customer, one on each helper, or of an operator
                      HELPER#<person>                 Helper, who worked on it and may be given feedback
                      CONVERSATION                    Conversation, who wrote last
    SESSION#<id>      METADATA                        Session, for 24 hours
    IDEMPOTENCY#<key> METADATA                        TicketIdempotency, for 24 hours
    CACHE#<key>       DATA                            CacheEntry, for 15 minutes

    GSI1-customer-index      a customer's tickets of one status, newest first
    customer-time-index      a customer's tickets of any status, newest first
    GSI2-status-index        tickets of a status, newest first; spread over shards
    recent-tickets-index     tickets of any status, newest first; spread over shards, keys only
    GSI3-operator-index      feedback on an operator's help, and feedback that an operator gave
    escalated-tickets-index  tickets that are escalated, newest first: all of them, spread over shards
    engineer-index           and those of one engineer
    assignee-index           tickets that are not READY, of whoever they are assigned to; keys only
    unanswered-index         tickets whose customer wrote last, the longest wait first; spread over shards

A second table, ``prod-metrics``, has what is counted from the stream, and a third one the same over time
(``trend_entities``).
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from tablewright.model import (
    AttributeName,
    Collection,
    CollectionQuery,
    CreatedAt,
    Design,
    Entity,
    EpochSeconds,
    Expiry,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Large,
    Numbered,
    Personal,
    Query,
    Reaction,
    Table,
    Traffic,
    Unique,
    UpdatedAt,
    Version,
    Volume,
    Write,
    sharded,
    when,
)
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.identity.deny_list import CHECK_CALLER
from tablewright.runtime.identity.stored_notices import NOTIFIED, Notice
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import IdempotencyRecord
from tablewright.systems.support.trends.trend_entities import OperatorDay, Trend, trends

STATUS_SHARDS = 8
ESCALATION_SHARDS = 4
RECENT_SHARDS = 4
UNANSWERED_SHARDS = 4

# What the indexes of escalations hold: the type, by which a table of several kinds is read, and what is shown.
_ESCALATION = [
    "entity_type",
    "ticket_id",
    "priority",
    "customer_id",
    "escalation_reason",
    "escalated_at",
    "assigned_to",
]

tickets = Table(
    "prod-tickets-unified",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("GSI1-customer-index", "GSI1PK", "GSI1SK"),
        GlobalIndex("customer-time-index", "GSI1PK", "GSI2SK"),
        GlobalIndex("GSI2-status-index", "GSI2PK", "GSI2SK"),
        # The keys alone: what is listed is read by its id, so that only a new ticket is written here, and no change of
        # one is. With all of a ticket, every change of a status would cost a write more.
        GlobalIndex("recent-tickets-index", "GSI6PK", "GSI2SK", include=["entity_type", "ticket_id"]),
        GlobalIndex(
            "GSI3-operator-index",
            "GSI3PK",
            "GSI3SK",
            include=["entity_type", "ticket_id", "rating", "was_helpful", "given_by"],
        ),
        GlobalIndex(
            "escalated-tickets-index",
            "GSI4PK",
            "GSI4SK",
            include=_ESCALATION,
        ),
        GlobalIndex(
            "engineer-index",
            "GSI5PK",
            "GSI4SK",
            include=_ESCALATION,
        ),
        GlobalIndex("assignee-index", "GSI7PK", "GSI2SK", include=["entity_type", "ticket_id"]),
        GlobalIndex("unanswered-index", "GSI8PK", "GSI8SK", include=["entity_type", "ticket_id"]),
    ],
    type_attribute="entity_type",
    ttl="ttl",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    encryption=True,
    tags={"Environment": "production", "Application": "ai-technical-support"},
)
metrics = Table(
    "prod-metrics",
    "metric_name",
    # A dashboard that is open is told when to read again.
    stream="NEW_AND_OLD_IMAGES",
    tags={"Environment": "production", "Application": "ai-technical-support"},
)


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


# From each status, those that may follow.
FOLLOWING = {
    Status.NEW: frozenset({Status.PROCESSING, Status.FAILED, Status.ESCALATED}),
    Status.PROCESSING: frozenset({Status.READY, Status.FAILED, Status.ESCALATED}),
    Status.READY: frozenset({Status.PROCESSING}),
    Status.FAILED: frozenset({Status.PROCESSING, Status.ESCALATED}),
    Status.ESCALATED: frozenset({Status.PROCESSING, Status.READY, Status.FAILED}),
}
# Somebody still has something to do.
OPEN = tuple(status for status in Status if status is not Status.READY)


class Ticket(Entity, table=tickets, type_name="ticket"):
    """What a customer needs help with."""

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
        """A ticket with its data; all the others leave that where it is."""

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
        """The tickets of a customer in a status, newest first."""

    @Query("GSI2-status-index", newest_first=True, load_large=False, expected=100)
    def by_status(self, status: Status, *, since: date | None = None, until: date | None = None) -> None:
        """The tickets of a status, newest first."""

    @Query("recent-tickets-index", newest_first=True, project=["ticket_id"], expected=100)
    def recent(self, *, since: date | None = None, until: date | None = None) -> None:
        """The ids of all tickets, newest first."""

    @Query(
        "escalated-tickets-index",
        newest_first=True,
        project=_ESCALATION[1:],
        expected=50,
    )
    def escalated(self, *, since: date | None = None, until: date | None = None) -> None:
        """The escalated tickets, newest first."""

    @Query(
        "engineer-index",
        newest_first=True,
        project=_ESCALATION[1:],
        expected=20,
    )
    def escalated_to(self, assigned_to: str, *, since: date | None = None, until: date | None = None) -> None:
        """The escalated tickets of an engineer, newest first."""

    @Query("assignee-index", newest_first=True, project=["ticket_id"], expected=20)
    def of_assignee(self, assigned_to: str) -> None:
        """The ids of the tickets that somebody has to work on, newest first."""


CUSTOMER_MESSAGE, STAFF_MESSAGE, NOTE = "customer_message", "staff_message", "internal_note"
# What the system writes itself, with the change that it tells of, or when somebody writes.
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
# What customers never see.
INTERNAL_EVENTS = frozenset({NOTE})


class Event(Entity, table=tickets, type_name="event"):
    """Something that happened to a ticket."""

    ticket_id: Annotated[str, Personal("part")]
    day: date
    number: Annotated[int, Numbered("ticket_id")] = 0
    timestamp: datetime
    event_type: str
    old_status: Status | None = None
    new_status: Status | None = None
    details: Annotated[dict[str, Any], Personal("mention")] = Field(default_factory=dict)
    # The sub of whoever it is by; None in what another program wrote.
    author: Annotated[str | None, Personal("reference")] = None
    # Of a message: the customer whose ticket it is, who may find it.
    customer_id: Annotated[str | None, Personal("reference")] = None

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{day}#{number:06}")

    @Get(many=True)
    def by_id(self, ticket_id: str, day: date, number: int) -> None:
        """An event of a ticket."""

    @Query(newest_first=True, expected=10)
    def latest(self, ticket_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """The events of a ticket, newest first."""

    @Query(expected=20)
    def between(self, ticket_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """The events of a ticket, in their order."""


class Helper(Entity, table=tickets, type_name="helper"):
    """Somebody who worked on a ticket: changed its status, was given it, or wrote an event."""

    ticket_id: Annotated[str, Personal("part")]
    helper_id: Annotated[str, Personal("subject")]

    keys = Keys(PK="TICKET#{ticket_id}", SK="HELPER#{helper_id}")

    @Get(consistent=True)
    def by_id(self, ticket_id: str, helper_id: str) -> None:
        """That somebody worked on a ticket."""


class Conversation(Entity, table=tickets, type_name="conversation"):
    """Who wrote last about a ticket; an item of its own, as a ticket may be large, and is not changed by a message."""

    ticket_id: Annotated[str, Personal("part")]
    last_message_at: datetime
    is_answered: bool

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="CONVERSATION",
        GSI8PK=sharded(when("UNANSWERED", is_answered=False), UNANSWERED_SHARDS),
        GSI8SK="{last_message_at}",
    )

    @Query("unanswered-index", project=["ticket_id"], expected=50)
    def unanswered(self) -> None:
        """The ids of the tickets whose customer wrote last, the longest wait first."""


class Feedback(Entity, table=tickets, type_name="feedback"):
    """What somebody thinks of the help with a ticket; several can be of the same instant.

    A customer gives it on the help of an operator, and an operator on the help that the ticket got before.
    """

    ticket_id: Annotated[str, Personal("part")]
    feedback_id: str
    given_by: Annotated[str, Personal("author")]
    # The operator whom it is about, or who gave it: all that has to do with an operator is found by this.
    operator_id: Annotated[str, Personal("reference")]
    # The ticket and the operator, of a customer: there is one feedback of both.
    once: Annotated[str | None, Unique(), Personal("mention")] = None
    submitted_at: datetime
    rating: int = Field(ge=1, le=5)
    was_helpful: bool | None = None
    comment: Annotated[str | None, Personal()] = Field(default=None, max_length=5_000)
    # The sub of whoever sent it: a program may have asked the customer.
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

    @Query(
        "GSI3-operator-index",
        newest_first=True,
        project=["ticket_id", "rating", "was_helpful", "given_by"],
        expected=50,
    )
    def by_operator(self, operator_id: str, *, since: date | None = None, until: date | None = None) -> None:
        """What an operator was given and has given, newest first."""

    @property
    def about(self) -> str | None:
        """Whose help it is about; None for feedback of an operator, which is about nobody's."""
        return None if self.given_by == self.operator_id else self.operator_id


class Session(Entity, table=tickets, type_name="session"):
    """Somebody who is logged in."""

    session_id: str
    user_id: Annotated[str, Personal("subject")]
    created_at: CreatedAt = None
    expires_at: datetime
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24))] = None

    keys = Keys(PK="SESSION#{session_id}", SK="METADATA")

    @Get()
    def by_id(self, session_id: str) -> None:
        """A session that has not expired."""


class TicketIdempotency(IdempotencyRecord, table=tickets, type_name="idempotency"):
    """A request that was executed under an idempotency key, its response, and the ticket that it made."""

    ticket_id: str
    created_at: CreatedAt = None

    keys = Keys(PK="IDEMPOTENCY#{idempotency_key}", SK="METADATA")


class CacheEntry(Entity, table=tickets, type_name="cache"):
    """A result that need not be computed again for a while."""

    cache_key: str
    value: Annotated[dict[str, Any], AttributeName("data")]
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(minutes=15))] = None

    keys = Keys(PK="CACHE#{cache_key}", SK="DATA")

    @Get()
    def by_key(self, cache_key: str) -> None:
        """What is cached under a key."""


class Case(Collection):
    """A ticket with all that belongs to it."""

    ticket: Ticket
    events: list[Event]
    feedback: list[Feedback]

    @CollectionQuery(load_large=False, expected=20)
    def of_ticket(self, ticket_id: str) -> None:
        """A ticket, its events and its feedback."""


class Metric(Entity, table=metrics):
    """A number that is kept up to date from the stream."""

    metric_name: str
    count_value: int = 0
    total_time: Decimal = Decimal(0)
    total_ratings: int = 0

    @Get(many=True)
    def by_name(self, metric_name: str) -> None:
        """A metric."""


# What a search finds.
_FOUND: tuple[tuple[str, type[Entity]], ...] = (
    ("ticket", Ticket),
    ("message", Event),
    ("feedback", Feedback),
)

# What a change of a ticket reads: the ticket, its large values where they are in the item, and the ticket after it.
CHANGED = [Ticket.summary, Ticket.by_id, Ticket.summary]

design = Design(
    "Support",
    about=__doc__,
    tables=[tickets, metrics, trends],
    internal_tables=[internal_table],
    collections=[Case],
    writes=[
        Write(
            "create ticket",
            ItemWrite(Ticket, "create"),
            ItemWrite(Event, "create"),
            ItemWrite(TicketIdempotency, "create"),
        ),
        Write(
            "change status",
            ItemWrite(Ticket, "update", sets=[Ticket.status, Ticket.completed_at, Ticket.completed_by]),
            ItemWrite(Event, "create"),
            ItemWrite(Helper, "put"),
            AUDITED,
            reads=CHANGED,
        ),
        Write(
            "escalate",
            ItemWrite(
                Ticket,
                "update",
                sets=[Ticket.status, Ticket.escalated_at, Ticket.escalation_reason, Ticket.assigned_to],
            ),
            ItemWrite(Event, "create"),
            ItemWrite(Helper, "put", count=2),
            AUDITED,
            reads=CHANGED,
        ),
        Write(
            "reassign",
            ItemWrite(Ticket, "update", sets=[Ticket.escalated_at, Ticket.escalation_reason, Ticket.assigned_to]),
            ItemWrite(Event, "create"),
            ItemWrite(Helper, "put", count=2),
            AUDITED,
            reads=CHANGED,
        ),
        Write(
            "assign",
            ItemWrite(Ticket, "update", sets=[Ticket.assigned_to]),
            ItemWrite(Event, "create"),
            ItemWrite(Helper, "put", count=2),
            AUDITED,
            reads=CHANGED,
        ),
        Write(
            "set priority",
            ItemWrite(Ticket, "update", sets=[Ticket.priority]),
            ItemWrite(Event, "create"),
            ItemWrite(Helper, "put"),
            AUDITED,
            reads=CHANGED,
        ),
        Write("attach data", ItemWrite(Ticket, "update", sets=[Ticket.data]), AUDITED, reads=CHANGED[1:]),
        Write("add event", ItemWrite(Event, "create"), ItemWrite(Helper, "put"), checks=[Ticket]),
        Write(
            "send message",
            ItemWrite(Event, "create"),
            ItemWrite(Conversation, "put"),
            ItemWrite(Helper, "put"),
            ItemWrite(Notice, "create", count=2),
            ItemWrite(TicketIdempotency, "create"),
            checks=[Ticket],
            reads=[Ticket.summary],
        ),
        Write(
            "add note",
            ItemWrite(Event, "create"),
            NOTIFIED,
            ItemWrite(TicketIdempotency, "create"),
            checks=[Ticket],
            reads=[Ticket.summary],
        ),
        Write(
            "give feedback",
            ItemWrite(Feedback, "create"),
            ItemWrite(TicketIdempotency, "create"),
            checks=[Ticket, Helper],
        ),
        Write("begin session", ItemWrite(Session, "create")),
        Write("end session", ItemWrite(Session, "delete")),
        Write("cache", ItemWrite(CacheEntry, "put")),
        Write("forget", ItemWrite(CacheEntry, "delete")),
        # A ticket that changes its status is counted down in one metric and up in another.
        # Its hour, its day and its operator are counted with it.
        Write(
            "count",
            ItemWrite(Metric, "update", adds=[Metric.count_value, Metric.total_time, Metric.total_ratings], count=3),
            ItemWrite(
                Trend,
                "update",
                adds=[Trend.opened, Trend.resolved, Trend.total_time, Trend.ratings, Trend.total_ratings],
                count=2,
            ),
            ItemWrite(
                OperatorDay,
                "update",
                adds=[OperatorDay.resolved, OperatorDay.total_time, OperatorDay.ratings, OperatorDay.total_ratings],
            ),
        ),
    ],
    reactions=[
        Reaction("metrics", Ticket, effect="count", consumer="metrics", write="count"),
        Reaction("satisfaction", Feedback, effect="count", consumer="metrics", write="count"),
        # A ticket that is exported again changes nothing, as its latest record counts.
        *(
            Reaction("training export", kind, effect="export", consumer="training export")
            for kind in (Ticket, Event, Feedback)
        ),
        *(Reaction(f"find {name}", kind, effect="index", consumer="search") for name, kind in _FOUND),
    ],
    roles={
        "api": [
            "Ticket.by_id",
            "Ticket.summary",
            "Ticket.of_customer",
            "Ticket.of_customer_in_status",
            "Ticket.by_status",
            "Ticket.recent",
            "Ticket.escalated",
            "Ticket.escalated_to",
            "Ticket.of_assignee",
            "Conversation.unanswered",
            "Event.latest",
            "Event.between",
            "Event.by_id",
            "Feedback.by_id",
            "Feedback.of_ticket",
            "Feedback.by_operator",
            "Session.by_id",
            "CacheEntry.by_key",
            "Case.of_ticket",
            "Metric.by_name",
            "Trend.between",
            "OperatorDay.between",
            "create ticket",
            "change status",
            "escalate",
            "reassign",
            "assign",
            "set priority",
            "attach data",
            "add event",
            "send message",
            "add note",
            "give feedback",
            "begin session",
            "end session",
            "cache",
            "forget",
        ],
        "customer": ["Ticket.of_customer", "Ticket.of_customer_in_status"],
        "training export": ["Case.of_ticket"],
        "runtime": [CHECK_CALLER, READ_AUDIT],
    },
    tenants={"customer": Ticket.customer_id},
    volume={
        Ticket: Volume(items=1_000_000, size=1_000),
        Event: Volume(items=4_000_000, size=300),
        Helper: Volume(items=1_500_000, size=100),
        Conversation: Volume(items=800_000, size=200),
        Feedback: Volume(items=300_000, size=500),
        Session: Volume(items=5_000, size=250),
        CacheEntry: Volume(items=2_000, size=1_000),
        Metric: Volume(items=20, size=100),
        Trend: Volume(items=10_000, size=150),
        OperatorDay: Volume(items=20_000, size=150),
    },
    traffic={
        "create ticket": Traffic(per_second=20, peak=100),
        "change status": Traffic(per_second=40, peak=200),
        "Ticket.summary": Traffic(per_second=100, peak=400),
        "Ticket.of_customer": Traffic(per_second=20, peak=80),
        "Ticket.by_status": Traffic(per_second=5, peak=20),
        "Ticket.recent": Traffic(per_second=1, peak=5),
        "give feedback": Traffic(per_second=5, peak=20),
        # Changes are counted in batches of a hundred, and an item is written once for all of them.
        "count": Traffic(per_second=1, peak=5),
    },
)
