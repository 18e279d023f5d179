"""Reading shards while items move from those that there were to those that there are.

An item is in one shard at any moment, and one write moves it: from an old shard to a new one, and never back. So
whoever looks at all old shards and then at all new ones sees it, perhaps twice. A read goes in rounds, and each round

* reads on in every shard, the old ones first;
* goes as far as the shard whose page ends first: up to that **horizon** everything has been seen, old shards first;
* gives what is before the horizon, once for each primary key, and forgets the rest, as it may be elsewhere by the next.

Where the read stands is the last item that was given, in an order of its own: by the sort key, then by the primary key.
The order of the service among items of one sort key is its own affair, so a round begins behind an item of a smaller
sort key, the **anchor**, in every shard alike, and leaves out what has been given. Items of one sort key are read
together for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tablewright.dynamo import Item
from tablewright.store.flow.driver import Flow
from tablewright.store.read.cursor import Position
from tablewright.store.read.planning.key_range import comparable
from tablewright.store.read.planning.read_plan import Plan

# A page of a request of the plan, by its number: where it starts, how many items it looks at; and where it ends.
Fetch = Callable[[int, Item | None, int | None], Flow[tuple[list[Item], Item | None]]]
Place = tuple[Any, ...]


class Moving:
    """A read in progress, of a plan whose items are moving."""

    def __init__(self, plan: Plan, fetch: Fetch, positions: Sequence[Position] | None) -> None:
        self._plan = plan
        self._fetch = fetch
        # Where it stands; whether the item there has been given, or is only where the horizon was; and the anchor.
        at, given, anchor = positions or (None, False, None)
        self._at = at if isinstance(at, dict) else None
        self._given = bool(given)
        self._anchor = anchor if isinstance(anchor, dict) else None
        # What a round has found and not given yet, its horizon, and the ends of its pages.
        self._found: list[Item] = []
        self._horizon: Item | None = None
        self._ends: list[Item] = []
        self.ended = False

    @property
    def positions(self) -> list[Position]:
        return [self._at, self._given, self._anchor]

    def round(self, size: int | None) -> Flow[list[Item]]:
        """What can be given after one more round, in order; ``size`` is how many items a request looks at."""
        seen: dict[Place, Item] = {}
        open_ends: list[Item] = []
        self._ends = []
        for number, partition in enumerate(self._plan.partitions):
            end: Item | None = None if self._anchor is None else {**self._anchor, **partition}
            while True:
                items, end = yield from self._fetch(number, end, size)
                # What was read later is newer.
                seen.update((self._identity(item), item) for item in items)
                if end is None:
                    break
                self._ends.append(end)
                if self._at is None or self._is_before(self._at, end):
                    open_ends.append(end)
                    break
        self._horizon = (max if self._plan.scope.newest_first else min)(open_ends, key=self._sort, default=None)
        self._found = [item for item in seen.values() if self._is_next(item) and self._is_within(item)]
        self._found.sort(key=self._order, reverse=self._plan.scope.newest_first)
        return self._found

    def give(self, number: int) -> list[Item]:
        """Give so many items of what a round has found, and stand behind them."""
        given = self._found[:number]
        candidates = [*self._ends, *given]
        if self._at is not None and self._given:
            candidates.append(self._at)
        if number < len(self._found):
            self._at, self._given = self._key(given[-1]), True
        elif self._horizon is not None:
            self._at, self._given = self._key(self._horizon), False
        else:
            self.ended = True
            return given
        before = [item for item in candidates if self._is_before(item, self._at)]
        if before:
            self._anchor = self._key((min if self._plan.scope.newest_first else max)(before, key=self._sort))
        return given

    # -- order --------------------------------------------------------------------------------------------------

    def _key(self, item: Item) -> Item:
        return {name: item[name] for name in self._plan.settled_key}

    def _sort(self, item: Item) -> Place:
        return tuple(comparable(item[name]) for name in self._plan.scope.sort)

    def _identity(self, item: Item) -> Place:
        return tuple(comparable(item[name]) for name in self._plan.scope.schema.table.key)

    def _order(self, item: Item) -> Place:
        return self._sort(item) + self._identity(item)

    def _is_before(self, one: Item, other: Item) -> bool:
        """Whether one sort key comes before another, in the direction of the read."""
        first, second = self._sort(one), self._sort(other)
        return first > second if self._plan.scope.newest_first else first < second

    def _is_within(self, item: Item) -> bool:
        return self._horizon is None or self._is_before(item, self._horizon)

    def _is_next(self, item: Item) -> bool:
        """Whether an item is behind where the read stands."""
        if self._at is None:
            return True
        if not self._given:
            return not self._is_before(item, self._at)
        here, there = self._order(item), self._order(self._at)
        return here < there if self._plan.scope.newest_first else here > there
