"""Access patterns as requests: pure, from a pattern's values to DynamoDB's Query.

    Call.upcoming(user_id="u-1", since=now)
        ──▶ userStatus = "u-1#SCHEDULED" AND sk BETWEEN "1762…" AND …

The partition key must be known entirely. Of the sort key, fields are fixed from the left, and the first one that is not
may be bounded. A plan has one request for each partition that it reads: several only where the key is sharded.

What a request looks like depends on which fields are given, not on their values. So it is compiled once, to a
``QueryTemplate``, which is kept with the entity or the collection; a plan is a template with the values filled in.

What DynamoDB cannot express is checked when an item arrives (``ReadPlan.accepts``): BETWEEN includes both ends, and a
key that holds the day of a time has no hours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tablewright.model import (
    CollectionSelection,
    FieldCondition,
    Lookup,
    ModelError,
    Query,
    Schema,
    Selection,
    schema_of,
)
from tablewright.model.collection import Member
from tablewright.store.context import Context
from tablewright.store.read.planning.bucket_ranges import plan_buckets
from tablewright.store.read.planning.projected_attributes import projected_attributes, projection_members
from tablewright.store.read.planning.query_compiler import compile_template
from tablewright.store.read.planning.query_template import AccessPath, QueryTemplate
from tablewright.store.read.planning.read_filter import filter_attributes, filtered
from tablewright.store.read.planning.read_plan import ReadPlan, ReadTarget
from tablewright.store.read.planning.scan import Scan
from tablewright.store.read.planning.several_partitions import plan_partitions

__all__ = ["plan_collection", "plan_lookup", "plan_scan", "plan_selection"]

# The templates of one entity or collection, by the pattern, the names that are given, and how it is read.
Templates = dict[tuple[Any, ...], Any]

_NO_BOUNDS: Mapping[str, Any] = {}
_LOOKUP = Query()
_COLLECTION = Query()
_NEWEST_FIRST_COLLECTION = Query(newest_first=True)


def plan_selection(
    context: Context,
    selection: Selection[Any],
    *,
    consistent: bool | None = None,
    keys_only: bool = False,
    where: FieldCondition | None = None,
) -> ReadPlan:
    """The plan of a selection; with ``keys_only``, of the attributes that decide whether an item belongs to it.

    ``where`` is a filter of this read, beside that of the pattern.
    """
    if selection.filter is None and where is None:
        return _plan_selection(context, selection, consistent, keys_only, ())
    filters = [each for each in (selection.filter, where) if each is not None]
    # An entry of an index, or a part of an item, has to have what it is filtered by.
    filtered_by = dict.fromkeys(name for each in filters for name in filter_attributes(each))
    plan = _plan_selection(context, selection, consistent, keys_only, tuple(filtered_by))
    for each in filters:
        plan = filtered(plan, each)
    return plan


def _plan_selection(
    context: Context,
    selection: Selection[Any],
    consistent: bool | None,
    keys_only: bool,
    filtered_by: tuple[str, ...],
) -> ReadPlan:
    signature = selection.pattern.signature
    if signature is None or not signature.several:
        return _plan_partition(context, selection, consistent, keys_only, filtered_by)

    def plan_for(values: Mapping[str, Any]) -> ReadPlan:
        return _plan_partition(context, replace(selection, values=values), consistent, keys_only, filtered_by)

    def empty_target() -> ReadTarget:
        query, entity = selection.pattern, selection.entity
        path = AccessPath(entity, entity, query.name, query.index, query, projection=selection.projection)
        return path.target(False, ())

    return plan_partitions(selection, signature.several, plan_for, empty_target)


def _plan_partition(
    context: Context,
    selection: Selection[Any],
    consistent: bool | None,
    keys_only: bool,
    filtered_by: tuple[str, ...],
) -> ReadPlan:
    """The plan of a selection of one partition, or of those of its shards or buckets."""
    entity, query, values, bounds = selection.entity, selection.pattern, selection.values, selection.bounds
    consistent = query.consistent if consistent is None else consistent
    schema = schema_of(entity)
    # The identity of the pattern is enough: its template refers to it, so no other one can have the same.
    key: tuple[Any, ...] = (id(query), consistent, keys_only, *values, None, *bounds)
    if filtered_by:
        key = (*key, None, *filtered_by)
    if selection.projection is not None:
        key = (*key, selection.projection)
    template: QueryTemplate | None = schema.query_templates.get(key)
    plan = None if template is None else template.fast_plan(context, values)
    if plan is not None:
        return plan
    access_path = partial(
        AccessPath,
        entity,
        entity,
        query.name,
        query.index,
        query,
        load_large=query.load_large,
        projection=selection.projection,
    )

    def plan_for(values: Mapping[str, Any], *more: str) -> ReadPlan:
        templates = schema.query_templates
        shape = (*key, *more)
        return _plan(context, schema, templates, shape, access_path, values, bounds, consistent, keys_only, filtered_by)

    table = schema.table
    buckets = schema.buckets((table.partition,) if query.index is None else table.index(query.index).partition)
    return plan_buckets(selection, buckets, plan_for) if buckets else plan_for(values)


def plan_lookup(context: Context, lookup: Lookup[Any], *, consistent: bool | None = None) -> ReadPlan:
    """The plan of a lookup by an index."""
    entity, name, index, values = lookup.entity, lookup.name, lookup.index, lookup.values
    consistent = lookup.consistent if consistent is None else consistent
    schema = schema_of(entity)
    key = (name, index, consistent, lookup.projection, *values)
    template: QueryTemplate | None = schema.query_templates.get(key)
    plan = None if template is None else template.fast_plan(context, values)
    if plan is not None:
        return plan
    access_path = partial(AccessPath, entity, entity, name, index, _LOOKUP, projection=lookup.projection)
    return _plan(context, schema, schema.query_templates, key, access_path, values, _NO_BOUNDS, consistent)


def plan_collection(
    context: Context,
    selection: CollectionSelection[Any],
    *,
    member: Member | None = None,
    consistent: bool | None = None,
) -> ReadPlan:
    """The plan of a collection: the whole partition, with the items of all its members, or of one of them."""
    collection, name, index, values = selection.collection, selection.name, selection.index, selection.values
    consistent = selection.consistent if consistent is None else consistent
    query = _NEWEST_FIRST_COLLECTION if selection.newest_first else _COLLECTION
    members = collection.members_
    if member is not None:
        members, name = (member,), f"{name}.{member.name}"
    key = (name, index, selection.newest_first, selection.load_large, consistent, *values)

    first, *others = [schema for member in members for schema in member.schemas]
    access_path = partial(AccessPath, collection, first.entity, name, index, query, tuple(others), selection.load_large)
    return _plan(context, first, collection.query_templates_, key, access_path, values, _NO_BOUNDS, consistent)


def plan_scan(
    context: Context,
    scan: Scan[Any],
    *,
    consistent: bool = False,
    segment: tuple[int, int] | None = None,
    keys_only: bool = False,
    where: FieldCondition | None = None,
) -> ReadPlan:
    """The plan of a scan of an entity's table or index: as a whole, in segments, or one of them (number, of how many).

    With ``keys_only``, of the attributes that decide whether an item is of the entity, and live.
    """
    schema, projection = schema_of(scan.of), scan.projection
    table = schema.table
    body: dict[str, Any] = {"TableName": context.name_of(table)}
    pattern = f"{schema.entity.__name__}.scan"
    projected = projected_attributes(schema, projection)
    if keys_only:
        others = table.type_attribute, None if schema.expiry is None else schema.expiry.attribute
        projected = tuple(dict.fromkeys(name for name in (*table.key, *others) if name is not None))
    key, asked, fetches_from_table = table.key, projected, False
    if scan.index is not None:
        index = table.index(scan.index)
        if not schema.covers(index):
            raise ModelError(f"{pattern}: {schema.entity.__name__} is never in index {index.name!r}")
        if consistent and index.is_global:
            raise ModelError(f"{pattern}: the global index {index.name} is always eventually consistent")
        body["IndexName"] = index.name
        key = tuple(dict.fromkeys((*table.key, *index.partition, *index.sort)))
        available = None if index.include is None else {*key, *index.include}
        # What an index does not have cannot be filtered by the service, and is checked here.
        asked = (*projected, *filter_attributes(where)) if projected else ()
        lacking = available is not None and (not projected or not available.issuperset(asked))
        fetches_from_table = lacking and index.is_global
        if lacking and not index.is_global and not projected:
            body["Select"] = "ALL_ATTRIBUTES"
    if projected and not fetches_from_table:
        body.update(projection_members(dict.fromkeys((*key, *asked))))
    if consistent:
        body["ConsistentRead"] = True
    target = ReadTarget(
        schema, pattern, "Scan", key, fetches_from_table=fetches_from_table, projected=projected, projection=projection
    )
    if segment is not None:
        return filtered(ReadPlan(target, ({**body, "Segment": segment[0], "TotalSegments": segment[1]},)), where)
    if scan.segments == 1:
        return filtered(ReadPlan(target, (body,)), where)
    bodies = [{**body, "Segment": number, "TotalSegments": scan.segments} for number in range(scan.segments)]
    return filtered(ReadPlan(target, bodies, is_parallel=True), where)


def _plan(
    context: Context,
    schema: Schema,
    templates: Templates,
    key: tuple[Any, ...],
    access_path: Callable[[], AccessPath],
    values: Mapping[str, Any],
    bounds: Mapping[str, Any],
    consistent: bool,
    keys_only: bool = False,
    filtered_by: tuple[str, ...] = (),
) -> ReadPlan:
    """The plan of a read, by the template that is kept under this key; one is compiled if there is none."""
    item = schema.encode_values(values)
    if schema.has_cases:
        # The form of a key depends on values then.
        key = (*key, schema.cases_of(item))
    template: QueryTemplate | None = templates.get(key)
    if template is None or len(item) != template.given_count:
        template = compile_template(access_path(), item, bounds, consistent, keys_only, filtered_by)
        # A field that is None is not given, and may be None inside a map: such a template is not for all values.
        if template.given_count == len(values) and not any("M" in value for value in item.values()):
            templates[key] = template
    return template.plan(context, item, bounds)
