"""The sparse index of the support desk as its document has it: the time of escalation is the partition key."""

from __future__ import annotations

from datetime import datetime

from tablewright.model import Entity, Get, GlobalIndex, Keys, Query, Table

tickets = Table(
    "prod-tickets-unified",
    "PK",
    "SK",
    indexes=[
        GlobalIndex(
            "escalated-tickets-index",
            "escalated_at",
            "assigned_to",
            include=["ticket_id", "priority", "customer_id", "escalation_reason"],
        )
    ],
)


class Ticket(Entity, table=tickets):
    ticket_id: str
    customer_id: str
    priority: str
    escalated_at: datetime | None = None
    assigned_to: str | None = None
    escalation_reason: str | None = None

    keys = Keys(PK="TICKET#{ticket_id}", SK="METADATA")

    @Get()
    def by_id(self, ticket_id: str) -> None: ...

    # Key('escalated_at').gte('2000-01-01')
    @Query("escalated-tickets-index", newest_first=True)
    def escalated(self, *, since: datetime) -> None: ...
