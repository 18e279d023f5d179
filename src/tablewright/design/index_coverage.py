"""Whether the index of an access pattern projects everything that the pattern reads.

    lacks(schema, pattern)      whether items have to be read from the table as well

For a global index the store reads the items by BatchGetItem; for a local one DynamoDB does so itself, and charges for
it. A pattern reads what it returns, what it filters by, what a range is checked on, the type attribute and the expiry.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablewright.design.filter_fields import restrictions
from tablewright.model import CollectionQuery, Get, Query, Schema
from tablewright.model.declarations import BLOB_REFERENCES

__all__ = ["lacks"]


def lacks(schema: Schema, pattern: Get | Query | CollectionQuery) -> bool:
    """Whether a read needs items of the table besides the entries of its index."""
    index = None if pattern.index is None else schema.table.index(pattern.index)
    if index is None or index.include is None:
        return False
    if not isinstance(pattern, Query) or not pattern.project:
        return True
    return not {*schema.table.key, *index.attributes, *index.include}.issuperset(_wanted(schema, pattern))


def _wanted(schema: Schema, pattern: Query) -> Iterator[str]:
    """The attributes that a query with a projection reads."""
    fields = [*pattern.project, *(each.field for each in restrictions(schema, pattern))]
    if pattern.range is not None and _is_checked(schema, pattern.range, pattern):
        fields.append(pattern.range)
    for field in fields:
        yield from schema.stored_names([schema.locate(field, pattern.name).parts[0]])
    if any(spec.name in pattern.project for spec in schema.large):
        yield BLOB_REFERENCES
    if schema.table.type_attribute is not None:
        yield schema.table.type_attribute
    if schema.expiry is not None:
        yield schema.expiry.attribute


def _is_checked(schema: Schema, bounded: str, pattern: Query) -> bool:
    """Whether a range is also checked on the item: a key with the day of a time has no hours."""
    attributes = schema.table.index(pattern.index or "").sort
    path = schema.path(bounded)
    parts = [part for name in attributes if name in schema.key_rules for part in schema.key_rules[name].fields]
    return any(part.name == path and part.is_time_part for part in parts)
