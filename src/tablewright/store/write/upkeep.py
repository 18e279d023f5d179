"""What is written with an item besides the item itself: guards of its unique values, and counters that it counts for.

    before, after ──▶ guards taken, handed over, released ──┐
                 └──▶ what it added, and what it adds now ──┴──▶ in the transaction of the write

A counter is changed by the difference that a write makes, so what the item was before has to be known: as with guards,
it is assumed, and the write is planned again if it is not so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import UpdateActions, with_expressions
from tablewright.model import Schema
from tablewright.model.derived.counters import COUNTER_CHANGES, Counter
from tablewright.model.values.attribute_codec import number_text
from tablewright.store.context import Context
from tablewright.store.errors import Conflict, StoreError
from tablewright.store.write.unique_values import GuardChange, guard_changes

__all__ = ["CounterChange", "Upkeep", "counter_changes", "upkeep_changes"]


@dataclass(slots=True)
class CounterChange:
    """What a write adds to the counters of one item; the item is made if there is none yet."""

    schema: Schema
    # The fields of the group, as attributes, and the key that follows from them.
    group: Item
    key: Item
    # By attribute.
    amounts: dict[str, Decimal]

    @property
    def identity(self) -> tuple[str, str]:
        """Which item it is of: the table, and its key."""
        return self.schema.table.name, orjson.dumps(self.key, option=orjson.OPT_SORT_KEYS).decode()

    def merged(self, other: CounterChange) -> CounterChange:
        """Both changes in one, for two actions of a transaction."""
        names = dict.fromkeys([*self.amounts, *other.amounts])
        zero = Decimal(0)
        amounts = {name: self.amounts.get(name, zero) + other.amounts.get(name, zero) for name in names}
        return CounterChange(self.schema, self.group, self.key, amounts)

    @property
    def changes_nothing(self) -> bool:
        return not any(self.amounts.values())

    def action(self, context: Context) -> tuple[str, dict[str, Any]]:
        """The kind and body of the action that makes the change."""
        body = {"TableName": context.name_of(self.schema.table), "Key": self.key}
        return "Update", with_expressions(body, None, self.actions(context))

    def actions(self, context: Context) -> UpdateActions:
        schema = self.schema
        actions = UpdateActions(sets={**self.group, **schema.derive(self.group)})
        if schema.table.type_attribute is not None:
            actions.sets[schema.table.type_attribute] = {"S": schema.type_name}
        if schema.upgrades is not None:
            actions.sets[schema.upgrades.attribute] = {"N": str(schema.upgrades.schema_version)}
        stamp = None if schema.updated is None else schema.updated.encode(context.now())
        if schema.updated is not None and stamp is not None:
            actions.sets[schema.updated.attribute] = stamp
        for attribute in self.key:
            actions.sets.pop(attribute, None)
        # Not what others count in the same item: a missing number starts as what is added.
        actions.adds.update((name, {"N": number_text(amount)}) for name, amount in self.amounts.items() if amount)
        actions.adds[COUNTER_CHANGES] = {"N": "1"}
        return actions

    def refusal(self) -> StoreError:
        return Conflict(
            f"{self.schema.entity.__name__}: nothing was written: the counter kept changing at the same time; try again"
        )


Upkeep = GuardChange | CounterChange


def upkeep_changes(
    schema: Schema, before: Item | None, key_before: Item, after: Item | None, key_after: Item
) -> list[Upkeep]:
    """What else changes with an item that is changed from one state to another; None: it does not exist."""
    changes: list[Upkeep] = [*guard_changes(schema, before, key_before, after, key_after)]
    if schema.counters:
        kept = [counter for counter in schema.counters if counter.kept_by == "transaction"]
        changes += counter_changes(kept, [(before, after)])
    return changes


def counter_changes(
    counters: Sequence[Counter], changes: Iterable[tuple[Item | None, Item | None]]
) -> list[CounterChange]:
    """What changes of items, from one state to another, add to counters; one change for each item of counters."""
    found: dict[tuple[str, str], CounterChange] = {}
    for before, after in changes:
        for counter in counters:
            for item, sign in ((before, -1), (after, 1)):
                contribution = counter.contribution(item)
                if contribution is None:
                    continue
                group, amount = contribution
                made = _change(counter, group, {counter.spec.attribute: sign * amount})
                known = found.get(made.identity)
                found[made.identity] = made if known is None else known.merged(made)
    return [change for change in found.values() if not change.changes_nothing]


def _change(counter: Counter, group: Item, amounts: Mapping[str, Decimal]) -> CounterChange:
    return CounterChange(counter.schema, group, counter.schema.key_of(group), dict(amounts))
