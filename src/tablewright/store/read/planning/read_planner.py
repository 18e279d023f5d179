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
from typing import Any

from tablewright.model import CollectionSelection, Entity, Lookup, Query, Selection, schema_of
from tablewright.store.context import Context
from tablewright.store.read.planning.query_compiler import outlined
from tablewright.store.read.planning.query_template import Outline, Way
from tablewright.store.read.planning.read_plan import Plan, Scope

__all__ = ["plan_collection", "plan_lookup", "plan_scan", "plan_selection"]

_NONE: Mapping[str, Any] = {}
_LOOKUP = Query()
_COLLECTION = Query()
_LATEST_COLLECTION = Query(newest_first=True)


def plan_selection(
    context: Context, selection: Selection[Any], *, consistent: bool | None = None, keys_only: bool = False
) -> Plan:
    """The plan of a selection; ``keys_only`` reads no more of an item than tells whether it belongs to it."""
    entity, query = selection.entity, selection.pattern
    consistent = query.consistent if consistent is None else consistent
    asked = (entity, id(query), consistent, keys_only, *selection.values, None, *selection.bounds)
    return _straight_plan(context, asked, selection.values) or _plan(
        context,
        (entity, entity, query.name, query.index, query, (), query.load_large),
        asked,
        selection.values,
        selection.bounds,
        consistent,
        keys_only,
    )


def plan_lookup(context: Context, lookup: Lookup[Any], *, consistent: bool | None = None) -> Plan:
    """The plan of a lookup by an index."""
    entity, name, index = lookup.entity, lookup.name, lookup.index
    consistent = lookup.consistent if consistent is None else consistent
    asked = (entity, name, index, consistent, *lookup.values)
    return _straight_plan(context, asked, lookup.values) or _plan(
        context, (entity, entity, name, index, _LOOKUP), asked, lookup.values, _NONE, consistent
    )


def plan_collection(context: Context, selection: CollectionSelection[Any], *, consistent: bool | None = None) -> Plan:
    """The plan of a collection: the whole partition, with the items of all its members."""
    collection, name, index = selection.collection, selection.name, selection.index
    consistent = selection.consistent if consistent is None else consistent
    first, *others = [member.schema for member in collection.members_]
    query = _LATEST_COLLECTION if selection.newest_first else _COLLECTION
    source = (collection, first.entity, name, index, query, tuple(others), selection.load_large)
    asked = (collection, name, index, id(query), selection.load_large, consistent, *selection.values)
    return _plan(context, source, asked, selection.values, _NONE, consistent)


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
    return Plan(Scope(schema, f"{entity.__name__}.scan", "Scan", schema.table.key), (body,))


# -- outlines, kept -------------------------------------------------------------------------------------------------

# By who declares a pattern, the pattern, and what is given. An outline keeps its pattern, so that no other one has the
# same identity.
_OUTLINES: dict[tuple[Any, ...], Outline] = {}


def _straight_plan(context: Context, asked: tuple[Any, ...], values: Mapping[str, Any]) -> Plan | None:
    """The plan of a read whose outline is kept, where no more than a few values have to be put in."""
    outline = _OUTLINES.get(asked)
    return None if outline is None else outline.straight_plan(context, values)


def _plan(
    context: Context,
    source: tuple[Any, ...],
    asked: tuple[Any, ...],
    values: Mapping[str, Any],
    bounds: Mapping[str, Any],
    consistent: bool,
    keys_only: bool = False,
) -> Plan:
    """The plan of a read of a way, which is given by its arguments; ``asked`` is what its outline is kept under."""
    outline = _OUTLINES.get(asked)
    schema = schema_of(source[1]) if outline is None else outline.scope.schema
    item = schema.encode_values(values)
    if outline is None or len(item) != outline.given:
        # What is None is not given, and may be so inside of a map: such an outline is not for all values.
        outline = outlined(Way(*source), item, bounds, consistent, keys_only)
        if outline.given == len(values) and not any("M" in value for value in item.values()):
            _OUTLINES[asked] = outline
    return outline.plan(context, item, bounds)
