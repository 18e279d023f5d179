"""What a read of an entity shows: items of the entity, and of those only the ones that have not expired.

The service deletes expired items when it gets round to it, hours later perhaps; a reader must not see them meanwhile.
"""

from __future__ import annotations

from tablewright.dynamo import Item
from tablewright.model.schema import Schema


def is_expired(schema: Schema, item: Item, now: float) -> bool:
    """Whether an item's time to live is over; only a number counts as one, as for the service."""
    if schema.expiry is None:
        return False
    moment = item.get(schema.expiry.attribute)
    return moment is not None and "N" in moment and float(moment["N"]) <= now


def is_visible(schema: Schema, item: Item, now: float, key_is_known: bool = False) -> bool:
    return not is_expired(schema, item, now) and schema.matches(item, key_is_known)


def visible(schema: Schema, items: list[Item], now: float, partition_is_known: bool = False) -> list[Item]:
    """Those of some items that a read of the entity shows."""
    if schema.expiry is not None:
        items = [item for item in items if not is_expired(schema, item, now)]
    return schema.matching(items, partition_is_known)
