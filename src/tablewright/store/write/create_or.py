"""Creating an item unless it exists: then it is read, or changed.

Each is one request in the case that is more likely, and goes round again while others create and delete the item.
"""

from __future__ import annotations

from typing import TypeVar

from tablewright.dynamo import Item
from tablewright.model import Entity, FieldChange, Lookup, schema_of
from tablewright.store.argument_checks import AN_ENTITY
from tablewright.store.blobs.blob_loading import load_visible
from tablewright.store.context import Context
from tablewright.store.errors import AlreadyExists, Conflict, NotFound
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import backoff, retrying
from tablewright.store.read.entity_decoding import entity_of
from tablewright.store.write.planning.operation import schema_for
from tablewright.store.write.planning.write_target import key_in
from tablewright.store.write.put import create
from tablewright.store.write.update import update

__all__ = ["create_or_get", "update_or_create"]

E = TypeVar("E", bound=Entity)

_MAX_ROUNDS = 8


def create_or_get(context: Context, entity: E) -> Flow[tuple[E, bool]]:
    """The new item, or the existing one; and whether it was created."""
    schema = schema_for(entity, "create_or_get", AN_ENTITY)
    for number in range(_MAX_ROUNDS):
        if number:
            yield backoff(context, number)
        try:
            return (yield from create(context, entity)), True
        except AlreadyExists as error:
            key = key_in(schema, schema.encode(entity))
            body = {"TableName": context.name_of(schema.table), "Key": key, "ConsistentRead": True}
            request = Request("GetItem", body, f"{schema.entity.__name__}.create_or_get")
            item: Item | None = (yield from retrying(context, request)).get("Item")
            if item is not None and not schema.matches(item, key_is_known=True):
                # It is of another entity, and stays.
                raise error
            if item is not None and not schema.is_expired(item, context.clock()):
                (found,) = yield from load_visible(context, [schema], [item], ())
                if found is not None:
                    return entity_of(schema, found), False
    raise _busy(entity)


def update_or_create(context: Context, entity: E, *changes: FieldChange) -> Flow[E]:
    """Change the existing item, or store the entity if there is none; returns the stored entity."""
    schema = schema_for(entity, "update_or_create", AN_ENTITY)
    values = {name: getattr(entity, name) for name in schema.identity_fields if "." not in name}
    lookup: Lookup[E] = Lookup(type(entity), "update_or_create", None, values)
    for number in range(_MAX_ROUNDS):
        if number:
            yield backoff(context, number)
        try:
            return (yield from update(context, lookup, *changes))
        except NotFound:
            try:
                return (yield from create(context, entity))
            except AlreadyExists:
                continue
    raise _busy(entity)


def _busy(entity: Entity) -> Conflict:
    return Conflict(
        f"{schema_of(type(entity)).entity.__name__}: other writers kept creating and deleting the item; try again"
    )
