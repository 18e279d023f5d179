"""The runtime's own tables.

``events`` has a stream, which subscribers read. ``notes`` has none, as nothing follows from what is there: how far
consumers are, dead letters, what mail was sent, and what was asked for under idempotency keys.
"""

from __future__ import annotations

from tablewright.model import GlobalIndex, Table

events_table = Table(
    "tablewright-events",
    "PK",
    "SK",
    indexes=[GlobalIndex("bySource", "GSI1PK", "GSI1SK")],
    type_attribute="kind",
    ttl="ttl",
    stream="NEW_IMAGE",
)

notes_table = Table("tablewright-notes", "PK", "SK", type_attribute="kind", ttl="ttl")
