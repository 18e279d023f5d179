"""Transactions: several writes, all of them or none.

    store.transact(
        Create(assignment),
        Update(task, status=IN_PROGRESS),
        Check(User.by_id(user_id="u-1"), active=True),
    )

The operations are those that a store has methods for, and each does what its method does: keys follow, versions are
checked, guards are kept, moves move. When a transaction is refused, ``Cancelled.reasons`` has the error of each
operation that stood in the way, in their order. Conflicts with other transactions are tried again.
"""

from __future__ import annotations

from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import all_equal, all_of, with_expressions
from tablewright.model import Entity, Lookup
from tablewright.store.argument_checks import OPERATIONS, not_taken
from tablewright.store.blobs.offload import whole_if_older
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, NotFound, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.write.executor import Action, Found, Operation, WritePlan, execute_all, schema_for
from tablewright.store.write.write_conditions import (
    Expectations,
    described,
    has_older_shape,
    has_present_shape,
    has_version,
    if_free,
    is_there,
    living,
    version_refusal,
)
from tablewright.store.write.write_target import is_meant, key_by, key_in, read_target, still_meant, told


class Check(Operation):
    """An item that must be there, with the given values of fields; it is not changed.

    A value may be several, of which it must be one. Of a versioned entity, the version must be the one that was read.
    """

    name = "check"

    def __init__(self, target: Entity | Lookup[Any], /, **fields: Any) -> None:
        self.target = target
        self.schema = schema_for(target, self.name)
        self.expect = Expectations(self.schema, fields)
        self.expected: int | None = None
        if isinstance(target, Entity) and self.schema.version is not None:
            self.expected = getattr(target, self.schema.version.name)

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        schema, target = self.schema, self.target
        if isinstance(target, Entity):
            key = key_in(schema, schema.encode(target))
        elif target.index is None:
            key = key_by(target)
        else:
            item = yield from read_target(context, target, "the item")
            if item is None:
                raise NotFound(schema.entity.__name__, told(target))
            key = key_in(schema, item)

        def refusal(item: Item | None) -> StoreError | None:
            there = living(context, schema, item)
            if there is None or not is_meant(target, there):
                return NotFound(schema.entity.__name__, described(schema, key))
            return version_refusal(schema, there, self.expected, key) or self.expect.refusal(there, key)

        def refused(found: Item | None) -> StoreError | None:
            # Of an older shape, it is seen what it is when the check is planned again.
            return None if has_older_shape(schema, found) else refusal(found)

        if found is not None and found.item is not None and has_older_shape(schema, found.item):
            whole = yield from whole_if_older(context, schema, found.item)
            error = refusal(None if whole is None else schema.upgrade(whole))
            if error is not None:
                raise error
            conditions = [*is_there(context, schema), *all_equal(found.item)]
        else:
            conditions = [*is_there(context, schema), *self.expect.conditions(), *still_meant(target)]
            conditions += has_present_shape(schema) if self.expect.given else []
            if self.expected is not None:
                conditions.append(has_version(schema, self.expected))
        body = {"TableName": context.name_of(schema.table), "Key": key}
        return WritePlan([Action("ConditionCheck", with_expressions(body, all_of(conditions)), refused)])


class Absent(Operation):
    """An item that must not be there, or must have expired."""

    name = "absent"

    def __init__(self, lookup: Lookup[Any]) -> None:
        self.lookup = lookup
        self.schema = schema_for(lookup, self.name)

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        yield from ()
        key = key_by(self.lookup)
        body = {"TableName": context.name_of(self.schema.table), "Key": key, **if_free(context, self.schema)}

        def refused(found: Item | None) -> StoreError:
            return AlreadyExists(self.schema.entity.__name__, described(self.schema, key))

        return WritePlan([Action("ConditionCheck", body, refused)])


def transact(context: Context, *operations: Operation) -> Flow[None]:
    """Carry out operations, all or none; the entities that they were given are brought up to date."""
    for operation in operations:
        if not isinstance(operation, Operation):
            raise not_taken("transact", OPERATIONS, operation)
    if operations:
        names = dict.fromkeys(operation.pattern for operation in operations)
        yield from execute_all(context, operations, ", ".join(names))
