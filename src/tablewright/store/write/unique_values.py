"""Unique fields, by guards: items that stand for a value that is taken.

A guard is an item of the same table whose key is made of the entity, the field and the value, so that there can be one
at most. It names its owner by primary key, and expires with it. It is taken, handed over and released in the
transaction that writes the owner; an existing guard belongs to an existing item that has the value.

An expired guard may be taken over, as its owner counts as deleted. So may one that the same owner holds already, which
is what is left behind when items are deleted without the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.dynamo.expressions.builder import Condition, any_of, equals, missing, with_expressions
from tablewright.model import Schema, Unique
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.values.attribute_codec import decode
from tablewright.store.context import Context
from tablewright.store.errors import NotUnique
from tablewright.store.write.planning.attribute_dependencies import dependencies
from tablewright.store.write.planning.item_conditions import expired_condition, is_older

# The primary key of the item that has the value.
OWNER = "owner"


# Not frozen, though no field is ever changed: one is made for every unique field that is written.
@dataclass(slots=True)
class GuardChange:
    """A guard that passes from one owner to another; None: it is free before, or afterwards."""

    schema: Schema
    spec: FieldSpec
    value: AttributeValue
    before: Item | None
    after: Item | None
    expiry: AttributeValue | None = None
    key: Item = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.schema.guard_key(self.spec, self.value)

    @property
    def identity(self) -> tuple[str, str]:
        """Which guard it is: the table, and its key."""
        (partition,) = self.key[self.schema.table.partition].values()
        return self.schema.table.name, partition

    def merged(self, other: GuardChange) -> GuardChange:
        """Both changes in one, for two actions of a transaction: one gives the value up that the other one takes."""
        taker, giver = (self, other) if self.after is not None else (other, self)
        return GuardChange(taker.schema, taker.spec, taker.value, giver.before, taker.after, taker.expiry)

    def action(self, context: Context) -> tuple[str, dict[str, Any]]:
        """The kind and body of the action that makes the change."""
        body: dict[str, Any] = {"TableName": context.name_of(self.schema.table)}
        condition = self._condition(context)
        if self.after is None:
            return "Delete", with_expressions({**body, "Key": self.key}, condition)
        return "Put", with_expressions({**body, "Item": guard_item(self)}, condition)

    def _condition(self, context: Context) -> Condition:
        allowed: list[Condition] = [missing(OWNER)]
        expired = expired_condition(context, self.schema)
        if expired is not None:
            allowed.append(expired)
        owners = [owner for owner in (self.before, self.after) if owner is not None]
        allowed.extend(equals(OWNER, {"M": owner}) for owner in owners)
        return any_of(allowed)

    def refusal(self) -> NotUnique:
        return NotUnique(self.schema.entity.__name__, self.spec.name, decode(self.value), self.spec.marker(Unique).per)


def guard_changes(
    schema: Schema, before: Item | None, key_before: Item, after: Item | None, key_after: Item
) -> list[GuardChange]:
    """What happens to the guards of an item that is changed from one state to another; None: it does not exist."""
    changes = []
    for spec in schema.unique:
        old = None if before is None else schema.guard_value(spec, before)
        new = None if after is None else schema.guard_value(spec, after)
        expiry = expiry_of(schema, after)
        if old is not None and old != new:
            changes.append(GuardChange(schema, spec, old, key_before, None))
        if new is not None and not (old == new and key_before == key_after and expiry_of(schema, before) == expiry):
            changes.append(GuardChange(schema, spec, new, key_before if old == new else None, key_after, expiry))
    return changes


def expiry_of(schema: Schema, item: Item | None) -> AttributeValue | None:
    return None if item is None or schema.expiry is None else item.get(schema.expiry.attribute)


def guard_item(change: GuardChange) -> Item:
    """The guard itself."""
    schema = change.schema
    item = {**change.key, OWNER: {"M": change.after}}
    if change.expiry is not None and schema.expiry is not None:
        item[schema.expiry.attribute] = change.expiry
    return item


def expected_guards(schema: Schema, item: Item) -> list[Item]:
    """The guards that an item should have."""
    key = schema.key_of(item)
    return [guard_item(change) for change in guard_changes(schema, None, key, item, key)]


def guarded_values(schema: Schema, item: Item) -> dict[str, AttributeValue | None]:
    """The attributes that an item's guards follow from, as they are; of an older schema version that may be any."""
    if is_older(schema, item):
        return dict(item)
    return {name: item.get(name) for name in sorted(dependencies(schema).guards)}
