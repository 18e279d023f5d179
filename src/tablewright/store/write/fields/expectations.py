"""What a caller expects of an item (``expect=attr(Ticket.status) == OPEN``), as preconditions of a write."""

from __future__ import annotations

from collections.abc import Iterable

from tablewright.dynamo import AttributeValue, Item, value_at
from tablewright.model import FieldCondition, ModelError, Schema
from tablewright.model.values.attribute_codec import decode
from tablewright.store.errors import ConditionFailed, StoreError
from tablewright.store.item_description import describe_item
from tablewright.store.write.planning.preconditions import Precondition

# Characters of a value that a message shows.
_MAX_SHOWN = 200
_NULL: AttributeValue = {"NULL": True}


# What a caller gives, and what an operation keeps of it.
Expected = FieldCondition | Iterable[FieldCondition]
Expectations = tuple[FieldCondition, ...]


def expectations(schema: Schema, expect: Expected | None) -> Expectations:
    """What is expected; refuses what no condition can be on."""
    if expect is None:
        return ()
    conditions = (expect,) if isinstance(expect, FieldCondition) else tuple(expect)
    for condition in conditions:
        if not isinstance(condition, FieldCondition):
            raise ModelError(
                f"expect takes conditions, such as attr({schema.entity.__name__}.x) == 1, not {condition!r}"
            )
        if condition.entity is not schema.entity and not issubclass(schema.entity, condition.entity):
            other, name = condition.entity.__name__, schema.entity.__name__
            raise ModelError(f"{condition.text} is a condition on {other}, and this is a write of {name}")
    return conditions


def expected_preconditions(schema: Schema, expect: Expectations, key: Item) -> list[Precondition]:
    """One for each condition; ``key`` says in messages which item it is."""
    return [_precondition(schema, condition, key) for condition in expect]


def _precondition(schema: Schema, expect: FieldCondition, key: Item) -> Precondition:
    def refusal(item: Item) -> StoreError:
        values = {path: value_at(item, stored) or schema.defaults.get(stored) for path, stored in expect.paths}
        states = [f"{path} is {_shown(value)}" for path, value in values.items()]
        which = describe_item(schema, key)
        return ConditionFailed(f"{schema.entity.__name__} {which}: {expect.text} does not hold: {', '.join(states)}")

    return Precondition(expect.node, refusal)


def _shown(value: AttributeValue | None) -> str:
    text = "absent" if value is None or value == _NULL else str(decode(value))
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
