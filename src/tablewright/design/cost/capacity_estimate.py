"""Capacity: the units that each access pattern and each write of a design takes, by DynamoDB's rules.

    CapacityEstimate(design).of("Call.upcoming")      [Units(Calls, byUserStatus, read 0.5)]
    CapacityEstimate(design).of("book")               [Units(Calls, write 2), Units(Calls, byCallId, write 1), ...]

A write costs the item, and one write of each index whose entry changes: two where the entry moves, as it is deleted and
put. A transaction costs double on the table and the same on its indexes, a batch what its items cost. Where the store
looks at an item before it writes it, although it is given the entity, that is a read. Guards of unique values and
counters are items like others; an item that is only checked costs as if it were written. A read is charged on what is
read, before a filter or a projection leaves anything out, rounded up once for a query; a sharded key is one query for
each shard.

Sizes are those of ``Design.volume``, or else those of a sample item. An item is taken to be in a sparse index when it
is there by its defaults, or when the write is what brings it in or takes it out. Units are those of an attempt that
succeeds.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args, get_origin

from tablewright import dynamo
from tablewright.design.index_coverage import lacks
from tablewright.design.sample_entities import sample
from tablewright.dynamo import item_size, non_null_at, write_units
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
    Write,
)
from tablewright.model.declarations import Numbered
from tablewright.model.items.field_spec import FieldSpec
from tablewright.model.values.attribute_codec import resolve_alias

__all__ = ["USUAL_ITEMS", "Actions", "CapacityEstimate", "Units", "actions", "is_transaction"]

# How many items a query gives where its pattern does not say what is expected.
USUAL_ITEMS = 10
# Guards and counters have a key and little more; a partial key of a sparse index is of this size or so.
_SMALL = 1
_KEY_BYTES = 24


@dataclass(frozen=True, slots=True)
class Units:
    """What one use of a pattern or write takes of a table, or of one of its indexes."""

    table: Table
    index: Index | None
    read: Decimal = Decimal(0)
    write: Decimal = Decimal(0)
    # Whose items they are; None for guards and counters.
    schema: Schema | None = None

    @property
    def place(self) -> str:
        return self.table.name if self.index is None else f"{self.table.name}/{self.index.name}"


@dataclass(frozen=True, slots=True)
class Actions:
    """What a write asks for at most: items that it writes, guards and counters of the store, and checks."""

    items: int
    kept: int
    checks: int

    @property
    def total(self) -> int:
        return self.items + self.kept + self.checks


def actions(write: Write) -> Actions:
    """The actions of a write; an item that moves is deleted and put."""
    items = sum(item_write.count * (2 if _moves(item_write) else 1) for item_write in write.item_writes)
    return Actions(items, sum(number for _, _, number in _store_items(write)), len(write.checks))


def is_transaction(write: Write) -> bool:
    """Whether a write is about several items, guards, counters and checks among them, all or none of them."""
    return not write.is_batch and actions(write).total > 1


class CapacityEstimate:
    """The units of a design; ``sizes`` replaces the sizes of some entities, to see what would be."""

    def __init__(self, design: Design, sizes: Mapping[type[Entity], int] | None = None) -> None:
        self.design = design
        self._sizes = dict(sizes or {})
        self._items: dict[Schema, dict[str, Any]] = {}

    # -- sizes --------------------------------------------------------------------------------------------------

    def size(self, schema: Schema) -> int:
        """The bytes of an item: as it is given, as it is declared, or as a sample has them."""
        if schema.entity in self._sizes:
            return self._sizes[schema.entity]
        volume = self.design.volume.get(schema.entity)
        return item_size(self._item(schema)) if volume is None else volume.size

    def entry_size(self, schema: Schema, index: Index | None) -> int:
        """The bytes of an entry of an index: all of the item, or what the index has of it."""
        whole = self.size(schema)
        if index is None or index.include is None:
            return whole
        item = self._item(schema)
        kept = dict.fromkeys([*schema.table.key, *index.attributes, *index.include])
        there = {name: item[name] for name in kept if name in item}
        missing = [name for name in index.attributes if name not in item]
        return min(whole, item_size(there) + sum(len(name) + _KEY_BYTES for name in missing))

    def _item(self, schema: Schema) -> dict[str, Any]:
        if schema not in self._items:
            self._items[schema] = sample(schema.entity).item()
        return self._items[schema]

    def is_sparse(self, schema: Schema, index: Index) -> bool:
        """Whether items of the entity are in an index in some states only, and not in the one they begin in."""
        for attribute in index.attributes:
            rule = schema.key_rules.get(attribute)
            needed = [attribute] if rule is None else sorted(rule.template.required)
            if any(_begins_absent(schema, path) for path in needed):
                return True
            for path, allowed in {} if rule is None else rule.when.items():
                spec = schema.by_attribute[path.partition(".")[0]]
                info = schema.entity.model_fields[spec.name]
                if not info.is_required():
                    default = spec.encode(info.get_default(call_default_factory=True, validated_data={}))
                    if default is None or non_null_at({spec.attribute: default}, path) not in allowed:
                        return True
        return False

    # -- units --------------------------------------------------------------------------------------------------

    def of(self, subject: str) -> list[Units]:
        """The units of one use of a pattern (``Call.upcoming``) or a write (``book``)."""
        write = self.design.writes.get(subject)
        if write is not None:
            return _summed(self._write(write))
        whose, pattern = self.design.patterns[subject]
        if isinstance(pattern, CollectionQuery):
            assert not isinstance(whose, Schema)
            return _summed(self._gather(whose, pattern))
        assert isinstance(whose, Schema)
        return _summed(self._read(whose, pattern))

    def _read(self, schema: Schema, pattern: Get | Query) -> Iterator[Units]:
        table = schema.table
        index = None if pattern.index is None else table.index(pattern.index)
        if index is None and isinstance(pattern, Get):
            yield Units(table, None, _read_units(self.size(schema), consistent=pattern.consistent), schema=schema)
            return
        items = 1 if isinstance(pattern, Get) else _items_read(schema, pattern)
        attributes = (table.partition,) if index is None else index.partition
        rules = [schema.key_rules[name] for name in attributes if name in schema.key_rules]
        shards = max((sum(map(len, rule.suffixes)) for rule in rules), default=1)
        share = -(-items // shards)
        one = _read_units(share * self.entry_size(schema, index), consistent=pattern.consistent)
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
        """Items that are read from the table because an index lacks something of them."""
        is_global = schema.table.index(pattern.index or "").is_global
        one = _read_units(self.size(schema), consistent=pattern.consistent and not is_global)
        return Units(schema.table, None, items * one, schema=schema)

    def _write(self, write: Write) -> Iterator[Units]:
        inner = [units for item_write in write.item_writes for units in self._touch(item_write)]
        kept = _store_items(write)
        factor = 2 if is_transaction(write) else 1
        for item_write in write.item_writes:
            schema = item_write.entity.schema_
            if _reads_first(write, item_write):
                read = item_write.count * _read_units(self.size(schema), consistent=True)
                yield Units(schema.table, None, read, schema=schema)
        for units in inner:
            yield Units(
                units.table, units.index, units.read, units.write * (factor if units.index is None else 1), units.schema
            )
        for schema, is_read, number in kept:
            read = number * _read_units(_SMALL, consistent=True) if is_read else Decimal(0)
            yield Units(schema.table, None, read, Decimal(number * factor * write_units(_SMALL)))
        for entity in write.checks:
            # Charged as if the item were written.
            schema = entity.schema_
            yield Units(schema.table, None, write=Decimal(factor * write_units(self.size(schema))), schema=schema)

    def _touch(self, item_write: ItemWrite) -> Iterator[Units]:
        """What an action takes by itself."""
        schema = item_write.entity.schema_
        table, count = schema.table, item_write.count
        times = 2 if _moves(item_write) else 1
        yield Units(table, None, write=Decimal(count * times * write_units(self.size(schema))), schema=schema)
        for index in table.indexes:
            writes = self._entry_writes(schema, index, item_write)
            if writes:
                units = writes * write_units(self.entry_size(schema, index))
                yield Units(table, index, write=Decimal(count * units), schema=schema)

    def _entry_writes(self, schema: Schema, index: Index, item_write: ItemWrite) -> int:
        """How often an entry of an index is written."""
        if not schema.covers(index):
            return 0
        there = not self.is_sparse(schema, index)
        if item_write.action != "update":
            return int(there)
        if _moves(item_write):
            return 2 * there
        changed = _changed(schema, item_write)
        if any(schema.sources(attribute) & changed for attribute in index.attributes):
            states = {
                path.partition(".")[0]
                for attribute in index.attributes
                if attribute in schema.key_rules
                for path in schema.key_rules[attribute].when
            }
            # A state that decides whether there is an entry: it comes, or it goes.
            return 1 if states & changed else 2
        if not there:
            return 0
        seen = index.include is None or changed & {*index.include, *schema.table.key}
        return 1 if seen else 0


def _begins_absent(schema: Schema, path: str) -> bool:
    """Whether an attribute is not there by default."""
    spec = schema.by_attribute.get(path.partition(".")[0])
    if spec is None or spec in (schema.created, schema.updated):
        return False
    info = schema.entity.model_fields[spec.name]
    if spec is schema.expiry and schema.lifetime is not None:
        return False
    return not info.is_required() and info.default is None and info.default_factory is None


def _changed(schema: Schema, item_write: ItemWrite) -> frozenset[str]:
    """The attributes that an update writes: those that it names, and those that the store keeps."""
    named_ = {schema.path(path).partition(".")[0] for path in (*item_write.sets, *item_write.appends)}
    managed = {spec.attribute for spec in (schema.version, schema.updated) if spec is not None}
    return frozenset(named_ | managed)


def _moves(item_write: ItemWrite) -> bool:
    """Whether an update changes the primary key, so that the item is deleted and put."""
    if item_write.action != "update":
        return False
    schema = item_write.entity.schema_
    named_ = {schema.path(path).partition(".")[0] for path in (*item_write.sets, *item_write.appends)}
    return any(schema.sources(attribute) & named_ for attribute in schema.table.key)


def _reads_first(write: Write, item_write: ItemWrite) -> bool:
    """Whether the store looks at an item before it writes it, although it is given the entity.

    It does where no version vouches for the entity: what is moved has to be known, and so has what an item has outside.
    """
    schema = item_write.entity.schema_
    if write.is_batch:
        return bool(schema.large)
    return item_write.action == "update" and schema.version is None and (_moves(item_write) or bool(schema.large))


def _store_items(write: Write) -> list[tuple[Schema, bool, int]]:
    """The guards and counters that a write touches: whose, whether they are read first, and how many."""
    guards: dict[tuple[Schema, str], dict[str, int]] = {}
    counters: list[tuple[Schema, bool, int]] = []
    for item_write in write.item_writes:
        schema = item_write.entity.schema_
        changed = _changed(schema, item_write)
        # A guard expires with its owner.
        outlives = schema.expiry is not None and schema.expiry.attribute in changed
        for spec in schema.unique:
            replaced = item_write.action == "update" and spec.attribute in changed
            if item_write.action == "update" and not (replaced or outlives or _moves(item_write)):
                continue
            held = guards.setdefault((schema, spec.attribute), {"taken": 0, "given": 0})
            if item_write.action != "delete":
                held["taken"] += item_write.count
            if item_write.action == "delete" or replaced:
                held["given"] += item_write.count
        if item_write.action in ("create", "put"):
            # Items of one transaction draw from one counter.
            counters += [(schema, not _makes_group(write, spec), 1) for spec in schema.numbered]
    kept: list[tuple[Schema, bool, int]] = []
    for (schema, attribute), held in guards.items():
        replaces = any(
            item_write.action == "update"
            and item_write.entity is schema.entity
            and attribute in _changed(schema, item_write)
            for item_write in write.item_writes
        )
        # What one action gives up and another takes is one guard that is handed over, unless the value is a new one.
        number = held["taken"] + held["given"] if replaces else max(held["taken"], held["given"])
        kept.append((schema, False, number))
    return kept + counters


def _makes_group(write: Write, spec: FieldSpec) -> bool:
    """Whether a write makes what a field is numbered for, so that nobody has to look how far its counter is."""
    group = set(spec.marker(Numbered).per)
    return any(
        item_write.action == "create" and item_write.entity.schema_.identity_fields == group
        for item_write in write.item_writes
    )


def _read_units(size: int, *, consistent: bool) -> Decimal:
    return Decimal(dynamo.read_units(size, consistent))


# -- reads ----------------------------------------------------------------------------------------------------------


def _items_read(schema: Schema, pattern: Query) -> int:
    """How many items a query reads to give those that are expected: what a filter drops is read as well."""
    items = USUAL_ITEMS if pattern.expected is None else max(1, pattern.expected)
    for path, wanted in pattern.where.items():
        choices = _choices(schema, path)
        allowed = len(wanted) if isinstance(wanted, list | tuple | set | frozenset) else 1
        if choices and allowed:
            items = -(-items * choices // min(allowed, choices))
    return items


def _choices(schema: Schema, path: str) -> int | None:
    """How many values a field can have, where they can be counted."""
    spec = schema.fields.get(path)
    return None if spec is None else _members(spec.annotation)


def _members(annotation: Any) -> int | None:
    annotation = resolve_alias(annotation)
    if get_origin(annotation) is Literal:
        return len(get_args(annotation))
    if annotation is bool:
        return 2
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return len(annotation)
    known = [count for argument in get_args(annotation) if (count := _members(argument)) is not None]
    return known[0] if len(known) == 1 else None


def _summed(parts: Iterator[Units] | Sequence[Units]) -> list[Units]:
    """Units of the same place, and of the same items, in one."""
    found: dict[tuple[str, type[Entity] | None], Units] = {}
    for units in parts:
        key = units.place, None if units.schema is None else units.schema.entity
        known = found.get(key)
        if known is not None:
            units = Units(known.table, known.index, known.read + units.read, known.write + units.write, known.schema)
        found[key] = units
    return list(found.values())
