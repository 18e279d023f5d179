"""Access patterns as requests: pure, from a pattern's values to DynamoDB's Query.

    Call.upcoming(user_id="u-1", since=now)
        ──▶ userStatus = "u-1#SCHEDULED" AND sk BETWEEN "1762…" AND …

The partition key must be known entirely. Of the sort key, fields are fixed from the left, and the first one that is not
may be bounded. A plan has one request for each partition that it reads: several only where the key is sharded.

What a request looks like follows from which fields are given, not from their values. That is worked out once, as an
``Outline`` (see ``outlines``), and kept; a plan is an outline with the values filled in.

What DynamoDB cannot say is checked when an item arrives (``Plan.accepts``): BETWEEN includes both ends, and a key that
holds the day of a time knows no hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tablewright.model import Entity, Gathering, Lookup, ModelError, Query, Selection, schema_of
from tablewright.model.schema import Item, Schema
from tablewright.store.context import Context
from tablewright.store.outlines import Outline, Plan, Way, outlined

__all__ = ["Plan", "plan_gathering", "plan_lookup", "plan_scan", "plan_selection", "primary_key"]

_NONE: Mapping[str, Any] = {}
_LOOKUP = Query()
_COLLECTION = Query()
_LATEST_COLLECTION = Query(newest_first=True)


def plan_selection(
    context: Context, selection: Selection[Any], *, consistent: bool | None = None, keys_only: bool = False
) -> Plan:
    """The plan of a selection; ``keys_only`` reads no more of an item than tells whether it belongs to it."""
    query = selection.pattern
    way = _way(selection.entity, selection.entity, query.name, query.index, query)
    consistent = query.consistent if consistent is None else consistent
    return _plan(context, way, selection.values, selection.bounds, consistent, keys_only)


def plan_lookup(context: Context, lookup: Lookup[Any], *, consistent: bool | None = None) -> Plan:
    """The plan of a lookup by an index."""
    way = _way(lookup.entity, lookup.entity, lookup.name, lookup.index, _LOOKUP)
    return _plan(context, way, lookup.values, _NONE, lookup.consistent if consistent is None else consistent)


def plan_gathering(context: Context, gathering: Gathering[Any], *, consistent: bool | None = None) -> Plan:
    """The plan of a collection: the whole partition, with the items of all its members."""
    first, *others = [member.schema for member in gathering.collection.members_]
    query = _LATEST_COLLECTION if gathering.newest_first else _COLLECTION
    way = _way(gathering.collection, first.entity, gathering.name, gathering.index, query)
    plan = _plan(context, way, gathering.values, _NONE, gathering.consistent if consistent is None else consistent)
    return replace(plan, others=tuple(others), whole=gathering.whole)


def plan_scan(
    context: Context, entity: type[Entity], *, consistent: bool = False, segment: tuple[int, int] | None = None
) -> Plan:
    """The plan of a scan of the table that an entity is kept in, or of one segment (number, of how many)."""
    schema = schema_of(entity)
    body: dict[str, Any] = {"TableName": context.name_of(schema.table)}
    if segment is not None:
        body["Segment"], body["TotalSegments"] = segment
    if consistent:
        body["ConsistentRead"] = True
    return Plan(schema, f"{entity.__name__}.scan", "Scan", (body,), schema.table.key)


def primary_key(schema: Schema, pattern: str, values: Mapping[str, Any]) -> Item:
    """The primary key that field values make up, exactly."""
    item = schema.stored(values)
    key = schema.key_of(item)
    if not schema.identity.issuperset(item):
        for attribute in item.keys() - schema.identity:
            raise ModelError(f"{pattern}: {schema.field_path(attribute)} is not part of the primary key")
    return key


# -- ways and outlines, kept ----------------------------------------------------------------------------------------

# By what declares a pattern, and the pattern; a way keeps its pattern, so that its identity is never another's.
_WAYS: dict[tuple[type, str, str | None, int], Way] = {}


def _way(owner: type, entity: type[Entity], name: str, index_name: str | None, query: Query) -> Way:
    way = _WAYS.get((owner, name, index_name, id(query)))
    if way is None:
        whole_partition = owner is not entity
        way = Way(entity, f"{owner.__name__}.{name}", index_name, query, whole_partition=whole_partition)
        _WAYS[owner, name, index_name, id(query)] = way
    return way


def _plan(
    context: Context,
    way: Way,
    values: Mapping[str, Any],
    bounds: Mapping[str, Any],
    consistent: bool,
    keys_only: bool = False,
) -> Plan:
    asked = (tuple(values), tuple(bounds), consistent, keys_only)
    outline: Outline | None = way.outlines.get(asked)
    item = way.schema.stored(values)
    if outline is None or len(item) != outline.given:
        # What is None is not given, and may be so inside of a map: such an outline is not for all values.
        outline = outlined(way, item, bounds, consistent, keys_only)
        if outline.given == len(values) and not any("M" in value for value in item.values()):
            way.outlines[asked] = outline
    return outline.plan(context, item, bounds)
