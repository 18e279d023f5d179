"""The internal tables of the runtime.

``tablewright-events`` has a stream, which subscribers read. ``tablewright-internal`` has none, as nothing consumes its
changes: checkpoints of consumers, dead letters, records of mail, and idempotency records.
"""

from __future__ import annotations

from tablewright.model import GlobalIndex, Table

# What other packages use.
__all__ = [
    "events_table",
    "internal_table",
]

events_table = Table(
    "tablewright-events",
    "PK",
    "SK",
    indexes=[GlobalIndex("bySource", "GSI1PK", "GSI1SK")],
    type_attribute="kind",
    ttl="ttl",
    stream="NEW_IMAGE",
)

internal_table = Table("tablewright-internal", "PK", "SK", type_attribute="kind", ttl="ttl")
