"""Reads in progress: of one partition, of several that are put in one order, and of several whose items are moving.

A reading fetches pages of the service and keeps what has not been handed out yet. Where it stands is a position for
each of its partitions, and that is its cursor.

Two numbers are easily mixed up: the **limit** is how many items the caller gets; the **page size** is how many the
service looks at in one request, before it filters, and before expired and foreign items are left out. To fill a limit,
as many pages are read as it takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.store.blobs.blob_loading import still_shown
from tablewright.store.blobs.blob_references import lacking
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request
from tablewright.store.flow.retry import retrying
from tablewright.store.maintenance.write_back import written_back
from tablewright.store.read.batch_get import batch_get
from tablewright.store.read.cursor import Position, seal, unseal
from tablewright.store.read.planning.key_range import comparable
from tablewright.store.read.planning.read_plan import Plan
from tablewright.store.read.reshard_reader import Moving
from tablewright.store.read.visibility import is_visible, visible

__all__ = ["MOST_AT_ONCE", "Reading", "begin", "go_on", "sealed"]

# The bytes outside of the items of a page, more or less.
MOST_OUTSIDE = 16 * 1024 * 1024
# A page that is sized by what is still wanted doubles when little of it could be used, up to this.
MOST_AT_ONCE = 1000


def begin(context: Context, plan: Plan, cursor: str | None = None, page_size: int | None = None) -> Reading:
    """The read of a plan: from its beginning, or on from a cursor."""
    if page_size is not None and page_size < 1:
        raise ValueError("a page has a size of at least 1")
    positions = None if cursor is None else unseal(context.cursor_secret, _identity(plan), cursor)
    if plan.partitions:
        return _OfMovingItems(context, plan, positions, page_size)
    if len(plan.bodies) == 1 and not plan.scope.is_large:
        return _OfOnePartition(context, plan, positions, page_size)
    return _OfPartitions(context, plan, positions, page_size)


def go_on(context: Context, plan: Plan, items: list[Item], end: Item) -> Reading:
    """The read of a plan of one partition whose first page has been fetched: its items, and where it ends."""
    reading = _OfOnePartition(context, plan, [end], None)
    reading.left, reading.rounds = items, 1
    return reading


def sealed(context: Context, plan: Plan, positions: Sequence[Position]) -> Callable[[], str]:
    """What makes the cursor of a place in a read."""
    return lambda: seal(context.cursor_secret, _identity(plan), positions)


def _identity(plan: Plan) -> Any:
    """What a cursor is bound to: all that is asked for. Consistency may differ from page to page."""
    return [plan.scope.pattern, [{**body, "ConsistentRead": None} for body in plan.bodies]]


class Reading(ABC):
    """A read in progress."""

    __slots__ = ("_context", "_page_size", "plan", "scope")

    def __init__(self, context: Context, plan: Plan, page_size: int | None) -> None:
        self.plan = plan
        self.scope = plan.scope
        self._context = context
        self._page_size = page_size

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether everything has been taken."""

    @property
    @abstractmethod
    def cursor(self) -> Callable[[], str] | None:
        """What makes the cursor of where it stands now; None at the end."""

    @abstractmethod
    def take(self, limit: int | None, *, light: bool = False) -> Flow[list[Item]]:
        """The next items: as many as ``limit``, fewer only at the end.

        Without a limit, what one page of the service has; nothing only at the end. Without a limit, or if it is to be
        ``light``, it also ends when there is much outside of the items (``MOST_OUTSIDE``).
        """

    def whole(self, items: list[Item]) -> Flow[list[Item]]:
        """Items that were taken, with the values that are outside; without those that have gone since.

        Those of an older schema version are written back, if their entity says so.
        """
        plan, scope, context = self.plan, self.scope, self._context
        if scope.is_large:
            found = yield from still_shown(context, scope.schemas, items, plan.settled_key)
            items = [item for item in found if item is not None and plan.accepts(item)]
        return (yield from written_back(context, scope.schemas, items)) if scope.writes_back else items

    def _room(self, limit: int | None, light: bool) -> int | None:
        """How much may be outside of the items that are taken."""
        return MOST_OUTSIDE if self.scope.is_large and (light or limit is None) else None

    def _size(self, limit: int | None, taken: int, rounds: int) -> int | None:
        """How many items a request looks at, after so many that were taken in so many rounds."""
        if self._page_size is not None or limit is None:
            return self._page_size
        # A shard has its share of what is wanted, more or less.
        share = -(-(limit - taken) // len(self.plan.bodies))
        return min(share << min(rounds, 16), max(share, MOST_AT_ONCE)) if rounds else share

    def _page(self, number: int, start: Item | None, size: int | None) -> Flow[tuple[list[Item], Item | None]]:
        """A page of one partition, and where it ends; None when there is no more."""
        plan, scope, context = self.plan, self.scope, self._context
        body = dict(plan.bodies[number])
        if start is not None:
            body["ExclusiveStartKey"] = start
        if size is not None:
            body["Limit"] = size
        response = yield from retrying(context, Request(scope.operation, body, scope.pattern))
        items: list[Item] = response["Items"]
        if scope.partial:
            items = yield from self._whole(items)
        now = context.clock()
        if scope.others:
            items = [item for item in items if any(is_visible(schema, item, now) for schema in scope.schemas)]
        else:
            items = visible(scope.schema, items, now, scope.in_own_partition)
        if plan.checks:
            items = list(filter(plan.accepts, items))
        return items, response.get("LastEvaluatedKey")

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


class _OfOnePartition(Reading):
    """Of one partition, which is what most reads are of: what it has, as it comes."""

    __slots__ = ("_ended", "_last", "_start", "left", "rounds")

    def __init__(
        self, context: Context, plan: Plan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        # Where to fetch next; what has been fetched and not been taken, and the item before that.
        self._start: Item | None = None
        self._ended = False
        self.left: list[Item] = []
        self._last: Item = {}
        # How many pages have been fetched of what is taken next.
        self.rounds = 0
        if positions is not None:
            (position,) = positions
            self._ended = position is False
            self._start = position if isinstance(position, dict) else None

    @property
    def ended(self) -> bool:
        return self._ended and not self.left

    @property
    def cursor(self) -> Callable[[], str] | None:
        if self.left:
            return sealed(self._context, self.plan, [{name: self._last[name] for name in self.scope.key}])
        return None if self._ended else sealed(self._context, self.plan, [self._start])

    def take(self, limit: int | None, *, light: bool = False) -> Flow[list[Item]]:
        if limit is not None and limit < 1:
            raise ValueError("a limit is at least 1")
        taken, self.left = self.left, []
        rounds, self.rounds = self.rounds, 0
        while not self._ended and (not taken if limit is None else len(taken) < limit):
            items, self._start = yield from self._page(0, self._start, self._size(limit, len(taken), rounds))
            self._ended = self._start is None
            taken = taken + items if taken else items
            rounds += 1
        if limit is not None and len(taken) > limit:
            self._last, self.left = taken[limit - 1], taken[limit:]
            return taken[:limit]
        return taken


class _Lane:
    """One partition of several: what has been fetched and not been taken, and where to fetch next."""

    __slots__ = ("buffer", "ended", "last", "number", "start")

    def __init__(self, number: int, position: Position = None) -> None:
        self.number = number
        self.buffer: deque[Item] = deque()
        self.ended = position is False
        self.start: Item | None = position if isinstance(position, dict) else None
        # What the buffer goes on behind: an item that was taken, or where its page began.
        self.last = self.start

    def take(self) -> Item:
        item = self.last = self.buffer.popleft()
        return item

    def position(self, key: Sequence[str]) -> Position:
        if self.buffer:
            return None if self.last is None else {name: self.last[name] for name in key}
        return False if self.ended else self.start


class _OfPartitions(Reading):
    """Of several partitions: the next item in order of all of them, so that they read as if they were one."""

    __slots__ = ("_lanes",)

    def __init__(
        self, context: Context, plan: Plan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        found = [None] * len(plan.bodies) if positions is None else positions
        self._lanes = [_Lane(number, position) for number, position in enumerate(found)]

    @property
    def ended(self) -> bool:
        return not [lane for lane in self._lanes if lane.buffer or not lane.ended]

    @property
    def cursor(self) -> Callable[[], str] | None:
        positions = [lane.position(self.scope.key) for lane in self._lanes]
        return None if positions.count(False) == len(positions) else sealed(self._context, self.plan, positions)

    def take(self, limit: int | None, *, light: bool = False) -> Flow[list[Item]]:
        if limit is not None and limit < 1:
            raise ValueError("a limit is at least 1")
        taken: list[Item] = []
        pages = 0
        room = self._room(limit, light)
        while (limit is None or len(taken) < limit) and (room is None or room > 0):
            for lane in self._lanes:
                while not lane.buffer and not lane.ended:
                    if limit is None and taken:
                        return taken
                    yield from self._fetch(lane, self._size(limit, len(taken), pages // len(self._lanes)))
                    pages += 1
            foremost = self._foremost()
            if foremost is None:
                break
            taken.append(foremost.take())
            if room is not None:
                room -= _outside(taken[-1])
        return taken

    def _fetch(self, lane: _Lane, size: int | None) -> Flow[None]:
        """The next page of a lane that is dry."""
        items, end = yield from self._page(lane.number, lane.start, size)
        lane.last, lane.start, lane.ended = lane.start, end, end is None
        lane.buffer = deque(items)

    def _foremost(self) -> _Lane | None:
        """The lane that has the next item in order."""
        ready = [lane for lane in self._lanes if lane.buffer]
        if not ready:
            return None
        return (max if self.scope.newest_first else min)(ready, key=self._order)

    def _order(self, lane: _Lane) -> tuple[Any, ...]:
        head = lane.buffer[0]
        return (*(comparable(head[name]) for name in self.scope.sort), lane.number)


class _OfMovingItems(Reading):
    """Of several partitions between which items are moving; see ``moving``."""

    __slots__ = ("_moving",)

    def __init__(
        self, context: Context, plan: Plan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        self._moving = Moving(plan, self._page, positions)

    @property
    def ended(self) -> bool:
        return self._moving.ended

    @property
    def cursor(self) -> Callable[[], str] | None:
        return None if self._moving.ended else sealed(self._context, self.plan, self._moving.positions)

    def take(self, limit: int | None, *, light: bool = False) -> Flow[list[Item]]:
        if limit is not None and limit < 1:
            raise ValueError("a limit is at least 1")
        moving, room = self._moving, self._room(limit, light)
        taken: list[Item] = []
        rounds = 0
        while not moving.ended and (limit is None or len(taken) < limit) and (room is None or room > 0):
            found = yield from moving.round(self._size(limit, len(taken), rounds))
            rounds += 1
            wanted = len(found) if limit is None else min(len(found), limit - len(taken))
            if room is not None:
                for number, item in enumerate(found[:wanted], 1):
                    room -= _outside(item)
                    if room <= 0:
                        wanted = number
                        break
            taken += moving.give(wanted)
            if limit is None and taken:
                break
        return taken


def _outside(item: Item) -> int:
    """The bytes outside of an item."""
    return sum(reference.size for reference in lacking(item).values())
