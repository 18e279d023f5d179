"""Reading a collection: by one query of its partition, or by one for each member.

all members, in full          one query of the whole partition
the last few of one member    one query as well, if its items come last in the order of the sort key:
                              it ends when there are enough (the customer, then the last five orders)
members read in other parts   a query for each member, of its own part of the sort key
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Collection, CollectionSelection, ModelError, Query, Schema, Selection
from tablewright.model.collection import Member, MemberRead
from tablewright.model.keys.key_forms import Field, Literal
from tablewright.model.patterns import BOUNDS
from tablewright.store.argument_checks import A_COLLECTION_QUERY, wrong_argument
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow
from tablewright.store.read.entity_decoding import entity_of
from tablewright.store.read.pager import Pager, cursor_maker, open_pager
from tablewright.store.read.planning.key_range import comparable
from tablewright.store.read.planning.read_plan import ReadPlan
from tablewright.store.read.planning.read_planner import plan_collection, plan_selection

__all__ = ["collect"]

C = TypeVar("C", bound=Collection)
Cursors = dict[str, "str | None"]


def collect(context: Context, selection: CollectionSelection[C], *, consistent: bool | None = None) -> Flow[C | None]:
    """A collection; None if a required member is missing."""
    if not isinstance(selection, CollectionSelection):
        raise wrong_argument("collect", A_COLLECTION_QUERY, selection)
    if not selection.reads:
        items = yield from _all(open_pager(context, plan_collection(context, selection, consistent=consistent)))
        return selection.collection.of(items, entity_of)
    last = _last_member(selection)
    if last is None:
        items, cursors = yield from _by_member(context, selection, consistent)
    else:
        items, cursors = yield from _in_one(context, selection, last, consistent)
    found = selection.collection.of(items, entity_of)
    if found is not None:
        found._cursors.update(cursors)
    return found


def _all(pager: Pager) -> Flow[list[Item]]:
    items: list[Item] = []
    while not pager.ended:
        taken = yield from pager.take(None)
        items += (yield from pager.complete(taken)) if pager.target.is_postprocessed else taken
    return items


def _take(pager: Pager, limit: int) -> Flow[list[Item]]:
    taken = yield from pager.take(limit)
    return (yield from pager.complete(taken)) if pager.target.is_postprocessed else taken


# -- one query ------------------------------------------------------------------------------------------------------


def _in_one(
    context: Context, selection: CollectionSelection[Any], member: Member, consistent: bool | None
) -> Flow[tuple[list[Item], Cursors]]:
    """All members by one query, which ends when there are enough items of the last one."""
    read, given = selection.reads[member.name], selection.member_values.get(member.name, {})
    limit = int(given.get("limit") or read.limit or 1)
    whole = replace(selection, newest_first=read.newest_first, reads={}, member_values={})
    pager = open_pager(context, plan_collection(context, whole, consistent=consistent))
    items: list[Item] = []
    found = 0
    while not pager.ended and found < limit:
        size = limit - found + (len(selection.collection.members_) - 1 if not items else 0)
        for item in (yield from _take(pager, size)):
            is_last = member.kind_of(item) is not None
            if not is_last or found < limit:
                items.append(item)
            found += is_last
    rest = found > limit or not pager.ended
    plan = _plan_of(context, selection, member, given, consistent)
    return items, {member.name: _cursor(context, plan, items[-1]) if rest and found else None}


def _cursor(context: Context, plan: ReadPlan, item: Item) -> str:
    return cursor_maker(context, plan, [{name: item[name] for name in plan.target.key}])()


def _last_member(selection: CollectionSelection[Any]) -> Member | None:
    """The only member that is read in part, if its items come behind those of all others in its order."""
    members = selection.collection.members_
    if len(selection.reads) != 1:
        return None
    ((name, read),) = selection.reads.items()
    given = {key for key, value in selection.member_values.get(name, {}).items() if value is not None}
    last: Member = next(member for member in members if member.name == name)
    if given - {"limit"} or not (read.limit or "limit" in given):
        return None
    own = [_span(schema, selection.index) for schema in last.schemas]
    others = [_span(schema, selection.index) for each in members if each is not last for schema in each.schemas]
    for mine, theirs in product(own, others):
        if mine is None or theirs is None:
            return None
        if not (theirs[0] >= mine[1] if read.newest_first else theirs[1] <= mine[0]):
            return None
    return last


def _span(schema: Schema, index: str | None) -> tuple[str, str] | None:
    """Where the sort keys of an entity begin, and what is behind all of them; None if that is not known."""
    sort = schema.table.key[1:] if index is None else schema.table.index(index).sort
    rule = schema.key_rules.get(sort[0]) if len(sort) == 1 else None
    if rule is None or rule.others:
        return None
    first, *rest = rule.template.parts
    if not isinstance(first, Literal):
        return None
    text = first.text
    if any(isinstance(part, Field) for part in rest) or rule.template.optional:
        return text, text[:-1] + chr(ord(text[-1]) + 1)
    return text, text + "\x00"


# -- a query for each member ----------------------------------------------------------------------------------------


def _by_member(
    context: Context, selection: CollectionSelection[Any], consistent: bool | None
) -> Flow[tuple[list[Item], Cursors]]:
    """Each member by a query of its own."""
    items: list[Item] = []
    cursors: Cursors = {}
    for member in selection.collection.members_:
        read, given = selection.reads.get(member.name), selection.member_values.get(member.name, {})
        found: list[Item] = []
        if member.others and read is not None:
            pager = open_pager(context, _plan_of(context, selection, member, given, consistent), given.get("cursor"))
            limit = given.get("limit") or read.limit
            items += (yield from _all(pager)) if limit is None else (yield from _take(pager, limit))
            cursor = pager.cursor
            cursors[member.name] = None if cursor is None or pager.ended else cursor()
            continue
        for schema in member.schemas:
            part = _part(selection, replace(member, schema=schema), read, given)
            plan = plan_selection(context, part, consistent=consistent)
            pager = open_pager(context, plan, given.get("cursor"))
            limit = None if read is None else given.get("limit") or read.limit
            found += (yield from _all(pager)) if limit is None else (yield from _take(pager, limit))
            if read is not None:
                cursor = pager.cursor
                cursors[member.name] = None if cursor is None or pager.ended else cursor()
        if member.others:
            found.sort(key=_order(plan.target.sort), reverse=selection.newest_first)
        items += found
    return items, cursors


def _plan_of(
    context: Context,
    selection: CollectionSelection[Any],
    member: Member,
    given: Mapping[str, Any],
    consistent: bool | None,
) -> ReadPlan:
    """The plan of a member that is read in part: of its own items; of the partition, for a list of several entities."""
    read = selection.reads[member.name]
    if not member.others:
        return plan_selection(context, _part(selection, member, read, given), consistent=consistent)
    values = _partition_values(selection, member.schema)
    whole = replace(selection, values=values, newest_first=read.newest_first, reads={}, member_values={})
    return plan_collection(context, whole, member=member, consistent=consistent)


def _order(sort: Sequence[str]) -> Callable[[Item], Any]:
    return lambda item: [comparable(item[name]) for name in sort]


def _part(
    selection: CollectionSelection[Any], member: Member, read: MemberRead | None, given: Mapping[str, Any]
) -> Selection[Any]:
    """The selection of a member's own items."""
    pattern = Query(
        selection.index,
        newest_first=selection.newest_first if read is None else read.newest_first,
        consistent=selection.consistent,
        load_large=selection.load_large,
    )
    name = f"{selection.name}.{member.name}"
    pattern.settle(name=name, range=None if read is None else read.range)
    values = _partition_values(selection, member.schema)
    ranged = () if read is None or read.range is None else BOUNDS
    bounds = {key: value for key, value in given.items() if key in ranged and value is not None}
    fields = {key: value for key, value in given.items() if key not in (*ranged, "limit", "cursor")}
    return Selection(member.schema.entity, pattern, {**values, **fields}, bounds)


def _partition_values(selection: CollectionSelection[Any], schema: Schema) -> dict[str, Any]:
    """The values of the partition key, under the names that an entity has for them."""
    first = selection.collection.members_[0].schema
    names = dict(zip(_partition_names(first, selection.index), _partition_names(schema, selection.index), strict=True))
    unknown = [name for name in selection.values if name not in names]
    if unknown:
        place = f"{selection.collection.__name__}.{selection.name}"
        raise ModelError(f"{place}: {unknown[0]} is not part of the partition key, which has {', '.join(names)}")
    return {names[name]: value for name, value in selection.values.items()}


def _partition_names(schema: Schema, index: str | None) -> list[str]:
    names: list[str] = []
    for attribute in (schema.table.partition,) if index is None else schema.table.index(index).partition:
        rule = schema.key_rules.get(attribute)
        paths = [attribute] if rule is None else [part.name for part in rule.template.fields]
        names += schema.parameters(path for path in paths if path != schema.table.type_attribute)
    return names
