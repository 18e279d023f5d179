"""The actions of a write, the internal items of the store, and whether it is a transaction.

    actions(design.writes["book"])      Actions(items=2, internal=1, checks=0)

An item that moves is deleted and put. Guards of unique values, counters of numbered fields, and counters that count the
entity in its transactions are further items.
"""

from __future__ import annotations

from dataclasses import dataclass

from tablewright.model import ItemWrite, Numbered, Schema, Unique, Write
from tablewright.model.items.field_spec import FieldSpec

__all__ = [
    "Actions",
    "InternalItems",
    "actions",
    "changed_attributes",
    "internal_items",
    "is_move",
    "is_transaction",
    "reads_first",
]


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of a write: items that it writes, internal items of the store, and checks."""

    items: int
    internal: int
    checks: int

    @property
    def total(self) -> int:
        return self.items + self.internal + self.checks


def actions(write: Write) -> Actions:
    """The actions of a write; an item that moves is deleted and put."""
    items = sum(item_write.count * (2 if is_move(item_write) else 1) for item_write in write.item_writes)
    return Actions(items, sum(each.count for each in internal_items(write)), len(write.checks))


def is_transaction(write: Write) -> bool:
    """Whether a write has several actions, internal items and checks included, that are made all or none."""
    return not write.is_batch and actions(write).total > 1


@dataclass(frozen=True, slots=True)
class InternalItems:
    """Guards or counters that a write needs: of which entity, whether they are read first, and how many."""

    schema: Schema
    is_read: bool
    count: int


def changed_attributes(schema: Schema, item_write: ItemWrite) -> frozenset[str]:
    """The attributes that an update writes: those that it names, and those that the store sets."""
    named_ = {schema.path(path).partition(".")[0] for path in item_write.changed}
    managed = {spec.attribute for spec in (schema.version, schema.updated, schema.retained) if spec is not None}
    return frozenset(named_ | managed)


def is_move(item_write: ItemWrite) -> bool:
    """Whether an update changes the primary key, so that the item is deleted and put."""
    if item_write.action != "update":
        return False
    schema = item_write.entity.schema_
    named_ = {schema.path(path).partition(".")[0] for path in item_write.changed}
    return any(schema.sources(attribute) & named_ for attribute in schema.table.key)


def reads_first(write: Write, item_write: ItemWrite) -> bool:
    """Whether the store reads an item before it writes it, although it is given the entity.

    It does without a version to check: the item that is moved has to be known, and so have the blobs of an item.
    """
    schema = item_write.entity.schema_
    if write.is_batch:
        return bool(schema.large)
    return item_write.action == "update" and schema.version is None and (is_move(item_write) or bool(schema.large))


def internal_items(write: Write) -> list[InternalItems]:
    """The guards and counters that a write needs."""
    guards: dict[tuple[Schema, str], dict[str, int]] = {}
    counters: list[InternalItems] = []
    for item_write in write.item_writes:
        schema = item_write.entity.schema_
        changed = changed_attributes(schema, item_write)
        # A guard expires with its owner.
        outlives = schema.expiry is not None and schema.expiry.attribute in changed
        for spec in schema.unique:
            sources = {spec.attribute, *(schema.path(name) for name in spec.marker(Unique).per)}
            replaced = item_write.action == "update" and not sources.isdisjoint(changed)
            if item_write.action == "update" and not (replaced or outlives or is_move(item_write)):
                continue
            guard = guards.setdefault((schema, spec.attribute), {"taken": 0, "released": 0})
            if item_write.action != "delete":
                guard["taken"] += item_write.count
            if item_write.action == "delete" or replaced:
                guard["released"] += item_write.count
        if item_write.action in ("create", "put"):
            # Items of one transaction share a counter.
            counters += [InternalItems(schema, not _creates_group(write, spec), 1) for spec in schema.numbered]
        counters += _kept_counters(schema, item_write, changed)
    found: list[InternalItems] = []
    for (schema, attribute), guard in guards.items():
        replaces = any(
            item_write.action == "update"
            and item_write.entity is schema.entity
            and attribute in changed_attributes(schema, item_write)
            for item_write in write.item_writes
        )
        # A value that one action releases and another takes is one guard, unless it is a new value.
        count = guard["taken"] + guard["released"] if replaces else max(guard["taken"], guard["released"])
        found.append(InternalItems(schema, False, count))
    return found + counters


def _kept_counters(schema: Schema, item_write: ItemWrite, changed: frozenset[str]) -> list[InternalItems]:
    """The items of counters that a write changes in its transaction; two if an item comes to count for another."""
    found: dict[Schema, int] = {}
    for counter in schema.counters:
        is_update = item_write.action == "update"
        if counter.kept_by != "transaction" or (is_update and changed.isdisjoint(counter.sources)):
            continue
        grouped_by = {path.partition(".")[0] for _, path in counter.group}
        items = 2 if is_update and not changed.isdisjoint(grouped_by) else 1
        found[counter.schema] = max(found.get(counter.schema, 0), items)
    return [InternalItems(kept, False, item_write.count * items) for kept, items in found.items()]


def _creates_group(write: Write, spec: FieldSpec) -> bool:
    """Whether a write creates what a field is numbered per, so that its counter is new and need not be read."""
    group = set(spec.marker(Numbered).per)
    return any(
        item_write.action == "create" and item_write.entity.schema_.identity_fields == group
        for item_write in write.item_writes
    )
