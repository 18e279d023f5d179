"""Hot keys: partition keys with more traffic than one partition serves.

A partition serves 3,000 read units and 1,000 write units per second, and a partition key is in one partition, whatever
is provisioned. The share of one key follows from ``Traffic(hottest=...)``, from ``Volume(distinct=...)`` if keys share
evenly, or from the key itself if it is constant. Otherwise traffic is assumed to spread over many keys. A metered run
has the keys that it used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from tablewright.design.cost.capacity_estimate import Units
from tablewright.design.cost.demand import BusyKey, Demand
from tablewright.design.cost.index_costs import is_sparse
from tablewright.design.cost.monthly_bill import CostPlan, provisioned
from tablewright.design.place_names import place_of
from tablewright.dynamo.limits import MAX_PARTITION_READ_UNITS, MAX_PARTITION_WRITE_UNITS
from tablewright.model import Entity, Index, Schema, Table, schemas_of

__all__ = ["HotKey", "hot_keys"]


@dataclass(frozen=True, slots=True)
class HotKey:
    """The busiest partition key of a table or an index, at peak: its units per second over all of its shards."""

    table: Table
    index: Index | None
    attribute: str
    # The entity of the key; for a metered run, the key instead.
    entity: str
    read: Decimal
    write: Decimal
    shards: int
    # The shards that it needs to stay within what a partition serves.
    needed: int
    subjects: tuple[str, ...]
    key: str | None = None

    @property
    def is_too_hot(self) -> bool:
        return self.needed > self.shards

    @property
    def place(self) -> str:
        return place_of(self.table, self.index)


def hot_keys(plan: CostPlan) -> list[HotKey]:
    """The busiest key of each table and index, if known; the hottest first."""
    found: dict[tuple[str, type[Entity]], list[tuple[Demand, Units, Decimal]]] = {}
    for demand in plan.demands:
        for units in demand.units:
            if units.schema is not None:
                share = _share(plan, demand, units, units.schema)
                if share is not None:
                    place = units if _own_index(units.index) else replace(units, index=None)
                    found.setdefault((place.place, units.schema.entity), []).append((demand, place, share))
    keys = [_hot_key(uses) for uses in found.values()] + [_metered_key(key) for key in plan.busy_keys]
    return sorted(keys, key=lambda key: (-_fraction(key), key.place, key.entity))


def _own_index(index: Index | None) -> Index | None:
    """An index with its own partitions; those of a local index are the table's."""
    return index if index is not None and index.is_global else None


def _hot_key(uses: list[tuple[Demand, Units, Decimal]]) -> HotKey:
    first = uses[0][1]
    schema = first.schema
    assert schema is not None
    read = sum((demand.peak * units.read * share for demand, units, share in uses), Decimal(0))
    write = sum((demand.peak * units.write * share for demand, units, share in uses), Decimal(0))
    attributes = _partition(schema.table, first.index)
    return HotKey(
        first.table,
        first.index,
        ", ".join(attributes),
        schema.entity.__name__,
        read,
        write,
        _shards(schema, attributes),
        _needed(read, write),
        tuple(dict.fromkeys(demand.subject for demand, _, _ in uses)),
    )


def _metered_key(key: BusyKey) -> HotKey:
    """A key of a run: perhaps one shard of several."""
    attributes = _partition(key.table, key.index)
    shards = max((_shards(schema, attributes) for schema in schemas_of(key.table)), default=1)
    read, write = key.read * shards, key.write * shards
    name = ", ".join(attributes)
    return HotKey(key.table, key.index, name, "", read, write, shards, _needed(read, write), (), key.key)


def _shards(schema: Schema, attributes: tuple[str, ...]) -> int:
    return max((schema.key_rules[name].shards for name in attributes if name in schema.key_rules), default=1)


def _needed(read: Decimal, write: Decimal) -> int:
    return max(provisioned(write / MAX_PARTITION_WRITE_UNITS), provisioned(read / MAX_PARTITION_READ_UNITS))


def _fraction(key: HotKey) -> Decimal:
    return max(key.write / MAX_PARTITION_WRITE_UNITS, key.read / MAX_PARTITION_READ_UNITS) / key.shards


def _share(plan: CostPlan, demand: Demand, units: Units, schema: Schema) -> Decimal | None:
    """The share of the units on one partition key; None if traffic spreads over many keys."""
    attributes = _partition(schema.table, units.index)
    if units.write and units.index is not None and is_sparse(schema, units.index):
        # Of the writes that may bring an item into a sparse index, most do not; how many is not known.
        return None
    if all(name in schema.key_rules and not schema.key_rules[name].fields for name in attributes):
        return Decimal(1)
    volume = plan.design.volume.get(schema.entity)
    counts = [volume.distinct[name] for name in attributes if name in volume.distinct] if volume is not None else []
    # The busiest key is that of the pattern; for a write, that of the table, and of indexes by the same fields.
    own = demand.subject not in plan.design.writes or _sources(schema, attributes) == _sources(
        schema, (schema.table.partition,)
    )
    if demand.hottest is not None and own:
        return demand.hottest
    return Decimal(1) / max(counts) if counts else None


def _partition(table: Table, index: Index | None) -> tuple[str, ...]:
    return (table.partition,) if index is None else index.partition


def _sources(schema: Schema, attributes: tuple[str, ...]) -> frozenset[str]:
    named = [
        {part.name for part in schema.key_rules[name].fields} if name in schema.key_rules else {name}
        for name in attributes
    ]
    return frozenset().union(*named)
