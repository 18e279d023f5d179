"""Reading around items that cannot be read.

A store passes nothing over: one item that does not fit its entity fails the read that it is part of. For a list or a
job over many items that would mean that one takes all the others down. A tolerant reader leaves such an item out, and
tells of it instead:

    reader.page(selection, limit=50)      items, the errors of those that cannot be read, and a cursor
    reader.one(lookup)                    an entity, None, or the error
    reader.each(lookups)                  the same for each of them
    reader.collect(selection)             a collection, and the errors of members that were left out
    reader.all(selection)                 all items of a short list, and the errors

A page is full unless the list has ended, whatever is left out of it, by the caller as well (``wanted``); one call looks
at ``MOST_READ`` items at most for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tablewright.dynamo import Item
from tablewright.model import Collection, CollectionSelection, Entity, Lookup, Selection, schema_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.model.schema import Schema
from tablewright.store.context import Context
from tablewright.store.errors import LimitExceeded, Unreadable
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.item_description import describe_item
from tablewright.store.read.entity_decoding import entities_of, entity_of
from tablewright.store.read.get import get, get_many
from tablewright.store.read.pager import Reading, begin
from tablewright.store.read.read_planner import plan_collection, plan_selection

if TYPE_CHECKING:
    from tablewright.store.async_store import AsyncStore
    from tablewright.store.store import Store

__all__ = ["AsyncTolerantReader", "TolerantPage", "TolerantReader"]

# Items that are looked at to fill a page.
MOST_READ = 1_000
# Pages of a collection, of a megabyte each: it is given as one.
MOST_PAGES = 16
# Items that one request fetches, once some were left out.
_CHUNK = 100

E = TypeVar("E", bound=Entity)
C = TypeVar("C", bound=Collection)
Wanted = Callable[[Any], bool]
Told = Callable[[Unreadable], None]


def _all(entity: Any) -> bool:
    return True


def _nobody(error: Unreadable) -> None:
    return None


@dataclass(frozen=True, slots=True)
class TolerantPage(Generic[E]):
    """Some items of a list, the errors of those among them that cannot be read, and the cursor behind them all."""

    items: list[E]
    unreadable: list[Unreadable]
    cursor: str | None


class _Telling:
    """Tells somebody of each error, beside giving it."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def _tell(self, found: Iterable[object]) -> None:
        for each in found:
            if isinstance(each, Unreadable):
                self._told(each)


class TolerantReader(_Telling):
    """Reads around what cannot be read; ``told`` hears of each such item."""

    def __init__(self, store: Store, told: Told = _nobody) -> None:
        super().__init__(told)
        self._store = store

    def page(
        self, selection: Selection[E], *, limit: int, cursor: str | None = None, wanted: Wanted = _all
    ) -> TolerantPage[E]:
        """A page of a selection, of the entities that are wanted."""
        found = self._store._run(_page(self._store._context, selection, limit, cursor, wanted))
        self._tell(found.unreadable)
        return found

    def one(self, lookup: Lookup[E], *, consistent: bool | None = None) -> E | Unreadable | None:
        """An entity, None if it is not there, or why it cannot be read."""
        found = self._store._run(_one(self._store._context, lookup, consistent))
        self._tell([found])
        return found

    def each(self, lookups: Sequence[Lookup[E]], *, consistent: bool | None = None) -> list[E | Unreadable | None]:
        """The same for each of some, in their order."""
        found = self._store._run(_each(self._store._context, lookups, consistent))
        self._tell(found)
        return found

    def collect(
        self, selection: CollectionSelection[C], *, consistent: bool | None = None
    ) -> tuple[C | None, list[Unreadable]]:
        """A collection, and the errors of members that it lacks; LimitExceeded if there is too much for one answer.

        None when a member is missing that has to be there; Unreadable is raised, when that one cannot be read.
        """
        found = self._store._run(_collect(self._store._context, selection, consistent))
        self._tell(found[1])
        return found

    def all(self, selection: Selection[E]) -> TolerantPage[E]:
        """Every item of a list that is known to be short, such as what belongs to one item."""
        found = self._store._run(_every(self._store._context, selection))
        self._tell(found.unreadable)
        return found

    def version(self, lookup: Lookup[E]) -> int:
        """The version of an item, which need not be readable otherwise; 0 if it has none."""
        return self._store._run(_version(self._store._context, lookup))


