"""Preconditions: what must hold of the stored item for an action to be made, and what it means when it does not.

    Precondition(condition, refusal)       the refusal is an error in the words of the design
    Precondition(condition)                an assumption: when it is out of date, the operation is planned again

The service checks the conditions of an action as one. When it refuses, it returns the item, and the first precondition
that does not hold of it says why. So their order is the order in which errors are reported.

    absent, of another entity, expired     NotFound; VersionConflict if a version was read
    found by an index, and changed since   the same
    of another version                     VersionConflict
    ``expect``, a bound of a field         ConditionFailed
    the key to put at is taken             AlreadyExists
    a unique value is taken                NotUnique (by its guard, see ``unique_values``)
    an assumption is out of date           planned again; after many attempts, Conflict
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, holds
from tablewright.model import Schema
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, StoreError, VersionConflict
from tablewright.store.item_description import describe_item
from tablewright.store.write.planning.item_conditions import (
    current_conditions,
    expired_condition,
    free_condition,
    present_conditions,
    version_condition,
    version_of,
)

# The error for an item that a precondition does not hold of; None: plan again.
Refusal = Callable[[Item], StoreError | None]


# Not frozen, though no field is ever changed: every write makes some.
@dataclass(slots=True)
class Precondition:
    """What must hold of the stored item, and the error when it does not; without one, it is an assumption."""

    condition: Condition
    refusal: Refusal | None = None


def assumptions(conditions: Iterable[Condition]) -> list[Precondition]:
    """Preconditions that were true when the write was planned; when they are not any more, it is planned again."""
    return [Precondition(condition) for condition in conditions]


def refusal_of(preconditions: Iterable[Precondition], item: Item | None) -> StoreError | None:
    """The error of the first precondition that does not hold of an item; None: plan again."""
    stored = item or {}
    first = next((each for each in preconditions if not holds(each.condition, stored)), None)
    return None if first is None or first.refusal is None else first.refusal(stored)


def live_preconditions(context: Context, schema: Schema, refusal: Refusal) -> list[Precondition]:
    """The item exists, is of the entity and current, and has not expired.

    That it is current is assumed, and comes before anything else that depends on its attributes: an older item is
    planned again, and looked at as what its upgrades make of it.
    """
    preconditions = [Precondition(condition, refusal) for condition in present_conditions(schema)]
    if schema.upgrades is not None:
        preconditions += assumptions(current_conditions(schema))
    expired = expired_condition(context, schema)
    if expired is not None:
        preconditions.append(Precondition(~expired, refusal))
    return preconditions


def already_exists(schema: Schema, item: Item) -> AlreadyExists:
    """The error for a key that is taken; the item has at least its key."""
    return AlreadyExists(schema.entity.__name__, describe_item(schema, item))


def free_precondition(context: Context, schema: Schema, item: Item, refusal: Refusal | None = None) -> Precondition:
    """The key to put an item at is free: there is no item, or one that has expired. Else it is AlreadyExists."""
    return Precondition(free_condition(context, schema), refusal or (lambda _: already_exists(schema, item)))


def version_conflict(schema: Schema, item: Item | None, expected: int, key: Item) -> StoreError:
    """The error for an item that has not the expected version; None: it is gone."""
    found = None if item is None else version_of(schema, item)
    return VersionConflict(schema.entity.__name__, describe_item(schema, key), expected, found)


def version_precondition(schema: Schema, expected: int, key: Item) -> Precondition:
    """The item has the version that was read."""
    return Precondition(
        version_condition(schema, expected), lambda item: version_conflict(schema, item or None, expected, key)
    )
