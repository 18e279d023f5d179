"""Reading shards while items move from the old ones to the new ones, exactly.

An item is in one shard at any moment, and one write moves it: from an old shard to a new one, and never back. So a read
of all old shards and then of all new ones sees it, perhaps twice. A read goes in rounds, and each round

* reads on in every shard, the old ones first;
* goes as far as the shard whose page ends first: up to that **horizon** everything has been seen, old shards first;
* returns what is before the horizon, once for each primary key, and discards the rest, which may have moved by then.

The position of the read is the last item that was taken, in an order of its own: by the sort key, then by the primary
key. The order in which the service returns items of one sort key is not defined, so a round begins after an item of a
smaller sort key, the **anchor**, in every shard alike, and leaves out what has been taken. Items of one sort key are
read together for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.store.flow.driver import Flow
from tablewright.store.read.cursor import Position
from tablewright.store.read.planning.key_range import comparable
from tablewright.store.read.planning.read_plan import ReadPlan

# Fetches a page of a request of the plan, by number: given its start and its size, the items and where it ends.
Fetch = Callable[[int, Item | None, int | None], Flow[tuple[list[Item], Item | None]]]
SortValue = tuple[Any, ...]


class ReshardReader:
    """A read in progress of a plan whose items move between shards."""

    def __init__(self, plan: ReadPlan, fetch: Fetch, positions: Sequence[Position] | None) -> None:
        self._plan = plan
        self._fetch = fetch
        # The position; whether the item there has been taken, or is only where the horizon was; and the anchor.
        position, is_taken, anchor = positions or (None, False, None)
        self._position = position if isinstance(position, dict) else None
        self._is_taken = bool(is_taken)
        self._anchor = anchor if isinstance(anchor, dict) else None
        # What a round has found that is not taken yet, its horizon, and the ends of its pages.
        self._found: list[Item] = []
        self._horizon: Item | None = None
        self._ends: list[Item] = []
        self.ended = False

    @property
    def positions(self) -> list[Position]:
        """What a cursor has to hold."""
        return [self._position, self._is_taken, self._anchor]

    def read_round(self, size: int | None) -> Flow[list[Item]]:
        """The items that can be taken after one more round, in order; ``size`` is the page size of its requests."""
        seen: dict[SortValue, Item] = {}
        open_ends: list[Item] = []
        self._ends = []
        for number, partition in enumerate(self._plan.partitions):
            end: Item | None = None if self._anchor is None else {**self._anchor, **partition}
            while True:
                items, end = yield from self._fetch(number, end, size)
                # Of two versions of an item, the one that was read later is newer.
                seen.update((self._identity(item), item) for item in items)
                if end is None:
                    break
                self._ends.append(end)
                if self._position is None or self._is_before(self._position, end):
                    open_ends.append(end)
                    break
        self._horizon = (max if self._plan.target.newest_first else min)(open_ends, key=self._sort, default=None)
        self._found = [item for item in seen.values() if self._is_next(item) and self._is_within(item)]
        self._found.sort(key=self._order, reverse=self._plan.target.newest_first)
        return self._found

    def take(self, number: int) -> list[Item]:
        """Take so many of the items that a round has found."""
        taken = self._found[:number]
        candidates = [*self._ends, *taken]
        if self._position is not None and self._is_taken:
            candidates.append(self._position)
        if number < len(self._found):
            self._position, self._is_taken = self._key(taken[-1]), True
        elif self._horizon is not None:
            self._position, self._is_taken = self._key(self._horizon), False
        else:
            self.ended = True
            return taken
        before = [item for item in candidates if self._is_before(item, self._position)]
        if before:
            self._anchor = self._key((min if self._plan.target.newest_first else max)(before, key=self._sort))
        return taken

    # -- order --------------------------------------------------------------------------------------------------

    def _key(self, item: Item) -> Item:
        return {name: item[name] for name in self._plan.stable_key}

    def _sort(self, item: Item) -> SortValue:
        return tuple(comparable(item[name]) for name in self._plan.target.sort)

    def _identity(self, item: Item) -> SortValue:
        return tuple(comparable(item[name]) for name in self._plan.target.schema.table.key)

    def _order(self, item: Item) -> SortValue:
        return self._sort(item) + self._identity(item)

    def _is_before(self, one: Item, other: Item) -> bool:
        """Whether one sort key comes before another, in the direction of the read."""
        first, second = self._sort(one), self._sort(other)
        return first > second if self._plan.target.newest_first else first < second

    def _is_within(self, item: Item) -> bool:
        return self._horizon is None or self._is_before(item, self._horizon)

    def _is_next(self, item: Item) -> bool:
        """Whether an item comes after the position."""
        if self._position is None:
            return True
        if not self._is_taken:
            return not self._is_before(item, self._position)
        here, there = self._order(item), self._order(self._position)
        return here < there if self._plan.target.newest_first else here > there