class AsyncTolerantReader(_Telling):
    """The same, to be awaited."""

    def __init__(self, store: AsyncStore, told: Told = _nobody) -> None:
        super().__init__(told)
        self._store = store

    async def page(
        self, selection: Selection[E], *, limit: int, cursor: str | None = None, wanted: Wanted = _all
    ) -> TolerantPage[E]:
        """A page of a selection, of the entities that are wanted."""
        found = await self._store._run(_page(self._store._context, selection, limit, cursor, wanted))
        self._tell(found.unreadable)
        return found

    async def one(self, lookup: Lookup[E], *, consistent: bool | None = None) -> E | Unreadable | None:
        """An entity, None if it is not there, or why it cannot be read."""
        found = await self._store._run(_one(self._store._context, lookup, consistent))
        self._tell([found])
        return found

    async def each(
        self, lookups: Sequence[Lookup[E]], *, consistent: bool | None = None
    ) -> list[E | Unreadable | None]:
        """The same for each of some, in their order."""
        found = await self._store._run(_each(self._store._context, lookups, consistent))
        self._tell(found)
        return found

    async def collect(
        self, selection: CollectionSelection[C], *, consistent: bool | None = None
    ) -> tuple[C | None, list[Unreadable]]:
        """A collection, and the errors of members that it lacks; LimitExceeded if there is too much for one answer.

        None when a member is missing that has to be there; Unreadable is raised, when that one cannot be read.
        """
        found = await self._store._run(_collect(self._store._context, selection, consistent))
        self._tell(found[1])
        return found

    async def all(self, selection: Selection[E]) -> TolerantPage[E]:
        """Every item of a list that is known to be short, such as what belongs to one item."""
        found = await self._store._run(_every(self._store._context, selection))
        self._tell(found.unreadable)
        return found

    async def version(self, lookup: Lookup[E]) -> int:
        """The version of an item, which need not be readable otherwise; 0 if it has none."""
        return await self._store._run(_version(self._store._context, lookup))


def _page(
    context: Context,
    selection: Selection[E],
    limit: int,
    cursor: str | None,
    wanted: Wanted,
) -> Flow[TolerantPage[E]]:
    plan = plan_selection(context, selection)
    reading = begin(context, plan, cursor)
    items: list[E] = []
    unreadable: list[Unreadable] = []
    read = 0
    while True:
        # Never more than there is room for, so that the cursor is behind the last that is shown.
        taken = yield from reading.take(min(limit - len(items), MOST_READ - read))
        read += len(taken)
        if reading.scope.is_special:
            taken = yield from reading.whole(taken)
        entities, errors = _entities(reading, taken)
        items += entities if wanted is _all else filter(wanted, entities)
        unreadable += errors
        made = reading.cursor
        if made is None or len(items) == limit or read >= MOST_READ:
            return TolerantPage(items, unreadable, None if made is None else made())
        if read <= limit:
            # Some were left out, and so may others be: from here on, requests fetch many, whatever is taken of them.
            reading = begin(context, plan, made(), _CHUNK)


def _every(context: Context, selection: Selection[E]) -> Flow[TolerantPage[E]]:
    whole: TolerantPage[E] = TolerantPage([], [], None)
    cursor = None
    while True:
        page = yield from _page(context, selection, MOST_READ, cursor, _all)
        whole.items.extend(page.items)
        whole.unreadable.extend(page.unreadable)
        cursor = page.cursor
        if cursor is None:
            return whole


