"""Transactions: several writes, all of them or none.

    store.transact(
        Create(assignment),
        Update(task, attr(Task.status).set(IN_PROGRESS)),
        Check(User.by_id("u-1"), attr(User.active).is_(True)),
    )

The operations are those that a store has methods for, and each does what its method does: keys follow, versions are
checked, guards are kept, moves move. When a transaction is refused, ``Cancelled.reasons`` has the error of each
operation that stood in the way, in their order. Conflicts with other transactions are tried again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import all_equal
from tablewright.model import Entity, FieldCondition, Lookup, Schema
from tablewright.store.argument_checks import WRITE_OPERATIONS, wrong_argument
from tablewright.store.blobs.blob_loading import whole_if_older
from tablewright.store.context import Context
from tablewright.store.errors import NotFound, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.item_description import describe_item, describe_lookup
from tablewright.store.write.fields.expectations import Expectations, expectations, expected_preconditions
from tablewright.store.write.planning.executor import execute_all
from tablewright.store.write.planning.item_conditions import free_members, is_older, live_conditions
from tablewright.store.write.planning.operation import (
    Action,
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
    free_precondition,
    live_preconditions,
    refusal_of,
    version_precondition,
)
from tablewright.store.write.planning.write_target import (
    key_in,
    key_of_lookup,
    match_preconditions,
    read_target,
    version_read,
)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Check(Operation):
    """Requires that an item exists and meets conditions; it is not changed.

    Of a versioned entity, the version must be the one that was read.

        store.transact(Create(assignment), Check(User.by_id("u-1"), attr(User.active).is_(True)))
    """

    name = "check"
    target: Entity | Lookup[Any]
    schema: Schema
    expect: Expectations

    def __init__(self, target: Entity | Lookup[Any], *conditions: FieldCondition) -> None:
        schema = schema_for(target, self.name)
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "expect", expectations(schema, conditions))

    def plan(self, attempt: Attempt) -> Planning:
        context, schema, target = attempt.context, self.schema, self.target
        if isinstance(target, Entity):
            key = key_in(schema, schema.encode(target))
        elif target.index is None:
            key = key_of_lookup(target)
        else:
            item = yield from read_target(context, target, "the item")
            if item is None:
                raise NotFound(schema.entity.__name__, describe_lookup(target))
            key = key_in(schema, item)
        preconditions = self._preconditions(context, key)
        stored = None if attempt.found is None else attempt.found.item
        if stored is not None and is_older(schema, stored):
            whole = yield from whole_if_older(context, schema, stored)
            upgraded = None if whole is None else schema.upgrade(whole)
            error = refusal_of(preconditions, upgraded)
            if error is not None:
                raise error
            preconditions = assumptions([*live_conditions(context, schema), *all_equal(stored)])
        body = {"TableName": context.name_of(schema.table), "Key": key}
        return WritePlan([action("ConditionCheck", body, preconditions)])

    def _preconditions(self, context: Context, key: Item) -> list[Precondition]:
        def absent(_: Item) -> StoreError:
            return NotFound(self.schema.entity.__name__, describe_item(self.schema, key))

        if self.expect:
            preconditions = live_preconditions(context, self.schema, absent)
        else:
            preconditions = [Precondition(condition, absent) for condition in live_conditions(context, self.schema)]
        preconditions += match_preconditions(self.target, absent)
        version = version_read(self.schema, self.target)
        if version is not None:
            preconditions.append(version_precondition(self.schema, version, key))
        return preconditions + expected_preconditions(self.schema, self.expect, key)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Absent(Operation):
    """Requires that an item does not exist, or has expired.

    store.transact(Create(invitation), Absent(User.by_email(email="ada@example.com")))
    """

    name = "absent"
    lookup: Lookup[Any]
    schema: Schema

    def __init__(self, lookup: Lookup[Any]) -> None:
        object.__setattr__(self, "lookup", lookup)
        object.__setattr__(self, "schema", schema_for(lookup, self.name))

    def plan(self, attempt: Attempt) -> Planning:
        yield from ()
        context, schema = attempt.context, self.schema
        key = key_of_lookup(self.lookup)
        body = {"TableName": context.name_of(schema.table), "Key": key, **free_members(context, schema)}
        return WritePlan([Action("ConditionCheck", body, [free_precondition(context, schema, key)])])


def transact(context: Context, *operations: Operation) -> Flow[None]:
    """Carry out operations, all or none; the entities that they were given are brought up to date."""
    for operation in operations:
        if not isinstance(operation, Operation):
            raise wrong_argument("transact", WRITE_OPERATIONS, operation)
    if operations:
        names = dict.fromkeys(operation.pattern for operation in operations)
        yield from execute_all(context, operations, ", ".join(names))
