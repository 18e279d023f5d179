"""Reads by an index that has less of an item than they want, so that the item itself is read as well.

    lacks(schema, pattern)      whether the entries of the pattern's index do

From a global index the store fetches the items by BatchGetItem; for a local one the service does so itself, and
charges for it. What a pattern wants is what it gives, what it is filtered by, what a bound is checked on, and what
tells whether an item counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.model import CollectionQuery, Get, Query, Schema
from tablewright.model.declarations import BLOB_REFERENCES

__all__ = ["lacks"]


def lacks(schema: Schema, pattern: Get | Query | CollectionQuery) -> bool:
    """Whether a read has to look at the items of the table beside the entries of its index."""
    index = None if pattern.index is None else schema.table.index(pattern.index)
    if index is None or index.include is None:
        return False
    if not isinstance(pattern, Query) or not pattern.project:
        return True
    return not {*schema.table.key, *index.attributes, *index.include}.issuperset(_wanted(schema, pattern))


def _wanted(schema: Schema, pattern: Query) -> Iterator[str]:
    """The attributes that a query which projects asks for."""
    fields = [*pattern.project, *pattern.where]
    if pattern.range is not None and _is_checked(schema, pattern.range, pattern):
        fields.append(pattern.range)
    for field in fields:
        yield schema.locate(field, pattern.name).parts[0]
    if any(spec.name in pattern.project for spec in schema.large):
        yield BLOB_REFERENCES
    if schema.table.type_attribute is not None:
        yield schema.table.type_attribute
    if schema.expiry is not None:
        yield schema.expiry.attribute


def _is_checked(schema: Schema, bounded: str, pattern: Query) -> bool:
    """Whether a bound is looked at on the item as well: a key that has the day of a time knows no hours."""
    attributes = schema.table.index(pattern.index or "").sort
    path = schema.path(bounded)
    parts = [part for name in attributes if name in schema.key_rules for part in schema.key_rules[name].template.fields]
    return any(part.name == path and part.form == "date" for part in parts)
