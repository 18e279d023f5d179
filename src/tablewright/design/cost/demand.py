"""Demand: the load on the tables and indexes of a design, in units per second.

    declared(design)                    from the traffic that the design declares, and what consumers write for it
    metered(design, run, seconds)       from what a metered run consumed, over the period that it represents
    busiest_keys(design, run, seconds)  the busiest partition key of each table and index of the run

A ``Demand`` is one pattern or write, with how often it is called and the units of one call. Costs and hot keys follow
from demands, declared or metered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tablewright.design.cost.capacity_estimate import CapacityEstimate, Units
from tablewright.design.cost.metered_run import MeteredRun
from tablewright.design.cost.write_actions import is_move
from tablewright.model import Design, Entity, Index, ItemWrite, Table

__all__ = ["BusyKey", "Demand", "Load", "busiest_keys", "declared", "loads", "metered", "places", "used_tables"]

Place = tuple[Table, Index | None]


@dataclass(frozen=True, slots=True)
class Demand:
    """A pattern or write: calls per second, on average and at peak, and the units of one call."""

    subject: str
    per_second: Decimal
    peak: Decimal
    units: tuple[Units, ...]
    # The share of its busiest partition key, if known.
    hottest: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """Units per second of a table or an index, on average and at peak."""

    table: Table
    index: Index | None
    read: Decimal
    write: Decimal
    peak_read: Decimal
    peak_write: Decimal


@dataclass(frozen=True, slots=True)
class BusyKey:
    """A partition key of a table or an index, and its units per second."""

    table: Table
    index: Index | None
    key: str
    read: Decimal
    write: Decimal


def declared(design: Design, sizes: Mapping[type[Entity], int] | None = None) -> list[Demand]:
    """The demand of the traffic that a design declares."""
    capacity = CapacityEstimate(design, sizes)
    demands = []
    for subject, traffic in design.traffic.items():
        mean = Decimal(str(traffic.per_second))
        peak = mean if traffic.peak is None else max(mean, Decimal(str(traffic.peak)))
        hottest = None if traffic.hottest is None else Decimal(str(traffic.hottest))
        demands.append(Demand(subject, mean, peak, tuple(capacity.of(subject)), hottest))
    return [*demands, *_of_consumers(design, capacity, demands)]


def _of_consumers(design: Design, capacity: CapacityEstimate, demands: Sequence[Demand]) -> Iterator[Demand]:
    """What consumers write because of declared writes: once for each change, though batches may make it less often."""
    rates = {demand.subject: (demand.per_second, demand.peak) for demand in demands if demand.subject in design.writes}
    declared_here = set(rates)
    # What a consumer writes may be what another one reads; longer chains than there are reactions would be circles.
    for _ in design.reactions:
        found: dict[str, tuple[Decimal, Decimal]] = {}
        for reaction in design.reactions:
            if reaction.write is None or reaction.write in declared_here:
                continue
            mean, peak = found.get(reaction.write, (Decimal(0), Decimal(0)))
            for name, (one_mean, one_peak) in rates.items():
                changes = sum(
                    item_write.count
                    for item_write in design.writes[name].item_writes
                    if item_write.entity is reaction.entity and _events(item_write) & reaction.events
                )
                mean, peak = mean + changes * one_mean, peak + changes * one_peak
            found[reaction.write] = mean, peak
        rates = {**{name: rates[name] for name in declared_here}, **found}
    for name, (mean, peak) in rates.items():
        if peak and name not in declared_here:
            yield Demand(name, mean, peak, tuple(capacity.of(name)))


def _events(item_write: ItemWrite) -> frozenset[str]:
    """The stream events for a write of an item."""
    if is_move(item_write):
        return frozenset({"REMOVE", "INSERT"})
    kinds = {"create": ("INSERT",), "put": ("INSERT", "MODIFY"), "update": ("MODIFY",), "delete": ("REMOVE",)}
    return frozenset(kinds[item_write.action])


def metered(design: Design, run: MeteredRun, seconds: Decimal) -> list[Demand]:
    """The demand of a metered run that represents so many seconds."""
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
    """The busiest partition key of each table and global index of a run; a local index is part of its table."""
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
    # By their share of the capacity of a partition.
    for (table, index, key), (read, write) in sorted(used.items(), key=lambda each: -(each[1][1] * 3 + each[1][0])):
        found.setdefault((table, index), BusyKey(table, index, key, read / seconds, write / seconds))
    return list(found.values())


def used_tables(design: Design, demands: Sequence[Demand]) -> list[Table]:
    """The tables of a design, and the internal ones that consumers write to."""
    used = {units.table.name for demand in demands for units in demand.units}
    return [*design.tables, *(table for table in design.internal_tables if table.name in used)]


def places(tables: Sequence[Table]) -> Iterator[Place]:
    """Everything with its own capacity: tables and global indexes. A local index uses that of its table."""
    for table in tables:
        yield table, None
        for index in table.indexes:
            if index.is_global:
                yield table, index


def loads(design: Design, demands: Sequence[Demand]) -> list[Load]:
    """The load on each table and each global index."""
    found = []
    for table, index in places(used_tables(design, demands)):
        totals = [Decimal(0)] * 4
        for demand in demands:
            for units in demand.units:
                its_place = units.index if units.index is not None and units.index.is_global else None
                if units.table is table and its_place is index:
                    totals[0] += demand.per_second * units.read
                    totals[1] += demand.per_second * units.write
                    totals[2] += demand.peak * units.read
                    totals[3] += demand.peak * units.write
        found.append(Load(table, index, *totals))
    return found
