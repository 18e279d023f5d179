"""What consumers write is in the plan: as often as it is caused, and as it is charged, with the checkpoint."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tablewright.design.cost import CapacityEstimate, plan_costs
from tablewright.design.cost.monthly_bill import compared_capacity
from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Reaction,
    Table,
    Traffic,
    Volume,
    Write,
    when,
)
from tablewright.store import Consumer, Effects, Put, Store
from tests.design.subjects import DESIGNS

orders = Table(
    "Orders",
    "PK",
    "SK",
    indexes=[GlobalIndex("open", "GSI1PK", "SK"), GlobalIndex("flagged", "GSI2PK", "SK")],
    stream="NEW_AND_OLD_IMAGES",
    type_attribute="kind",
)
notes = Table("Notes", "PK", "SK", type_attribute="kind", stream="NEW_IMAGE")
places = Table("Places", "PK", "SK", type_attribute="kind")


class Order(Entity, table=orders):
    order_id: str
    state: str = "PLACED"
    flag: str | None = None

    keys = Keys(PK="ORDER#{order_id}", SK="ORDER", GSI1PK=when("OPEN", state=["PLACED", "PAID"]), GSI2PK="FLAG#{flag}")

    @Get()
    def by_id(self, order_id: str) -> None: ...


class Note(Entity, table=notes):
    order_id: str

    keys = Keys(PK="NOTE#{order_id}", SK="NOTE")


class Total(Entity, table=places):
    name: str
    count: int = 0

    keys = Keys(PK="TOTAL#{name}", SK="TOTAL")

    @Get()
    def by_name(self, name: str) -> None: ...


design = Design(
    "Orders",
    tables=[orders, notes],
    internal_tables=[places],
    writes=[
        Write("place", ItemWrite(Order, "create")),
        Write("place many", ItemWrite(Order, "create", count=3)),
        Write("pay", ItemWrite(Order, "update", sets=[Order.state])),
        Write("note", ItemWrite(Note, "put")),
        Write("count", ItemWrite(Total, "update", sets=[Total.count])),
    ],
    reactions=[
        Reaction("noted", Order, events=frozenset(["INSERT"]), write="note", consumer="notes"),
        Reaction("counted", Note, effect="count", write="count", consumer="totals"),
        Reaction("told", Order, effect="notify", consumer="notes"),
    ],
    volume={Order: Volume(items=100, size=300, indexed={"flagged": 7})},
    traffic={
        "place": Traffic(per_second=2, peak=20),
        "place many": Traffic(per_second=1, peak=5),
        "pay": Traffic(per_second=50, peak=60),
    },
)


@pytest.mark.requirement("X5")
def test_a_consumer_writes_as_often_as_it_is_caused_and_so_does_one_that_reads_what_it_wrote() -> None:
    rates = {demand.subject: (demand.per_second, demand.peak) for demand in plan_costs(design).demands}
    # Two orders a second, and three times one.
    assert rates["note"] == rates["count"] == (Decimal(5), Decimal(35))


@pytest.mark.requirement("X5")
def test_what_a_consumer_writes_is_charged_as_estimated() -> None:
    charged: dict[str, Decimal] = {}

    def count(pattern: str, operation: str, consumed: Any) -> None:
        if operation == "TransactWriteItems":
            for figures in consumed:
                name = figures["TableName"]
                charged[name] = charged.get(name, Decimal(0)) + Decimal(str(figures["CapacityUnits"]))

    def handle(changes: Any, effects: Effects) -> None:
        for change in changes:
            effects.do(Put(Note(order_id=change.after.order_id)))

    with Store.open(None, on_capacity=count) as store:
        store.ensure_tables(orders, notes, places)
        store.create(Order(order_id="1"))
        Consumer(store, orders, handle, name="notes", checkpoints=places).run_once()
    expected = {units.place: units.write for units in CapacityEstimate(design).of("note")}
    assert charged == expected == {"Notes": Decimal(2), "Places": Decimal(2)}


@pytest.mark.requirement("X5")
def test_a_sparse_index_stores_what_is_declared_or_the_share_of_its_states() -> None:
    items = {each.index.name: each.items for each in plan_costs(design).storage if each.index is not None}
    # The state is any text, so that its share is not known; the other is declared.
    assert items == {"open": 100, "flagged": 7}
    support = plan_costs(DESIGNS["Support"])
    stored = {each.index.name: each.items for each in support.storage if each.index is not None}
    assert 0 < stored["escalated-tickets-index"] < stored["customer-time-index"]


@pytest.mark.requirement("X5")
@pytest.mark.parametrize("name", [name for name in DESIGNS if DESIGNS[name].traffic])
def test_the_break_even_has_the_figures_of_the_bills(name: str) -> None:
    plan = plan_costs(DESIGNS[name])
    rows = compared_capacity(plan)
    on_demand = plan.bill("on-demand")
    throughput = sum((line.cost for line in on_demand.lines if line.unit == "requests" and line.subject), Decimal(0))
    assert sum((row.on_demand for row in rows), Decimal(0)) == throughput
    for row in rows:
        table, _, index = row.place.partition("/")
        billed = plan.bill("provisioned").of(what=row.what, table=table, index=index or None)
        assert row.provisioned == billed
        assert row.cheaper == ("provisioned" if billed < row.on_demand else "on demand")


def test_reactions_of_one_consumer_read_their_stream_once() -> None:
    (reads, *_) = [line for line in plan_costs(design).bill("on-demand").lines if line.what == "stream reads"]
    # "noted" and "told" are one consumer.
    assert (reads.table, reads.quantity) == ("Orders", Decimal(730 * 3600))
