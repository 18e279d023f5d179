"""The conditions on whole items that writes are made under: there, of the entity, not expired, of a version.

Each is an expression, and the one statement of its rule: the service checks it in a request, and ``holds`` evaluates it
on an item that the service has returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import (
    Condition,
    all_of,
    compare,
    equals,
    exists,
    holds,
    missing,
    with_expressions,
)
from tablewright.model import Schema
from tablewright.model.values.attribute_codec import number_text
from tablewright.store.context import Context

# -- expiry and entity ----------------------------------------------------------------------------------------------


def expired_condition(context: Context, schema: Schema) -> Condition | None:
    """The item has expired; None when items of the entity never do."""
    if schema.expiry is None:
        return None
    return compare(schema.expiry.attribute, "<=", {"N": number_text(context.clock())})


def own_conditions(schema: Schema) -> list[Condition]:
    """The item, if there is one, is of the entity; nothing where the table has no type attribute."""
    return [] if schema.table.type_attribute is None else [_own_condition(schema)]


@lru_cache(maxsize=1024)
def _own_condition(schema: Schema) -> Condition:
    attribute = str(schema.table.type_attribute)
    return missing(attribute) | equals(attribute, {"S": schema.type_name})


def live_conditions(context: Context, schema: Schema) -> list[Condition]:
    """The item exists, is of the entity, and has not expired."""
    expired = expired_condition(context, schema)
    # Not "expires later": that would be false of an item that never expires.
    return [*present_conditions(schema), *([] if expired is None else [~expired])]


@lru_cache(maxsize=1024)
def present_conditions(schema: Schema) -> tuple[Condition, ...]:
    """The item exists and is of the entity."""
    return exists(schema.table.partition), *own_conditions(schema)


def free_condition(context: Context, schema: Schema) -> Condition:
    """There is no item, or one that has expired."""
    expired = expired_condition(context, schema)
    absent = missing(schema.table.partition)
    return absent if expired is None else absent | expired


def replaceable_condition(context: Context, schema: Schema) -> Condition | None:
    """There is no item, one of the entity, or one that has expired; None where no other entity can have the key."""
    if not schema.key_collisions:
        return None
    expired, own = expired_condition(context, schema), _own_condition(schema)
    return own if expired is None else own | expired


def free_members(context: Context, schema: Schema) -> Mapping[str, Any]:
    """``free_condition`` as members of a request, the same for all items of an entity but for the time."""
    members = _free_members(schema)
    if schema.expiry is None:
        return members
    now = {"N": number_text(context.clock())}
    return {**members, "ExpressionAttributeValues": dict.fromkeys(members["ExpressionAttributeValues"], now)}


@lru_cache(maxsize=1024)
def _free_members(schema: Schema) -> Mapping[str, Any]:
    return with_expressions({}, free_condition(Context(clock=lambda: 0), schema))


def replaceable_members(context: Context, schema: Schema) -> Mapping[str, Any]:
    """``replaceable_condition`` as the members of a request; none where nothing has to hold."""
    if not schema.key_collisions:
        return {}
    return (
        _own_members(schema) if schema.expiry is None else with_expressions({}, replaceable_condition(context, schema))
    )


@lru_cache(maxsize=1024)
def _own_members(schema: Schema) -> Mapping[str, Any]:
    return with_expressions({}, _own_condition(schema))


def live_item(context: Context, schema: Schema, item: Item | None) -> Item | None:
    """The item, if it is of the entity and has not expired."""
    live = all_of(live_conditions(context, schema))
    return item if item is not None and live is not None and holds(live, item) else None


def is_of_another(schema: Schema, item: Item | None) -> bool:
    """Whether an item is of another entity than its key may be of."""
    return item is not None and not all(holds(condition, item) for condition in own_conditions(schema))


# -- schema versions ------------------------------------------------------------------------------------------------


def current_conditions(schema: Schema) -> list[Condition]:
    """The item has the schema version in which its attributes mean what the declaration says."""
    upgrades = schema.upgrades
    return [] if upgrades is None else [equals(upgrades.attribute, {"N": str(upgrades.schema_version)})]


def is_older(schema: Schema, item: Item) -> bool:
    """Whether an item has an older schema version, so that it has to be replaced, and cannot be changed in place."""
    return schema.upgrades is not None and schema.schema_version_of(item) < schema.upgrades.schema_version


# -- versions -------------------------------------------------------------------------------------------------------


def version_condition(schema: Schema, expected: int) -> Condition:
    assert schema.version is not None
    attribute = schema.version.attribute
    if expected == 0:
        # Items that were stored before the entity had a version have none.
        return missing(attribute) | compare(attribute, "=", {"N": "0"})
    return compare(attribute, "=", {"N": str(expected)})


def version_of(schema: Schema, item: Item) -> int:
    assert schema.version is not None
    return int(item.get(schema.version.attribute, {"N": "0"}).get("N", "0"))
