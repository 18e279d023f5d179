"""Loading large values: items that refer to blobs, completed with the values in them.

item ──▶ blobs that it refers to; if one is missing, it was superseded, so the item is read again
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablewright.dynamo import AttributeValue, Item
from tablewright.model import Entity, Schema, Table, schema_of, schemas_of
from tablewright.model.items.item_decoding import unknown_attributes
from tablewright.model.values.attribute_codec import decode
from tablewright.store.blobs.blob_references import (
    Reference,
    missing_references,
    references,
    value_in,
)
from tablewright.store.blobs.blob_requests import get_blobs
from tablewright.store.context import Context
from tablewright.store.errors import BlobLost, Conflict
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import retrying
from tablewright.store.item_description import describe_item
from tablewright.store.read.batch_get import batch_get
from tablewright.store.visibility import is_visible
from tablewright.store.write.planning.item_conditions import is_older

# How often an item is read again because the blob that it referred to was superseded.
_ATTEMPTS = 8

# Values by their blob, as far as they are known.
Values = Mapping[str, AttributeValue]


def loaded_values(entity: Entity) -> Values:
    """The values that an entity has of those that are blobs, as far as they are what is stored."""
    schema, found = schema_of(type(entity)), {}
    for attribute, reference in references(unknown_attributes(entity)).items():
        spec = schema.by_attribute.get(attribute)
        if spec is not None and spec.name in entity.__dict__:
            value = spec.encode(entity.__dict__[spec.name])
            if value is not None and reference.is_of(value):
                found[reference.blob] = value
    return found


def load_blobs(
    context: Context, table: Table, items: Sequence[Item], values: Values | None = None
) -> Flow[list[Item | None]]:
    """Items with the values of their blobs; as they are now where they have changed, None where they are gone."""
    result: list[Item | None] = list(items)
    waiting = {number: item for number, item in enumerate(items) if missing_references(item)}
    known = dict(values or {})
    for _ in range(_ATTEMPTS):
        if not waiting:
            return result
        wanted = {found.blob: found for item in waiting.values() for found in missing_references(item).values()}
        known |= yield from _read(context, [name for name in wanted if name not in known])
        superseded = {}
        for number, item in waiting.items():
            filled = _filled(table, item, known)
            if filled is None:
                superseded[number] = item
            result[number] = filled
        waiting = yield from _again(context, table, superseded, known, result)
    raise Conflict(f"{table.name}: items kept changing while they were read; try again")


def load_visible(
    context: Context, schemas: Sequence[Schema], items: Sequence[Item], key: Sequence[str]
) -> Flow[list[Item | None]]:
    """Items that a read has found, with the values of their blobs.

    None for those that have changed meanwhile and are not what was asked for any more: they are gone, have expired, or
    are elsewhere by the attributes of a key.
    """
    found = yield from load_blobs(context, schemas[0].table, items)
    now = context.clock()

    def is_shown(before: Item, item: Item) -> bool:
        if references(item) == references(before):
            return True
        in_place = all(item.get(name) == before.get(name) for name in key)
        return in_place and any(is_visible(schema, item, now) for schema in schemas)

    pairs = zip(items, found, strict=True)
    return [item if item is not None and is_shown(before, item) else None for before, item in pairs]


def whole_if_older(context: Context, schema: Schema, item: Item | None) -> Flow[Item | None]:
    """An item, with all its values if it has an older schema version, since its upgrades may look at them."""
    if item is None or not is_older(schema, item) or not missing_references(item):
        return item
    (whole,) = yield from load_blobs(context, schema.table, [item])
    if whole is None:
        raise Conflict(
            f"{schema.entity.__name__} {describe_item(schema, item)}: the item kept changing while "
            "it was read; try again"
        )
    return whole


def _read(context: Context, names: Sequence[str]) -> Flow[dict[str, Any]]:
    if not names:
        return {}
    response = yield from retrying(context, get_blobs(context.blob_store(), names))
    return {name: data for name, data in zip(names, response["Blobs"], strict=True) if data is not None}


def _filled(table: Table, item: Item, known: Mapping[str, Any]) -> Item | None:
    """An item with its values; None if one of their blobs does not exist."""
    filled = dict(item)
    for attribute, reference in missing_references(item).items():
        found = known.get(reference.blob)
        if found is None:
            return None
        value = value_in(found, reference) if isinstance(found, bytes) else found
        if value is None:
            raise _lost(table, item, attribute, reference, "does not have the content that was written")
        filled[attribute] = value
    return filled


def _again(
    context: Context,
    table: Table,
    superseded: Mapping[int, Item],
    known: Mapping[str, Any],
    result: list[Item | None],
) -> Flow[dict[int, Item]]:
    """Read items again that refer to something else by now; those that are to be filled once more."""
    if not superseded:
        return {}
    name = context.name_of(table)
    addresses = [(name, {part: item[part] for part in table.key}) for item in superseded.values()]
    items = yield from batch_get(context, addresses, f"{table.name}.blobs", consistent=True)
    waiting = {}
    for (number, before), now in zip(superseded.items(), items, strict=True):
        result[number] = now
        if now is None or not missing_references(now):
            continue
        missing = missing_references(before)
        for attribute, reference in missing_references(now).items():
            if reference.blob not in known and missing.get(attribute) == reference:
                raise _lost(table, now, attribute, reference, f"is not in {context.blob_store()!r}")
        waiting[number] = now
    return waiting


def _lost(table: Table, item: Item, attribute: str, reference: Reference, reason: str) -> BlobLost:
    schema = next((schema for schema in schemas_of(table) if schema.matches(item)), None)
    if schema is None:
        return BlobLost(table.name, "", attribute, reference.blob, reason)
    return BlobLost(
        schema.entity.__name__, describe_item(schema, item), schema.field_path(attribute), reference.blob, reason
    )


def load(context: Context, entity: Entity) -> Flow[None]:
    """Load the large values of an entity that were not read with it, such as those in the changes of a stream."""
    schema = schema_of(type(entity))
    known = references(unknown_attributes(entity))
    lacked = {
        attribute: reference
        for attribute, reference in known.items()
        if attribute in schema.by_attribute and schema.by_attribute[attribute].name not in entity.__dict__
    }
    contents = yield from _read(context, [reference.blob for reference in lacked.values()])
    name = schema.entity.__name__
    for attribute, reference in lacked.items():
        field_name = schema.by_attribute[attribute].name
        data = contents.get(reference.blob)
        reason = "is no longer there: the item has been changed or deleted since"
        value = None if data is None else value_in(data, reference)
        if value is None:
            reason = reason if data is None else "does not have the content that was written"
            raise BlobLost(name, _describe_partial(schema, entity), field_name, reference.blob, reason)
        schema.entity.__pydantic_validator__.validate_assignment(entity, field_name, decode(value))


def _describe_partial(schema: Schema, entity: Entity) -> str:
    """The description of an entity's item that was read in part."""
    values = {name: value for name, value in entity.__dict__.items() if name in schema.fields and value is not None}
    return describe_item(schema, schema.key_of(schema.encode_values(values)))
