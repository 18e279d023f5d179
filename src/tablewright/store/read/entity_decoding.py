"""Items as entities: an item that is of an entity and cannot be read as one is an error that names it.

It is not skipped, because a list that lacks an item looks like one that has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from tablewright.dynamo import Item
from tablewright.model import Lookup, ModelError, Schema, schema_of
from tablewright.store.errors import Unreadable
from tablewright.store.gc_pause import without_collection
from tablewright.store.item_description import describe_item

# From so many items on, their objects are so many that looking for garbage among them counts.
_MANY = 100


def entity_of(schema: Schema, item: Item, *, partial: bool = False, whole: Item | None = None) -> Any:
    """The entity of an item; with ``partial``, of a projection of it, where ``whole`` says which one it is."""
    if schema.subtypes:
        schema = schema.kind_of(item) or schema
    try:
        return schema.decode(item, partial=partial)
    except ValidationError as error:
        # Not pydantic's own message, which shows the stored values.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}" if place else first["msg"]
        raise Unreadable(schema.entity.__name__, describe_item(schema, whole or item), reason) from None
    except ModelError as error:
        # Of its shape: it is from a newer program, or a step of the upgrades cannot deal with it.
        raise Unreadable(schema.entity.__name__, describe_item(schema, whole or item), str(error)) from error


def entities_of(schema: Schema, items: Sequence[Item]) -> list[Any]:
    """The entities of items."""
    if schema.subtypes:
        return [entity_of(schema, item) for item in items]
    try:
        if len(items) > _MANY:
            return without_collection(partial(schema.decode_all, items))
        return schema.decode_all(items)
    except (ValidationError, ModelError):
        return [entity_of(schema, item) for item in items]


def projection_of(schema: Schema, projection: type[BaseModel], item: Item) -> Any:
    """The projection of an item; what it does not have is the entity's default."""
    if schema.upgrades is not None:
        entity = entity_of(schema, item)
    else:
        fields = [schema.fields[name].attribute for name in projection.model_fields]
        part = {name: item[name] for name in fields if name in item}
        entity = entity_of(schema, part, partial=True, whole=item)
    found: dict[str, Any] = {}
    for name in projection.model_fields:
        try:
            found[name] = entity.__dict__[name] if name in entity.__dict__ else schema.decoder.value_when_absent(name)
        except KeyError:
            which = describe_item(schema, item)
            raise Unreadable(schema.entity.__name__, which, f"{name}: Field required") from None
    return projection.model_construct(**found)


def read_as(lookup: Lookup[Any], item: Item) -> Any:
    """An item as what a lookup reads: the entity, or a projection of it."""
    schema = schema_of(lookup.entity)
    return entity_of(schema, item) if lookup.projection is None else projection_of(schema, lookup.projection, item)
