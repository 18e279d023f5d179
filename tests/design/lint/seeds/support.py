"""A support desk in a single table, as its document has it: index keys composed by hand in some writes only.

What the model does not let anyone declare is in ``support_escalations``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from tablewright.model import (
    Collection,
    CollectionQuery,
    CostClaim,
    Design,
    Entity,
    ExpiresAt,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Reaction,
    Table,
    Volume,
    Write,
)

tickets = Table(
    "prod-tickets-unified",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("GSI1-customer-index", "GSI1PK", "GSI1SK"),
        GlobalIndex("GSI2-status-index", "GSI2PK", "GSI2SK"),
        GlobalIndex("GSI3-operator-index", "GSI3PK", "GSI3SK", include=["ticket_id", "rating", "was_helpful"]),
    ],
    type_attribute="entity_type",
    ttl="ttl",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    tags={"Environment": "production", "Application": "ai-technical-support"},
)


class Status(StrEnum):
    NEW = "NEW"
    PROCESSING = "PROCESSING"
    READY = "READY"
    FAILED = "FAILED"
    ESCALATED = "ESCALATED"


class Ticket(Entity, table=tickets, type_name="ticket"):
    ticket_id: str
    customer_id: str
    status: Status = Status.NEW
    created_at: str
    updated_at: str | None = None
    symptom_text: str = ""
    priority: str = ""
    # Composed by put_ticket, and by nobody else.
    GSI1PK: str
    GSI1SK: str
    GSI2PK: str
    GSI2SK: str

    keys = Keys(PK="TICKET#{ticket_id}", SK="METADATA")

    @Get()
    def by_id(self, ticket_id: str) -> None: ...

    # "Descending by created_at"

    @Query("GSI1-customer-index", newest_first=True, expected=20)
    def of_customer(self, GSI1PK: str) -> None: ...

    @Query("GSI2-status-index", newest_first=True, expected=100)
    def by_status(self, GSI2PK: str, *, since: str | None = None, before: str | None = None) -> None: ...


class Event(Entity, table=tickets, type_name="event"):
    ticket_id: str
    date: str
    sequence: int
    event_type: str
    timestamp: str
    details: dict[str, Any] = Field(default_factory=dict)

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{date}#{sequence:03}")

    @Query(newest_first=True, expected=10)
    def of_ticket(self, ticket_id: str, *, since: str | None = None, before: str | None = None) -> None: ...


class Feedback(Entity, table=tickets, type_name="feedback"):
    ticket_id: str
    operator_id: str
    submitted_at: str
    rating: int
    was_helpful: bool = True

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="FEEDBACK#{submitted_at}",
        GSI3PK="OPERATOR#{operator_id}",
        GSI3SK="{submitted_at}",
    )

    @Query()
    def of_ticket(self, ticket_id: str) -> None: ...

    @Query("GSI3-operator-index", newest_first=True, expected=50)
    def by_operator(self, operator_id: str) -> None: ...


class ShardedTicket(Entity, table=tickets, type_name="sharded"):
    """The answer of the document to hot partitions: a shard from random.randint() or hash() behind a unique id."""

    ticket_id: str
    shard: int

    keys = Keys(PK="SHARDED#{ticket_id}#{shard}", SK="METADATA")

    @Get()
    def by_id(self, ticket_id: str, shard: int) -> None: ...


class IdempotencyRecord(Entity, table=tickets, type_name="idempotency"):
    key: str
    response: str
    ttl: ExpiresAt = None

    keys = Keys(PK="IDEMPOTENCY#{key}", SK="METADATA")

    @Get()
    def by_key(self, key: str) -> None: ...


class TicketWithFeedback(Collection):
    ticket: Ticket
    feedback: list[Feedback]

    @CollectionQuery()
    def of_ticket(self, ticket_id: str) -> None: ...


BY_HAND = {
    "GSI1PK": "CUSTOMER#{customer_id}",
    "GSI1SK": "STATUS#{status}#{created_at}",
    "GSI2PK": "STATUS#{status}",
    "GSI2SK": "{created_at}",
}

design = Design(
    "Support, as written",
    tables=[tickets],
    collections=[TicketWithFeedback],
    writes=[
        Write("put_ticket", ItemWrite(Ticket, "put", keys=BY_HAND)),
        Write("add_event", ItemWrite(Event, "put")),
        Write(
            "create_ticket_transactional",
            ItemWrite(IdempotencyRecord, "create"),
            ItemWrite(Ticket, "put", keys=BY_HAND),
            ItemWrite(Event, "put", keys={"SK": "EVENT#{now}#001"}),
        ),
        Write(
            "update_ticket_status_with_event",
            ItemWrite(Ticket, "update", sets=[Ticket.status, Ticket.updated_at]),
            ItemWrite(Event, "put", keys={"SK": "EVENT#{now}#status_change"}),
        ),
        # except TransactionCanceledException: return create_ticket_idempotent(...)
        Write(
            "create_ticket_idempotent",
            ItemWrite(IdempotencyRecord, "create"),
            ItemWrite(Ticket, "put", keys=BY_HAND),
            retries=None,
        ),
    ],
    reactions=[
        Reaction("tickets_by_status", Ticket, events=frozenset(["MODIFY"]), effect="count", once=False),
        Reaction("customer_satisfaction", Feedback, events=frozenset(["INSERT"]), effect="count", once=False),
    ],
    volume={Ticket: Volume(items=1_000_000, size=3_584, distinct={"GSI2PK": 5})},
    claims=[
        # blocks_per_item = max(1, int(item_size_kb))
        CostClaim("calculate_write_capacity", subject="put_ticket", units=3),
        CostClaim("estimate_monthly_cost", write_hour_price=0.00065, read_hour_price=0.00065),
        CostClaim("on_demand_vs_provisioned_analysis", write_price=1.25, read_price=1.25),
    ],
)
