"""Reads in progress: pages of the service, as items for the caller, and a cursor for the rest.

    one partition                      _PartitionPager     most reads
    several, such as shards            _MergingPager       merged in order, as if they were one
    several that items move between    _ReshardPager       while the number of shards is changed
    several in order, such as days     _ChainPager         one after the other
    segments of a scan                 _SegmentPager       fetched together, in no order

A pager fetches pages and keeps the items that have not been taken yet. Its cursor is a position in each partition.

Two numbers are easily confused: the **limit** is how many items the caller gets; the **page size** is how many the
service reads in one request, before it filters, and before expired items and those of other entities are left out. As
many pages are read as it takes to fill a limit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.store.blobs.blob_loading import load_visible
from tablewright.store.blobs.blob_references import missing_references
from tablewright.store.context import Context
from tablewright.store.flow.driver import Begin, Flow, Request, together
from tablewright.store.flow.retry import retrying
from tablewright.store.maintenance.write_back import written_back
from tablewright.store.read.batch_get import batch_get
from tablewright.store.read.cursor import Position, seal, unseal
from tablewright.store.read.planning.key_range import comparable
from tablewright.store.read.planning.read_plan import ReadPlan
from tablewright.store.read.reshard_reader import ReshardReader
from tablewright.store.visibility import is_visible, visible

# About how many bytes of blobs are loaded for one page.
MAX_BLOB_BYTES = 16 * 1024 * 1024
# The page size doubles while few of the items that are read can be used, up to this.
MAX_PAGE_SIZE = 1000
# Whoever has taken two pages is likely to take all of them: from the third on, the next one is begun ahead.
_READS_AHEAD_FROM = 3


def open_pager(context: Context, plan: ReadPlan, cursor: str | None = None, page_size: int | None = None) -> Pager:
    """The pager of a plan, from the beginning or from a cursor."""
    if page_size is not None and page_size < 1:
        raise ValueError("page_size must be at least 1")
    positions = None if cursor is None else unseal(context.cursor_secret, _identity(plan), cursor)
    if plan.partitions:
        return _ReshardPager(context, plan, positions, page_size)
    if plan.is_chain and not plan.target.loads_blobs:
        return _ChainPager(context, plan, positions, page_size)
    if len(plan.bodies) == 1 and not plan.target.loads_blobs:
        return _PartitionPager(context, plan, positions, page_size)
    if plan.is_parallel:
        return _SegmentPager(context, plan, positions, page_size)
    return _MergingPager(context, plan, positions, page_size)


def resume_pager(context: Context, plan: ReadPlan, items: list[Item], end: Item) -> Pager:
    """The pager of a plan of one partition whose first page has been fetched: its items, and where it ended."""
    pager = _PartitionPager(context, plan, [end], None)
    pager.buffer, pager.pages = items, 1
    return pager


def cursor_maker(context: Context, plan: ReadPlan, positions: Sequence[Position]) -> Callable[[], str]:
    """A function that makes the cursor of these positions: it is signed only if it is asked for."""
    return lambda: seal(context.cursor_secret, _identity(plan), positions)


def _identity(plan: ReadPlan) -> Any:
    """What a cursor is valid for: everything that is read. Consistency may differ from page to page."""
    return [plan.target.pattern, [{**body, "ConsistentRead": None} for body in plan.bodies]]


class Pager(ABC):
    """A read in progress."""

    __slots__ = ("_begun", "_context", "_page_size", "_read", "plan", "target")

    def __init__(self, context: Context, plan: ReadPlan, page_size: int | None) -> None:
        self.plan = plan
        self.target = plan.target
        self._context = context
        self._page_size = page_size
        # The request of the next page, if it has been begun.
        self._begun: Request | None = None
        # How many items the service has read so far, page by page: threads may add to it at the same time.
        self._read: list[int] = []

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether all items have been taken."""

    @property
    @abstractmethod
    def cursor(self) -> Callable[[], str] | None:
        """A function that makes the cursor after the items that have been taken; None at the end."""

    @abstractmethod
    def take(self, limit: int | None, *, bound_blobs: bool = False) -> Flow[list[Item]]:
        """The next items: as many as ``limit``, fewer only at the end.

        Without a limit, those of one page of the service, and none only at the end. Without a limit, or with
        ``bound_blobs``, fewer are returned when their blobs are large (``MAX_BLOB_BYTES``).
        """

    @property
    def read(self) -> int:
        """How many items the service has read so far."""
        return sum(self._read)

    @property
    def parts_ended(self) -> int:
        """How many of the partitions or segments have been read to their end."""
        return len(self.plan.bodies) if self.ended else 0

    def complete(self, items: list[Item]) -> Flow[list[Item]]:
        """Items that were taken, with their blobs loaded; without items that have been deleted since.

        Those of an older schema version are written back, if their entity says so.
        """
        plan, target, context = self.plan, self.target, self._context
        if target.loads_blobs:
            found = yield from load_visible(context, target.schemas, items, plan.stable_key)
            items = [item for item in found if item is not None and plan.accepts(item)]
        return (yield from written_back(context, target.schemas, items)) if target.writes_back else items

    def _blob_budget(self, limit: int | None, bound_blobs: bool) -> int | None:
        """How many bytes the blobs of the items may have; None for any number."""
        return MAX_BLOB_BYTES if self.target.loads_blobs and (bound_blobs or limit is None) else None

    def _next_size(self, limit: int | None, taken: int, pages: int) -> int | None:
        """The page size of the next request, after so many items were taken from so many pages."""
        if self._page_size is not None or limit is None:
            return self._page_size
        # Each shard has about its share of them.
        share = -(-(limit - taken) // len(self.plan.bodies))
        return min(share << min(pages, 16), max(share, MAX_PAGE_SIZE)) if pages else share

    def _page(
        self, number: int, start: Item | None, size: int | None, *, ahead: bool = False
    ) -> Flow[tuple[list[Item], Item | None]]:
        """A page of one partition, and where it ends; None if it is the last. The one after it is begun ``ahead``."""
        plan, target, context = self.plan, self.target, self._context
        request, self._begun = self._begun, None
        if request is None:
            request = self._request(number, start, size)
        response = yield from retrying(context, request)
        if ahead and "LastEvaluatedKey" in response:
            self._begun = self._request(number, response["LastEvaluatedKey"], size)
            yield Begin(0.0, self._begun)
        items: list[Item] = response["Items"]
        self._read.append(response.get("ScannedCount", len(items)))
        if target.fetches_from_table:
            items = yield from self._from_table(items)
        now = context.clock()
        if target.other_schemas:
            items = [item for item in items if any(is_visible(schema, item, now) for schema in target.schemas)]
        else:
            items = visible(target.schema, items, now, target.in_own_partition)
        if plan.checks or plan.partitions:
            items = list(filter(plan.accepts, items))
        return items, response.get("LastEvaluatedKey")

    def _request(self, number: int, start: Item | None, size: int | None) -> Request:
        body = dict(self.plan.bodies[number])
        if start is not None:
            body["ExclusiveStartKey"] = start
        if size is not None:
            body["Limit"] = size
        return Request(self.target.operation, body, self.target.pattern)

    def _from_table(self, entries: list[Item]) -> Flow[list[Item]]:
        """The items of index entries that lack attributes; an entry that is behind its item is left out."""
        target, table = self.target, self.plan.bodies[0]["TableName"]
        addresses = [(table, {name: entry[name] for name in target.schema.table.key}) for entry in entries]
        items = yield from batch_get(self._context, addresses, target.pattern)
        return [
            item
            for entry, item in zip(entries, items, strict=True)
            if item is not None and all(item.get(name) == entry[name] for name in target.key)
        ]


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise ValueError("limit must be at least 1")


class _PartitionPager(Pager):
    """Of one partition, as most reads are: its items in their order."""

    __slots__ = ("_at_end", "_last", "_start", "_takes", "buffer", "pages")

    def __init__(
        self, context: Context, plan: ReadPlan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        # Where to fetch next; the items that were fetched and not taken, and the item before them.
        self._start: Item | None = None
        self._at_end = False
        self.buffer: list[Item] = []
        self._last: Item = {}
        # How many pages have been fetched for the items that are taken next.
        self.pages = 0
        self._takes = 0
        if positions is not None:
            (position,) = positions
            self._at_end = position is False
            self._start = position if isinstance(position, dict) else None

    @property
    def ended(self) -> bool:
        return self._at_end and not self.buffer

    @property
    def cursor(self) -> Callable[[], str] | None:
        if self.buffer:
            return cursor_maker(self._context, self.plan, [{name: self._last[name] for name in self.target.key}])
        return None if self._at_end else cursor_maker(self._context, self.plan, [self._start])

    @property
    def _may_read_ahead(self) -> bool:
        """Not where each call has a deadline, or is metered: what is begun in one call is asked for in the next."""
        context = self._context
        return context.reads_ahead and context.deadline is None and context.on_capacity is None

    def take(self, limit: int | None, *, bound_blobs: bool = False) -> Flow[list[Item]]:
        _check_limit(limit)
        taken, self.buffer = self.buffer, []
        pages, self.pages = self.pages, 0
        self._takes += 1
        ahead = limit is None and self._takes >= _READS_AHEAD_FROM and self._may_read_ahead
        while not self._at_end and (not taken if limit is None else len(taken) < limit):
            size = self._next_size(limit, len(taken), pages)
            items, self._start = yield from self._page(0, self._start, size, ahead=ahead)
            self._at_end = self._start is None
            taken = taken + items if taken else items
            pages += 1
        if limit is not None and len(taken) > limit:
            self._last, self.buffer = taken[limit - 1], taken[limit:]
            return taken[:limit]
        return taken


class _ChainPager(Pager):
    """Of several partitions in order: the next one is read when the one before is at its end."""

    __slots__ = ("_buffer", "_last", "_next", "_start")

    def __init__(
        self, context: Context, plan: ReadPlan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        # The partition to fetch from next, and where in it.
        self._next = 0
        self._start: Item | None = None
        # The items that were fetched and not taken, each with its partition; the item before them.
        self._buffer: list[tuple[int, Item]] = []
        self._last: tuple[int, Item] | None = None
        if positions is not None:
            partition, start = positions
            self._next = int(partition["partition"]["N"]) if isinstance(partition, dict) else 0
            self._start = start if isinstance(start, dict) else None

    @property
    def ended(self) -> bool:
        return not self._buffer and self._next == len(self.plan.bodies)

    @property
    def cursor(self) -> Callable[[], str] | None:
        if self.ended:
            return None
        number, start = self._next, self._start
        if self._buffer and self._last is not None:
            number = self._last[0]
            start = {name: self._last[1][name] for name in self.target.key}
        return cursor_maker(self._context, self.plan, [{"partition": {"N": str(number)}}, start])

    def take(self, limit: int | None, *, bound_blobs: bool = False) -> Flow[list[Item]]:
        _check_limit(limit)
        taken, self._buffer = self._buffer, []
        pages = 0
        while self._next < len(self.plan.bodies) and (not taken if limit is None else len(taken) < limit):
            size = self._page_size if limit is None else self._page_size or max(limit - len(taken), 1) << min(pages, 4)
            number = self._next
            items, self._start = yield from self._page(number, self._start, size)
            if self._start is None:
                self._next += 1
            taken += [(number, item) for item in items]
            pages += 1
        if limit is not None and len(taken) > limit:
            self._last, self._buffer = taken[limit - 1], taken[limit:]
            taken = taken[:limit]
        return [item for _, item in taken]


class _PartitionCursor:
    """One of several partitions: the items that were fetched and not taken, and where to fetch next."""

    __slots__ = ("at_end", "buffer", "last", "number", "start")

    def __init__(self, number: int, position: Position = None) -> None:
        self.number = number
        self.buffer: deque[Item] = deque()
        self.at_end = position is False
        self.start: Item | None = position if isinstance(position, dict) else None
        # What the buffer comes after: an item that was taken, or where its page began.
        self.last = self.start

    def take(self) -> Item:
        """The next item."""
        item = self.last = self.buffer.popleft()
        return item

    def position(self, key: Sequence[str]) -> Position:
        """The position after the items that have been taken."""
        if self.buffer:
            return None if self.last is None else {name: self.last[name] for name in key}
        return False if self.at_end else self.start


class _MergingPager(Pager):
    """Of several partitions, whose items are merged in order as if they were one."""

    __slots__ = ("_partitions",)

    def __init__(
        self, context: Context, plan: ReadPlan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        found = [None] * len(plan.bodies) if positions is None else positions
        self._partitions = [_PartitionCursor(number, position) for number, position in enumerate(found)]

    @property
    def ended(self) -> bool:
        return not [partition for partition in self._partitions if partition.buffer or not partition.at_end]

    @property
    def cursor(self) -> Callable[[], str] | None:
        positions = [partition.position(self.target.key) for partition in self._partitions]
        return None if positions.count(False) == len(positions) else cursor_maker(self._context, self.plan, positions)

    def take(self, limit: int | None, *, bound_blobs: bool = False) -> Flow[list[Item]]:
        _check_limit(limit)
        taken: list[Item] = []
        pages = 0
        budget = self._blob_budget(limit, bound_blobs)
        while (limit is None or len(taken) < limit) and (budget is None or budget > 0):
            for partition in self._partitions:
                while not partition.buffer and not partition.at_end:
                    if limit is None and taken:
                        return taken
                    size = self._next_size(limit, len(taken), pages // len(self._partitions))
                    yield from self._fetch(partition, size)
                    pages += 1
            following = self._following()
            if following is None:
                break
            taken.append(following.take())
            if budget is not None:
                budget -= _blob_bytes(taken[-1])
        return taken

    def _fetch(self, partition: _PartitionCursor, size: int | None) -> Flow[None]:
        """Fetch the next page of a partition."""
        items, end = yield from self._page(partition.number, partition.start, size)
        partition.last, partition.start, partition.at_end = partition.start, end, end is None
        partition.buffer = deque(items)

    def _following(self) -> _PartitionCursor | None:
        """The partition that has the next item in order."""
        ready = [partition for partition in self._partitions if partition.buffer]
        if not ready:
            return None
        return (max if self.target.newest_first else min)(ready, key=self._order)

    def _order(self, partition: _PartitionCursor) -> tuple[Any, ...]:
        item = partition.buffer[0]
        return (*(comparable(item[name]) for name in self.target.sort), partition.number)


class _SegmentPager(_MergingPager):
    """Of segments of a scan: the next pages of all of them are fetched together, and their items have no order."""

    __slots__ = ()

    @property
    def parts_ended(self) -> int:
        return sum(segment.at_end and not segment.buffer for segment in self._partitions)

    def take(self, limit: int | None, *, bound_blobs: bool = False) -> Flow[list[Item]]:
        _check_limit(limit)
        taken: list[Item] = []
        rounds = 0
        budget = self._blob_budget(limit, bound_blobs)
        while (limit is None or len(taken) < limit) and (budget is None or budget > 0):
            following = next((segment for segment in self._partitions if segment.buffer), None)
            if following is None:
                waiting = [segment for segment in self._partitions if not segment.at_end]
                if not waiting or (limit is None and taken):
                    break
                size = self._next_size(limit, len(taken), rounds)
                concurrency = len(waiting) if self._context.reads_ahead else 1
                fetched = yield from together([self._fetch(segment, size) for segment in waiting], concurrency)
                for each in fetched:
                    each.unwrap()
                rounds += 1
                continue
            taken.append(following.take())
            if budget is not None:
                budget -= _blob_bytes(taken[-1])
        return taken


class _ReshardPager(Pager):
    """Of several partitions that items move between (see ``reshard_reader``)."""

    __slots__ = ("_reader",)

    def __init__(
        self, context: Context, plan: ReadPlan, positions: Sequence[Position] | None, page_size: int | None
    ) -> None:
        super().__init__(context, plan, page_size)
        self._reader = ReshardReader(plan, self._page, positions)

    @property
    def ended(self) -> bool:
        return self._reader.ended

    @property
    def cursor(self) -> Callable[[], str] | None:
        return None if self._reader.ended else cursor_maker(self._context, self.plan, self._reader.positions)

    def take(self, limit: int | None, *, bound_blobs: bool = False) -> Flow[list[Item]]:
        _check_limit(limit)
        reader, budget = self._reader, self._blob_budget(limit, bound_blobs)
        taken: list[Item] = []
        rounds = 0
        while not reader.ended and (limit is None or len(taken) < limit) and (budget is None or budget > 0):
            found = yield from reader.read_round(self._next_size(limit, len(taken), rounds))
            rounds += 1
            count = len(found) if limit is None else min(len(found), limit - len(taken))
            if budget is not None:
                for number, item in enumerate(found[:count], 1):
                    budget -= _blob_bytes(item)
                    if budget <= 0:
                        count = number
                        break
            taken += reader.take(count)
            if limit is None and taken:
                break
        return taken


def _blob_bytes(item: Item) -> int:
    """The size of an item's blobs."""
    return sum(reference.size for reference in missing_references(item).values())
