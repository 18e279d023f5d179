"""The monthly bill of a design, in each billing mode.

    plan = plan_costs(design)                    from the declared traffic, at the prices in the package
    plan.bills                                   six: on demand, provisioned for the peak, provisioned with autoscaling,
                                                 each as a Standard and as an Infrequent Access table
    plan.cheapest.total

A month has 730 hours. Storage is the size of items and index entries plus 100 bytes for each, in GB of 2**30 bytes.
A line is rounded to the cent and a total is the sum of its lines, so the bill adds up.

Provisioned capacity covers the peak of each table and global index by itself; with autoscaling it follows demand at the
target utilization. It is at least one unit each. The free tier is the account's, and other tables may use some of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.cost.demand import BusyKey, Demand, Load, declared, loads, used_tables
from tablewright.design.cost.index_costs import entries
from tablewright.design.cost.prices import Prices, TableClass, cents, load_prices
from tablewright.design.place_names import place_text
from tablewright.dynamo import item_size
from tablewright.dynamo.limits import MAX_PARTITION_BYTES, MAX_PARTITION_READ_UNITS, MAX_PARTITION_WRITE_UNITS
from tablewright.model import Design, Entity, Index, Table, schemas_of

__all__ = [
    "MONTH_HOURS",
    "Bill",
    "BillLine",
    "CapacityComparison",
    "CostOptions",
    "CostPlan",
    "TableStorage",
    "break_even",
    "compared_capacity",
    "plan_costs",
    "provisioned",
    "storage",
]

Mode = Literal["on-demand", "provisioned", "autoscaling"]
Class = Literal["Standard", "Infrequent Access"]
MODES: tuple[Mode, ...] = ("on-demand", "provisioned", "autoscaling")
CLASSES: tuple[Class, ...] = ("Standard", "Infrequent Access")

MONTH_HOURS = 730
"""The hours of a month, as it is billed."""
_SECONDS = MONTH_HOURS * 3600
_GB = 1024**3
# What an item takes in storage beside its bytes.
_ITEM_OVERHEAD = 100
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class CostOptions:
    """What the design does not declare: target utilization, whether the free tier is deducted, number of backups."""

    # Percentage of provisioned capacity that autoscaling aims to have in use.
    target_utilization: int = 70
    free_tier: bool = True
    backups: int = 0


@dataclass(frozen=True, slots=True)
class BillLine:
    """A line of a bill; without a table it is the account's."""

    what: str
    table: str | None
    index: str | None
    subject: str | None
    quantity: Decimal
    unit: str
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of a month in one billing mode and table class."""

    mode: Mode
    table_class: Class
    lines: tuple[BillLine, ...]

    @property
    def name(self) -> str:
        return f"{self.mode}, {self.table_class}"

    @property
    def total(self) -> Decimal:
        return sum((line.cost for line in self.lines), Decimal("0.00"))

    def of(self, **wanted: str | None) -> Decimal:
        """The sum of some lines: ``bill.of(table="Calls", index=None)``."""
        chosen = [line for line in self.lines if all(getattr(line, name) == value for name, value in wanted.items())]
        return sum((line.cost for line in chosen), Decimal("0.00"))


@dataclass(frozen=True, slots=True)
class TableStorage:
    """The items of a table or the entries of an index, and the bytes that are billed for them."""

    table: Table
    index: Index | None
    items: int
    size: int

    @property
    def gigabytes(self) -> Decimal:
        return Decimal(self.size) / _GB


@dataclass(frozen=True, slots=True)
class CostPlan:
    """The costs of a design, with their demand and storage."""

    design: Design
    prices: Prices
    options: CostOptions
    demands: tuple[Demand, ...]
    loads: tuple[Load, ...]
    storage: tuple[TableStorage, ...]
    bills: tuple[Bill, ...] = field(default=())
    # Those of a metered run.
    busy_keys: tuple[BusyKey, ...] = field(default=())
    is_metered: bool = False

    def bill(self, mode: Mode, table_class: Class = "Standard") -> Bill:
        return next(bill for bill in self.bills if (bill.mode, bill.table_class) == (mode, table_class))

    @property
    def cheapest(self) -> Bill:
        """The lowest bill; of equal ones the first, which is the simplest to operate."""
        return min(self.bills, key=lambda bill: bill.total)

    def cheapest_for(self, table: Table) -> Bill:
        """The lowest bill for a table by itself, as the mode is chosen per table; without the free tier."""
        return min(self.bills, key=lambda bill: bill.of(table=table.name))

    def partitions(self, table: Table) -> int:
        """The minimum number of partitions of a table, for its bytes and for its throughput at peak."""
        size = sum(
            each.size
            for each in self.storage
            if each.table is table and (each.index is None or not each.index.is_global)
        )
        load = next(load for load in self.loads if load.table is table and load.index is None)
        return max(
            -(-size // MAX_PARTITION_BYTES),
            provisioned(load.peak_read / MAX_PARTITION_READ_UNITS + load.peak_write / MAX_PARTITION_WRITE_UNITS),
        )


def break_even(prices: TableClass) -> tuple[Decimal, Decimal]:
    """The utilization above which provisioned capacity is cheaper than on demand, for reads and for writes.

    A unit that is provisioned for an hour costs what this share of its 3,600 requests would cost.
    """
    read = prices.read_unit_hour * _MILLION / (3600 * prices.million_reads)
    write = prices.write_unit_hour * _MILLION / (3600 * prices.million_writes)
    return read, write


@dataclass(frozen=True, slots=True)
class CapacityComparison:
    """The cost of the reads or writes of a table or an index: on demand, and provisioned for the peak."""

    place: str
    what: str
    units: int
    used: Decimal
    on_demand: Decimal
    provisioned: Decimal

    @property
    def cheaper(self) -> str:
        return "provisioned" if self.provisioned < self.on_demand else "on demand"


def compared_capacity(plan: CostPlan) -> list[CapacityComparison]:
    """The lines of the on-demand and the provisioned bill side by side, for each table and global index."""
    found = []
    for load in plan.loads:
        table = load.table
        index = None if load.index is None else load.index.name
        # A local index uses the capacity of its table.
        local = [None if index is None else index, *(each.name for each in table.indexes if not each.is_global)]
        names = [index] if index is not None else local
        place = place_text(table.name, index)
        for what, mean, peak in (("reads", load.read, load.peak_read), ("writes", load.write, load.peak_write)):
            if peak:
                costs = [
                    sum((plan.bill(mode).of(what=what, table=table.name, index=name) for name in names), Decimal(0))
                    for mode in ("on-demand", "provisioned")
                ]
                units = provisioned(peak)
                found.append(CapacityComparison(place, what, units, mean / units, *costs))
    return found


def plan_costs(
    design: Design,
    prices: Prices | None = None,
    options: CostOptions | None = None,
    demands: Sequence[Demand] | None = None,
    sizes: Mapping[type[Entity], int] | None = None,
    busy_keys: Sequence[BusyKey] = (),
) -> CostPlan:
    """The costs of a design: of its declared traffic, or of other demands, or with items of other sizes."""
    prices, options = prices or load_prices(), options or CostOptions()
    if not 20 <= options.target_utilization <= 90:
        raise ValueError(f"the target utilization must be a percentage from 20 to 90, not {options.target_utilization}")
    is_metered = demands is not None
    demands = declared(design, sizes) if demands is None else demands
    stored = storage(design, sizes, used_tables(design, demands))
    plan = CostPlan(design, prices, options, tuple(demands), tuple(loads(design, demands)), tuple(stored))
    bills = [
        Bill(mode, table_class, tuple(_lines(plan, mode, table_class))) for table_class in CLASSES for mode in MODES
    ]
    return replace(plan, bills=tuple(bills), busy_keys=tuple(busy_keys), is_metered=is_metered)


def storage(
    design: Design, sizes: Mapping[type[Entity], int] | None = None, tables: Sequence[Table] | None = None
) -> list[TableStorage]:
    """The declared volumes of stored data. Guards of unique values are items of the table."""
    capacity = CapacityEstimate(design, sizes)
    found = []
    for table in design.tables if tables is None else tables:
        for index in (None, *table.indexes):
            items = size = 0
            for schema in schemas_of(table):
                volume = design.volume.get(schema.entity)
                if volume is None or (index is not None and not schema.covers(index)):
                    continue
                number = volume.items if index is None else entries(schema, index, volume)
                items += number
                size += number * (capacity.entry_size(schema, index) + _ITEM_OVERHEAD)
                for spec in schema.unique if index is None else ():
                    guard = item_size(schema.guard_key(spec, {"S": "x" * 24})) + item_size(
                        {"owner": {"M": {name: {"S": "x" * 24} for name in table.key}}}
                    )
                    items += volume.items
                    size += volume.items * (guard + _ITEM_OVERHEAD)
            found.append(TableStorage(table, index, items, size))
    return found


def provisioned(wanted: Decimal) -> int:
    """The whole units to provision for a demand, at least one."""
    return max(1, int(wanted.to_integral_value(ROUND_CEILING)))


# -- lines ----------------------------------------------------------------------------------------------------------


def _lines(plan: CostPlan, mode: Mode, table_class: Class) -> Iterator[BillLine]:
    prices = plan.prices.standard if table_class == "Standard" else plan.prices.infrequent_access
    if mode == "on-demand":
        yield from _requests(plan, prices)
    else:
        yield from _capacity(plan, prices, mode, table_class)
    yield from _storage_lines(plan, prices, table_class)
    yield from _protection(plan)
    yield from _streams(plan)


def _requests(plan: CostPlan, prices: TableClass) -> Iterator[BillLine]:
    for demand in plan.demands:
        for units in demand.units:
            index = None if units.index is None else units.index.name
            for what, one, price in (
                ("reads", units.read, prices.million_reads),
                ("writes", units.write, prices.million_writes),
            ):
                if one:
                    quantity = demand.per_second * _SECONDS * one
                    cost = cents(quantity * price / _MILLION)
                    yield BillLine(what, units.table.name, index, demand.subject, quantity, "requests", cost)


def _capacity(plan: CostPlan, prices: TableClass, mode: Mode, table_class: Class) -> Iterator[BillLine]:
    billed: list[BillLine] = []
    for load in plan.loads:
        index = None if load.index is None else load.index.name
        for what, mean, peak, price in (
            ("reads", load.read, load.peak_read, prices.read_unit_hour),
            ("writes", load.write, load.peak_write, prices.write_unit_hour),
        ):
            wanted = peak if mode == "provisioned" else mean * 100 / plan.options.target_utilization
            quantity = Decimal(provisioned(wanted) * MONTH_HOURS)
            billed.append(BillLine(what, load.table.name, index, None, quantity, "unit-hours", cents(quantity * price)))
    yield from billed
    if plan.options.free_tier and table_class == "Standard":
        free = plan.prices.free
        for what, given, price in (
            ("reads", free.read_unit_hours, prices.read_unit_hour),
            ("writes", free.write_unit_hours, prices.write_unit_hour),
        ):
            yield from _free([line for line in billed if line.what == what], given, price)


def _storage_lines(plan: CostPlan, prices: TableClass, table_class: Class) -> Iterator[BillLine]:
    billed = []
    for each in plan.storage:
        if each.size:
            index = None if each.index is None else each.index.name
            cost = cents(each.gigabytes * prices.storage_gb_month)
            billed.append(BillLine("storage", each.table.name, index, None, each.gigabytes, "GB-months", cost))
    yield from billed
    if plan.options.free_tier and table_class == "Standard":
        yield from _free(billed, plan.prices.free.storage_gb, prices.storage_gb_month)


def _protection(plan: CostPlan) -> Iterator[BillLine]:
    """Recovery and backups cover the table and its local indexes."""
    for table in plan.design.tables:
        stored = [each for each in plan.storage if each.table is table]
        size = sum(
            (each.gigabytes for each in stored if each.index is None or not each.index.is_global), start=Decimal(0)
        )
        if table.point_in_time_recovery and size:
            cost = cents(size * plan.prices.point_in_time_recovery_gb_month)
            yield BillLine("point-in-time recovery", table.name, None, None, size, "GB-months", cost)
        if plan.options.backups and size:
            copies = size * plan.options.backups
            yield BillLine(
                "backups", table.name, None, None, copies, "GB-months", cents(copies * plan.prices.backup_gb_month)
            )


def _streams(plan: CostPlan) -> Iterator[BillLine]:
    """Each consumer reads each shard once per second; reads by Lambda are free."""
    billed = []
    price = plan.prices.stream_reads_100k / 100_000
    for table in {load.table.name: load.table for load in plan.loads}.values():
        if table.stream is None:
            continue
        entities = {schema.entity for schema in schemas_of(table)}
        # Reactions of one consumer are one reader.
        readers = {
            each.consumer or each.name
            for each in plan.design.reactions
            if each.source == "stream" and each.entity in entities
        }
        requests = Decimal(len(readers) * plan.partitions(table) * _SECONDS)
        if requests:
            billed.append(
                BillLine("stream reads", table.name, None, None, requests, "requests", cents(requests * price))
            )
    yield from billed
    if plan.options.free_tier:
        yield from _free(billed, plan.prices.free.stream_reads, price)


def _free(billed: Sequence[BillLine], given: Decimal, price: Decimal) -> Iterator[BillLine]:
    """The deduction for the free tier: all that was billed, if it is within the allowance."""
    quantity = sum((line.quantity for line in billed), Decimal(0))
    cost = sum((line.cost for line in billed), Decimal(0))
    if quantity > given:
        quantity, cost = given, min(cost, cents(given * price))
    if quantity:
        yield BillLine(f"{billed[0].what}, free tier", None, None, None, quantity, billed[0].unit, -cost)
