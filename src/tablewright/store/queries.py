"""Reading items in order: pages of them, all of them, how many there are.

A ``Reading`` is a read in progress. It has a lane for each partition of its plan; a lane fetches pages of the service
and keeps what has not been handed out yet. Taking an item takes the next in order of all the lanes, so that a sharded
partition reads as if it were one. Where a reading stands is where each of its lanes stands, and that is its cursor.

Two numbers are easily mixed up: the **limit** is how many items the caller gets; the **page size** is how many the
service looks at in one request, before it filters, and before expired and foreign items are left out. To fill a limit,
as many pages are read as it takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tablewright.model import Collection, Entity, Gathering, Selection
from tablewright.model.schema import Item
from tablewright.store import cursors
from tablewright.store.arguments import A_CLASS, A_GATHER, A_QUERY, is_entity_class, not_taken
from tablewright.store.batch_reads import batch_get
from tablewright.store.context import Context
from tablewright.store.cursors import Position
from tablewright.store.decoding import entities_of, entity_of
from tablewright.store.flow import Flow, Request
from tablewright.store.large import still_shown
from tablewright.store.moving import Moving
from tablewright.store.outside import lacking
from tablewright.store.plans import plan_gathering, plan_scan, plan_selection
from tablewright.store.ranges import comparable
from tablewright.store.retry import retrying
from tablewright.store.scopes import Plan, Scope
from tablewright.store.shapes import written_back
from tablewright.store.visibility import is_visible, visible

E = TypeVar("E", bound=Entity)
C = TypeVar("C", bound=Collection)

# The bytes outside of the items of a page, more or less.
MOST_OUTSIDE = 16 * 1024 * 1024
# A page that is sized by what is still wanted doubles when little of it could be used, up to this.
MOST_AT_ONCE = 1000


class Page(Generic[E]):
    """Some items of a read, and the cursor that goes on behind them; None at the end."""

    __slots__ = ("_cursor", "items")

    def __init__(self, items: list[E], cursor: str | Callable[[], str] | None) -> None:
        self.items = items
        self._cursor = cursor

    @property
    def cursor(self) -> str | None:
        # Signed when it is asked for, which it mostly is not.
        if callable(self._cursor):
            self._cursor = self._cursor()
        return self._cursor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and self.items == other.items and self.cursor == other.cursor

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Page(items={self.items!r}, cursor={self.cursor!r})"


# The buffer of a lane that has nothing in it; most never have.
_NOTHING: deque[Item] = deque(maxlen=0)


class _Lane:
    """One partition: what has been fetched and not been taken, and where to fetch next."""

    __slots__ = ("body", "buffer", "ended", "last", "number", "start")

    def __init__(self, number: int, body: dict[str, Any], position: Position = None) -> None:
        self.number = number
        self.body = body
        self.buffer = _NOTHING
        self.ended = position is False
        self.start: Item | None = position if isinstance(position, dict) else None
        # What the buffer goes on behind: an item that was taken, or where its page began.
        self.last = self.start

    def take(self) -> Item:
        item = self.last = self.buffer.popleft()
        return item

    def take_into(self, taken: list[Item], limit: int | None) -> None:
        """Take as many as are there, and wanted."""
        if limit is None or len(self.buffer) <= limit - len(taken):
            taken.extend(self.buffer)
            self.buffer = _NOTHING
        else:
            taken.extend(self.buffer.popleft() for _ in range(limit - len(taken)))
        if taken:
            self.last = taken[-1]

    def position(self, key: Sequence[str]) -> Position:
        if self.buffer:
            return None if self.last is None else {name: self.last[name] for name in key}
        return False if self.ended else self.start


class Reading:
    """A read in progress."""

    __slots__ = ("_context", "_lanes", "_moving", "_page_size", "plan", "scope")

    def __init__(
        self, context: Context, plan: Plan, *, cursor: str | None = None, page_size: int | None = None
    ) -> None:
        self.plan = plan
        self.scope = plan.scope
        self._context = context
        self._page_size = page_size
        if page_size is not None and page_size < 1:
            raise ValueError("a page has a size of at least 1")
        positions: Sequence[Position] | None = None
        if cursor is not None:
            positions = cursors.unseal(context.cursor_secret, self._identity, cursor)
        self._moving: Moving | None = None
        if plan.partitions:
            self._moving = Moving(plan, self._page, positions)
            self._lanes: list[_Lane] = []
        elif positions is None:
            self._lanes = [_Lane(number, body) for number, body in enumerate(plan.bodies)]
        else:
            found = zip(plan.bodies, positions, strict=True)
            self._lanes = [_Lane(number, body, position) for number, (body, position) in enumerate(found)]

    @property
    def _identity(self) -> Any:
        """What a cursor is bound to: all that is asked for. Consistency may differ from page to page."""
        return [self.scope.pattern, [{**body, "ConsistentRead": None} for body in self.plan.bodies]]

    @property
    def ended(self) -> bool:
        """Whether everything has been taken."""
        if self._moving is not None:
            return self._moving.ended
        return not [lane for lane in self._lanes if lane.buffer or not lane.ended]

    @property
    def cursor(self) -> Callable[[], str] | None:
        """What makes the cursor of where it stands now; None at the end."""
        positions = [lane.position(self.scope.key) for lane in self._lanes]
        if self._moving is not None:
            positions = [] if self._moving.ended else self._moving.positions
        if positions.count(False) == len(positions):
            return None
        return lambda: cursors.seal(self._context.cursor_secret, self._identity, positions)

    def take(self, limit: int | None, *, light: bool = False) -> Flow[list[Item]]:
        """The next items: as many as ``limit``, fewer only at the end.

        Without a limit, what one page of the service has; nothing only at the end. Without a limit, or if it is to be
        ``light``, it also ends when there is much outside of the items (``MOST_OUTSIDE``).
        """
        if limit is not None and limit < 1:
            raise ValueError("a limit is at least 1")
        taken: list[Item] = []
        pages = 0
        room = MOST_OUTSIDE if self.scope.is_large and (light or limit is None) else None
        if self._moving is not None:
            return (yield from self._take_moving(self._moving, limit, room))
        alone = len(self._lanes) == 1 and room is None
        while limit is None or len(taken) < limit:
            for lane in self._lanes:
                while not lane.buffer and not lane.ended:
                    if limit is None and taken:
                        return taken
                    size = self._size(limit, len(taken), pages // len(self._lanes))
                    items = yield from self._fetch(lane, size)
                    if alone and size == limit and limit is not None and not taken:
                        # All of the first page is wanted, and mostly it is all that is.
                        taken = items
                        if len(taken) == limit or lane.ended:
                            return taken
                    elif items:
                        lane.buffer = deque(items)
                    pages += 1
            if alone:
                self._lanes[0].take_into(taken, limit)
                if self._lanes[0].ended:
                    break
                continue
            foremost = self._foremost()
            if foremost is None:
                break
            taken.append(foremost.take())
            if room is not None:
                room -= sum(reference.size for reference in lacking(taken[-1]).values())
                if room <= 0:
                    break
        return taken

    def _take_moving(self, moving: Moving, limit: int | None, room: int | None) -> Flow[list[Item]]:
        """The same where items are moving."""
        taken: list[Item] = []
        rounds = 0
        while not moving.ended and (limit is None or len(taken) < limit) and (room is None or room > 0):
            found = yield from moving.round(self._size(limit, len(taken), rounds))
            rounds += 1
            wanted = len(found) if limit is None else min(len(found), limit - len(taken))
            if room is not None:
                for number, item in enumerate(found[:wanted], 1):
                    room -= sum(reference.size for reference in lacking(item).values())
                    if room <= 0:
                        wanted = number
                        break
            taken += moving.give(wanted)
            if limit is None and taken:
                break
        return taken

    def whole(self, items: list[Item]) -> Flow[list[Item]]:
        """Items that were taken, with the values that are outside; without those that have gone since.

        Those of an older shape are written back, if their entity says so.
        """
        plan, scope, context = self.plan, self.scope, self._context
        if scope.is_large:
            found = yield from still_shown(context, scope.schemas, items, plan.settled_key)
            items = [item for item in found if item is not None and plan.accepts(item)]
        return (yield from written_back(context, scope.schemas, items)) if scope.writes_back else items

    def _size(self, limit: int | None, taken: int, rounds: int) -> int | None:
        if self._page_size is not None or limit is None:
            return self._page_size
        # A shard has its share of what is wanted, more or less.
        share = -(-(limit - taken) // len(self.plan.bodies))
        return min(share << min(rounds, 16), max(share, MOST_AT_ONCE))

    def _foremost(self) -> _Lane | None:
        """The lane that has the next item in order."""
        ready = [lane for lane in self._lanes if lane.buffer]
        if not ready:
            return None
        return (max if self.scope.newest_first else min)(ready, key=self._order)

    def _order(self, lane: _Lane) -> tuple[Any, ...]:
        head = lane.buffer[0]
        return (*(comparable(head[name]) for name in self.scope.sort), lane.number)

    def _page(self, number: int, start: Item | None, size: int | None) -> Flow[tuple[list[Item], Item | None]]:
        """A page of one partition from anywhere, and where it ends; None when there is no more."""
        lane = _Lane(number, self.plan.bodies[number], start)
        items = yield from self._fetch(lane, size)
        return items, lane.start

    def _fetch(self, lane: _Lane, size: int | None) -> Flow[list[Item]]:
        """The next page of a lane that is dry."""
        scope, context = self.scope, self._context
        body = dict(lane.body)
        if lane.start is not None:
            body["ExclusiveStartKey"] = lane.start
        if size is not None:
            body["Limit"] = size
        response = yield from retrying(context, Request(scope.operation, body, scope.pattern))
        items: list[Item] = response["Items"]
        if scope.partial:
            items = yield from self._whole(items)
        now = context.clock()
        lane.last = lane.start
        lane.start = response.get("LastEvaluatedKey")
        lane.ended = lane.start is None
        if scope.others:
            items = [item for item in items if any(is_visible(schema, item, now) for schema in scope.schemas)]
        else:
            items = visible(scope.schema, items, now, scope.in_own_partition)
        return list(filter(self.plan.accepts, items)) if self.plan.checks else items

    def _whole(self, entries: list[Item]) -> Flow[list[Item]]:
        """The items of index entries that lack attributes; an entry that lags behind its item is left out."""
        scope, table = self.scope, self.plan.bodies[0]["TableName"]
        addresses = [(table, {name: entry[name] for name in scope.schema.table.key}) for entry in entries]
        items = yield from batch_get(self._context, addresses, scope.pattern)
        return [
            item
            for entry, item in zip(entries, items, strict=True)
            if item is not None and all(item.get(name) == entry[name] for name in scope.key)
        ]


# -- flows ----------------------------------------------------------------------------------------------------------


def read_page(reading: Reading, entity: type[E], limit: int | None) -> Flow[Page[E]]:
    """The next page of a reading."""
    items = yield from reading.take(limit)
    if reading.scope.is_special:
        items = yield from reading.whole(items)
    return Page(entities(reading.scope, entity, items), reading.cursor)


def read_some(reading: Reading, entity: type[E], most: int | None) -> Flow[list[E]]:
    """The next entities of a reading, up to so many, for those who take one after the other."""
    items = yield from reading.take(None if most is None else min(most, MOST_AT_ONCE), light=True)
    if reading.scope.is_special:
        items = yield from reading.whole(items)
    return entities(reading.scope, entity, items)


def entities(scope: Scope, entity: type[E], items: Sequence[Item]) -> list[E]:
    """What was read, as entities: whole, or with the fields that the pattern projects."""
    schema, projected = scope.schema, scope.projected
    if not projected:
        return entities_of(schema, items)
    parts = [{name: item[name] for name in projected if name in item} for item in items]
    return [entity_of(schema, part, partial=True) for part in parts]


def query(
    context: Context,
    selection: Selection[E],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    page_size: int | None = None,
    consistent: bool | None = None,
) -> Flow[Page[E]]:
    """A page of a selection: up to ``limit`` items, or without one what a page of the service has."""
    if not isinstance(selection, Selection):
        raise not_taken("query", A_QUERY, selection)
    plan = plan_selection(context, selection, consistent=consistent)
    return read_page(Reading(context, plan, cursor=cursor, page_size=page_size), selection.entity, limit)


def scan(
    context: Context,
    entity: type[E],
    *,
    limit: int | None = None,
    cursor: str | None = None,
    page_size: int | None = None,
    segment: tuple[int, int] | None = None,
    consistent: bool | None = None,
) -> Flow[Page[E]]:
    """A page of all items of an entity, in no order."""
    if not is_entity_class(entity):
        raise not_taken("scan", A_CLASS, entity)
    plan = plan_scan(context, entity, consistent=bool(consistent), segment=segment)
    return read_page(Reading(context, plan, cursor=cursor, page_size=page_size), entity, limit)


def collect(context: Context, gathering: Gathering[C], *, consistent: bool | None = None) -> Flow[C | None]:
    """A collection: all of a partition; None when a member is missing that has to be there."""
    if not isinstance(gathering, Gathering):
        raise not_taken("collect", A_GATHER, gathering)
    reading = Reading(context, plan_gathering(context, gathering, consistent=consistent))
    items: list[Item] = []
    while not reading.ended:
        taken = yield from reading.take(None)
        items += (yield from reading.whole(taken)) if reading.scope.is_special else taken
    return gathering.collection.of(items, entity_of)


def count(context: Context, selection: Selection[E], *, consistent: bool | None = None) -> Flow[int]:
    """How many items a selection has.

    The service's own count would include expired items and those of other entities, so keys are read and counted.
    """
    if not isinstance(selection, Selection):
        raise not_taken("count", A_QUERY, selection)
    reading = Reading(context, plan_selection(context, selection, consistent=consistent, keys_only=True))
    total = 0
    while not reading.ended:
        total += len((yield from reading.take(None)))
    return total