def _entities(reading: Reading, items: list[Item]) -> tuple[list[Any], list[Unreadable]]:
    """What was read, as entities, and the errors of those that are none."""
    schema, projected = reading.scope.schema, reading.scope.projected
    if not projected and not any(BLOB_REFERENCES in item for item in items):
        try:
            return entities_of(schema, items), []
        except Unreadable:
            pass
    found = [_entity(schema, item, projected) for item in items]
    errors = [each for each in found if isinstance(each, Unreadable)]
    return [each for each in found if not isinstance(each, Unreadable)], errors


def _entity(schema: Schema, item: Item, projected: Sequence[str]) -> Any:
    """The entity of an item, or of the part that was asked for; or the error.

    A part is not checked for what it lacks, and neither is an item with values outside of it. What cannot be missing in
    an entity has to be there.
    """
    part = {name: item[name] for name in projected if name in item} if projected else item
    try:
        found = entity_of(schema, part, partial=bool(projected))
    except Unreadable as error:
        return Unreadable(error.entity, describe_item(schema, item), error.reason)
    outside = item.get(BLOB_REFERENCES, {}).get("M", {})
    for name, info in schema.entity.model_fields.items():
        attribute = schema.fields[name].attribute
        is_asked_for = (not projected or attribute in projected) and attribute not in outside
        if info.is_required() and is_asked_for and name not in found.__dict__:
            return Unreadable(schema.entity.__name__, describe_item(schema, item), f"{name}: Field required")
    return found


def _one(context: Context, lookup: Lookup[E], consistent: bool | None) -> Flow[E | Unreadable | None]:
    try:
        return (yield from get(context, lookup, consistent=consistent))
    except Unreadable as error:
        return error


def _each(context: Context, lookups: Sequence[Lookup[E]], consistent: bool | None) -> Flow[list[E | Unreadable | None]]:
    try:
        found = yield from get_many(context, lookups, consistent=consistent)
        return list(found)
    except Unreadable as error:
        if len(lookups) == 1:
            return [error]
    half = len(lookups) // 2
    first = yield from _each(context, lookups[:half], consistent)
    second = yield from _each(context, lookups[half:], consistent)
    return first + second


def _collect(
    context: Context, selection: CollectionSelection[C], consistent: bool | None
) -> Flow[tuple[C | None, list[Unreadable]]]:
    reading = begin(context, plan_collection(context, selection, consistent=consistent))
    items: list[Item] = []
    pages = 0
    while not reading.ended:
        if pages == MOST_PAGES:
            name = selection.collection.__name__.lower()
            raise LimitExceeded(f"the {name} has more than {MOST_PAGES} MB; read what belongs to it in pages")
        taken = yield from reading.take(None)
        items += (yield from reading.whole(taken)) if reading.scope.is_special else taken
        pages += 1
    unreadable: list[Unreadable] = []
    members = selection.collection.members_
    readable: list[tuple[Item, Any]] = []
    for item in items:
        member = next((each for each in members if each.schema.matches(item)), None)
        if member is None:
            continue
        entity = _entity(member.schema, item, ())
        if not isinstance(entity, Unreadable):
            readable.append((item, entity))
        elif member.many or member.optional:
            unreadable.append(entity)
        else:
            raise entity
    entities = iter([entity for _, entity in readable])
    # In the order of the items, each of which is decoded once.
    made = selection.collection.of([item for item, _ in readable], lambda schema, item: next(entities))
    return made, unreadable


def _version(context: Context, lookup: Lookup[E]) -> Flow[int]:
    schema = schema_of(lookup.entity)
    assert schema.version is not None
    pattern = f"{lookup.entity.__name__}.{lookup.name}"
    key = schema.key_for(lookup.values, pattern)
    body = {"TableName": context.name_of(schema.table), "Key": key, "ConsistentRead": True}
    response = yield from retrying(context, Request("GetItem", body, pattern))
    found = response.get("Item", {}).get(schema.version.attribute, {}).get("N", "0")
    return int(found) if found.isdecimal() else 0
