"""Reading single items: by primary key, by an index, and any number in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel

from tablewright.dynamo import Item
from tablewright.model import Lookup, ModelError, Schema, schema_of
from tablewright.store.argument_checks import A_GET, wrong_argument
from tablewright.store.blobs.blob_loading import load_visible
from tablewright.store.blobs.blob_references import missing_references
from tablewright.store.context import Context
from tablewright.store.errors import NotFound
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.item_description import describe_lookup
from tablewright.store.maintenance.write_back import written_back
from tablewright.store.read.batch_get import batch_get
from tablewright.store.read.entity_decoding import entities_of, entity_of, read_as
from tablewright.store.read.pager import open_pager
from tablewright.store.read.planning.projected_attributes import (
    projected_attributes,
    projection_members,
    table_projection,
)
from tablewright.store.read.planning.read_planner import plan_lookup
from tablewright.store.read.unique_lookup import get_by_guard, unique_field
from tablewright.store.visibility import is_visible

E = TypeVar("E", bound=BaseModel)


def get(context: Context, lookup: Lookup[E], *, consistent: bool | None = None) -> Flow[E | None]:
    """The entity, or None when there is none: no item, an expired one, or one of another entity."""
    if not isinstance(lookup, Lookup):
        raise wrong_argument("get", A_GET, lookup)
    schema = schema_of(lookup.entity)
    item: Item | None
    key: Sequence[str] = ()
    if lookup.index is None:
        pattern = f"{lookup.entity.__name__}.{lookup.name}"
        body: dict[str, Any] = {
            "TableName": context.name_of(schema.table),
            "Key": schema.key_for(lookup.values, pattern),
        }
        if lookup.consistent if consistent is None else consistent:
            body["ConsistentRead"] = True
        if lookup.projection is not None:
            body.update(projection_members(projected_attributes(schema, lookup.projection)))
        response = yield from retrying(context, Request("GetItem", body, pattern))
        item = response.get("Item")
        if item is None or not is_visible(schema, item, context.clock(), key_is_known=True):
            return None
    elif consistent and (unique := unique_field(lookup)) is not None:
        item = yield from get_by_guard(context, lookup, unique)
    else:
        plan = plan_lookup(context, lookup, consistent=consistent)
        items = yield from open_pager(context, plan).take(1)
        item, key = items[0] if items else None, plan.stable_key
    if item is not None and schema.subtypes:
        schema = schema.kind_of(item) or schema
    if item is not None and ((schema.large and lookup.load_large) or schema.writes_back):
        return (yield from _complete(context, lookup, schema, item, key))
    entity: E | None
    if lookup.projection is None:
        entity = None if item is None else entity_of(schema, item)
    else:
        entity = None if item is None else read_as(lookup, item)
    return entity


def get_or_raise(context: Context, lookup: Lookup[E], *, consistent: bool | None = None) -> Flow[E]:
    """The entity; NotFound when there is none."""
    entity = yield from get(context, lookup, consistent=consistent)
    if entity is None:
        raise NotFound(lookup.entity.__name__, describe_lookup(lookup))
    return entity


def exists(context: Context, lookup: Lookup[E], *, consistent: bool | None = None) -> Flow[bool]:
    """Whether there is an entity; its blobs are not loaded."""
    if not isinstance(lookup, Lookup):
        raise wrong_argument("exists", A_GET, lookup)
    return (yield from get(context, replace(lookup, load_large=False), consistent=consistent)) is not None


def _complete(context: Context, lookup: Lookup[E], schema: Schema, item: Item, key: Sequence[str]) -> Flow[E | None]:
    """The entity of an item that was found, with its blobs loaded."""
    found: Item | None = item
    if schema.large and lookup.load_large:
        (found,) = yield from load_visible(context, [schema], [item], key)
    if found is not None and schema.writes_back:
        (found,) = yield from written_back(context, [schema], [found])
    return None if found is None else read_as(lookup, found)


def get_many(context: Context, *groups: Sequence[Lookup[Any]], consistent: bool | None = None) -> Flow[list[list[Any]]]:
    """The entities of any number of lookups by primary key, of any entities and tables, in the same requests.

    Each group of lookups has its own list, in the order of its lookups, with None for those that do not exist.
    """
    for group in groups:
        if isinstance(group, Lookup):
            raise ModelError("get_many takes a list of lookups: get_many([...])")
    lookups = [lookup for group in groups for lookup in group]
    found = iter((yield from _get_many(context, lookups, consistent)))
    return [list(islice(found, len(group))) for group in groups]


def _get_many(context: Context, lookups: Sequence[Lookup[Any]], consistent: bool | None) -> Flow[list[Any]]:
    addresses = []
    by_table: dict[str, list[Lookup[Any]]] = {}
    for lookup in lookups:
        if not isinstance(lookup, Lookup):
            raise wrong_argument("get_many", A_GET, lookup)
        pattern = f"{lookup.entity.__name__}.{lookup.name}"
        if lookup.index is not None:
            raise ModelError(f"{pattern} reads an index: get_many reads by primary key only")
        schema = schema_of(lookup.entity)
        table = context.name_of(schema.table)
        addresses.append((table, schema.key_for(lookup.values, pattern)))
        by_table.setdefault(table, []).append(lookup)
    names = dict.fromkeys(f"{lookup.entity.__name__}.{lookup.name}" for lookup in lookups)
    # A request is consistent or not; if one of the lookups needs it, all of them are.
    is_consistent = any(lookup.consistent for lookup in lookups) if consistent is None else consistent
    projected = {table: table_projection(some) for table, some in by_table.items()}
    items = yield from batch_get(context, addresses, ", ".join(names), consistent=is_consistent, projected=projected)
    now = context.clock()
    found: dict[Schema, dict[int, Item]] = {}
    offloaded: dict[Schema, list[int]] = {}
    for number, lookup in enumerate(lookups):
        item, schema = items[number], schema_of(lookup.entity)
        if item is not None and is_visible(schema, item, now):
            found.setdefault(schema, {})[number] = item
            if lookup.load_large and missing_references(item):
                offloaded.setdefault(schema, []).append(number)
    for schema, numbers in offloaded.items():
        loaded = yield from load_visible(context, [schema], [found[schema].pop(number) for number in numbers], ())
        found[schema].update((number, item) for number, item in zip(numbers, loaded, strict=True) if item is not None)
    entities: list[Any] = [None] * len(lookups)
    for schema, by_number in found.items():
        present = list(by_number.values())
        if schema.writes_back:
            present = yield from written_back(context, [schema], present)
        if any(lookups[number].projection is not None for number in by_number):
            made = [read_as(lookups[number], item) for number, item in zip(by_number, present, strict=True)]
        else:
            made = entities_of(schema, present)
        for number, entity in zip(by_number, made, strict=True):
            entities[number] = entity
    return entities
