"""Hot keys and item sizes: what will go wrong, and what it takes."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from tablewright.design.cost.cost_report import cost_report
from tablewright.design.cost.demand import busiest_keys, metered
from tablewright.design.cost.hot_keys import HotKey, hot_keys
from tablewright.design.cost.metered_run import metered_run
from tablewright.design.cost.monthly_bill import plan_costs
from tablewright.design.cost.size_sensitivity import size_costs
from tablewright.design.report.report_blocks import Bullets
from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    LocalIndex,
    Query,
    Table,
    Traffic,
    Volume,
    Write,
    sharded,
)
from tests.design import models

pytestmark = pytest.mark.requirement("X5")


def hottest(design: Design) -> dict[str, HotKey]:
    return {key.place: key for key in hot_keys(plan_costs(design))}


def by_status(shards: int = 1, reads: Traffic | None = None) -> Design:
    table = Table("Things", "pk", indexes=[GlobalIndex("byStatus", "GSI1PK"), GlobalIndex("all", "GSI2PK", "pk")])

    class Thing(Entity, table=table):
        pk: str
        status: str

        keys = Keys(
            GSI1PK="STATUS#{status}" if shards == 1 else sharded("STATUS#{status}", shards),
            GSI2PK="THING",
        )

        @Get()
        def by_id(self, pk: str) -> None: ...

        @Query("byStatus", expected=10)
        def of_status(self, status: str) -> None: ...

        @Query("all", expected=10)
        def everything(self) -> None: ...

    return Design(
        "Things",
        tables=[table],
        writes=[Write("put", ItemWrite(Thing, "put"))],
        volume={Thing: Volume(items=1_000_000, size=400, distinct={"GSI1PK": 2})},
        traffic={"put": Traffic(per_second=100, peak=2_500)} | ({} if reads is None else {"Thing.by_id": reads}),
    )


def test_a_key_of_few_values_is_too_hot_and_the_shards_it_needs_are_counted() -> None:
    key = hottest(by_status())["Things/byStatus"]
    # Half of 2,500 writes a second is more than the 1,000 of a partition.
    assert key.write == 1250
    assert (key.shards, key.needed, key.is_too_hot) == (1, 2, True)


def test_with_those_shards_it_is_not() -> None:
    key = hottest(by_status(shards=2))["Things/byStatus"]
    assert (key.shards, key.needed, key.is_too_hot) == (2, 2, False)


def test_a_key_that_is_always_the_same_gets_everything() -> None:
    key = hottest(by_status())["Things/all"]
    assert key.write == 2500
    assert key.needed == 3


def test_keys_that_are_many_are_not_forecast() -> None:
    assert "Things" not in hottest(by_status())


def test_writes_that_may_touch_a_sparse_index_are_not_forecast() -> None:
    assert "Orders/late" not in hottest(models.design)


def test_the_share_of_the_busiest_key_can_be_declared() -> None:
    key = hottest(by_status(reads=Traffic(per_second=1_000, peak=20_000, hottest=0.4)))["Things"]
    # 0.4 of 20,000 reads of half a unit, against 3,000.
    assert key.read == 4000
    assert (key.needed, key.subjects) == (2, ("Thing.by_id",))


def test_the_hottest_comes_first_and_the_page_says_what_to_do() -> None:
    plan = plan_costs(models.design)
    keys = hot_keys(plan)
    assert keys[0].place == "Orders/byState"
    assert [key.is_too_hot for key in keys] == sorted((key.is_too_hot for key in keys), reverse=True)
    advice = [item for block in cost_report(plan).blocks if isinstance(block, Bullets) for item in block.items]
    assert any("sharded(..., " in item for item in advice) is any(key.is_too_hot for key in keys)


def test_partitions_are_for_bytes_and_for_throughput() -> None:
    plan = plan_costs(models.design)
    (load,) = [load for load in plan.loads if load.index is None]
    by_throughput = load.peak_read / 3000 + load.peak_write / 1000
    assert plan.partitions(models.orders) >= by_throughput > plan.partitions(models.orders) - 1


def test_a_size_just_over_a_kb_costs_a_unit_more() -> None:
    sizes = {size.why: size for size in size_costs(plan_costs(models.design)) if size.entity == "Order"}
    assert sizes["now"].size == 1_050
    assert sizes["just under the previous KB"].size == 1_024
    assert sizes["just under the previous KB"].write_units == sizes["now"].write_units - 1
    assert sizes["just over the next KB"].size == 2_049
    assert sizes["just over the next 4 KB"].read_units == sizes["now"].read_units + 1
    assert sizes["just under the previous KB"].cost < sizes["now"].cost < sizes["just over the next KB"].cost


def test_the_cost_of_the_present_size_is_that_of_the_bill() -> None:
    plan = plan_costs(models.design)
    bill = plan.bill("on-demand")
    for size in size_costs(plan):
        if size.why == "now":
            assert size.cost == bill.total - bill.of(table=None)


def test_what_is_far_from_the_last_kb_is_not_worth_shrinking() -> None:
    design = by_status()
    assert [size.why for size in size_costs(plan_costs(design))] == [
        "now",
        "just over the next KB",
        "just over the next 4 KB",
        "twice",
    ]
    assert all(size.cost > Decimal(0) for size in size_costs(plan_costs(design)))


def test_a_metered_run_has_the_keys_that_it_used() -> None:
    notes = [
        {
            "at": 0,
            "pattern": "Order.update",
            "operation": "UpdateItem",
            "refused": None,
            "charges": [
                ["Orders", None, "write", f"CUSTOMER#{n % 2}", 1.0],
                ["Orders", "byState", "write", "STATE#A#1", 1.0],
            ],
        }
        for n in range(3)
    ]
    run = metered_run(json.dumps(note) for note in notes)
    seconds = Decimal("0.001")
    demands = metered(models.design, run, seconds)
    plan = plan_costs(models.design, demands=demands, busy_keys=busiest_keys(models.design, run, seconds))
    keys = {(key.place, key.key): key for key in hot_keys(plan)}
    hot = keys["Orders", "CUSTOMER#0"]
    assert hot.write == 2000
    assert (hot.shards, hot.needed) == (1, 2)
    # One of four shards: the key as a whole has four times as much.
    assert (keys["Orders/byState", "STATE#A#1"].shards, keys["Orders/byState", "STATE#A#1"].needed) == (4, 12)


def with_local_index() -> Design:
    table = Table("Things", "pk", "sk", indexes=[LocalIndex("byTime", "time")])

    class Thing(Entity, table=table):
        pk: str
        sk: str
        time: str

    return Design(
        "Things",
        tables=[table],
        writes=[Write("put", ItemWrite(Thing, "put"))],
        volume={Thing: Volume(items=1_000_000, size=400)},
        traffic={"put": Traffic(per_second=100, peak=600, hottest=1)},
    )


def test_a_local_index_is_in_the_partitions_of_its_table() -> None:
    (key,) = hot_keys(plan_costs(with_local_index()))
    # 600 writes a second of the table, and as many of the index, in one partition.
    assert (key.place, key.write, key.needed, key.is_too_hot) == ("Things", Decimal(1200), 2, True)


def test_the_busiest_key_of_a_run_has_what_its_local_indexes_took() -> None:
    charges = [
        ["Things", None, "write", "a", 2],
        ["Things", "byTime", "write", "a", 2],
        ["Things", None, "write", "b", 3],
    ]
    record = {"at": 1, "operation": "PutItem", "pattern": "put", "refused": None, "charges": charges}
    (key,) = busiest_keys(with_local_index(), metered_run([json.dumps(record)]), Decimal(2))
    assert (key.key, key.index, key.write) == ("a", None, Decimal(2))
