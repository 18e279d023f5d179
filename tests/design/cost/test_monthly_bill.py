"""Bills: what a design costs in each way to pay, to the cent, and figures that add up."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tablewright.design.cost.cost_report import cost_json, cost_report
from tablewright.design.cost.monthly_bill import CostOptions, CostPlan, break_even, plan_costs
from tablewright.design.cost.prices import cents, load_prices
from tablewright.design.report.number_format import bytes_text
from tablewright.design.report.report_blocks import Grid, Text
from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    LocalIndex,
    Query,
    Reaction,
    Table,
    Traffic,
    Volume,
    Write,
)
from tests.design import models

GB = 1024**3
pytestmark = pytest.mark.requirement("X5")


def things(
    traffic: dict[str, Traffic] | None = None,
    *,
    items: int = 0,
    size: int = 1000,
    stream: bool = False,
    pitr: bool = False,
) -> Design:
    table = Table(
        "Things",
        "pk",
        "sk",
        indexes=[GlobalIndex("byOther", "other", include=[]), LocalIndex("byTime", "time")],
        stream="NEW_IMAGE" if stream else None,
        point_in_time_recovery=pitr,
    )

    class Thing(Entity, table=table):
        pk: str
        sk: str
        other: str
        time: str

        @Get()
        def by_id(self, pk: str, sk: str) -> None: ...

        @Get(consistent=True)
        def now(self, pk: str, sk: str) -> None: ...

        @Query(expected=10)
        def some(self, pk: str) -> None: ...

    return Design(
        "Things",
        tables=[table],
        writes=[Write("put", ItemWrite(Thing, "put"))],
        reactions=[Reaction("follow", Thing)] if stream else [],
        volume={Thing: Volume(items=items, size=size)},
        traffic=traffic or {},
    )


def plan(design: Design, **options: bool | int) -> CostPlan:
    return plan_costs(design, options=CostOptions(**options))  # type: ignore[arg-type]


def cost(found: CostPlan, mode: str = "on-demand", table_class: str = "Standard", **wanted: str | None) -> Decimal:
    return found.bill(mode, table_class).of(**wanted)  # type: ignore[arg-type]


# -- throughput -----------------------------------------------------------------------------------------------------


def test_on_demand_is_paid_by_the_request() -> None:
    found = plan(things({"Thing.by_id": Traffic(per_second=100)}))
    # 100 reads of half a unit, for 730 hours of 3,600 seconds: 131.4 million units at $0.125.
    (line,) = [line for line in found.bill("on-demand").lines if line.what == "reads"]
    assert line.quantity == 131_400_000
    assert line.cost == Decimal("16.43")


def test_a_write_is_paid_for_the_table_and_for_each_index() -> None:
    found = plan(things({"put": Traffic(per_second=10)}))
    # 26.28 million writes at $0.625, three times.
    for index in (None, "byOther", "byTime"):
        assert cost(found, what="writes", index=index) == Decimal("16.43")


def test_provisioned_is_paid_for_the_peak() -> None:
    found = plan(things({"Thing.now": Traffic(per_second=10, peak=100)}), free_tier=False)
    # 100 read units, and one write unit, which is the least; the global index has one of each.
    lines = {(line.what, line.index): line for line in found.bill("provisioned").lines}
    assert {place: line.quantity for place, line in lines.items()} == {
        ("reads", None): 73_000,
        ("writes", None): 730,
        ("reads", "byOther"): 730,
        ("writes", "byOther"): 730,
    }
    assert lines["reads", None].cost == Decimal("9.49")
    assert lines["writes", None].cost == Decimal("0.47")


def test_a_local_index_uses_the_capacity_of_its_table() -> None:
    found = plan(things({"put": Traffic(per_second=10)}), free_tier=False)
    table, other = found.loads
    assert (table.write, other.write) == (Decimal(20), Decimal(10))


@pytest.mark.parametrize(("target", "units"), [(50, 20), (70, 15), (90, 12)])
def test_autoscaling_follows_the_demand_at_its_target(target: int, units: int) -> None:
    found = plan(things({"Thing.now": Traffic(per_second=10, peak=100)}), free_tier=False, target_utilization=target)
    (line,) = [line for line in found.bill("autoscaling").lines if line.what == "reads" and line.index is None]
    assert line.quantity == units * 730


def test_a_target_beyond_what_autoscaling_takes_is_refused() -> None:
    with pytest.raises(ValueError, match="from 20 to 90"):
        plan(things(), target_utilization=95)


# -- the free tier --------------------------------------------------------------------------------------------------


def test_the_free_tier_is_18600_unit_hours_of_each_kind_and_25_gb() -> None:
    found = plan(things({"Thing.now": Traffic(per_second=100)}, items=100 * GB // 1100))
    free = {line.what: line for line in found.bill("provisioned").lines if line.table is None}
    assert free["reads, free tier"].quantity == 18_600
    assert free["reads, free tier"].cost == Decimal("-2.42")
    # Fewer were used than are free: all of them are.
    assert free["writes, free tier"].quantity == 2 * 730
    assert free["writes, free tier"].cost == -cost(found, "provisioned", what="writes")
    assert free["storage, free tier"].quantity == 25
    assert free["storage, free tier"].cost == Decimal("-6.25")


def test_requests_on_demand_and_infrequent_access_have_no_free_tier() -> None:
    found = plan(things({"Thing.now": Traffic(per_second=100)}, items=1000))
    assert cost(found, "on-demand", what="reads, free tier") == 0
    assert cost(found, "provisioned", "Infrequent Access", table=None) == 0


def test_a_month_that_is_free_costs_nothing() -> None:
    found = plan(things({"Thing.now": Traffic(per_second=5)}, items=1000))
    assert found.bill("provisioned").total == 0
    assert found.cheapest.total == 0


# -- what is kept ---------------------------------------------------------------------------------------------------


def test_storage_counts_a_hundred_bytes_more_for_each_item_and_entry() -> None:
    found = plan(things(items=1_000_000, size=924), free_tier=False)
    table, other, time = found.storage
    assert table.size == time.size == 1_000_000 * 1024
    # Keys only: what a sample has of them.
    assert 100 < other.size / 1_000_000 < 200
    assert cost(found, what="storage", index=None) == cents(Decimal(1_024_000_000) / GB * Decimal("0.25"))


def test_infrequent_access_is_cheaper_to_keep_and_dearer_to_use() -> None:
    found = plan(things({"put": Traffic(per_second=10)}, items=1_000_000), free_tier=False)
    for what, cheaper in (("storage", True), ("writes", False)):
        standard, infrequent = (cost(found, "on-demand", name, what=what) for name in ("Standard", "Infrequent Access"))
        assert (infrequent < standard) is cheaper


def test_a_table_that_is_hardly_used_is_cheapest_in_infrequent_access() -> None:
    found = plan(things({"Thing.now": Traffic(per_second=0.1)}, items=400_000_000), free_tier=False)
    assert (found.cheapest.mode, found.cheapest.table_class) == ("on-demand", "Infrequent Access")


def test_recovery_and_backups_are_of_the_table_and_its_local_indexes() -> None:
    items = 100 * GB // 1100
    found = plan(things(items=items, pitr=True), free_tier=False, backups=3)
    kept = Decimal(items * 1100 * 2) / GB
    assert cost(found, what="point-in-time recovery") == cents(kept * Decimal("0.20"))
    assert cost(found, what="backups") == cents(kept * 3 * Decimal("0.10"))
    assert cost(plan(things(items=items)), what="point-in-time recovery") == 0


def test_stream_reads_are_paid_by_the_request_after_the_free_ones() -> None:
    found = plan(things({"put": Traffic(per_second=2_000)}, stream=True))
    # 4,000 write units of table and local index are four partitions, each asked once a second.
    (line,) = [line for line in found.bill("on-demand").lines if line.what == "stream reads"]
    assert line.quantity == 4 * 2_628_000
    assert line.cost == Decimal("2.10")
    assert cost(found, what="stream reads, free tier") == Decimal("-0.50")


# -- as a whole -----------------------------------------------------------------------------------------------------


def test_provisioned_is_cheaper_from_28_9_percent_of_utilisation() -> None:
    read, write = break_even(load_prices().standard)
    assert f"{read:.4f}" == f"{write:.4f}" == "0.2889"
    for used, cheaper in ((0.28, "on-demand"), (0.30, "provisioned")):
        found = plan(things({"Thing.now": Traffic(per_second=10_000 * used, peak=10_000)}), free_tier=False)
        bills = [found.bill("on-demand"), found.bill("provisioned")]
        assert min(bills, key=lambda bill: bill.of(what="reads")).mode == cheaper


@pytest.mark.parametrize("free_tier", [True, False])
def test_every_total_is_the_sum_of_what_is_shown(free_tier: bool) -> None:
    found = plan(models.design, free_tier=free_tier, backups=1)
    for bill in found.bills:
        tables = [bill.of(table=table.name) for table in models.design.tables]
        assert bill.total == sum(tables) + bill.of(table=None)
        places = [bill.of(table="Orders", index=index) for index in (None, "byState", "byShop", "late", "byTotal")]
        assert sum(places) == bill.of(table="Orders")
        assert all(line.cost == cents(line.cost) for line in bill.lines)
    on_demand = found.bill("on-demand")
    subjects = sum(on_demand.of(subject=demand.subject) for demand in found.demands)
    assert subjects == on_demand.of(what="reads") + on_demand.of(what="writes")


def test_the_page_adds_up_as_well() -> None:
    found = plan(models.design)
    grids = [block for block in cost_report(found).blocks if isinstance(block, Grid)]
    for grid in grids:
        if grid.rows[-1][0] == "total":
            figures = [Decimal(row[-1].replace("$", "").replace(",", "")) for row in grid.rows]
            assert sum(figures[:-1]) == figures[-1]
    assert sum(grid.rows[-1][0] == "total" for grid in grids) == 2


def test_machines_get_the_same_figures() -> None:
    found = plan(models.design)
    told = cost_json(found)
    assert told["cheapest"] == {"mode": found.cheapest.mode, "table_class": found.cheapest.table_class}
    for bill, shown in zip(found.bills, told["bills"], strict=True):
        assert Decimal(shown["total"]) == bill.total == sum(Decimal(line["cost"]) for line in shown["lines"])


def test_each_table_has_a_cheapest_way_of_its_own() -> None:
    busy, quiet = Table("busy", "pk"), Table("quiet", "pk")

    class Busy(Entity, table=busy):
        pk: str

        @Get()
        def by_id(self, pk: str) -> None: ...

    class Quiet(Entity, table=quiet):
        pk: str

        @Get()
        def by_id(self, pk: str) -> None: ...

    design = Design(
        "Both",
        tables=[busy, quiet],
        volume={Quiet: Volume(items=1_000_000_000, size=500)},
        traffic={"Busy.by_id": Traffic(per_second=1000), "Quiet.by_id": Traffic(per_second=0.01)},
    )
    found = plan(design)
    assert found.cheapest_for(busy).mode == "provisioned"
    assert found.cheapest_for(quiet).name == "on-demand, Infrequent Access"


def test_a_design_without_traffic_says_so() -> None:
    text = [getattr(block, "text", "") for block in cost_report(plan(models.bare)).blocks]
    assert any("No traffic is declared" in each for each in text)


def test_what_has_no_traffic_is_listed_as_not_included() -> None:
    orders = Table("orders", "pk")

    class Order(Entity, table=orders):
        pk: str

        @Get()
        def by_id(self, pk: str) -> None: ...

    writes = [Write("place", ItemWrite(Order, "create")), Write("ship", ItemWrite(Order, "update"))]
    everything = {"Order.by_id": Traffic(1), "place": Traffic(1), "ship": Traffic(1)}

    def excluded(traffic: dict[str, Traffic]) -> list[str]:
        page = cost_report(plan(Design("Shop", tables=[orders], writes=writes, traffic=traffic)))
        return [block.text for block in page.blocks if isinstance(block, Text) and "not included" in block.text]

    assert excluded({"place": Traffic(1)}) == ["`Order.by_id`, `ship`: not included, as no traffic is declared."]
    assert excluded(everything) == []


def test_what_tables_and_indexes_cost_and_keep_adds_up() -> None:
    """A local index has no row of its own: its requests and its storage are the table's."""
    design = things({"put": Traffic(per_second=100), "Thing.some": Traffic(per_second=50)}, items=20_000_000)
    found = plan(design, free_tier=False)
    grids = [block for block in cost_report(found).blocks if isinstance(block, Grid)]
    (grid,) = [grid for grid in grids if grid.columns[0] == "table or index" and "stored" in grid.columns]
    assert [row[0] for row in grid.rows] == ["Things", "Things/byOther"]
    costs = [Decimal(row[-1].replace(",", "").removeprefix("$")) for row in grid.rows]
    assert sum(costs) == found.bill("on-demand").total
    own, local, other = (
        next(each for each in found.storage if (each.index and each.index.name) == name)
        for name in (None, "byTime", "byOther")
    )
    assert grid.rows[0][6] == bytes_text(own.size + local.size)
    assert grid.rows[1][6] == bytes_text(other.size)
    assert grid.rows[0][5] == f"{own.items:,}"
