"""The tables of Support and their indexes."""

from __future__ import annotations

from tablewright.model import (
    GlobalIndex,
    Table,
)

__all__ = [
    "ESCALATION_ATTRIBUTES",
    "ESCALATION_SHARDS",
    "RECENT_SHARDS",
    "STATUS_SHARDS",
    "UNANSWERED_SHARDS",
    "metrics",
    "tickets",
]

STATUS_SHARDS = 8
ESCALATION_SHARDS = 4
RECENT_SHARDS = 4
UNANSWERED_SHARDS = 4

# The attributes in the indexes of escalations: the type, needed in a table of several entities, and what is shown.
ESCALATION_ATTRIBUTES = [
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
        # Keys only: listed tickets are read by id, so that only new tickets are written to this index, and no changes.
        # With all attributes, every change of a status would cost one more write.
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
            include=ESCALATION_ATTRIBUTES,
        ),
        GlobalIndex(
            "engineer-index",
            "GSI5PK",
            "GSI4SK",
            include=ESCALATION_ATTRIBUTES,
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
    # Open dashboards read again when it changes.
    stream="NEW_AND_OLD_IMAGES",
    tags={"Environment": "production", "Application": "ai-technical-support"},
)
