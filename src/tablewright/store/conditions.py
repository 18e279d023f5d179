"""The conditions that writes are made under, and what it means when one does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tablewright.model import ModelError
from tablewright.model.attributes import decode, number_text
from tablewright.model.keys import AttributeValue, lookup
from tablewright.model.schema import Item, Schema
from tablewright.store.changes import place_of
from tablewright.store.context import Context
from tablewright.store.errors import ConditionFailed, StoreError, VersionConflict
from tablewright.store.expressions import Compared, Condition, Negated, OneOf, equals, exists, missing, with_condition
from tablewright.store.visibility import is_expired


def is_over(context: Context, schema: Schema) -> Condition | None:
    """The item has expired; None when items of the entity never do."""
    if schema.expiry is None:
        return None
    return Compared(schema.expiry.attribute, "<=", {"N": number_text(context.clock())})


def is_there(context: Context, schema: Schema) -> list[Condition]:
    """The item exists and has not expired."""
    over = is_over(context, schema)
    # Not "is later than": that would be false of an item that never expires.
    return [exists(schema.table.partition), *([] if over is None else [Negated(over)])]


def is_free(context: Context, schema: Schema) -> Condition:
    """There is no item, or one that has expired."""
    over = is_over(context, schema)
    absent = missing(schema.table.partition)
    return absent if over is None else absent | over


def if_free(context: Context, schema: Schema) -> Mapping[str, Any]:
    """``is_free`` as the members of a request, which are the same for all items of an entity but for the time."""
    members = _if_free(schema)
    if schema.expiry is None:
        return members
    now = {"N": number_text(context.clock())}
    return {**members, "ExpressionAttributeValues": dict.fromkeys(members["ExpressionAttributeValues"], now)}


@lru_cache(maxsize=1024)
def _if_free(schema: Schema) -> Mapping[str, Any]:
    return with_condition({}, is_free(Context(clock=lambda: 0), schema))


def living(context: Context, schema: Schema, item: Item | None) -> Item | None:
    """The item, unless it has expired."""
    return None if item is None or is_expired(schema, item, context.clock()) else item


# -- versions -------------------------------------------------------------------------------------------------------


def has_version(schema: Schema, expected: int) -> Condition:
    assert schema.version is not None
    attribute = schema.version.attribute
    if expected == 0:
        # Items that were stored before the entity had a version have none.
        return missing(attribute) | Compared(attribute, "=", {"N": "0"})
    return Compared(attribute, "=", {"N": str(expected)})


def version_of(schema: Schema, item: Item) -> int:
    assert schema.version is not None
    return int(item.get(schema.version.attribute, {"N": "0"}).get("N", "0"))


def version_refusal(schema: Schema, item: Item | None, expected: int | None, key: Item) -> StoreError | None:
    """The conflict, if the item has not the expected version."""
    if expected is None or (item is not None and version_of(schema, item) == expected):
        return None
    found = None if item is None else version_of(schema, item)
    return VersionConflict(schema.entity.__name__, described(schema, key), expected, found)


# -- conditions of the caller's own ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expectations:
    """Fields that must have a given value, or one of several, for a write to happen."""

    schema: Schema
    given: Mapping[str, Any]

    def __post_init__(self) -> None:
        for spec in self.schema.large if self.given else ():
            if spec.name in self.given:
                name = self.schema.entity.__name__
                raise ModelError(
                    f"{name}.{spec.name} is Large and may be outside of its item: nothing can depend on it"
                )

    def _allowed(self) -> list[tuple[str, str, list[AttributeValue | None]]]:
        allowed = []
        for path, wanted in self.given.items():
            place = place_of(self.schema.entity, path)
            choices = wanted if isinstance(wanted, list | tuple | set | frozenset) else (wanted,)
            allowed.append((path, place.path, [place.encode(choice) for choice in choices]))
        return allowed

    def conditions(self) -> list[Condition]:
        conditions: list[Condition] = []
        for _, path, values in self._allowed():
            present = [value for value in values if value is not None]
            condition: Condition | None = None
            if present:
                condition = equals(path, present[0]) if len(present) == 1 else OneOf(path, present)
            if len(present) < len(values):
                condition = missing(path) if condition is None else condition | missing(path)
            if condition is not None:
                conditions.append(condition)
        return conditions

    def refusal(self, item: Item, key: Item) -> StoreError | None:
        for path, stored_path, values in self._allowed():
            found = lookup(item, stored_path)
            if found not in values:
                options = " or ".join("absent" if value is None else str(decode(value)) for value in values)
                state = "absent" if found is None else str(decode(found))
                name = self.schema.entity.__name__
                return ConditionFailed(f"{name} {described(self.schema, key)}: {path} is {state}, not {options}")
        return None


# -- in words -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _identity(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The fields that the primary key follows from, each with its path in the item."""
    paths: list[str] = []
    for attribute in schema.table.key:
        rule = schema.rules.get(attribute)
        paths.extend([attribute] if rule is None else [part.name for part in rule.template.fields])
    names = {}
    for path in paths:
        attribute, dot, rest = path.partition(".")
        names[schema.by_attribute[attribute].name + dot + rest] = path
    return tuple(names.items())


def described(schema: Schema, item: Item) -> str:
    """Which item it is, by field: ``user_id u-1, call_id c-9``. A primary key will do for an item."""
    values: Item = {}
    for attribute in schema.table.key:
        rule = schema.rules.get(attribute)
        if rule is None:
            values[attribute] = item[attribute]
        else:
            values.update(rule.parse(item.get(attribute, {}).get("S", "")) or {})
    told = []
    for name, path in _identity(schema):
        value = lookup(item, path) or values.get(path)
        if value is not None:
            told.append(f"{name} {decode(value)}")
    return ", ".join(told) or "(the only one)"
