"""The capacity consumed by a metered run: by access pattern, table, index and partition key, and its cost.

    run = read_run("run.jsonl")        the file that a metered process appended to
    run.patterns()                     the most expensive first
    run.keys(10)                       the hottest first

A line of the file is one request (the engine's ``metering`` describes its members). A request that was not made by a
store is named by its operation and its table or index: ``Query Calls/byProvider``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from tablewright.design.cost.prices import Prices
from tablewright.design.place_names import place_text

__all__ = [
    "KeyUse",
    "MeteredRun",
    "PatternUse",
    "Place",
    "RunError",
    "metered_run",
    "on_demand",
    "pattern_name",
    "read_run",
]

_MILLION = Decimal(1_000_000)

# A table, and an index of it.
Place = tuple[str, str | None]


class RunError(Exception):
    """A file that is not a saved metered run; the message says what to do."""


@dataclass(slots=True)
class PatternUse:
    """The units of an access pattern, and the number of its requests."""

    pattern: str
    calls: int = 0
    refused: int = 0
    # Read and write units by table and index.
    places: dict[Place, tuple[Decimal, Decimal]] = field(default_factory=dict)

    @property
    def read(self) -> Decimal:
        return sum((read for read, _ in self.places.values()), Decimal(0))

    @property
    def write(self) -> Decimal:
        return sum((write for _, write in self.places.values()), Decimal(0))

    def cost(self, prices: Prices) -> Decimal:
        return on_demand(prices, self.read, self.write)

    def count(self, refused: str | None, charges: list[Any]) -> None:
        """Add the units of one request."""
        self.calls += 1
        self.refused += refused is not None
        for table, index, kind, _, units in charges:
            read, write = _units(kind, units)
            known = self.places.get((table, index), (Decimal(0), Decimal(0)))
            self.places[table, index] = known[0] + read, known[1] + write


@dataclass(slots=True)
class KeyUse:
    """The units on one partition key of a table or of an index."""

    table: str
    index: str | None
    key: str
    read: Decimal = Decimal(0)
    write: Decimal = Decimal(0)

    @property
    def place(self) -> str:
        return place_text(self.table, self.index)


@dataclass(slots=True)
class MeteredRun:
    """All requests of a run, summed."""

    requests: int = 0
    stream_reads: int = 0
    first: float | None = None
    last: float | None = None
    by_pattern: dict[str, PatternUse] = field(default_factory=dict)
    by_key: dict[tuple[str, str | None, str], KeyUse] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the first request to the last."""
        return 0.0 if self.first is None or self.last is None else self.last - self.first

    @property
    def read(self) -> Decimal:
        return sum((use.read for use in self.by_pattern.values()), Decimal(0))

    @property
    def write(self) -> Decimal:
        return sum((use.write for use in self.by_pattern.values()), Decimal(0))

    def cost(self, prices: Prices) -> Decimal:
        """The on-demand cost of the run, reads of streams included."""
        streams = self.stream_reads * prices.stream_reads_100k / 100_000
        return on_demand(prices, self.read, self.write) + streams

    def patterns(self) -> list[PatternUse]:
        """The patterns, the most expensive first: a write unit counts as five read units."""
        return sorted(self.by_pattern.values(), key=lambda use: (-(use.write * 5 + use.read), use.pattern))

    def places(self) -> dict[Place, tuple[Decimal, Decimal]]:
        """Read and write units of each table and index."""
        found: dict[Place, tuple[Decimal, Decimal]] = {}
        for use in self.by_pattern.values():
            for place, (read, write) in use.places.items():
                known = found.get(place, (Decimal(0), Decimal(0)))
                found[place] = known[0] + read, known[1] + write
        return dict(sorted(found.items(), key=lambda each: (each[0][0], each[0][1] or "")))

    def keys(self, most: int) -> list[KeyUse]:
        """The hottest partition keys, by their share of what a partition serves: 3,000 read and 1,000 write units."""
        uses = sorted(self.by_key.values(), key=lambda use: (-(use.write * 3 + use.read), use.place, use.key))
        return uses[:most]

    def add(self, record: dict[str, Any]) -> None:
        """Count one request."""
        at, charges = float(record["at"]), record["charges"]
        if not all(isfinite(number) for number in (at, *(float(charge[4]) for charge in charges))):
            raise ValueError("a number is not finite")
        self.requests += 1
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        if record["operation"] == "GetRecords":
            self.stream_reads += 1
            return
        name = pattern_name(record)
        use = self.by_pattern.setdefault(name, PatternUse(name))
        use.count(record["refused"], charges)
        for table, index, kind, key, units in charges:
            if key is not None:
                read, write = _units(kind, units)
                of_key = self.by_key.setdefault((table, index, key), KeyUse(table, index, key))
                of_key.read += read
                of_key.write += write


def metered_run(lines: Iterable[str | bytes]) -> MeteredRun:
    """A run, from the recorded lines."""
    run = MeteredRun()
    for number, line in enumerate(lines, 1):
        try:
            run.add(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise RunError(
                f"line {number} is not a request of a metered run: {type(error).__name__}: {error}"
            ) from None
    return run


def read_run(path: str | Path) -> MeteredRun:
    """A run, from the file that it was recorded in."""
    try:
        with open(path, "rb") as file:
            return metered_run(file)
    except OSError as error:
        raise RunError(f"the metered run {path} cannot be read: {error.strerror}") from None
    except RunError as error:
        raise RunError(f"{path}, {error}; record a run with `tablewright meter --save FILE`") from None


def on_demand(prices: Prices, read: Decimal, write: Decimal) -> Decimal:
    """What units cost on demand, in a Standard table."""
    return (read * prices.standard.million_reads + write * prices.standard.million_writes) / _MILLION


def pattern_name(record: dict[str, Any]) -> str:
    """The pattern of a record, or else its operation."""
    return record["pattern"] or _by_operation(record["operation"], record["charges"])


def _units(kind: str, units: float) -> tuple[Decimal, Decimal]:
    """Read and write units."""
    amount = Decimal(str(units))
    return (amount, Decimal(0)) if kind == "read" else (Decimal(0), amount)


def _by_operation(operation: str, charges: list[Any]) -> str:
    """The name of a request without an access pattern: its operation, and the tables or index it used."""
    read_from = dict.fromkeys(place_text(table, index) for table, index, *_ in charges if operation in _BY_INDEX)
    written = dict.fromkeys(table for table, *_ in charges)
    return " ".join([operation, ", ".join(read_from or written)]).strip()


_BY_INDEX = frozenset({"Query", "Scan"})
