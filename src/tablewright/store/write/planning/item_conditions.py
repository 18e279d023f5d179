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


def has_expired(context: Context, schema: Schema) -> Condition | None:
    """The item has expired; None when items of the entity never do."""
    if schema.expiry is None:
        return None
    return compare(schema.expiry.attribute, "<=", {"N": number_text(context.clock())})


def is_own(schema: Schema) -> list[Condition]:
    """The item, if there is one, is of the entity; nothing where the table has no type attribute."""
    return [] if schema.table.type_attribute is None else [_is_own(schema)]


@lru_cache(maxsize=1024)
def _is_own(schema: Schema) -> Condition:
    attribute = str(schema.table.type_attribute)
    return missing(attribute) | equals(attribute, {"S": schema.type_name})


def is_live(context: Context, schema: Schema) -> list[Condition]:
    """The item exists, is of the entity, and has not expired."""
    expired = has_expired(context, schema)
    # Not "expires later": that would be false of an item that never expires.
    return [exists(schema.table.partition), *is_own(schema), *([] if expired is None else [~expired])]


def is_free(context: Context, schema: Schema) -> Condition:
    """There is no item, or one that has expired."""
    expired = has_expired(context, schema)
    absent = missing(schema.table.partition)
    return absent if expired is None else absent | expired


def is_replaceable(context: Context, schema: Schema) -> Condition | None:
    """There is no item, one of the entity, or one that has expired; None where no other entity can have the key."""
    if not schema.key_collisions:
        return None
    expired, own = has_expired(context, schema), _is_own(schema)
    return own if expired is None else own | expired


def if_free(context: Context, schema: Schema) -> Mapping[str, Any]:
    """``is_free`` as the members of a request, which are the same for all items of an entity but for the time."""
    members = _if_free(schema)
    if schema.expiry is None:
        return members
    now = {"N": number_text(context.clock())}
    return {**members, "ExpressionAttributeValues": dict.fromkeys(members["ExpressionAttributeValues"], now)}


@lru_cache(maxsize=1024)
def _if_free(schema: Schema) -> Mapping[str, Any]:
    return with_expressions({}, is_free(Context(clock=lambda: 0), schema))


def if_replaceable(context: Context, schema: Schema) -> Mapping[str, Any]:
    """``is_replaceable`` as the members of a request; none where nothing has to hold."""
    if not schema.key_collisions:
        return {}
    return _if_own(schema) if schema.expiry is None else with_expressions({}, is_replaceable(context, schema))


@lru_cache(maxsize=1024)
def _if_own(schema: Schema) -> Mapping[str, Any]:
    return with_expressions({}, _is_own(schema))


def if_live(context: Context, schema: Schema, item: Item | None) -> Item | None:
    """The item, if it is of the entity and has not expired."""
    live = all_of(is_live(context, schema))
    return item if item is not None and live is not None and holds(live, item) else None


def is_of_another(schema: Schema, item: Item | None) -> bool:
    """Whether an item is of another entity than its key may be of."""
    return item is not None and not all(holds(condition, item) for condition in is_own(schema))


# -- schema versions ------------------------------------------------------------------------------------------------


def is_current(schema: Schema) -> list[Condition]:
    """The item has the schema version in which its attributes mean what the declaration says."""
    upgrades = schema.upgrades
    return [] if upgrades is None else [equals(upgrades.attribute, {"N": str(upgrades.schema_version)})]


def is_older(schema: Schema, item: Item) -> bool:
    """Whether an item has an older schema version, so that it has to be replaced, and cannot be changed in place."""
    return schema.upgrades is not None and schema.schema_version_of(item) < schema.upgrades.schema_version


# -- versions -------------------------------------------------------------------------------------------------------


def has_version(schema: Schema, expected: int) -> Condition:
    assert schema.version is not None
    attribute = schema.version.attribute
    if expected == 0:
        # Items that were stored before the entity had a version have none.
        return missing(attribute) | compare(attribute, "=", {"N": "0"})
    return compare(attribute, "=", {"N": str(expected)})


def version_of(schema: Schema, item: Item) -> int:
    assert schema.version is not None
    return int(item.get(schema.version.attribute, {"N": "0"}).get("N", "0"))
