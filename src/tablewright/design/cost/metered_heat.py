"""Heat: the capacity consumed at the moment, by second, by pattern and by partition key, in bounded memory.

    heat = MeteredHeat()
    engine.meter(heat.add)             every request from now on
    heat.keys("recent", 10)            the hottest keys of the last minute or two
    heat.seconds(60)                   units of each of the last 60 seconds, by table and index

Keys are counted by the space-saving sketch (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
Elements in Data Streams, 2005): of each table or index ``KEYS`` keys have a counter, and a key without one takes that
of the least used. A key that got more than 1/``KEYS`` of the traffic surely has a counter, and each says by how much it
may be too high. Weights are shares of what a partition serves: 3 read units count as one write unit.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from heapq import heappop, heappush
from typing import Any, Literal

from tablewright.design.cost.metered_run import PatternUse, Place, pattern_name
from tablewright.design.place_names import place_text

__all__ = ["HeatOfKey", "HeatOfSecond", "MeteredHeat", "Period"]

KEYS = 500
_SECONDS = 900
_PATTERNS = 500
_OTHER = "(other patterns)"
_PERIOD_SECONDS = 60
_READ_WEIGHT = 1.0
_WRITE_WEIGHT = 3.0

Period = Literal["recent", "all"]


@dataclass(slots=True)
class HeatOfKey:
    """The units on a partition key of a table or an index, and by how much they may be too high."""

    table: str
    index: str | None
    key: str
    read: float = 0.0
    write: float = 0.0
    # In the sketch's weight: read units, and three for a write unit.
    error: float = 0.0

    @property
    def weight(self) -> float:
        return self.read * _READ_WEIGHT + self.write * _WRITE_WEIGHT + self.error

    @property
    def place(self) -> str:
        return place_text(self.table, self.index)


@dataclass(frozen=True, slots=True)
class HeatOfSecond:
    """The units of one second, by table and index: read, write."""

    second: int
    places: Mapping[Place, tuple[float, float]]


@dataclass(slots=True)
class _Sketch:
    """Counters of the busiest keys of a place."""

    counters: dict[str, HeatOfKey] = field(default_factory=dict)
    # Counters by an earlier weight: the least is checked again before it is used.
    _heap: list[tuple[float, str]] = field(default_factory=list)

    def add(self, place: Place, key: str, read: float, write: float) -> None:
        counter = self.counters.get(key)
        if counter is None:
            error = 0.0
            if len(self.counters) >= KEYS:
                error = self._take_least()
            counter = self.counters[key] = HeatOfKey(place[0], place[1], key, error=error)
            counter.read += read
            counter.write += write
            heappush(self._heap, (counter.weight, key))
            return
        counter.read += read
        counter.write += write

    def _take_least(self) -> float:
        while True:
            weight, key = heappop(self._heap)
            counter = self.counters[key]
            if counter.weight <= weight:
                del self.counters[key]
                return weight
            heappush(self._heap, (counter.weight, key))


class MeteredHeat:
    """A sink of the engine's meter that keeps running totals. It may be read from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[Place, _Sketch] = {}
        # Of this minute, and of the one before.
        self._periods: deque[dict[Place, _Sketch]] = deque([{}], maxlen=2)
        self._period_began = 0.0
        self._seconds: deque[tuple[int, dict[Place, list[float]]]] = deque(maxlen=_SECONDS)
        self._patterns: dict[str, PatternUse] = {}
        self.requests = 0
        self.first: float | None = None
        self.last: float | None = None

    def add(self, record: dict[str, Any]) -> None:
        """Count one request, as the meter records it."""
        at: float = record["at"]
        charges: list[list[Any]] = record["charges"]
        with self._lock:
            self.requests += 1
            if self.first is None:
                self.first = self._period_began = at
            self.last = at
            if at - self._period_began >= _PERIOD_SECONDS:
                self._periods.append({})
                self._period_began = at
            if not charges:
                return
            self._count_pattern(record, charges)
            second = self._second(int(at))
            for table, index, kind, key, units in charges:
                place = table, index
                read, write = (units, 0.0) if kind == "read" else (0.0, units)
                figures = second.setdefault(place, [0.0, 0.0])
                figures[0] += read
                figures[1] += write
                if key is not None:
                    for sketches in (self._all, self._periods[-1]):
                        sketch = sketches.get(place)
                        if sketch is None:
                            sketch = sketches[place] = _Sketch()
                        sketch.add(place, key, read, write)

    def _count_pattern(self, record: dict[str, Any], charges: list[list[Any]]) -> None:
        name = pattern_name(record)
        use = self._patterns.get(name)
        if use is None:
            if len(self._patterns) >= _PATTERNS:
                name = _OTHER
            use = self._patterns.setdefault(name, PatternUse(name))
        use.count(record["refused"], charges)

    def _second(self, second: int) -> dict[Place, list[float]]:
        if not self._seconds or self._seconds[-1][0] != second:
            self._seconds.append((second, {}))
        return self._seconds[-1][1]

    # -- reading ----------------------------------------------------------------------------------------------------

    def keys(self, period: Period = "all", most: int = 20, place: Place | None = None) -> list[HeatOfKey]:
        """The hottest keys, of all tables and indexes or of one; recent are those of the last minute or two."""
        with self._lock:
            sketches: Iterable[dict[Place, _Sketch]] = [self._all] if period == "all" else list(self._periods)
            found: dict[tuple[Place, str], HeatOfKey] = {}
            for each in sketches:
                for where, sketch in each.items():
                    if place in (None, where):
                        for key, counter in sketch.counters.items():
                            known = found.get((where, key))
                            if known is None:
                                found[where, key] = replace(counter)
                            else:
                                known.read += counter.read
                                known.write += counter.write
                                known.error += counter.error
        return sorted(found.values(), key=lambda each: (-each.weight, each.place, each.key))[:most]

    def seconds(self, most: int = 60) -> list[HeatOfSecond]:
        """The last seconds in which something was consumed, the oldest first."""
        with self._lock:
            last = list(self._seconds)[-most:]
            return [
                HeatOfSecond(second, {place: (read, write) for place, (read, write) in places.items()})
                for second, places in last
            ]

    def patterns(self) -> list[PatternUse]:
        """The units of each pattern, the most expensive first."""
        with self._lock:
            uses = [replace(use, places=dict(use.places)) for use in self._patterns.values()]
        return sorted(uses, key=lambda use: (-(use.write * 5 + use.read), use.pattern))

    def peaks(self) -> dict[Place, tuple[float, float]]:
        """The highest read and write units of one second, for each table and index, in the last minutes."""
        found: dict[Place, tuple[float, float]] = {}
        for second in self.seconds(_SECONDS):
            for place, (read, write) in second.places.items():
                known = found.get(place, (0.0, 0.0))
                found[place] = max(known[0], read), max(known[1], write)
        return found

    @property
    def spent(self) -> tuple[Decimal, Decimal]:
        """All read and write units."""
        uses = self.patterns()
        return sum((use.read for use in uses), Decimal(0)), sum((use.write for use in uses), Decimal(0))
