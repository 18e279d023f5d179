"""Support: the tickets of an AI technical support service, in one table.

    TICKET#<id>       METADATA                        Ticket
                      EVENT#<day>#<number>            Event, numbered without gaps for each ticket
                      FEEDBACK#<time>#<id>            Feedback by the customer, one on each helper, or by an operator
                      HELPER#<person>                 Helper, who worked on it and may be given feedback
                      CONVERSATION                    Conversation, who wrote last
    SESSION#<id>      METADATA                        Session, for 24 hours
    IDEMPOTENCY#<key> METADATA                        TicketIdempotency, for 24 hours
    CACHE#<key>       DATA                            CacheEntry, for 15 minutes

    GSI1-customer-index      a customer's tickets with one status, newest first
    customer-time-index      a customer's tickets with any status, newest first
    GSI2-status-index        tickets with a status, newest first; spread over shards
    recent-tickets-index     tickets with any status, newest first; spread over shards, keys only
    GSI3-operator-index      feedback on an operator's help, and feedback by an operator
    escalated-tickets-index  tickets that are escalated, newest first: all of them, spread over shards
    engineer-index           and those of one engineer
    assignee-index           tickets that are not READY, by assignee; keys only
    unanswered-index         tickets whose customer wrote last, the longest wait first; spread over shards

A second table, ``prod-metrics``, has the metrics, counted from the stream, and a third one the same over time
(``trend_entities``).
"""

from __future__ import annotations

from decimal import Decimal

from tablewright.model import (
    Design,
    Entity,
    Get,
    ItemWrite,
    Reaction,
    Traffic,
    Volume,
    Write,
)
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.identity.deny_list import CHECK_CALLER
from tablewright.runtime.identity.stored_notices import NOTIFIED, Notice
from tablewright.runtime.internal_tables import internal_table
from tablewright.systems.support.entities.support_tables import (
    ESCALATION_ATTRIBUTES,
    ESCALATION_SHARDS,
    RECENT_SHARDS,
    STATUS_SHARDS,
    UNANSWERED_SHARDS,
    metrics,
    tickets,
)
from tablewright.systems.support.entities.ticket_entities import (
    CUSTOMER_MESSAGE,
    FOLLOWING,
    INTERNAL_EVENTS,
    NOTE,
    OPEN,
    STAFF_MESSAGE,
    SYSTEM_EVENTS,
    Case,
    Conversation,
    EscalatedTicket,
    Event,
    Feedback,
    FeedbackOfOperator,
    Helper,
    Priority,
    Status,
    Ticket,
    TicketId,
    UnansweredTicket,
)
from tablewright.systems.support.entities.transient_entities import CacheEntry, Session, TicketIdempotency
from tablewright.systems.support.trends.trend_entities import OperatorDay, Trend, trends

__all__ = [
    "CHANGED",
    "CUSTOMER_MESSAGE",
    "ESCALATION_ATTRIBUTES",
    "ESCALATION_SHARDS",
    "FOLLOWING",
    "INTERNAL_EVENTS",
    "NOTE",
    "OPEN",
    "RECENT_SHARDS",
    "STAFF_MESSAGE",
    "STATUS_SHARDS",
    "SYSTEM_EVENTS",
    "UNANSWERED_SHARDS",
    "CacheEntry",
    "Case",
    "Conversation",
    "EscalatedTicket",
    "Event",
    "Feedback",
    "FeedbackOfOperator",
    "Helper",
    "Metric",
    "Priority",
    "Session",
    "Status",
    "Ticket",
    "TicketId",
    "TicketIdempotency",
    "UnansweredTicket",
    "design",
    "metrics",
    "tickets",
]


class Metric(Entity, table=metrics):
    """A number that is kept up to date from the stream."""

    metric_name: str
    count_value: int = 0
    total_time: Decimal = Decimal(0)
    total_ratings: int = 0

    @Get(many=True)
    def by_name(self, metric_name: str) -> None:
        """A metric."""


# The entities that a search finds.
_FOUND: tuple[tuple[str, type[Entity]], ...] = (
    ("ticket", Ticket),
    ("message", Event),
    ("feedback", Feedback),
)

# The reads of a ticket change: the ticket, its large values if they are in the item, and the changed ticket.
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
        # A change of status decrements one metric and increments another.
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
        # Exporting a ticket again changes nothing, as its latest record counts.
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
            "TicketId.recent",
            "EscalatedTicket.escalated",
            "EscalatedTicket.escalated_to",
            "TicketId.of_assignee",
            "UnansweredTicket.waiting",
            "Event.latest",
            "Event.between",
            "Event.by_id",
            "Feedback.by_id",
            "Feedback.of_ticket",
            "FeedbackOfOperator.by_operator",
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
        "TicketId.recent": Traffic(per_second=1, peak=5),
        "give feedback": Traffic(per_second=5, peak=20),
        # Changes are counted in batches of a hundred, and an item is written once for all of them.
        "count": Traffic(per_second=1, peak=5),
    },
)
