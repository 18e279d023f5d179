"""Which attributes a read asks for when it is of a projection, and the members of a request that say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo.expressions.builder import Placeholders
from tablewright.model import Lookup, Schema, schema_of
from tablewright.model.declarations import BLOB_REFERENCES

__all__ = ["projected_attributes", "projection_members", "table_projection"]


def projected_attributes(schema: Schema, projection: type[BaseModel] | None) -> tuple[str, ...]:
    """The attributes that a projection is made of, and those that decide whether an item is visible.

    Empty for all of them: of an entity with upgrades, only whole items can be upgraded.
    """
    if projection is None or schema.upgrades is not None:
        return ()
    needed = [schema.table.type_attribute, None if schema.expiry is None else schema.expiry.attribute]
    wanted = [schema.fields[name].attribute for name in projection.model_fields]
    if any(spec.attribute in wanted for spec in schema.large):
        needed.append(BLOB_REFERENCES)
    return tuple(dict.fromkeys(name for name in (*schema.table.key, *needed, *wanted) if name is not None))


def projection_members(attributes: Iterable[str]) -> dict[str, Any]:
    """The members of a request that asks for some attributes; none for all of them."""
    placeholders = Placeholders()
    text = ", ".join([placeholders.path(name) for name in attributes])
    return placeholders.into({"ProjectionExpression": text}) if text else {}


def table_projection(lookups: Sequence[Lookup[Any]]) -> tuple[str, ...]:
    """The attributes of a table that some lookups need together; empty for all of them."""
    found: dict[str, None] = {}
    for lookup in lookups:
        attributes = projected_attributes(schema_of(lookup.entity), lookup.projection)
        if not attributes:
            return ()
        found.update(dict.fromkeys(attributes))
    return tuple(found)
