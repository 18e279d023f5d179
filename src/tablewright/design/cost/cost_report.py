"""Capacity and cost of a design, as a report for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from tablewright.design.cost.capacity_estimate import USUAL_ITEMS
from tablewright.design.cost.demand import Load
from tablewright.design.cost.hot_keys import HotKey, hot_keys
from tablewright.design.cost.monthly_bill import MONTH_HOURS, Bill, CostPlan, break_even, compared_capacity
from tablewright.design.cost.size_sensitivity import SizeCost, size_costs
from tablewright.design.place_names import place_text
from tablewright.design.report.charts import Bar, bar_chart
from tablewright.design.report.number_format import amount, bytes_text, money, percent, units_text
from tablewright.design.report.report_blocks import Block, Bullets, DesignReport, Diagram, Grid, Heading, Text
from tablewright.dynamo.limits import MAX_PARTITION_READ_UNITS, MAX_PARTITION_WRITE_UNITS
from tablewright.model import Query

# Patterns and writes in the chart.
_MAX_BARS = 12

__all__ = ["cost_blocks", "cost_json", "cost_report"]


def cost_report(plan: CostPlan) -> DesignReport:
    """The report of a plan: units, bills, hot keys and item sizes."""
    return DesignReport(f"{plan.design.name}: capacity and cost", [*cost_blocks(plan)])


def cost_blocks(plan: CostPlan, level: int = 2) -> Iterator[Block]:
    """The blocks of the report; headings begin at ``level``."""
    yield Text(
        f"Prices of {plan.prices.region} as of {plan.prices.date}, in {plan.prices.currency}, "
        f"for a month of {MONTH_HOURS} hours."
    )
    if not plan.demands:
        stored = any(each.size for each in plan.storage)
        yield Text(
            "No traffic is declared: "
            + ("this is the cost of storage alone." if stored else "there is nothing to bill.")
        )
        if not stored:
            return
    yield from _by_subject(plan, level)
    yield from _by_place(plan, level)
    yield from _billing_modes(plan, level)
    yield from _lines(plan.bill("on-demand"), level)
    yield from _break_even(plan, level)
    yield from _heat(plan, level)
    yield from _sizes(plan, level)


def _by_subject(plan: CostPlan, level: int) -> Iterator[Block]:
    if not plan.demands:
        return
    bill = plan.bill("on-demand")
    rows = []
    for demand in plan.demands:
        rows.append(
            [
                f"`{demand.subject}`",
                units_text(demand.per_second),
                units_text(demand.peak),
                units_text(sum((units.read for units in demand.units), Decimal(0))),
                units_text(sum((units.write for units in demand.units), Decimal(0))),
                ", ".join(dict.fromkeys(units.place for units in demand.units)),
                money(bill.of(subject=demand.subject)),
            ]
        )
    yield Heading("Access patterns", level)
    traffic = "the traffic of the metered run" if plan.is_metered else "the declared traffic"
    yield Text(f"Read and write units of one call, and the on-demand cost of {traffic}.")
    total = sum((bill.of(subject=demand.subject) for demand in plan.demands), Decimal(0))
    rows.append(["total", "", "", "", "", "", money(total)])
    yield Grid(
        ["pattern or write", "per second", "peak", "read", "write", "table or index", "per month"],
        rows,
        ["per second", "peak", "read", "write", "per month"],
    )
    yield from _chart([(demand.subject, bill.of(subject=demand.subject)) for demand in plan.demands])
    if plan.is_metered:
        # Every pattern of the run has its traffic.
        return
    assumed = [
        subject
        for subject in plan.design.traffic
        if subject in plan.design.patterns
        and isinstance(query := plan.design.patterns[subject][1], Query)
        and query.expected is None
    ]
    if assumed:
        names = ", ".join(f"`{name}`" for name in assumed)
        yield Text(f"{names}: assumed to return {USUAL_ITEMS} items, as `expected` is not declared.")
    counted = {demand.subject for demand in plan.demands}
    silent = [f"`{name}`" for name in (*plan.design.patterns, *plan.design.writes) if name not in counted]
    if silent:
        yield Text(f"{', '.join(silent)}: not included, as no traffic is declared.")


def _chart(costs: Sequence[tuple[str, Decimal]]) -> Iterator[Block]:
    """Where the money goes: the most expensive patterns and writes."""
    most = sorted((each for each in costs if each[1] > 0), key=lambda each: -each[1])[:_MAX_BARS]
    if len(most) < 2:
        return
    title = "On-demand cost per month"
    slices = [f'    "{subject.replace(chr(34), chr(39))}" : {float(cost):.4f}' for subject, cost in most]
    bars = [Bar(subject, float(cost), money(cost)) for subject, cost in most]
    yield Diagram("\n".join([f"pie showData title {title}", *slices]), bar_chart(title, bars))


def _by_place(plan: CostPlan, level: int) -> Iterator[Block]:
    bill = plan.bill("on-demand")
    rows = []
    for load in plan.loads:
        index = None if load.index is None else load.index.name
        items, size, cost = _stored(plan, bill, load)
        rows.append(
            [
                place_text(load.table.name, index),
                units_text(load.read),
                units_text(load.peak_read),
                units_text(load.write),
                units_text(load.peak_write),
                f"{items:,}" if items else "-",
                bytes_text(size) if size else "-",
                str(plan.partitions(load.table)) if index is None else "",
                money(cost),
            ]
        )
    yield Heading("Tables and indexes", level)
    yield Text(
        "Units per second, and what is stored. A sparse index is assumed to have the share of items that its states "
        "have, unless `Volume(indexed=...)` says how many; an update or a delete is counted for the state in which it "
        "costs most." + (" A local index is part of its table." if _has_local_indexes(plan) else "")
    )
    columns = ["table or index", "read", "read at peak", "write", "write at peak"]
    columns += ["items", "stored", "partitions", "per month"]
    yield Grid(columns, rows, columns[1:])


def _stored(plan: CostPlan, bill: Bill, load: Load) -> tuple[int, int, Decimal]:
    """Items, bytes and cost of a table with its local indexes, whose capacity is the table's, or of a global index."""
    local = () if load.index is not None else [index for index in load.table.indexes if not index.is_global]
    parts = [load.index, *local]
    stored = [each for each in plan.storage if each.table is load.table and each.index in parts]
    names = [None if index is None else index.name for index in parts]
    cost = sum((bill.of(table=load.table.name, index=name) for name in names), Decimal(0))
    return next(each.items for each in stored if each.index is load.index), sum(each.size for each in stored), cost


