"""Deletes: no item any more, and nothing of it left behind: guards of unique values, blobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import all_equal, equals, exists
from tablewright.model import Entity, Lookup, Schema
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store.blobs.blob_loading import whole_if_older
from tablewright.store.blobs.blob_references import references
from tablewright.store.blobs.offload import Placement
from tablewright.store.context import Context
from tablewright.store.errors import NotFound, StoreError
from tablewright.store.flow.driver import Flow, Response
from tablewright.store.item_description import describe_item, describe_lookup
from tablewright.store.write.fields.expectations import Expectations, Expected, expectations, expected_preconditions
from tablewright.store.write.planning.executor import execute
from tablewright.store.write.planning.item_conditions import (
    is_of_another,
    is_older,
    live_conditions,
    live_item,
    own_conditions,
)
from tablewright.store.write.planning.operation import (
    Attempt,
    Operation,
    Planning,
    WritePlan,
    action,
    schema_for,
)
from tablewright.store.write.planning.preconditions import (
    Precondition,
    assumptions,
    live_preconditions,
    refusal_of,
    version_conflict,
    version_precondition,
)
from tablewright.store.write.planning.write_target import (
    key_in,
    key_of_lookup,
    match_preconditions,
    read_target,
    version_read,
)
from tablewright.store.write.unique_values import guarded_values
from tablewright.store.write.upkeep import upkeep_changes


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Delete(Operation):
    """Deletes an item; a versioned one only in the version that was read.

    ``expect`` is a condition on the stored item, which must then exist; ``ConditionFailed`` if it does not hold.
    """

    name = "delete"
    target: Entity | Lookup[Any]
    schema: Schema
    expect: Expectations

    def __init__(self, target: Entity | Lookup[Any], *, expect: Expected | None = None) -> None:
        schema = schema_for(target, self.name)
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "expect", expectations(schema, expect))

    def plan(self, attempt: Attempt) -> Planning:
        context, schema = attempt.context, self.schema
        stored = yield from self._stored(attempt)
        if stored is None:
            if self.expect:
                raise NotFound(schema.entity.__name__, self._which())
            return WritePlan([], result=lambda _: False)
        key = key_in(schema, stored)
        preconditions = self._preconditions(context, key)
        if self.expect and attempt.found is not None and is_older(schema, stored):
            whole = yield from whole_if_older(context, schema, stored)
            error = refusal_of(preconditions, None if whole is None else schema.upgrade(whole))
            if error is not None:
                raise error
            preconditions = assumptions([*live_conditions(context, schema), *all_equal(stored)])
        if schema.needs_upkeep:
            preconditions += assumptions([exists(schema.table.partition), *all_equal(guarded_values(schema, stored))])
        placement, before = None, stored
        if schema.large:
            placement = Placement({}, superseded=attempt.offload.superseded(schema, references(stored)))
            preconditions += assumptions([equals(BLOB_REFERENCES, stored.get(BLOB_REFERENCES))])
            before = (yield from whole_if_older(context, schema, stored)) or stored

        def result(response: Response) -> bool:
            # A transaction returns no item, but was made under the condition that there is one.
            old = response.get("Attributes", before if schema.needs_upkeep else None)
            return live_item(context, schema, old) is not None

        body = {"TableName": context.name_of(schema.table), "Key": key}
        guards = upkeep_changes(schema, schema.upgrade(before), key, None, key) if schema.needs_upkeep else []
        return WritePlan([action("Delete", body, preconditions)], guards, result, placement)

    def _stored(self, attempt: Attempt) -> Flow[Item | None]:
        """As much as is known of the item; None: there is none."""
        schema, target, found = self.schema, self.target, attempt.found
        if found is not None:
            return None if is_of_another(schema, found.item) else found.item
        if isinstance(target, Entity):
            return schema.encode(target)
        if target.index is not None or schema.needs_upkeep:
            return (yield from read_target(attempt.context, target, "the item"))
        return key_of_lookup(target)

    def _preconditions(self, context: Context, key: Item) -> list[Precondition]:
        schema, target = self.schema, self.target
        expected = version_read(schema, target)

        def gone(_: Item) -> StoreError | None:
            if expected:
                return version_conflict(schema, None, expected, key)
            if self.expect or (isinstance(target, Lookup) and target.index is not None):
                return NotFound(schema.entity.__name__, self._which())
            # There is nothing to delete, which is no error.
            return None

        if self.expect:
            preconditions = live_preconditions(context, schema, gone)
        else:
            preconditions = [Precondition(condition, gone) for condition in own_conditions(schema)]
        preconditions += match_preconditions(target, gone)
        if expected:
            preconditions.append(version_precondition(schema, expected, key))
        return preconditions + expected_preconditions(schema, self.expect, key)

    def _which(self) -> str:
        if isinstance(self.target, Lookup):
            return describe_lookup(self.target)
        return describe_item(self.schema, self.schema.encode(self.target))


def delete(context: Context, target: Entity | Lookup[Any], *, expect: Expected | None = None) -> Flow[bool]:
    """Delete an item; whether there was one."""
    return execute(context, Delete(target, expect=expect))
