"""Reading single items: by primary key, by an index, and any number at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tablewright.model import Entity, Lookup, ModelError, schema_of
from tablewright.model.schema import Item
from tablewright.store.batch_reads import batch_get
from tablewright.store.context import Context
from tablewright.store.flow import Flow, Request
from tablewright.store.plans import plan_lookup, primary_key
from tablewright.store.queries import Reading
from tablewright.store.retry import retrying
from tablewright.store.visibility import is_visible

E = TypeVar("E", bound=Entity)


def get(context: Context, lookup: Lookup[E], *, consistent: bool | None = None) -> Flow[E | None]:
    """The entity, or None when there is none: no item, an expired one, or one of another entity."""
    if lookup.index is not None:
        items = yield from Reading(context, plan_lookup(context, lookup, consistent=consistent)).take(1)
        return lookup.entity.of(items[0]) if items else None
    schema = schema_of(lookup.entity)
    pattern = f"{lookup.entity.__name__}.{lookup.name}"
    body: dict[str, Any] = {
        "TableName": context.name_of(schema.table),
        "Key": primary_key(schema, pattern, lookup.values),
    }
    if lookup.consistent if consistent is None else consistent:
        body["ConsistentRead"] = True
    response = yield from retrying(context, Request("GetItem", body, pattern))
    item: Item | None = response.get("Item")
    if item is None or not is_visible(schema, item, context.clock()):
        return None
    return lookup.entity.of(item)


def get_many(context: Context, lookups: Sequence[Lookup[E]], *, consistent: bool | None = None) -> Flow[list[E | None]]:
    """The entities of any number of lookups by primary key, in their order, with None for those that are not there."""
    wanted = []
    for lookup in lookups:
        pattern = f"{lookup.entity.__name__}.{lookup.name}"
        if lookup.index is not None:
            raise ModelError(f"{pattern} reads an index; many items at once can be read by primary key only")
        schema = schema_of(lookup.entity)
        wanted.append((context.name_of(schema.table), primary_key(schema, pattern, lookup.values)))
    names = dict.fromkeys(f"{lookup.entity.__name__}.{lookup.name}" for lookup in lookups)
    # One request reads in one way; if any of them needs it, all are read so.
    strongly = any(lookup.consistent for lookup in lookups) if consistent is None else consistent
    items = yield from batch_get(context, wanted, ", ".join(names), consistent=strongly)
    now = context.clock()
    found: list[E | None] = []
    for lookup, item in zip(lookups, items, strict=True):
        visible = item is not None and is_visible(schema_of(lookup.entity), item, now)
        found.append(lookup.entity.of(item) if item is not None and visible else None)
    return found