def _has_local_indexes(plan: CostPlan) -> bool:
    return any(not index.is_global for table in plan.design.tables for index in table.indexes)


def _billing_modes(plan: CostPlan, level: int) -> Iterator[Block]:
    cheapest = plan.cheapest
    on_demand = plan.bill("on-demand").total
    rows = [
        [
            f"{bill.name} (cheapest)" if bill is cheapest else bill.name,
            money(sum((line.cost for line in bill.lines if line.unit in _THROUGHPUT), Decimal(0))),
            money(sum((line.cost for line in bill.lines if line.unit not in _THROUGHPUT), Decimal(0))),
            money(bill.total),
            money(bill.total - on_demand),
        ]
        for bill in plan.bills
    ]
    yield Heading("Billing modes", level)
    target = plan.options.target_utilization
    yield Text(
        f"Provisioned: enough for the peak. Autoscaling: follows demand at {target} % utilization. "
        + ("The free tier is deducted." if plan.options.free_tier else "Without the free tier.")
    )
    columns = ["billing mode and table class", "throughput", "storage and recovery", "per month", "vs. on demand"]
    yield Grid(columns, rows, columns[1:])
    if len(plan.design.tables) > 1:
        yield Bullets([f"{table.name}: {plan.cheapest_for(table).name}" for table in plan.design.tables])


_THROUGHPUT = ("requests", "unit-hours")


def _lines(bill: Bill, level: int) -> Iterator[Block]:
    if not bill.lines:
        return
    places: dict[tuple[str, str, str], tuple[Decimal, Decimal]] = {}
    for line in bill.lines:
        where = "account" if line.table is None else place_text(line.table, line.index)
        known = places.get((where, line.what, line.unit), (Decimal(0), Decimal(0)))
        places[where, line.what, line.unit] = known[0] + line.quantity, known[1] + line.cost
    yield Heading("On-demand bill", level)
    rows = [
        [where, what, f"{amount(quantity)} {unit}", money(cost)]
        for (where, what, unit), (quantity, cost) in places.items()
    ]
    rows.append(["total", "", "", money(bill.total)])
    yield Grid(["for", "what", "quantity", "per month"], rows, ["quantity", "per month"])


def _break_even(plan: CostPlan, level: int) -> Iterator[Block]:
    yield Heading("Break-even", level)
    read, write = break_even(plan.prices.standard)
    yield Text(
        f"Provisioned capacity is cheaper than on demand if more than {percent(read)} of its read units, or "
        f"{percent(write)} of its write units, are used. The same figures as in the bills, without the free tier."
    )
    rows = [
        [
            each.place,
            each.what,
            f"{each.units:,}",
            percent(each.used),
            money(each.on_demand),
            money(each.provisioned),
            each.cheaper,
        ]
        for each in compared_capacity(plan)
    ]
    if rows:
        columns = ["table or index", "units", "provisioned for the peak", "used", "on demand", "provisioned", "cheaper"]
        yield Grid(columns, rows, columns[2:6])


