"""The flows of tolerant reads: an item that cannot be read is left out, and its error is returned.

A page is full unless the list has ended, whatever is left out of it, also by the caller's ``include``; one call reads
``MAX_ITEMS_READ`` items at most for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from tablewright.dynamo import Item
from tablewright.model import Collection, CollectionSelection, Lookup, Schema, Selection, schema_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store.argument_checks import A_CLASS
from tablewright.store.context import Context
from tablewright.store.errors import LimitExceeded, Unreadable
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.item_description import describe_item
from tablewright.store.read.entity_decoding import entities_of, entity_of, projection_of
from tablewright.store.read.get import get, get_many
from tablewright.store.read.pager import Pager, open_pager
from tablewright.store.read.planning.read_planner import plan_collection, plan_scan, plan_selection
from tablewright.store.read.planning.scan import Scan
from tablewright.store.read.query import as_scan

# The most items that are read to fill a page.
MAX_ITEMS_READ = 1_000
# The most pages of a collection, of a megabyte each, as it is returned in one piece.
MAX_PAGES = 16
# Items in one request, once some were left out.
_CHUNK = 100

E = TypeVar("E", bound=BaseModel)
C = TypeVar("C", bound=Collection)
Predicate = Callable[[Any], bool]


def everything(entity: Any) -> bool:
    """Includes every entity."""
    return True


@dataclass(frozen=True, slots=True)
class TolerantPage(Generic[E]):
    """A page of a tolerant read: its items, the errors of unreadable ones, and the cursor for the next page."""

    items: list[E]
    unreadable: list[Unreadable]
    cursor: str | None


def read_page(
    context: Context,
    source: Selection[E] | Scan[E] | type[E],
    limit: int,
    cursor: str | None,
    include: Predicate,
) -> Flow[TolerantPage[E]]:
    """A page of a selection, or of all items of an entity, which are read consistently; of the entities to include."""
    if isinstance(source, Selection):
        plan = plan_selection(context, source)
    else:
        scan = as_scan("a read", A_CLASS, source)
        # A global index has no consistent reads.
        plan = plan_scan(context, scan, consistent=scan.index is None)
    pager = open_pager(context, plan, cursor)
    items: list[E] = []
    unreadable: list[Unreadable] = []
    read = 0
    while True:
        # Never more than the page has room for, so that the cursor is after the last item of the page.
        taken = yield from pager.take(min(limit - len(items), MAX_ITEMS_READ - read))
        read += len(taken)
        if pager.target.is_postprocessed:
            taken = yield from pager.complete(taken)
        entities, errors = _entities(pager, taken)
        items += entities if include is everything else filter(include, entities)
        unreadable += errors
        made = pager.cursor
        if made is None or len(items) == limit or read >= MAX_ITEMS_READ:
            return TolerantPage(items, unreadable, None if made is None else made())
        if read <= limit:
            # Some were left out, and others may be: from here on, each request fetches many items.
            pager = open_pager(context, plan, made(), _CHUNK)


def read_all(context: Context, selection: Selection[E]) -> Flow[TolerantPage[E]]:
    """All items of a selection, in one page."""
    whole: TolerantPage[E] = TolerantPage([], [], None)
    cursor = None
    while True:
        page = yield from read_page(context, selection, MAX_ITEMS_READ, cursor, everything)
        whole.items.extend(page.items)
        whole.unreadable.extend(page.unreadable)
        cursor = page.cursor
        if cursor is None:
            return whole


def _entities(pager: Pager, items: list[Item]) -> tuple[list[Any], list[Unreadable]]:
    """The entities of items, and the errors of those that cannot be read."""
    schema, projected, projection = pager.target.schema, pager.target.projected, pager.target.projection
    if projection is not None:
        made = [_projection(schema, projection, item) for item in items]
        errors = [each for each in made if isinstance(each, Unreadable)]
        return [each for each in made if not isinstance(each, Unreadable)], errors
    if not projected and not any(BLOB_REFERENCES in item for item in items):
        try:
            return entities_of(schema, items), []
        except Unreadable:
            pass
    found = [_entity(schema, item, projected) for item in items]
    errors = [each for each in found if isinstance(each, Unreadable)]
    return [each for each in found if not isinstance(each, Unreadable)], errors


def _projection(schema: Schema, projection: type[BaseModel], item: Item) -> Any:
    """The projection of an item, or the error."""
    try:
        return projection_of(schema, projection, item)
    except Unreadable as error:
        return Unreadable(error.entity, describe_item(schema, item), error.reason)


def _entity(schema: Schema, item: Item, projected: Sequence[str]) -> Any:
    """The entity of an item, or of its projection; or the error.

    Decoding does not check a projection for missing fields, nor an item with offloaded values; so required fields are
    checked here.
    """
    part = {name: item[name] for name in projected if name in item} if projected else item
    try:
        found = entity_of(schema, part, partial=bool(projected))
    except Unreadable as error:
        return Unreadable(error.entity, describe_item(schema, item), error.reason)
    offloaded = item.get(BLOB_REFERENCES, {}).get("M", {})
    for name, info in schema.entity.model_fields.items():
        attribute = schema.fields[name].attribute
        is_expected = (not projected or attribute in projected) and attribute not in offloaded
        if info.is_required() and is_expected and name not in found.__dict__:
            return Unreadable(schema.entity.__name__, describe_item(schema, item), f"{name}: Field required")
    return found


def read_one(context: Context, lookup: Lookup[E], consistent: bool | None) -> Flow[E | Unreadable | None]:
    """An entity, None, or the error."""
    try:
        return (yield from get(context, lookup, consistent=consistent))
    except Unreadable as error:
        return error


def read_each(
    context: Context, lookups: Sequence[Lookup[E]], consistent: bool | None
) -> Flow[list[E | Unreadable | None]]:
    """For each lookup an entity, None, or the error: halves are read again until the unreadable ones are alone."""
    try:
        (found,) = yield from get_many(context, lookups, consistent=consistent)
        return found
    except Unreadable as error:
        if len(lookups) == 1:
            return [error]
    half = len(lookups) // 2
    first = yield from read_each(context, lookups[:half], consistent)
    second = yield from read_each(context, lookups[half:], consistent)
    return first + second


def read_collection(
    context: Context, selection: CollectionSelection[C], consistent: bool | None
) -> Flow[tuple[C | None, list[Unreadable]]]:
    """A collection, and the errors of members that were left out."""
    pager = open_pager(context, plan_collection(context, selection, consistent=consistent))
    items: list[Item] = []
    pages = 0
    while not pager.ended:
        if pages == MAX_PAGES:
            name = selection.collection.__name__.lower()
            raise LimitExceeded(f"the {name} has more than {MAX_PAGES} MB: query its members in pages instead")
        taken = yield from pager.take(None)
        items += (yield from pager.complete(taken)) if pager.target.is_postprocessed else taken
        pages += 1
    unreadable: list[Unreadable] = []
    members = selection.collection.members_
    readable: list[tuple[Item, Any]] = []
    for item in items:
        member = next((each for each in members if each.kind_of(item) is not None), None)
        if member is None:
            continue
        entity = _entity(member.kind_of(item) or member.schema, item, ())
        if not isinstance(entity, Unreadable):
            readable.append((item, entity))
        elif member.many or member.optional:
            unreadable.append(entity)
        else:
            raise entity
    entities = iter([entity for _, entity in readable])
    # In the order of the items; each has been decoded already.
    made = selection.collection.of([item for item, _ in readable], lambda schema, item: next(entities))
    return made, unreadable


def read_version(context: Context, lookup: Lookup[E]) -> Flow[int]:
    """The version of an item, even if it is unreadable otherwise; 0 if it has none."""
    schema = schema_of(lookup.entity)
    assert schema.version is not None
    pattern = f"{lookup.entity.__name__}.{lookup.name}"
    key = schema.key_for(lookup.values, pattern)
    body = {"TableName": context.name_of(schema.table), "Key": key, "ConsistentRead": True}
    response = yield from retrying(context, Request("GetItem", body, pattern))
    found = response.get("Item", {}).get(schema.version.attribute, {}).get("N", "0")
    return int(found) if found.isdecimal() else 0
