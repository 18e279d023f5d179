"""The cost of other item sizes: a write is billed by the started KB, a read by the started 4 KB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.monthly_bill import CostPlan, plan_costs
from tablewright.dynamo import READ_UNIT, WRITE_UNIT, read_units, write_units

__all__ = ["SizeCost", "size_costs"]

# A size this close above a step is worth checking.
_CLOSE = Decimal("1.2")


@dataclass(frozen=True, slots=True)
class SizeCost:
    """The on-demand cost per month if items of an entity have that size, without the free tier."""

    entity: str
    why: str
    size: int
    write_units: int
    read_units: Decimal
    cost: Decimal


def size_costs(plan: CostPlan) -> Iterator[SizeCost]:
    """For each entity with traffic: the current size, the steps around it, and twice the size."""
    capacity = CapacityEstimate(plan.design)
    touched = {units.schema.entity: units.schema for demand in plan.demands for units in demand.units if units.schema}
    for entity, schema in touched.items():
        now = capacity.size(schema)
        for why, size in _sizes(now):
            changed = plan_costs(plan.design, plan.prices, plan.options, sizes={entity: size})
            bill = changed.bill("on-demand")
            cost = bill.total - bill.of(table=None)
            yield SizeCost(entity.__name__, why, size, write_units(size), Decimal(read_units(size, True)), cost)


def _sizes(now: int) -> Iterator[tuple[str, int]]:
    below = (now - 1) // WRITE_UNIT * WRITE_UNIT
    if below and now <= below * _CLOSE:
        yield "just under the previous KB", below
    yield "now", now
    yield "just over the next KB", write_units(now) * WRITE_UNIT + 1
    yield "just over the next 4 KB", int(read_units(now, True)) * READ_UNIT + 1
    yield "twice", now * 2
