"""Demand: what is asked of the tables and indexes of a design, in units a second.

    declared(design)                    from what the design says of its traffic
    metered(design, run, seconds)       from what a run consumed that stands for so much time
    busiest_keys(design, run, seconds)  the busiest partition key of each table and index in such a run

A ``Demand`` is one pattern or write with how often it is used and what one use takes. Everything that is said of cost
and of hot keys follows from demands, so it does not matter where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tablewright.design.cost.capacity_estimate import CapacityEstimate, Units
from tablewright.design.cost.metered_run import MeteredRun
from tablewright.model import Design, Entity, Index, Table

__all__ = ["BusyKey", "Demand", "Load", "busiest_keys", "declared", "loads", "metered", "places"]

Place = tuple[Table, Index | None]


@dataclass(frozen=True, slots=True)
class Demand:
    """A pattern or write: uses a second, on average and at most, and the units that one use takes."""

    subject: str
    per_second: Decimal
    peak: Decimal
    units: tuple[Units, ...]
    # The share of its busiest partition key, where that is known.
    hottest: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """Units a second that a table or an index has to take, on average and at most."""

    table: Table
    index: Index | None
    read: Decimal
    write: Decimal
    peak_read: Decimal
    peak_write: Decimal


@dataclass(frozen=True, slots=True)
class BusyKey:
    """A partition key of a table or an index, and the units a second that it gets."""

    table: Table
    index: Index | None
    key: str
    read: Decimal
    write: Decimal


def declared(design: Design, sizes: Mapping[type[Entity], int] | None = None) -> list[Demand]:
    """What the design's traffic asks for."""
    capacity = CapacityEstimate(design, sizes)
    demands = []
    for subject, traffic in design.traffic.items():
        mean = Decimal(str(traffic.per_second))
        peak = mean if traffic.peak is None else max(mean, Decimal(str(traffic.peak)))
        hottest = None if traffic.hottest is None else Decimal(str(traffic.hottest))
        demands.append(Demand(subject, mean, peak, tuple(capacity.of(subject)), hottest))
    return demands


def metered(design: Design, run: MeteredRun, seconds: Decimal) -> list[Demand]:
    """What a run consumed, as if it went on: it stands for so many seconds."""
    tables = {table.name: table for table in design.tables}
    demands = []
    for row in run.patterns():
        units = [
            Units(tables[table], None if index is None else tables[table].index(index), read, write)
            for (table, index), (read, write) in row.places.items()
            if table in tables
        ]
        if units:
            mean = Decimal(row.calls) / seconds
            per_call = tuple(
                Units(each.table, each.index, each.read / row.calls, each.write / row.calls) for each in units
            )
            demands.append(Demand(row.pattern, mean, mean, per_call))
    return demands


def busiest_keys(design: Design, run: MeteredRun, seconds: Decimal) -> list[BusyKey]:
    """The partition key of each table and global index that a run used most; a local index is part of its table."""
    tables = {table.name: table for table in design.tables}
    used: dict[tuple[Table, Index | None, str], tuple[Decimal, Decimal]] = {}
    for use in run.keys(len(run.by_key)):
        if use.table in tables:
            table = tables[use.table]
            index = None if use.index is None else table.index(use.index)
            place = table, index if index is not None and index.is_global else None, use.key
            read, write = used.get(place, (Decimal(0), Decimal(0)))
            used[place] = read + use.read, write + use.write
    found: dict[Place, BusyKey] = {}
    # By the share of what a partition gives.
    for (table, index, key), (read, write) in sorted(used.items(), key=lambda each: -(each[1][1] * 3 + each[1][0])):
        found.setdefault((table, index), BusyKey(table, index, key, read / seconds, write / seconds))
    return list(found.values())


def places(tables: Sequence[Table]) -> Iterator[Place]:
    """Everything that has capacity of its own: tables and global indexes. A local index uses that of its table."""
    for table in tables:
        yield table, None
        for index in table.indexes:
            if index.is_global:
                yield table, index


def loads(design: Design, demands: Sequence[Demand]) -> list[Load]:
    """What each table and each global index has to take."""
    found = []
    for table, index in places(design.tables):
        figures = [Decimal(0)] * 4
        for demand in demands:
            for units in demand.units:
                its_place = units.index if units.index is not None and units.index.is_global else None
                if units.table is table and its_place is index:
                    figures[0] += demand.per_second * units.read
                    figures[1] += demand.per_second * units.write
                    figures[2] += demand.peak * units.read
                    figures[3] += demand.peak * units.write
        found.append(Load(table, index, *figures))
    return found
