"""Capacity units of each access pattern and each write of a design, by DynamoDB's rules.

    CapacityEstimate(design).of("Call.upcoming")      [Units(Calls, byUserStatus, read 0.5)]
    CapacityEstimate(design).of("book")               [Units(Calls, write 2), Units(Calls, byCallId, write 1), ...]

A write is charged for the item, and for each index whose entry changes (``index_costs``). A transaction costs double on
the table and the same on its indexes, a batch what its items cost. If the store reads an item before it writes it,
that is charged as well, and so is what a write declares that it ``reads``. Guards of unique values and counters are
items too; a condition check costs as much as a write. What a consumer writes because of a change is a transaction with
its checkpoint.

A read is charged for what is read, before a filter or a projection, rounded up once per query; a sharded key is one
query for each shard, and a pattern that takes several values is one for each of them.

Sizes are those of ``Design.volume``, or else those of a sample item. Units are those of an attempt that succeeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Any

from tablewright import dynamo
from tablewright.design.checkpoint_tables import checkpoint_table
from tablewright.design.cost.index_costs import choices_of, entry_size, entry_writes
from tablewright.design.cost.write_actions import internal_items, is_move, is_transaction, reads_first
from tablewright.design.design_loading import DesignError
from tablewright.design.filter_fields import restrictions
from tablewright.design.index_coverage import lacks
from tablewright.design.place_names import place_of
from tablewright.design.sample_entities import sample
from tablewright.dynamo import item_size, write_units
from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    Get,
    Index,
    ItemWrite,
    Query,
    Schema,
    Table,
    Unique,
    Write,
)

__all__ = ["USUAL_ITEMS", "CapacityEstimate", "Units"]

# The number of items that a query returns if its pattern does not declare it.
USUAL_ITEMS = 10
# The number of values for a parameter with several, unless its type determines it.
_USUAL_VALUES = 2
# The size of guards and counters: they have a key and little more.
_SMALL = 1


@dataclass(frozen=True, slots=True)
class Units:
    """The units of one call of a pattern or write, on a table or one of its indexes."""

    table: Table
    index: Index | None
    read: Decimal = Decimal(0)
    write: Decimal = Decimal(0)
    # The entity of the items; None for guards and counters.
    schema: Schema | None = None

    @property
    def place(self) -> str:
        return place_of(self.table, self.index)


class CapacityEstimate:
    """Estimates the units of a design; ``sizes`` overrides the item sizes of some entities."""

    def __init__(self, design: Design, sizes: Mapping[type[Entity], int] | None = None) -> None:
        self.design = design
        self._sizes = dict(sizes or {})
        self._items: dict[Schema, dict[str, Any]] = {}

    # -- sizes --------------------------------------------------------------------------------------------------

    def size(self, schema: Schema) -> int:
        """The bytes of an item: overridden, declared, or those of a sample."""
        if schema.entity in self._sizes:
            return self._sizes[schema.entity]
        volume = self.design.volume.get(schema.entity)
        return item_size(self._item(schema)) if volume is None else volume.size

    def entry_size(self, schema: Schema, index: Index | None) -> int:
        """The bytes of an item, or of its entry in an index."""
        size = self.size(schema)
        return size if index is None else entry_size(schema, index, self._item(schema), size)

    def _item(self, schema: Schema) -> dict[str, Any]:
        if schema not in self._items:
            self._items[schema] = sample(schema.entity).item()
        return self._items[schema]

    # -- units --------------------------------------------------------------------------------------------------

    def of(self, subject: str) -> list[Units]:
        """The units of one call of a pattern (``Call.upcoming``) or a write (``book``)."""
        write = self.design.writes.get(subject)
        if write is not None:
            return self.of_write(write)
        whose, pattern = self.design.patterns[subject]
        if isinstance(pattern, CollectionQuery):
            assert not isinstance(whose, Schema)
            return _summed(self._gather(whose, pattern))
        assert isinstance(whose, Schema)
        return _summed(self._read(whose, pattern))

    def of_write(self, write: Write) -> list[Units]:
        """The units of one write, whether or not the design lists it."""
        return _summed(self._write(write))

    def _read(self, schema: Schema, pattern: Get | Query, consistent: bool | None = None) -> Iterator[Units]:
        table = schema.table
        consistent = pattern.consistent if consistent is None else consistent
        index = None if pattern.index is None else table.index(pattern.index)
        if index is None and isinstance(pattern, Get):
            yield Units(table, None, _read_units(self.size(schema), consistent=consistent), schema=schema)
            return
        items = 1 if isinstance(pattern, Get) else _items_read(schema, pattern)
        attributes = (table.partition,) if index is None else index.partition
        rules = [schema.key_rules[name] for name in attributes if name in schema.key_rules]
        shards = max((sum(map(len, rule.suffixes)) for rule in rules), default=1) * _partitions(schema, pattern)
        share = -(-items // shards)
        one = _read_units(share * self.entry_size(schema, index), consistent=consistent)
        yield Units(table, index, shards * one, schema=schema)
        if lacks(schema, pattern):
            yield self._fetched(schema, items, pattern)

    def _gather(self, collection: type[Collection], pattern: CollectionQuery) -> Iterator[Units]:
        members = collection.members_
        table = members[0].schema.table
        index = None if pattern.index is None else table.index(pattern.index)
        lists = [member for member in members if member.many]
        rest = USUAL_ITEMS * len(lists)
        if pattern.expected is not None:
            rest = max(0, pattern.expected - (len(members) - len(lists)))
        numbers = {member.name: 1 for member in members}
        for position, member in enumerate(lists):
            numbers[member.name] = rest // len(lists) + (position < rest % len(lists))
        size = sum(numbers[member.name] * self.entry_size(member.schema, index) for member in members)
        yield Units(table, index, _read_units(size, consistent=pattern.consistent), schema=members[0].schema)
        if lacks(members[0].schema, pattern):
            for member in members:
                yield self._fetched(member.schema, numbers[member.name], pattern)

    def _fetched(self, schema: Schema, items: int, pattern: Get | Query | CollectionQuery) -> Units:
        """Items that are read from the table because the index does not project all of them."""
        is_global = schema.table.index(pattern.index or "").is_global
        one = _read_units(self.size(schema), consistent=pattern.consistent and not is_global)
        return Units(schema.table, None, items * one, schema=schema)

    def _write(self, write: Write) -> Iterator[Units]:
        inner = [units for item_write in write.item_writes for units in self._touch(item_write)]
        internal = internal_items(write)
        checkpoints = self._checkpoints(write)
        factor = 2 if is_transaction(write) or checkpoints is not None else 1
        if checkpoints is not None:
            yield Units(checkpoints, None, write=Decimal(factor * write_units(_SMALL)))
        for name in write.reads:
            whose, pattern = self.design.granted_patterns[name]
            assert isinstance(whose, Schema)
            assert isinstance(pattern, Get | Query)
            if isinstance(pattern, Get) and _has_guard(whose, pattern):
                # By the guard of the value, as the index may lag behind.
                both = _read_units(_SMALL, consistent=True) + _read_units(self.size(whose), consistent=True)
                yield Units(whose.table, None, both, schema=whose)
            else:
                yield from self._read(whose, pattern, _may_be_consistent(whose, pattern))
        for item_write in write.item_writes:
            schema = item_write.entity.schema_
            if reads_first(write, item_write):
                read = item_write.count * _read_units(self.size(schema), consistent=True)
                yield Units(schema.table, None, read, schema=schema)
        for units in inner:
            yield Units(
                units.table, units.index, units.read, units.write * (factor if units.index is None else 1), units.schema
            )
        for each in internal:
            read = each.count * _read_units(_SMALL, consistent=True) if each.is_read else Decimal(0)
            yield Units(each.schema.table, None, read, Decimal(each.count * factor * write_units(_SMALL)))
        for entity in write.checks:
            # Charged as if the item were written.
            schema = entity.schema_
            yield Units(schema.table, None, write=Decimal(factor * write_units(self.size(schema))), schema=schema)

    def _checkpoints(self, write: Write) -> Table | None:
        """The table of the checkpoint that a write is one transaction with, if a consumer makes it."""
        for reaction in self.design.reactions:
            if reaction.write == write.name:
                try:
                    return checkpoint_table(self.design, reaction)
                except DesignError:
                    # It is in a table of another design.
                    return None
        return None

    def _touch(self, item_write: ItemWrite) -> Iterator[Units]:
        """The units of one item write on its own."""
        schema = item_write.entity.schema_
        table, count = schema.table, item_write.count
        times = 2 if is_move(item_write) else 1
        yield Units(table, None, write=Decimal(count * times * write_units(self.size(schema))), schema=schema)
        for index in table.indexes:
            writes = entry_writes(schema, index, item_write)
            if writes:
                units = writes * write_units(self.entry_size(schema, index))
                yield Units(table, index, write=Decimal(count * units), schema=schema)


def _may_be_consistent(schema: Schema, pattern: Get | Query) -> bool:
    """Whether a pattern can be read consistently: not with a global index, which lags behind."""
    return pattern.index is None or not schema.table.index(pattern.index).is_global


def _has_guard(schema: Schema, pattern: Get) -> bool:
    """Whether a read by an index is by a unique value, so that it can be consistent nevertheless."""
    by = frozenset[str]() if pattern.signature is None else pattern.signature.required
    unique = [{spec.name, *spec.marker(Unique).per} for spec in schema.unique]
    return pattern.index is not None and by in unique


def _partitions(schema: Schema, pattern: Get | Query) -> int:
    """The partitions that a pattern merges, where it takes several values: all that a field has, or else two."""
    several = () if pattern.signature is None else pattern.signature.several
    known = [choices_of(schema.fields[name].annotation) for name in several if name in schema.fields]
    return prod(count or _USUAL_VALUES for count in known)


def _read_units(size: int, *, consistent: bool) -> Decimal:
    return Decimal(dynamo.read_units(size, consistent))


# -- reads ----------------------------------------------------------------------------------------------------------


def _items_read(schema: Schema, pattern: Query) -> int:
    """The number of items that a query reads to return the expected ones: discarded items are read as well."""
    items = USUAL_ITEMS if pattern.expected is None else max(1, pattern.expected)
    for restriction in restrictions(schema, pattern):
        choices, allowed = _choices(schema, restriction.field), restriction.allowed
        if choices and allowed:
            items = -(-items * choices // min(allowed, choices))
    return items


def _choices(schema: Schema, path: str) -> int | None:
    """The number of values of a field, if it is known."""
    spec = schema.fields.get(path)
    return None if spec is None else choices_of(spec.annotation)


def _summed(parts: Iterator[Units] | Sequence[Units]) -> list[Units]:
    """Sums the units of the same table or index and entity."""
    found: dict[tuple[str, type[Entity] | None], Units] = {}
    for units in parts:
        key = units.place, None if units.schema is None else units.schema.entity
        known = found.get(key)
        if known is not None:
            units = Units(known.table, known.index, known.read + units.read, known.write + units.write, known.schema)
        found[key] = units
    return list(found.values())
