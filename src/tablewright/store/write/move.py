"""Moves: an item whose primary key changes is deleted at its old key and put at the new one, in one transaction.

At no instant are there two of it, or none. The old item is deleted under the condition that it is still what the new
one was made of (its version, or else every field of it), so that nothing that others write in the meantime is lost. The
version goes on counting, the guards of unique values are handed over to the new key, and large values are taken along
in new blobs. A new key is free if there is no item, or one that has expired.

Moves are planned by updates that change the key, and by repairs of items that are stored under a wrong key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, all_equal
from tablewright.model import Schema
from tablewright.store.blobs.blob_references import references
from tablewright.store.write.planning.item_conditions import free_members, version_condition, version_of
from tablewright.store.write.planning.operation import Action, Attempt, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition, free_precondition
from tablewright.store.write.planning.write_target import key_in
from tablewright.store.write.upkeep import upkeep_changes


def plan_move(
    attempt: Attempt,
    schema: Schema,
    before: Item,
    after: Item,
    preconditions: Sequence[Precondition],
    result: Callable[[Item], Any] = lambda _: None,
) -> WritePlan:
    """The plan that takes an item from one key to another, if the preconditions hold of it.

    ``before`` is the item in the current schema version, with its references; ``after`` is the new one with its large
    values, which ``result`` is given.
    """
    name = attempt.context.name_of(schema.table)
    old_key, new_key = key_in(schema, before), key_in(schema, after)
    placement = attempt.offload.place(schema, after, references(before), reuse=False) if schema.large else None
    stored = after if placement is None else placement.item
    whole = after if placement is None else placement.whole(after)
    free = free_precondition(attempt.context, schema, new_key)
    actions = [
        action("Delete", {"TableName": name, "Key": old_key}, preconditions),
        Action("Put", {"TableName": name, "Item": stored, **free_members(attempt.context, schema)}, [free]),
    ]
    guards = upkeep_changes(schema, before, old_key, after, new_key)
    return WritePlan(actions, guards, lambda _: result(whole), placement)


def unchanged_conditions(schema: Schema, before: Item) -> list[Condition]:
    """The conditions that an item is still the same in all its fields."""
    if schema.version is not None:
        return [version_condition(schema, version_of(schema, before))]
    names = dict.fromkeys([*schema.stored_names(schema.by_attribute), *before])
    return all_equal({name: before.get(name) for name in names if not schema.is_derived(name)})
