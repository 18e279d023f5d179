"""Moves: an item whose primary key changes is deleted here and put there, in one transaction.

At no instant are there two of it, or none. The old item is deleted under the condition that it is still what the new
one was made of (its version, or else every field of it), so that nothing that others write in the meantime is lost. The
version goes on counting, the guards of unique fields are handed over to the new key, and values that are outside of the
item are taken along in new blobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, all_equal, all_of, with_expressions
from tablewright.model.schema import Schema
from tablewright.store.blobs.blob_references import references
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, StoreError
from tablewright.store.write.executor import Action, WritePlan
from tablewright.store.write.unique_values import guard_changes
from tablewright.store.write.write_conditions import described, has_version, if_free, version_of
from tablewright.store.write.write_target import key_in

if TYPE_CHECKING:
    from tablewright.store.write.update import Update


def move(update: Update, context: Context, before: Item, after: Item, conditions: Sequence[Condition]) -> WritePlan:
    """The plan that takes an item from one key to another, if it still meets the conditions."""
    schema = update.schema
    name = context.name_of(schema.table)
    old_key, new_key = key_in(schema, before), key_in(schema, after)

    def taken(found: Item | None) -> StoreError:
        return AlreadyExists(schema.entity.__name__, described(schema, new_key))

    placed = update.outside.place(schema, after, references(before), same=False) if schema.large else None
    stored = after if placed is None else placed.item
    result = after if placed is None else placed.whole(after)
    leave = with_expressions({"TableName": name, "Key": old_key}, all_of(conditions))
    arrive = {"TableName": name, "Item": stored, **if_free(context, schema)}
    actions = [
        Action("Delete", leave, lambda found: update.refusal(context, found, old_key)),
        Action("Put", arrive, taken),
    ]
    guards = guard_changes(schema, before, old_key, after, new_key)
    return WritePlan(actions, guards, lambda _: update.result(result), placed)


def unchanged(schema: Schema, before: Item) -> list[Condition]:
    """The conditions that an item is still the same in all its fields."""
    if schema.version is not None:
        return [has_version(schema, version_of(schema, before))]
    names = dict.fromkeys([*schema.by_attribute, *before])
    return all_equal({name: before.get(name) for name in names if name not in schema.key_rules})
