"""Effects: the writes that follow from the changes that a consumer is given.

    def count(changes, effects):
        for change in changes:
            effects.add(Counter.named("open"), attr(Counter.count).add(1))

Effects are collected while a handler runs and committed together with its checkpoint, in one transaction: all of them
happen once, or none. Additions to one item are summed, because a transaction may touch an item only once; the bounds of
a field (``Field(ge=0)``) apply to the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions
from tablewright.model import FieldChange, Lookup, ModelError, Schema, schema_of
from tablewright.model.values.attribute_codec import number_text
from tablewright.store.argument_checks import A_GET, WRITE_OPERATIONS, wrong_argument
from tablewright.store.errors import StoreError
from tablewright.store.write.fields.field_bounds import bounds
from tablewright.store.write.fields.field_updates import FieldUpdates, add_to, to_operand, updates_of
from tablewright.store.write.planning.item_conditions import expired_condition, live_item, own_conditions
from tablewright.store.write.planning.operation import Attempt, Operation, Planning, WritePlan, action
from tablewright.store.write.planning.preconditions import Precondition, already_exists, refusal_of
from tablewright.store.write.planning.write_target import key_of_lookup


class Effects:
    """The writes of one batch, to which a handler adds; they are committed together with the checkpoint."""

    def __init__(self) -> None:
        self._sums: dict[bytes, _Addition] = {}
        self._operations: list[Operation] = []

    def add(self, lookup: Lookup[Any], *additions: FieldChange) -> None:
        """Add to numbers of an item by its primary key; it is created if it does not exist."""
        if not isinstance(lookup, Lookup):
            raise wrong_argument("add", A_GET, lookup)
        schema = schema_of(lookup.entity)
        if lookup.index is not None:
            raise ModelError(f"{lookup.entity.__name__} can be added to by its primary key only")
        amounts = _amounts(schema, additions)
        key = key_of_lookup(lookup)
        identity = orjson.dumps([schema.table.name, key], option=orjson.OPT_SORT_KEYS)
        addition = self._sums.get(identity)
        if addition is None:
            _check_addable(schema, {*lookup.values, *amounts})
            addition = _Addition(schema, key, schema.encode_values(lookup.values))
        addition.include(amounts)
        self._sums[identity] = addition

    def do(self, *operations: Operation) -> None:
        """Any writes that a transaction takes, each on another item."""
        for operation in operations:
            if not isinstance(operation, Operation):
                raise wrong_argument("do", WRITE_OPERATIONS, operation)
        self._operations += operations

    def operations(self) -> list[Operation]:
        """The operations collected so far."""
        return [*self._operations, *self._sums.values()]


@dataclass(slots=True)
class _Addition(Operation):
    schema: Schema
    key: Item
    fields: Item
    # By field.
    amounts: dict[str, Decimal] = field(default_factory=dict)
    name = "add"

    def include(self, amounts: Mapping[str, Decimal]) -> None:
        for name, amount in amounts.items():
            self.amounts[name] = self.amounts.get(name, Decimal(0)) + amount

    def plan(self, attempt: Attempt) -> Planning:
        yield from ()
        schema, context = self.schema, attempt.context
        actions = UpdateActions(sets={**self.fields, **schema.derive(self.fields)})
        if schema.table.type_attribute is not None:
            actions.sets[schema.table.type_attribute] = {"S": schema.type_name}
        if schema.upgrades is not None:
            actions.sets[schema.upgrades.attribute] = {"N": str(schema.upgrades.schema_version)}
        lifetime = schema.lifetime
        expiry = None if lifetime is None else context.now() + lifetime
        for spec, value in ((schema.updated, context.now()), (schema.expiry, expiry)):
            stored = None if spec is None else spec.encode(value)
            if spec is not None and stored is not None:
                actions.sets[spec.attribute] = stored
        for attribute in self.key:
            actions.sets.pop(attribute, None)
        for name, amount in self.amounts.items():
            add_to(schema, actions, name, {"N": number_text(amount)})
        if schema.version is not None:
            actions.adds[schema.version.attribute] = {"N": "1"}
        table, found = context.name_of(schema.table), attempt.found
        bounded, expired = bounds(schema, FieldUpdates(add=self.amounts), self.key), expired_condition(context, schema)
        if found is not None and found.item is not None and live_item(context, schema, found.item) is None:
            # What is of another entity has been refused. This has expired: it is replaced, and nothing is added to it.
            error = refusal_of(bounded, None)
            if error is not None:
                raise error
            put = {"TableName": table, "Item": actions.apply(self.key)}
            return WritePlan([action("Put", put, [] if expired is None else [Precondition(expired)])])

        def of_another(_: Item) -> StoreError:
            return already_exists(schema, self.key)

        preconditions = [Precondition(condition, of_another) for condition in own_conditions(schema)]
        if expired is not None:
            preconditions.append(Precondition(~expired))
        preconditions += bounded
        update = action("Update", {"TableName": table, "Key": self.key}, preconditions, actions)
        return WritePlan([update])


def _amounts(schema: Schema, additions: Sequence[FieldChange]) -> dict[str, Decimal]:
    """What is added, by field."""
    amounts = {}
    for name, amount in updates_of(schema, additions).add.items():
        if name not in _summable(schema):
            raise _not_summable(schema, name)
        operand = to_operand(schema, name, amount)
        if "N" not in operand:
            raise ModelError(f"{schema.entity.__name__}.{name}: only numbers are summed; use do(Update(...))")
        amounts[name] = Decimal(operand["N"])
    if len(amounts) < len(additions):
        name = schema.entity.__name__
        raise ModelError(f"add takes additions to fields, such as attr({name}.x).add(1); use do(Update(...))")
    return amounts


@lru_cache(maxsize=1024)
def _summable(schema: Schema) -> frozenset[str]:
    """The fields that are part of no key."""
    keys = (*schema.key_rules, *schema.table.key)
    sources = {source for attribute in keys for source in schema.sources(attribute)}
    return frozenset(spec.name for spec in schema.fields.values() if spec.attribute not in sources)


def _not_summable(schema: Schema, name: str) -> ModelError:
    if name not in schema.fields:
        return ModelError(f"{schema.entity.__name__}.{name} is a part of a field; use do(Update(...))")
    return ModelError(f"{schema.entity.__name__}.{name} is part of a key, so it cannot be added to")


def _check_addable(schema: Schema, given: set[str]) -> None:
    """An addition must be able to create the item, as it may not exist."""
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
                    f"{name}.{spec.name} is {reason}, so add() cannot create a {name}: use do(Update(...))"
                )
