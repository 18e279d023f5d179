"""What contradicts itself in a design is refused when it is declared, with its place and what to say instead."""

import re
from collections.abc import Callable
from typing import Any, cast

import pytest

from tablewright.model import (
    CostClaim,
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    ModelError,
    Reaction,
    Table,
    Traffic,
    Volume,
    Write,
)

orders = Table("orders", "PK", "SK", indexes=[GlobalIndex("byShop", "GSI1PK", "GSI1SK")])


class Order(Entity, table=orders):
    order_id: str
    shop: str
    state: str = "OPEN"

    keys = Keys(PK="ORDER#{order_id}", SK="ORDER", GSI1PK="SHOP#{shop}", GSI1SK="{order_id}")

    @Get()
    def by_id(self, order_id: str) -> None: ...


def design(**parts: Any) -> Design:
    return Design("Shop", tables=[orders], **parts)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: ItemWrite(Order, cast("Any", "modify")),
        "ItemWrite(Order, 'modify'): an action is one of create, put, update, delete",
    ),
    (
        lambda: ItemWrite(Order, "update", sets="state"),  # type: ignore[arg-type]  # the checker refuses it too
        "ItemWrite(Order, 'update'): sets takes a list of fields, such as [Order.some_field]",
    ),
    (
        lambda: Reaction("tell", Order, effect=cast("Any", "shout")),
        "reaction 'tell': an effect is one of count, publish, notify, export, index, not 'shout'",
    ),
    (
        lambda: Reaction("tell", Order, source=cast("Any", "cron")),
        "reaction 'tell': a source is one of stream, writer, not 'cron'",
    ),
    (
        lambda: Reaction("tell", Order, events=frozenset([cast("Any", "INSERTED")])),
        "reaction 'tell': an event is one of INSERT, MODIFY, REMOVE, not 'INSERTED'",
    ),
    (
        lambda: Reaction("tell", Order, events=frozenset()),
        "reaction 'tell' has no events; name at least one, or omit events to react to all of them",
    ),
    (lambda: Traffic(per_second=-1), "Traffic(per_second=...) is a number from 0 to 1,000,000,000, not -1"),
    (lambda: Traffic(per_second=float("nan")), "Traffic(per_second=...) is a number from 0 to 1,000,000,000, not nan"),
    (lambda: Traffic(per_second=float("inf")), "Traffic(per_second=...) is a number from 0 to 1,000,000,000, not inf"),
    (
        lambda: Traffic(per_second=1, peak=float("inf")),
        "Traffic(peak=...) is a number from 0 to 1,000,000,000, not inf",
    ),
    (
        lambda: Traffic(per_second=1, peak=float("nan")),
        "Traffic(peak=...) is a number from 0 to 1,000,000,000, not nan",
    ),
    (lambda: Traffic(per_second=1, hottest=float("nan")), "Traffic(hottest=...) is a number from 0 to 1, not nan"),
    (
        lambda: Traffic(per_second=cast("Any", "1")),
        "Traffic(per_second=...) is a number from 0 to 1,000,000,000, not '1'",
    ),
    (lambda: Traffic(per_second=10, peak=5), "the peak cannot be less than the average: 5 is less than 10"),
    (lambda: Traffic(per_second=1, hottest=20), "Traffic(hottest=...) is a number from 0 to 1, not 20"),
    (
        lambda: Design("Shop", tables=[orders, Table("orders", "id")]),
        "Shop has two tables named 'orders', and names must be unique; declare their entities with one "
        "Table, or rename one of them",
    ),
    (
        lambda: Design("Shop", tables=[orders, orders]),
        "Shop has two tables named 'orders', and names must be unique; declare their entities with one "
        "Table, or rename one of them",
    ),
    (lambda: Volume(items=-1, size=100), "Volume(items=...) is a whole number from 0 to 1,000,000,000,000,000, not -1"),
    (
        lambda: Volume(items=cast("Any", float("inf")), size=100),
        "Volume(items=...) is a whole number from 0 to 1,000,000,000,000,000, not inf",
    ),
    (
        lambda: Volume(items=1, size=cast("Any", float("nan"))),
        "Volume(size=...) is a whole number from 0 to 1,000,000,000, not nan",
    ),
    (
        lambda: Volume(items=1, size=1, distinct={"PK": -4}),
        "Volume(distinct={'PK': ...}) is a whole number from 0 to 1,000,000,000,000,000, not -4",
    ),
    (
        lambda: Volume(items=1, size=1, distinct={"PK": 0}),
        "Volume(distinct={'PK': ...}) must be at least 1; omit it if it is not known",
    ),
    (
        lambda: CostClaim("costs", write_price=float("nan")),
        "CostClaim(write_price=...) is a number from 0 to 1,000,000,000, not nan",
    ),
    (
        lambda: design(volume={Order: Volume(items=1, size=1, distinct={"shop": 3})}),
        "Shop, volume of Order: shop is not a partition key of table 'orders'; partition keys are PK, GSI1PK",
    ),
    (
        lambda: design(writes=[Write("place", ItemWrite(Order, "create")), Write("place", ItemWrite(Order, "put"))]),
        "Shop has two writes named 'place'; rename one",
    ),
    (
        lambda: design(roles={"api": "Order.by_id"}),
        "Shop, role 'api' takes a list of names: ['Order.by_id']",
    ),
]


@pytest.mark.parametrize(("declare", "message"), WRONG)
def test_a_wrong_part_of_a_design_is_refused(declare: Callable[[], Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        declare()


def test_a_right_one_is_not() -> None:
    right = design(
        writes=[Write("place", ItemWrite(Order, "create"))],
        reactions=[Reaction("tell", Order, events=frozenset(["INSERT"]), effect="notify")],
        roles={"api": ["Order.by_id", "place"]},
        volume={Order: Volume(items=0, size=0, distinct={"PK": 5, "GSI1PK": 2})},
        traffic={"place": Traffic(per_second=0, peak=1, hottest=0.5)},
    )
    assert list(right.writes) == ["place"]
