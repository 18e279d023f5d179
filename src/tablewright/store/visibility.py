"""Which items a read of an entity returns: those of the entity that are live.

The service may delete expired items hours later; a reader must not see them meanwhile.
"""

from __future__ import annotations

from tablewright.dynamo import Item
from tablewright.model import Schema


def is_visible(schema: Schema, item: Item, now: float, key_is_known: bool = False) -> bool:
    """Whether an item is of the entity, and live."""
    if schema.subtypes:
        kind = schema.kind_of(item, key_is_known)
        return kind is not None and not kind.is_expired(item, now)
    if schema.expiry is not None and schema.is_expired(item, now):
        return False
    return schema.matches(item, key_is_known)


def visible(schema: Schema, items: list[Item], now: float, partition_is_known: bool = False) -> list[Item]:
    """Those of some items that are of the entity, and live."""
    if schema.subtypes:
        return [item for item in items if is_visible(schema, item, now)]
    if schema.expiry is not None:
        items = [item for item in items if not schema.is_expired(item, now)]
    return schema.matching(items, partition_is_known)
