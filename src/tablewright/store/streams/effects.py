"""What a consumer does to tables because of the changes it was given.

    def count(changes, effects):
        for change in changes:
            effects.add(Counter.named(name="open"), count=1)

Effects are collected while a handler runs and committed together with its checkpoint, in one transaction: all of it
happens once, or none of it. Additions to one item are summed, because a transaction may touch an item only once; the
bounds of a field (``Field(ge=0)``) hold for what the sum comes to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, all_of, with_expressions
from tablewright.model import Lookup, ModelError, Schema, schema_of
from tablewright.model.values.attribute_codec import number_text
from tablewright.store.argument_checks import A_GET, OPERATIONS, not_taken
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, ConditionFailed, StoreError
from tablewright.store.flow.driver import Flow
from tablewright.store.write.attribute_changes import Wanted, to_operand
from tablewright.store.write.executor import Action, Found, Operation, WritePlan
from tablewright.store.write.preconditions import bounds_of
from tablewright.store.write.write_conditions import described, is_of_another, is_over, is_own, living
from tablewright.store.write.write_target import key_by


class Effects:
    """The writes of one batch; none of them has happened yet."""

    def __init__(self) -> None:
        self._sums: dict[bytes, _Addition] = {}
        self._operations: list[Operation] = []

    def add(self, lookup: Lookup[Any], /, **amounts: int | float | Decimal) -> None:
        """Add to number fields of an item by its primary key; one that is not there is made."""
        if not isinstance(lookup, Lookup):
            raise not_taken("add", A_GET, lookup)
        schema = schema_of(lookup.entity)
        if lookup.index is not None:
            raise ModelError(f"{lookup.entity.__name__} can be added to by its primary key only")
        key = key_by(lookup)
        identity = orjson.dumps([schema.table.name, key], option=orjson.OPT_SORT_KEYS)
        addition = self._sums.get(identity)
        if addition is None:
            _check_addable(schema, {*lookup.values, *amounts})
            addition = _Addition(schema, key, schema.encode_values(lookup.values))
        addition.include(amounts)
        self._sums[identity] = addition

    def do(self, *operations: Operation) -> None:
        """Any writes that a transaction takes, each of another item."""
        for operation in operations:
            if not isinstance(operation, Operation):
                raise not_taken("do", OPERATIONS, operation)
        self._operations += operations

    def operations(self) -> list[Operation]:
        return [*self._operations, *self._sums.values()]


@dataclass(slots=True)
class _Addition(Operation):
    schema: Schema
    key: Item
    fields: Item
    # By field.
    amounts: dict[str, Decimal] = field(default_factory=dict)
    name = "add"

    def include(self, amounts: dict[str, int | float | Decimal]) -> None:
        schema = self.schema
        for name, amount in amounts.items():
            if name not in _summable(schema):
                raise _not_summable(schema, name)
            operand = to_operand(schema, name, amount)
            if "N" not in operand:
                raise ModelError(
                    f"{schema.entity.__name__}.{name}: only numbers are summed; use do(Update(..., add=...))"
                )
            self.amounts[name] = self.amounts.get(name, Decimal(0)) + Decimal(operand["N"])

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        yield from ()
        schema = self.schema
        changes = UpdateActions(sets={**self.fields, **schema.derive(self.fields)})
        if schema.table.type_attribute is not None:
            changes.sets[schema.table.type_attribute] = {"S": schema.type_name}
        if schema.upgrades is not None:
            changes.sets[schema.upgrades.attribute] = {"N": str(schema.upgrades.schema_version)}
        lifetime = schema.lifetime
        expiry = None if lifetime is None else context.now() + lifetime
        for spec, value in ((schema.updated, context.now()), (schema.expiry, expiry)):
            stored = None if spec is None else spec.encode(value)
            if spec is not None and stored is not None:
                changes.sets[spec.attribute] = stored
        for attribute in self.key:
            changes.sets.pop(attribute, None)
        for name, amount in self.amounts.items():
            changes.adds[schema.fields[name].attribute] = {"N": number_text(amount)}
        if schema.version is not None:
            changes.adds[schema.version.attribute] = {"N": "1"}
        table, which = context.name_of(schema.table), described(schema, self.key)
        bounds, over = bounds_of(schema, Wanted(add=self.amounts)), is_over(context, schema)

        def refusal(item: Item) -> StoreError | None:
            broken = next((told for bound in bounds if (told := bound.broken(item)) is not None), None)
            return None if broken is None else ConditionFailed(f"{schema.entity.__name__} {which}: {broken}")

        if found is not None and found.item is not None and living(context, schema, found.item) is None:
            # What is of another entity has been refused. This has expired: nothing is added to it, and it is made anew.
            error = refusal({})
            if error is not None:
                raise error
            put = {"TableName": table, "Item": {**self.key, **changes.sets, **changes.adds}}
            return WritePlan([Action("Put", with_expressions(put, over), lambda _: None)])

        def refused(found: Item | None) -> StoreError | None:
            if is_of_another(schema, found):
                return AlreadyExists(schema.entity.__name__, which)
            return refusal(found or {}) if found is None or living(context, schema, found) is not None else None

        conditions = [*(bound.condition() for bound in bounds), *is_own(schema)]
        if over is not None:
            conditions.append(~over)
        update = with_expressions({"TableName": table, "Key": self.key}, all_of(conditions), changes)
        return WritePlan([Action("Update", update, refused)])


@lru_cache(maxsize=1024)
def _summable(schema: Schema) -> frozenset[str]:
    """The fields that no key follows from."""
    keys = (*schema.key_rules, *schema.table.key)
    sources = {source for attribute in keys for source in schema.sources(attribute)}
    return frozenset(spec.name for spec in schema.fields.values() if spec.attribute not in sources)


def _not_summable(schema: Schema, name: str) -> ModelError:
    if name not in schema.fields:
        return ModelError(f"{schema.entity.__name__} has no field {name!r}")
    return ModelError(f"{schema.entity.__name__}.{name} is part of a key, so it cannot be added to")


def _check_addable(schema: Schema, given: set[str]) -> None:
    """An addition must be able to make the item, as nobody knows whether it is there."""
    name = schema.entity.__name__
    reasons = (
        ("unique", schema.unique),
        ("numbered", schema.numbered),
        ("set when an item is created", () if schema.created is None else (schema.created,)),
        (
            "required",
            [spec for spec in schema.fields.values() if schema.entity.model_fields[spec.name].is_required()],
        ),
    )
    for reason, specs in reasons:
        for spec in specs:
            if spec.name not in given or reason != "required":
                raise ModelError(
                    f"{name}.{spec.name} is {reason}, so no addition can make a {name}; use do(Update(...))"
                )


@dataclass(slots=True)
class Fixed(Operation):
    """An action that is ready made, and the error that it means when its condition does not hold."""

    schema: Schema
    name: str
    kind: str
    body: dict[str, Any]
    refusal: Callable[[], StoreError]

    def plan(self, context: Context, found: Found | None) -> Flow[WritePlan]:
        yield from ()
        return WritePlan([Action(self.kind, self.body, lambda _: self.refusal())])
