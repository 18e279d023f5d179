"""Counts and checksums of items, and rates."""

from __future__ import annotations

import asyncio
import random

import pytest

from tablewright.dynamo import Item
from tablewright.transfer.item_digests import ItemTable, KeyDigests
from tablewright.transfer.places.unit_rate import UnitRate
from tests.transfer.samples import every_type, orders

KEY = ("pk", "sk")


@pytest.mark.requirement("SH5")
def test_the_order_of_items_does_not_matter() -> None:
    items = [*orders(50), *every_type()]
    one, other = KeyDigests(), KeyDigests()
    one.add(items, KEY)
    random.Random(1).shuffle(items)
    other.add(items[:20], KEY)
    other = KeyDigests.from_json(other.as_json())
    other.add(items[20:], KEY)
    assert (one.differing(other), one.count) == ([], len(items))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "1.50"}, {"N": "1.5"}),
        ({"N": "1E2"}, {"N": "100"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"M": {"a": {"N": "1"}, "b": {"NS": ["1.0", "2"]}}}, {"M": {"b": {"NS": ["2", "1"]}, "a": {"N": "1"}}}),
    ],
)
def test_equal_values_are_equal_however_they_are_written(one: dict[str, object], other: dict[str, object]) -> None:
    sums = []
    for value in (one, other):
        digests = KeyDigests()
        digests.add([{"pk": {"S": "a"}, "sk": {"N": "1"}, "v": value}], KEY)
        sums.append(digests)
    assert sums[0].differing(sums[1]) == []


@pytest.mark.parametrize("change", [{"v": {"S": "1"}}, {"v": {"N": "2"}}, {"w": {"N": "1"}}])
def test_any_change_is_noticed(change: Item) -> None:
    item: Item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"N": "1"}}
    one, other = KeyDigests(), KeyDigests()
    one.add([item], KEY)
    other.add([{**item, **change}], KEY)
    (part,) = one.differing(other)
    tables = ItemTable([part], KEY), ItemTable([part], KEY)
    tables[0].add([item])
    tables[1].add([{**item, **change}])
    (difference,) = tables[0].differences(tables[1])
    assert str(difference) == '{"pk":{"S":"a"},"sk":{"N":"1"}} is not the same in the target'


def test_a_rate_is_kept_to() -> None:
    now, slept = 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    async def use() -> None:
        rate = UnitRate(10, clock=lambda: now, sleep=sleep)
        for _ in range(20):
            await rate.take(1)
            rate.settle(1, 5)

    asyncio.run(use())
    # A hundred units, of which ten were saved up, and the last request is not waited for.
    assert 8.0 <= now <= 9.1
