"""Which item a write is for: an entity, or a lookup."""

from __future__ import annotations

from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import all_equal, holds
from tablewright.model import Entity, Lookup, Schema, schema_of
from tablewright.store.context import Context
from tablewright.store.errors import ReadRequired
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.item_description import describe_lookup
from tablewright.store.read.pager import open_pager
from tablewright.store.read.planning.read_planner import plan_lookup
from tablewright.store.visibility import is_visible
from tablewright.store.write.planning.preconditions import Precondition, Refusal


def pattern_of(lookup: Lookup[Any]) -> str:
    return f"{lookup.entity.__name__}.{lookup.name}"


def key_of_lookup(lookup: Lookup[Any]) -> Item:
    """The primary key of a lookup that is not by an index."""
    return schema_of(lookup.entity).key_for(lookup.values, pattern_of(lookup))


def version_read(schema: Schema, target: Entity | Lookup[Any]) -> int | None:
    """The version that an entity was read with; None: it has none, or whichever is stored will do."""
    if schema.version is None or not isinstance(target, Entity):
        return None
    version: int = getattr(target, schema.version.name)
    return version


def key_in(schema: Schema, item: Item) -> Item:
    """The primary key of a whole item."""
    try:
        return {name: item[name] for name in schema.table.key}
    except KeyError:
        # Says which fields are missing.
        return schema.key_of(item)


def read_target(context: Context, lookup: Lookup[Any], needed: str) -> Flow[Item | None]:
    """The whole item that a lookup finds, as it is now; None if it does not exist, or has expired.

    An index is behind the table and may not have all attributes, so the item that it leads to is read from the table,
    and must still be the one that was looked up.
    """
    schema = schema_of(lookup.entity)
    if context.strict:
        raise ReadRequired(lookup.entity.__name__, describe_lookup(lookup), needed)
    if lookup.index is None:
        key = key_of_lookup(lookup)
    else:
        items = yield from open_pager(context, plan_lookup(context, lookup)).take(1)
        if not items:
            return None
        key = {name: items[0][name] for name in schema.table.key}
    item = yield from read_item(context, schema, key, pattern_of(lookup))
    if item is None or lookup.index is None:
        return item
    matching = all(holds(each.condition, item) for each in match_preconditions(lookup, lambda _: None))
    return item if matching else None


def read_item(context: Context, schema: Schema, key: Item, pattern: str) -> Flow[Item | None]:
    """The item under a key, as it is now; None if it does not exist, or has expired."""
    body = {"TableName": context.name_of(schema.table), "Key": key, "ConsistentRead": True}
    response = yield from retrying(context, Request("GetItem", body, pattern))
    item: Item | None = response.get("Item")
    visible = item is not None and is_visible(schema, item, context.clock(), key_is_known=True)
    return item if visible else None


def match_preconditions(target: Entity | Lookup[Any], refusal: Refusal) -> list[Precondition]:
    """An item that was found by an index still has the values that were looked up."""
    if isinstance(target, Entity) or target.index is None:
        return []
    schema = schema_of(target.entity)
    looked_up = schema.encode_values(target.values)
    if schema.unstored:
        # What is only in keys is compared there.
        keys = schema.derive(looked_up, sorted(schema.unstored.home_attributes))
        looked_up = schema.unstored.without(looked_up) | keys
    return [Precondition(condition, refusal) for condition in all_equal(looked_up)]
