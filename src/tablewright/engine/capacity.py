"""Consumed capacity by DynamoDB's rules.

A write is charged on the larger of the item before and after, per started KB; an index on the change to what
it stores; a read per started 4 KB, half of that when eventually consistent. Transactions cost double on the
table and the same on its indexes.

A ``Meter`` gathers what one request consumed of each table; it is made only when the caller asked, since
sizing index entries is work that most requests should not pay for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tablewright.engine.schema import Index, Table
from tablewright.engine.values import Item, item_size, same_item

_WRITE_UNIT = 1024
_READ_UNIT = 4096


def write_units(size: int) -> int:
    return -(-size // _WRITE_UNIT) or 1


def read_units(size: int, consistent: bool) -> float:
    units = -(-size // _READ_UNIT) or 1
    return float(units) if consistent else units / 2


def index_write_units(index: Index, before: Item | None, after: Item | None) -> int:
    """What a change costs an index: nothing when its view stays the same, two writes when an entry moves."""
    old = index.entry(before) if before is not None and index.holds(before) else None
    new = index.entry(after) if after is not None and index.holds(after) else None
    if old is None:
        return 0 if new is None else write_units(item_size(new))
    if new is None:
        return write_units(item_size(old))
    if any(old[name] != new[name] for name in index.key.names):
        return write_units(item_size(old)) + write_units(item_size(new))
    if same_item(old, new):
        return 0
    return write_units(max(item_size(old), item_size(new)))


@dataclass(slots=True)
class _Consumed:
    table: Table
    units: float = 0.0
    indexes: dict[str, float] = field(default_factory=dict)

    def render(self, detailed: bool, member: str | None) -> dict[str, Any]:
        def figure(units: float) -> dict[str, float]:
            return {"CapacityUnits": units} if member is None else {member: units, "CapacityUnits": units}

        total = self.units + sum(self.indexes.values())
        result: dict[str, Any] = {"TableName": self.table.name, **figure(total)}
        if detailed:
            result["Table"] = figure(self.units)
            for name, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
                units = {i: figure(u) for i, u in self.indexes.items() if self.table.indexes[i].is_global is is_global}
                if units:
                    result[name] = units
        return result


class Meter:
    """What one request consumes, table by table in the order of first use."""

    __slots__ = ("_detailed", "_member", "_tables")

    def __init__(self, mode: str, member: str | None = None) -> None:
        self._detailed = mode == "INDEXES"
        # Transactions also say which kind of units they are.
        self._member = member
        self._tables: dict[str, _Consumed] = {}

    @classmethod
    def for_request(cls, request: Mapping[str, Any], member: str | None = None) -> Meter | None:
        mode = request.get("ReturnConsumedCapacity", "NONE")
        return None if mode == "NONE" else cls(mode, member)

    def table(self, table: Table, units: float) -> None:
        self._of(table).units += units

    def index(self, table: Table, index: Index, units: float) -> None:
        consumed = self._of(table).indexes
        consumed[index.name] = consumed.get(index.name, 0.0) + units

    def change(self, table: Table, before: Item | None, after: Item | None, factor: int = 1) -> None:
        """A write, on the table and on every index whose stored view it changes."""
        size = max(0 if before is None else item_size(before), 0 if after is None else item_size(after))
        self.table(table, float(factor * write_units(size)))
        for index in table.indexes.values():
            units = index_write_units(index, before, after)
            if units:
                self.index(table, index, float(units))

    def one(self) -> dict[str, Any]:
        (consumed,) = self._tables.values()
        return consumed.render(self._detailed, self._member)

    def all(self) -> list[dict[str, Any]]:
        return [consumed.render(self._detailed, self._member) for consumed in self._tables.values()]

    def _of(self, table: Table) -> _Consumed:
        consumed = self._tables.get(table.name)
        if consumed is None:
            consumed = self._tables[table.name] = _Consumed(table)
        return consumed
