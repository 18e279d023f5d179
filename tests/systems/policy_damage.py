"""Damage of every kind that a repair can undo, in every table of a design: so that a repair does all that it can."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from tablewright.design.sample_entities import sample
from tablewright.dynamo import Item
from tablewright.model import Design, Schema, Table, schemas_of
from tablewright.store import Request, Store
from tablewright.store.write.sequence import COUNT

# What has expired is not repaired.
_NEVER = {"N": "4102444800"}


def damage(store: Store, design: Design) -> None:
    """Store samples of all entities, and damage them; ``store`` may do anything."""
    for table in design.tables:
        for schema in schemas_of(table):
            _wrong_keys(store, schema)
            _guards_and_counters(store, schema)


def repair_all(store: Store, design: Design) -> None:
    """What maintenance does, with a store that has its permissions."""
    for table in design.tables:
        store.verify(table)
        # What one pass puts right may be what the next one looks at.
        for _ in range(2):
            store.repair(table, dry_run=False)
        assert store.verify(table).is_clean, store.verify(table).findings
        if any(schema.large for schema in schemas_of(table)):
            store.collect_orphans(table, dry_run=False, grace=timedelta(0))


def _wrong_keys(store: Store, schema: Schema) -> None:
    """An item with a wrong index key, and one under a wrong primary key."""
    table = schema.table
    # Samples from the second one on are in sparse indexes, some in each; each damage is done to items of its own.
    for number, attribute in enumerate(schema.key_rules, 1):
        for sample_number in (10 * number, 10 * number + 1, 10 * number + 2):
            item = schema.encode(sample(schema.entity, sample_number))
            if schema.expiry is not None:
                item[schema.expiry.attribute] = _NEVER
            if attribute in item:
                _put(store, table, {**item, attribute: {"S": f"{item[attribute]['S']}-elsewhere"}})


def _guards_and_counters(store: Store, schema: Schema) -> None:
    """A missing guard, one that guards nothing, a counter behind the numbers that it has given, and an orphan."""
    if not (schema.unique or schema.numbered or schema.large):
        return
    table = schema.table
    kept, gone = (_created(store, schema, number) for number in (5, 6))
    for spec in schema.unique:
        _delete(store, table, schema.guard_key(spec, kept[spec.attribute]))
    for spec in schema.numbered:
        _put(store, table, {**schema.sequence_key(spec, kept), COUNT: {"N": "0"}})
    if schema.unique or schema.large:
        _delete(store, table, {name: gone[name] for name in table.key})


def _created(store: Store, schema: Schema, number: int) -> Item:
    large = {spec.name: "x" * 500_000 for spec in schema.large}
    entity = sample(schema.entity, number).model_copy(update={**dict(_unset(schema)), **large})
    return schema.encode(store.create(entity))


def _unset(schema: Schema) -> Iterator[tuple[str, int]]:
    """Numbers that are given when the item is created."""
    for spec in (*schema.numbered, *([] if schema.version is None else [schema.version])):
        yield spec.name, 0


def _put(store: Store, table: Table, item: Item) -> None:
    store.backend.call(Request("PutItem", {"TableName": store.context.name_of(table), "Item": item}))


def _delete(store: Store, table: Table, key: Item) -> None:
    store.backend.call(Request("DeleteItem", {"TableName": store.context.name_of(table), "Key": key}))
