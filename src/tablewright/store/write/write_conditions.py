"""The conditions that writes are made under, and what it means when one does not hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType
from typing import Any

from tablewright.dynamo import AttributeValue, Item, non_null_at
from tablewright.dynamo.expressions.builder import (
    Condition,
    any_of,
    compare,
    equals,
    exists,
    missing,
    one_of,
    value_at,
    with_expressions,
)
from tablewright.model import ModelError
from tablewright.model.items.field_layout import invalid_value
from tablewright.model.schema import Schema
from tablewright.model.values.attribute_codec import decode, number_text
from tablewright.store.context import Context
from tablewright.store.errors import ConditionFailed, StoreError, VersionConflict
from tablewright.store.read.visibility import is_expired
from tablewright.store.write.field_paths import Place, place_of


def is_over(context: Context, schema: Schema) -> Condition | None:
    """The item has expired; None when items of the entity never do."""
    if schema.expiry is None:
        return None
    return compare(schema.expiry.attribute, "<=", {"N": number_text(context.clock())})


def is_own(schema: Schema) -> list[Condition]:
    """The item, if there is one, is of the entity; nothing where the primary key tells that by itself."""
    return [] if schema.table.type_attribute is None else [_is_own(schema)]


@lru_cache(maxsize=1024)
def _is_own(schema: Schema) -> Condition:
    attribute = str(schema.table.type_attribute)
    return missing(attribute) | equals(attribute, {"S": schema.type_name})


def is_replaceable(context: Context, schema: Schema) -> Condition | None:
    """There is no item, one of the entity, or one that has expired; None where the primary key tells entities apart,
    so that there cannot be another one."""
    if not schema.key_collisions:
        return None
    over, own = is_over(context, schema), _is_own(schema)
    return own if over is None else own | over


def is_there(context: Context, schema: Schema) -> list[Condition]:
    """The item exists, is of the entity, and has not expired."""
    over = is_over(context, schema)
    # Not "is later than": that would be false of an item that never expires.
    return [exists(schema.table.partition), *is_own(schema), *([] if over is None else [~over])]


def has_present_shape(schema: Schema) -> list[Condition]:
    """The item has the shape in which its attributes mean what the declaration says."""
    upgrades = schema.upgrades
    return [] if upgrades is None else [equals(upgrades.attribute, {"N": str(upgrades.schema_version)})]


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
    return with_expressions({}, is_free(Context(clock=lambda: 0), schema))


def if_replaceable(context: Context, schema: Schema) -> Mapping[str, Any]:
    """``is_replaceable`` as the members of a request; none where nothing has to hold."""
    if not schema.key_collisions:
        return {}
    return _if_own(schema) if schema.expiry is None else with_expressions({}, is_replaceable(context, schema))


@lru_cache(maxsize=1024)
def _if_own(schema: Schema) -> Mapping[str, Any]:
    return with_expressions({}, _is_own(schema))


def living(context: Context, schema: Schema, item: Item | None) -> Item | None:
    """The item, unless it has expired, or is of another entity."""
    if item is None or is_expired(schema, item, context.clock()) or is_of_another(schema, item):
        return None
    return item


def is_of_another(schema: Schema, item: Item | None) -> bool:
    """Whether an item that has a key of the entity is of another one, as its type attribute says."""
    return item is not None and not schema.matches(item, key_is_known=True)


def has_older_shape(schema: Schema, item: Item | None) -> bool:
    """Whether an item is of the entity, and of an older shape of it."""
    if item is None or schema.upgrades is None or is_of_another(schema, item):
        return False
    return schema.schema_version_of(item) < schema.upgrades.schema_version


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
        """Of each field, its name, where it is stored, and the values that it may have."""
        allowed = []
        for path, wanted in self.given.items():
            place = place_of(self.schema.entity, path)
            choices = _choices(place, wanted)
            allowed.append((path, place.path, [self._stored(path, place, choice) for choice in choices]))
        return allowed

    def _stored(self, path: str, place: Place, choice: Any) -> AttributeValue | None:
        """A value that is expected, as the field takes it; what no item can have is a mistake."""
        schema = self.schema
        if choice is None:
            return place.encode(None)
        if path in schema.fields:
            return schema.encode_values({path: choice}).get(place.path)
        try:
            return place.encode(place.validate(choice))
        except (TypeError, ValueError) as error:
            raise invalid_value(f"{schema.entity.__name__}.{path}", choice, error) from None

    def conditions(self) -> list[Condition]:
        conditions: list[Condition] = []
        for _, path, values in self._allowed():
            present = [value for value in values if value is not None]
            options: list[Condition] = []
            if present:
                options.append(equals(path, present[0]) if len(present) == 1 else one_of(path, present))
            if len(present) < len(values):
                # Other writers may say so in either way.
                options += [missing(path), equals(path, _NULL)]
            # One of no values is none that any item has.
            conditions.append(any_of(options) if options else missing(self.schema.table.partition))
        return conditions

    def refusal(self, item: Item, key: Item) -> StoreError | None:
        for path, stored_path, values in self._allowed():
            found = value_at(item, stored_path)
            if found == _NULL and _NULL not in values:
                found = None
            if not any(_same(found, value) for value in values):
                options = " or ".join("absent" if value is None else str(decode(value)) for value in values)
                state = "absent" if found is None else str(decode(found))
                name = self.schema.entity.__name__
                wanted = f"not {options}" if values else "and there is no value that it may have"
                return ConditionFailed(f"{name} {described(self.schema, key)}: {path} is {state}, {wanted}")
        return None


_NULL: AttributeValue = {"NULL": True}
_SEVERAL = (list, tuple, set, frozenset)


def _choices(place: Place, wanted: Any) -> Collection[Any]:
    """The values of which one is wanted. Where a value is a list or a set itself, several are a list of those."""
    if not isinstance(wanted, _SEVERAL):
        return (wanted,)
    if place.types & {"L", "SET"} and not (wanted and all(isinstance(each, (*_SEVERAL, NoneType)) for each in wanted)):
        return (wanted,)
    return wanted


def _same(one: AttributeValue | None, other: AttributeValue | None) -> bool:
    """Whether two stored values are equal; a set has no order."""
    return one == other if one is None or other is None else bool(decode(one) == decode(other))


# -- in words -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _identity(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The fields that the primary key follows from, each with its path in the item."""
    paths: list[str] = []
    for attribute in schema.table.key:
        rule = schema.key_rules.get(attribute)
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
        rule = schema.key_rules.get(attribute)
        if rule is None:
            values[attribute] = item[attribute]
        else:
            values.update(rule.parse(item.get(attribute, {}).get("S", "")) or {})
    told = []
    for name, path in _identity(schema):
        value = non_null_at(item, path) or values.get(path)
        if value is not None:
            told.append(f"{name} {decode(value)}")
    return ", ".join(told) or "(the only one)"