def _heat(plan: CostPlan, level: int) -> Iterator[Block]:
    keys = hot_keys(plan)
    if not keys:
        return
    yield Heading("Hot keys", level)
    yield Text(
        f"The busiest partition key at peak. One partition serves {MAX_PARTITION_READ_UNITS:,} read units and "
        f"{MAX_PARTITION_WRITE_UNITS:,} write units per second."
    )
    columns = ["table or index", "key attribute", "entity or key", "read", "write", "shards", "shards needed"]
    rows = [
        [
            key.place,
            key.attribute,
            key.entity if key.key is None else f"`{key.key}`",
            units_text(key.read),
            units_text(key.write),
            str(key.shards),
            str(key.needed),
        ]
        for key in keys
    ]
    yield Grid(columns, rows, columns[3:])
    hot = [_remedy(key) for key in keys if key.is_too_hot]
    if hot:
        yield Bullets(hot)


def _remedy(key: HotKey) -> str:
    return (
        f"{key.place} is too hot for {key.shards} {'partition' if key.shards == 1 else 'partitions'}; declare "
        f"`{key.attribute}=sharded(..., {key.needed})`"
    )


def _sizes(plan: CostPlan, level: int) -> Iterator[Block]:
    sizes = list(size_costs(plan))
    if not sizes:
        return
    yield Heading("Item size", level)
    yield Text("The on-demand cost per month if the items of an entity had another size, without the free tier.")
    columns = ["entity", "size", "bytes", "write units", "read units", "per month"]
    yield Grid(columns, [_size_row(size) for size in sizes], columns[2:])


def _size_row(size: SizeCost) -> list[str]:
    return [
        size.entity,
        size.why,
        f"{size.size:,}",
        str(size.write_units),
        units_text(size.read_units),
        money(size.cost),
    ]


# -- JSON -----------------------------------------------------------------------------------------------------------


def cost_json(plan: CostPlan) -> dict[str, Any]:
    """Everything that the report shows; money and units are exact numbers, as text."""
    read, write = break_even(plan.prices.standard)
    return {
        "design": plan.design.name,
        "prices": {
            "region": plan.prices.region,
            "date": plan.prices.date.isoformat(),
            "currency": plan.prices.currency,
        },
        "patterns": [
            {
                "subject": demand.subject,
                "per_second": str(demand.per_second),
                "peak": str(demand.peak),
                "units": [
                    {
                        "table": units.table.name,
                        "index": None if units.index is None else units.index.name,
                        "read": str(units.read),
                        "write": str(units.write),
                    }
                    for units in demand.units
                ],
                "monthly": str(plan.bill("on-demand").of(subject=demand.subject)),
            }
            for demand in plan.demands
        ],
        "places": [
            {
                "table": load.table.name,
                "index": None if load.index is None else load.index.name,
                "read": str(load.read),
                "write": str(load.write),
                "peak_read": str(load.peak_read),
                "peak_write": str(load.peak_write),
            }
            for load in plan.loads
        ],
        "storage": [
            {
                "table": each.table.name,
                "index": None if each.index is None else each.index.name,
                "items": each.items,
                "bytes": each.size,
            }
            for each in plan.storage
        ],
        "partitions": {table.name: plan.partitions(table) for table in plan.design.tables},
        "bills": [
            {
                "mode": bill.mode,
                "table_class": bill.table_class,
                "total": str(bill.total),
                "lines": [
                    {
                        "what": line.what,
                        "table": line.table,
                        "index": line.index,
                        "subject": line.subject,
                        "quantity": str(line.quantity),
                        "unit": line.unit,
                        "cost": str(line.cost),
                    }
                    for line in bill.lines
                ],
            }
            for bill in plan.bills
        ],
        "cheapest": {"mode": plan.cheapest.mode, "table_class": plan.cheapest.table_class},
        "break_even": {"read": f"{read:.4f}", "write": f"{write:.4f}"},
        "hot_keys": [
            {
                "table": key.table.name,
                "index": None if key.index is None else key.index.name,
                "attribute": key.attribute,
                "entity": key.entity or None,
                "key": key.key,
                "read": str(key.read),
                "write": str(key.write),
                "shards": key.shards,
                "needed": key.needed,
            }
            for key in hot_keys(plan)
        ],
        "sizes": [
            {"entity": size.entity, "why": size.why, "bytes": size.size, "monthly": str(size.cost)}
            for size in size_costs(plan)
        ],
    }
