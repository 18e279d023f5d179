"""What a pattern asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablewright.design.iam.resources import Grant, Resource, Tenant
from tablewright.design.iam.tenants import leading_keys
from tablewright.design.loading import DesignError
from tablewright.model import Collection, Query, Schema
from tablewright.model.collection import Gather
from tablewright.model.patterns import Get

__all__ = ["of_read", "same_items"]


def of_read(
    name: str, owner: Schema | type[Collection], pattern: Get | Query | Gather, tenant: Tenant | None
) -> Iterator[Grant]:
    schema = owner if isinstance(owner, Schema) else owner.members_[0].schema
    table = schema.table
    fixed = pattern.fixed if isinstance(pattern, Query) else {}
    leading = () if tenant is None else leading_keys(name, schema, pattern.index, fixed, tenant)
    if isinstance(pattern, Get) and pattern.index is None:
        yield Grant("GetItem", Resource(table), name, leading)
    else:
        yield Grant("Query", Resource(table, pattern.index), name, leading)
    batches = list(_batches(schema if isinstance(owner, Schema) else owner, pattern))
    if isinstance(pattern, Get) and pattern.index is not None and _is_by_unique_field(schema, pattern.index):
        # What was written before is read by the guard of the value, as the index may lag behind.
        batches.append(("GetItem", "what was just written, by its guard"))
    for action, reason in batches:
        if tenant is not None and (pattern.index is not None or action == "GetItem"):
            raise DesignError(
                f"{name} cannot be limited to a tenant: items are read from the table as well ({reason}), by keys that "
                "are not the tenant's; leave it to another role"
            )
        yield Grant(action, Resource(table), f"{name}: {reason}" if reason else name, leading)


def _batches(owner: Schema | type[Collection], pattern: Get | Query | Gather) -> Iterator[tuple[str, str]]:
    """Why a read takes BatchGetItem on the table, beside what it is."""
    schemas = [owner] if isinstance(owner, Schema) else [member.schema for member in owner.members_]
    if isinstance(pattern, Get) and pattern.index is None and pattern.many:
        yield "BatchGetItem", ""
    if _is_partial(schemas[0], pattern):
        yield "BatchGetItem", "the index lacks attributes"
    large = {spec.name for schema in schemas for spec in schema.large}
    if isinstance(pattern, Query) and pattern.project:
        large &= set(pattern.project)
    if large and pattern.whole:
        yield "BatchGetItem", "items whose large values were replaced meanwhile"


def _is_by_unique_field(schema: Schema, index: str) -> bool:
    unique = {spec.attribute for spec in schema.unique}
    return any(schema.table.index(index).partition == (attribute,) for attribute in unique)


def _is_partial(schema: Schema, pattern: Get | Query | Gather) -> bool:
    """Whether a global index has less of an item than the pattern gives, so that the store reads the item as well."""
    if pattern.index is None:
        return False
    table, index = schema.table, schema.table.index(pattern.index)
    if index.include is None or not index.is_global:
        return False
    if not (isinstance(pattern, Query) and pattern.project):
        return True
    has = {*table.key, *index.attributes, *index.include}
    telling = [table.type_attribute, None if schema.expiry is None else schema.expiry.attribute]
    wanted = [schema.place(field, pattern.name).steps[0] for field in pattern.project]
    if pattern.range is not None:
        wanted.append(schema.place(pattern.range, pattern.name).steps[0] if _is_checked(schema, pattern) else "")
    wanted += [
        step for step in (schema.place(field, pattern.name).steps[0] for field in pattern.where) if step not in has
    ]
    return not has.issuperset(filter(None, [*wanted, *telling]))


def _is_checked(schema: Schema, pattern: Query) -> bool:
    """Whether a bound is looked at on the item as well: a key that has the day of a time knows no hours."""
    index = schema.table.index(pattern.index) if pattern.index is not None else None
    attributes = schema.table.key[1:] if index is None else index.sort
    path = schema.path(pattern.range or "")
    parts = [part for name in attributes if name in schema.rules for part in schema.rules[name].template.fields]
    return any(part.name == path and part.form == "date" for part in parts)


def same_items(found: Sequence[Grant]) -> Iterator[Grant]:
    """Query on a table without a sort key, for a role that gets its items and queries an index of it.

    There it gives the very items that GetItem gives, each for its key: what the role can see stays the same, and it may
    query the table as it queries the index.
    """
    got = {grant.resource.table.name: grant.resource.table for grant in found if grant.action == "GetItem"}
    queried = {grant.resource.table.name for grant in found if grant.action == "Query" and grant.resource.index}
    for name, table in got.items():
        if table.sort is None and name in queried:
            yield Grant("Query", Resource(table), "the items that GetItem reads")
