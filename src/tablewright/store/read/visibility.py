"""Which items a read of an entity returns: those of the entity that are live.

The service may delete expired items hours later; a reader must not see them meanwhile.
"""

from __future__ import annotations

from tablewright.dynamo import Item
from tablewright.model import Schema


def is_expired(schema: Schema, item: Item, now: float) -> bool:
    """Whether an item has expired; only a number counts as a time to live, as for the service."""
    if schema.expiry is None:
        return False
    moment = item.get(schema.expiry.attribute)
    return moment is not None and "N" in moment and float(moment["N"]) <= now


def is_visible(schema: Schema, item: Item, now: float, key_is_known: bool = False) -> bool:
    """Whether an item is of the entity, and live."""
    if schema.subtypes:
        kind = schema.kind_of(item, key_is_known)
        return kind is not None and not is_expired(kind, item, now)
    if schema.expiry is not None and is_expired(schema, item, now):
        return False
    return schema.matches(item, key_is_known)


def visible(schema: Schema, items: list[Item], now: float, partition_is_known: bool = False) -> list[Item]:
    """Those of some items that are of the entity, and live."""
    if schema.subtypes:
        return [item for item in items if is_visible(schema, item, now)]
    if schema.expiry is not None:
        items = [item for item in items if not is_expired(schema, item, now)]
    return schema.matching(items, partition_is_known)
