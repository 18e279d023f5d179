"""Numbered fields, by sequences: each is an item that holds the last number that was given.

The sequence is raised in the transaction that writes the numbered items, under the condition that it is still where it
was when their numbers were made from it. So there are neither gaps nor duplicates, even if writes fail or are refused.
Several items of one transaction draw from one sequence in their order.

A number that the caller gives raises the sequence in the same way, if it is not as far as that. An item that comes to
be counted for something else is given the next number there.

Where the transaction also makes what the numbers are counted for (a ticket with its first event), nothing has been
numbered yet, as far as is known, and the sequence is not read. Should there be one, the condition fails, and the item
that comes back says how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tablewright.dynamo import Item
from tablewright.dynamo.expressions.builder import Condition, UpdateActions, equals, with_expressions
from tablewright.model import Schema
from tablewright.model.items.field_spec import FieldSpec
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying

# The last number that was given.
COUNT = "count"

# Which sequence it is: the table, and its partition, which has nothing else.
Identity = tuple[str, str]


# Not frozen, though no field is ever changed: one is made for every numbered item.
@dataclass(slots=True)
class Draw:
    """A field that is to be given the next number of a sequence."""

    schema: Schema
    spec: FieldSpec
    key: Item
    # The fields that it is counted for, and their values.
    group: dict[str, Any]
    # The number that it has been given by the caller, so that the next one is higher.
    given: int | None = None

    @property
    def identity(self) -> Identity:
        (partition,) = self.key[self.schema.table.partition].values()
        return self.schema.table.name, partition


@dataclass(slots=True)
class SequenceState:
    """A sequence as it is known to be, and the highest number that there will be."""

    schema: Schema
    key: Item
    last: int
    highest: int

    def next(self) -> int:
        self.highest += 1
        return self.highest

    def body(self, context: Context) -> dict[str, Any]:
        """The update that raises it to the highest number."""
        body = {"TableName": context.name_of(self.schema.table), "Key": self.key}
        changes = UpdateActions(sets={COUNT: {"N": str(self.highest)}})
        condition: Condition = equals(COUNT, {"N": str(self.last)} if self.last else None)
        return with_expressions(body, condition, changes)


@lru_cache(maxsize=1024)
def counted_attributes(schema: Schema) -> frozenset[str]:
    """The attributes of numbered fields, and of what they are counted for."""
    groups = (path.partition(".")[0] for group in schema.numbered_per.values() for _, path in group)
    return frozenset([*groups, *(spec.attribute for spec in schema.numbered)])


class Sequences:
    """The sequences that the operations of one transaction draw from, over all its attempts."""

    def __init__(self) -> None:
        self._last: dict[Identity, int] = {}

    def prepare(
        self,
        context: Context,
        draws: Iterable[Draw],
        pattern: str,
        is_new: Callable[[Draw], bool],
        known: dict[Identity, SequenceState],
    ) -> Flow[None]:
        """Add the sequences to draw from to those that are known, read where it is not known how far they are.

        They are past what is given. ``is_new`` says whether what a draw is counted for is made just now.
        """
        for draw in draws:
            identity = draw.identity
            if identity in known:
                known[identity].highest = max(known[identity].highest, draw.given or 0)
                continue
            if identity not in self._last and is_new(draw):
                self._last[identity] = 0
            if identity not in self._last:
                body = {"TableName": context.name_of(draw.schema.table), "Key": draw.key, "ConsistentRead": True}
                response = yield from retrying(context, Request("GetItem", body, pattern))
                self.found(identity, response.get("Item"))
            last = self._last[identity]
            known[identity] = SequenceState(draw.schema, draw.key, last, max(last, draw.given or 0))

    def found(self, identity: Identity, item: Item | None) -> None:
        """Note how far a sequence is."""
        self._last[identity] = 0 if item is None else int(item[COUNT]["N"])
