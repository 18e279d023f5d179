"""The permissions for an access pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tablewright.design.design_loading import DesignError
from tablewright.design.iam.grants import Grant, Resource, Tenant
from tablewright.design.iam.leading_keys import leading_keys
from tablewright.design.index_coverage import lacks
from tablewright.model import Collection, CollectionQuery, Get, Query, Schema

__all__ = ["may_load_blobs", "of_read", "same_items"]


def of_read(
    name: str, owner: Schema | type[Collection], pattern: Get | Query | CollectionQuery, tenant: Tenant | None
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
        # Read-your-writes: the store reads by the guard of the value, as the index may lag behind.
        batches.append(("GetItem", "recent writes, by the guard"))
    if tenant is None:
        batches += _written_back(schema if isinstance(owner, Schema) else owner)
    for action, reason in batches:
        if tenant is not None and (pattern.index is not None or action == "GetItem"):
            raise DesignError(
                f"{name} cannot be limited to a tenant: items are read from the table as well ({reason}), by keys that "
                "do not have the tenant; use another role"
            )
        yield Grant(action, Resource(table), f"{name}: {reason}" if reason else name, leading)


def _batches(owner: Schema | type[Collection], pattern: Get | Query | CollectionQuery) -> Iterator[tuple[str, str]]:
    """Why a read needs BatchGetItem on the table as well."""
    schemas = _schemas(owner)
    if isinstance(pattern, Get) and pattern.index is None and pattern.many:
        yield "BatchGetItem", ""
    if pattern.index is not None and schemas[0].table.index(pattern.index).is_global and lacks(schemas[0], pattern):
        yield "BatchGetItem", "the index lacks attributes"
    if _reads_blobs(owner, pattern):
        yield "BatchGetItem", "items whose blobs were replaced meanwhile"


def _reads_blobs(owner: Schema | type[Collection], pattern: Get | Query | CollectionQuery) -> bool:
    return pattern.load_large and may_load_blobs(owner, pattern)


def may_load_blobs(owner: Schema | type[Collection], pattern: Get | Query | CollectionQuery) -> bool:
    """Whether what it reads can have large values, which ``store.load`` loads if the pattern does not."""
    large = {spec.name for schema in _schemas(owner) for spec in schema.large}
    if isinstance(pattern, Query) and pattern.project:
        large &= set(pattern.project)
    return bool(large)


def _schemas(owner: Schema | type[Collection]) -> list[Schema]:
    if isinstance(owner, Schema):
        return [owner]
    return [schema for member in owner.members_ for schema in member.schemas]


def _written_back(owner: Schema | type[Collection]) -> Iterator[tuple[str, str]]:
    """The writes of a read, for entities whose upgraded items are written back.

    A read works without this permission, so a tenant is not granted it.
    """
    for schema in _schemas(owner):
        if schema.upgrades is not None and schema.upgrades.write_back:
            reason = f"items of older schema versions of {schema.entity.__name__}, written back"
            # With the guards of unique values that an upgrade has changed.
            for action in ("UpdateItem", "PutItem", "DeleteItem") if schema.unique else ("UpdateItem",):
                yield action, reason


def _is_by_unique_field(schema: Schema, index: str) -> bool:
    """Whether the partition key of an index is made of a unique field alone."""
    asked: set[str] = set()
    for attribute in schema.table.index(index).partition:
        rule = schema.key_rules.get(attribute)
        asked |= {attribute} if rule is None else rule.required
    return any(asked == {spec.attribute} for spec in schema.unique)


def same_items(found: Sequence[Grant]) -> Iterator[Grant]:
    """Query on a table without a sort key, for a role that reads its items and queries an index of it.

    It returns the same items as GetItem: what the role can read stays the same, and it may query the table like the
    index.
    """
    got = {grant.resource.table.name: grant.resource.table for grant in found if grant.action == "GetItem"}
    queried = {grant.resource.table.name for grant in found if grant.action == "Query" and grant.resource.index}
    for name, table in got.items():
        if table.sort is None and name in queried:
            yield Grant("Query", Resource(table), "the same items as GetItem")
