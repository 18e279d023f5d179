"""How full a page is: the same whether items come as bytes or parsed, and without keeping parsed ones."""

from __future__ import annotations

import random

import orjson
import pytest

from tablewright.dynamo import Item, item_size
from tablewright.engine.items.page_limits import PageFill


def items(seed: int, most: int) -> list[Item]:
    entropy = random.Random(seed)
    return [
        {"pk": {"S": str(number)}, "text": {"S": "x" * entropy.randrange(most)}, "list": {"L": [{"N": "1"}] * 3}}
        for number in range(1_100_000 // (most // 2 + 20))
    ]


@pytest.mark.parametrize("most", [40, 1_000, 40_000])
def test_a_page_ends_with_the_same_item_in_both_ways(most: int) -> None:
    fill, parsed = PageFill(("pk",)), PageFill(("pk",))
    ended = []
    for item in items(most, most):
        data, size = orjson.dumps(item), item_size(item)
        ended.append((fill.add(size, data), parsed.add_parsed(size, item, data)))
        if any(ended[-1]):
            break
    assert ended[-1] == (True, True)
    assert not any(one or other for one, other in ended[:-1])


def test_no_parsed_items_are_kept() -> None:
    fill = PageFill(("pk",))
    for item in items(1, 1_000)[:1_200]:
        assert not fill.add_parsed(item_size(item), item, orjson.dumps(item))
        assert all(isinstance(each, bytes) for each in fill._unmeasured)
    # It was measured before, and what is likely to be measured is not kept at all.
    assert not fill._unmeasured
