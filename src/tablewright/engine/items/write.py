"""A write to one item: which item, under which condition, and how the new item follows from the old one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import AttributeValue, ConditionalCheckFailedException, Item
from tablewright.dynamo.expressions import ConditionProgram
from tablewright.engine.database import Database, Row
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.tables.table_schema import Table

_NOTHING: Item = {}


def item_on_failure(request: Mapping[str, Any]) -> bool:
    """Whether a condition that fails shows the item."""
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def unchanged(old: Row | None) -> tuple[Item | None, int]:
    """The item stays as it is: a condition is all there is to the write."""
    return (None, 0) if old is None else (old.item, old.size)


@dataclass(slots=True)
class Write:
    """One conditional change of one item."""

    table: Table
    key: bytes
    new: Callable[[Row | None], tuple[Item | None, int]]
    condition: ConditionProgram | None = None
    values: Mapping[str, AttributeValue] = field(default_factory=dict)
    item_on_failure: bool = False

    def check(self, old: Row | None) -> None:
        """Raise unless the stored item meets the condition."""
        if self.condition is not None and not self.condition.evaluate(
            _NOTHING if old is None else old.item, self.values
        ):
            if self.item_on_failure and old is not None:
                raise ConditionalCheckFailedException(Item=old.item)
            raise ConditionalCheckFailedException

    def run(self, db: Database, old: Row | None, meter: Meter | None) -> Item | None:
        """Check and apply to the existing row; returns the item after."""
        self.check(old)
        new, size = self.new(old)
        db.change(self.table, self.key, old, new, size)
        if meter is not None:
            meter.change(self.table, old, new, size)
        return new
