"""Consistent reads by a unique field: through the guard of its value, not through an index.

A global index is behind its table. The guard of a unique value is not: it is written in the same transaction as the
item that has the value, and names its primary key. So two consistent reads find the item. If it is moved between them,
the guard names another key by then, and is read again.
"""

from __future__ import annotations

from typing import Any

from tablewright.dynamo import Item
from tablewright.model import Lookup, Unique, schema_of
from tablewright.model.items.field_spec import FieldSpec
from tablewright.store.context import Context
from tablewright.store.errors import Conflict
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.visibility import is_visible
from tablewright.store.write.unique_values import OWNER

# Each attempt but the last finds that the item has just been moved.
_ATTEMPTS = 10


def unique_field(lookup: Lookup[Any]) -> FieldSpec | None:
    """The unique field that a lookup is by, if by nothing else."""
    for spec in schema_of(lookup.entity).unique:
        if set(lookup.values) == {spec.name, *spec.marker(Unique).per}:
            return spec
    return None


def get_by_guard(context: Context, lookup: Lookup[Any], spec: FieldSpec) -> Flow[Item | None]:
    """The item that has a unique value, read consistently; None if there is none, or it has expired."""
    schema = schema_of(lookup.entity)
    pattern = f"{lookup.entity.__name__}.{lookup.name}"
    value = schema.guard_value(spec, schema.encode_values(lookup.values))
    if value is None:
        return None
    table = context.name_of(schema.table)

    def read(key: Item) -> Flow[Item | None]:
        body = {"TableName": table, "Key": key, "ConsistentRead": True}
        response = yield from retrying(context, Request("GetItem", body, pattern))
        found: Item | None = response.get("Item")
        return found

    owners: list[Item] = []
    for _ in range(_ATTEMPTS):
        guard = yield from read(schema.guard_key(spec, value))
        if guard is None:
            return None
        owner: Item = guard[OWNER]["M"]
        item = yield from read(owner)
        if item is not None and schema.guard_value(spec, item) == value:
            return item if is_visible(schema, item, context.clock()) else None
        owners.append(owner)
    if all(owner == owners[0] for owner in owners):
        # Another program deleted the item, and left the guard.
        return None
    raise Conflict(
        f"{lookup.entity.__name__} {spec.name} {lookup.values[spec.name]} kept moving to another "
        "item while it was read; try again"
    )
