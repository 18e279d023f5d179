"""Consumed capacity by DynamoDB's rules.

A write is charged on the larger of the item before and after, per started KB; an index on the change to what
it stores; a read per started 4 KB, half of that if eventually consistent. Transactions cost double on the
table and the same on its indexes.

A ``Meter`` collects what one request consumed of each table; it is created only if the caller asked for it, since
sizing index entries is work that most requests should not pay for. If a request carries a list of charges, the meter
also records there the partition key of each unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from tablewright.dynamo import Item, item_size, same_item, write_units
from tablewright.engine.database import Row
from tablewright.engine.tables.table_schema import Index, Key, Table

# The member of a request that holds its list of charges; no caller can send a member of this name.
CHARGES = "\0charges"


def _index_change(index: Index, before: Item, after: Item, sizes: Mapping[int, int]) -> list[tuple[Item, int]]:
    """What a changed item costs an index, by entry: nothing if what the index stores stays the same, two writes if
    the entry moves.
    """
    old = index.entry(before) if index.holds(before) else None
    new = index.entry(after) if index.holds(after) else None
    if old is None:
        return [] if new is None else [(new, _entry_units(new, sizes))]
    if new is None:
        return [(old, _entry_units(old, sizes))]
    if any(old[name] != new[name] for name in index.key.names):
        return [(old, _entry_units(old, sizes)), (new, _entry_units(new, sizes))]
    if same_item(old, new):
        return []
    return [(new, max(_entry_units(old, sizes), _entry_units(new, sizes)))]


def _entry_units(entry: Item, sizes: Mapping[int, int]) -> int:
    """``sizes`` are of the items themselves, by identity: most indexes store them whole."""
    return write_units(sizes.get(id(entry)) or item_size(entry))


@dataclass(frozen=True, slots=True)
class Charge:
    """Units of a table or of an index, and the partition key that they were for; None if there were several."""

    table: str
    index: str | None
    key: str | None
    units: float


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
    """What one request consumes, by table in the order of first use."""

    __slots__ = ("_charges", "_detailed", "_member", "_tables")

    def __init__(self, mode: str, member: str | None = None, charges: list[Charge] | None = None) -> None:
        self._detailed = mode == "INDEXES"
        # Transactions also say whether they are read or write units.
        self._member = member
        self._tables: dict[str, _Consumed] = {}
        self._charges = charges

    @classmethod
    def for_request(cls, request: Mapping[str, Any], member: str | None = None) -> Meter | None:
        mode = request.get("ReturnConsumedCapacity", "NONE")
        return None if mode == "NONE" else cls(mode, member, request.get(CHARGES))

    def table(self, table: Table, units: float, key: Item | None = None) -> None:
        """Units of the table, for the item with that key."""
        self._of(table).units += units
        if self._charges is not None and units:
            self._charges.append(Charge(table.name, None, _partition(table.key, key), units))

    def index(self, table: Table, index: Index, units: float, key: Item | None = None) -> None:
        consumed = self._of(table).indexes
        consumed[index.name] = consumed.get(index.name, 0.0) + units
        if self._charges is not None and units:
            self._charges.append(Charge(table.name, index.name, _partition(index.key, key), units))

    def change(self, table: Table, old: Row | None, new: Item | None, size: int, factor: int = 1) -> None:
        """A write, on the table and on every index whose stored view it changes; ``size`` is the new item's."""
        before, old_size = (None, 0) if old is None else (old.item, old.size)
        charged = max(size, old_size)
        self.table(table, float(factor * write_units(charged)), new or before)
        if not table.indexes:
            return
        if before is not None and new is not None:
            sizes = {id(before): old_size, id(new): size}
            for index in table.indexes.values():
                for entry, units in _index_change(index, before, new, sizes):
                    self.index(table, index, float(units), entry)
        elif (item := new or before) is not None:
            sizes = {id(item): charged}
            for index in table.indexes_of(item):
                entry = index.entry(item)
                self.index(table, index, float(_entry_units(entry, sizes)), entry)

    def apart(self) -> Meter:
        """A meter for a part of the request, which is added only if the part is executed."""
        part = copy(self)
        part._tables = {}
        part._charges = None if self._charges is None else []
        return part

    def add(self, part: Meter) -> None:
        for consumed in part._tables.values():
            into = self._of(consumed.table)
            into.units += consumed.units
            for name, units in consumed.indexes.items():
                into.indexes[name] = into.indexes.get(name, 0.0) + units
        if self._charges is not None and part._charges is not None:
            self._charges += part._charges

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


def _partition(key: Key, item: Item | None) -> str | None:
    """The partition key of an item as text."""
    if item is None:
        return None
    return "#".join(content for name in key.partition for content in item[name].values())
