"""What a caller expects of an item (``expect=attr(Ticket.status) == OPEN``), as preconditions of a write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Any

from tablewright.dynamo import AttributeValue, Item, value_at
from tablewright.dynamo.expressions.builder import Condition, any_of, equals, missing, one_of
from tablewright.model import FieldCondition, ModelError, Schema
from tablewright.model.items.field_layout import invalid_value
from tablewright.model.items.field_paths import Place, place_of
from tablewright.model.values.attribute_codec import decode
from tablewright.store.errors import ConditionFailed, StoreError
from tablewright.store.item_description import describe_item
from tablewright.store.write.planning.preconditions import Precondition

# Characters of a value that a message shows.
_MAX_SHOWN = 200
_NULL: AttributeValue = {"NULL": True}
_SEVERAL = (list, tuple, set, frozenset)


# What a caller gives, and what an operation keeps of it.
Expected = Mapping[str, Any] | FieldCondition | Iterable[FieldCondition]
Expectations = Mapping[str, Any] | tuple[FieldCondition, ...]


def expectations(schema: Schema, expect: Expected | None) -> Expectations:
    """What is expected; refuses what no condition can be on."""
    if expect is None:
        return ()
    if isinstance(expect, Mapping):
        for spec in schema.large:
            if spec.name in expect:
                name = schema.entity.__name__
                raise ModelError(f"{name}.{spec.name} is Large and may be a blob: no condition can be on it")
        return expect
    conditions = (expect,) if isinstance(expect, FieldCondition) else tuple(expect)
    for condition in conditions:
        if not isinstance(condition, FieldCondition):
            raise ModelError(
                f"expect takes conditions, such as attr({schema.entity.__name__}.x) == 1, not {condition!r}"
            )
        if not issubclass(schema.entity, condition.entity):
            other, name = condition.entity.__name__, schema.entity.__name__
            raise ModelError(f"{condition.text} is a condition on {other}, and this is a write of {name}")
    return conditions


def expected_preconditions(schema: Schema, expect: Expectations, key: Item) -> list[Precondition]:
    """One for each field or condition; ``key`` says in messages which item it is."""
    if isinstance(expect, tuple):
        return [_condition_precondition(schema, condition, key) for condition in expect]
    return [_precondition(schema, path, wanted, key) for path, wanted in expect.items()]


def _condition_precondition(schema: Schema, expect: FieldCondition, key: Item) -> Precondition:
    def refusal(item: Item) -> StoreError:
        values = {path: value_at(item, stored) or schema.defaults.get(stored) for path, stored in expect.paths}
        states = [f"{path} is {_shown(value)}" for path, value in values.items()]
        which = describe_item(schema, key)
        return ConditionFailed(f"{schema.entity.__name__} {which}: {expect.text} does not hold: {', '.join(states)}")

    return Precondition(expect.node, refusal)


def _shown(value: AttributeValue | None) -> str:
    text = "absent" if value is None or value == _NULL else str(decode(value))
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."


def _precondition(schema: Schema, path: str, wanted: Any, key: Item) -> Precondition:
    place = place_of(schema.entity, path)
    values = [_stored(schema, path, place, choice) for choice in _choices(place, wanted)]
    present = [value for value in values if value is not None]
    options: list[Condition] = []
    if present:
        options.append(equals(place.path, present[0]) if len(present) == 1 else one_of(place.path, present))
    if place.path in schema.defaults and schema.defaults[place.path] in present:
        options.append(missing(place.path))
    if len(present) < len(values):
        # Other writers may store a None in either way.
        options += [missing(place.path), equals(place.path, _NULL)]
    # No item has one of no values.
    condition = any_of(options) if options else missing(schema.table.partition)

    def refusal(item: Item) -> StoreError:
        found = value_at(item, place.path)
        if found is None:
            found = schema.defaults.get(place.path)
        absent = found is None or (found == _NULL and _NULL not in values)
        state = "absent" if absent or found is None else str(decode(found))
        allowed = " or ".join("absent" if value is None else str(decode(value)) for value in values)
        expected = f"not {allowed}" if values else "and no value is allowed"
        which = describe_item(schema, key)
        return ConditionFailed(f"{schema.entity.__name__} {which}: {path} is {state}, {expected}")

    return Precondition(condition, refusal)


def _stored(schema: Schema, path: str, place: Place, choice: Any) -> AttributeValue | None:
    """A value that is expected, as the field takes it; what no item can have is a mistake."""
    if choice is None:
        return place.encode(None)
    if path in schema.fields:
        return schema.encode_values({path: choice}).get(place.path)
    try:
        return place.encode(place.validate(choice))
    except (TypeError, ValueError) as error:
        raise invalid_value(f"{schema.entity.__name__}.{path}", choice, error) from None


def _choices(place: Place, wanted: Any) -> Collection[Any]:
    """The values of which one is expected. Where a value is a list or a set itself, several are a list of those."""
    if not isinstance(wanted, _SEVERAL):
        return (wanted,)
    if place.types & {"L", "SET"} and not (wanted and all(isinstance(each, (*_SEVERAL, NoneType)) for each in wanted)):
        return (wanted,)
    return wanted
