"""What an item counts for towards the 1 MB of a page."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tablewright.dynamo import item_size
from tablewright.engine.items.page_limits import page_size, page_size_bound
from tests.dynamo.value_strategies import items


def test_a_page_counts_storage() -> None:
    # A byte for the name, one to three for the length of the text, and the header: 2 + 18.
    assert page_size({"pk": {"S": "a"}}, None) == 2 + (1 + 1 + 1) + 18
    assert page_size({"a-long-attribute-name": {"S": "a"}}, None) == 2 + 3 + 18
    assert page_size({"a": {"S": "x" * 127}}, None) == 2 + (1 + 127 + 1) + 18
    assert page_size({"a": {"S": "x" * 128}}, None) == 2 + (1 + 128 + 2) + 18
    assert page_size({"a": {"S": "x" * 20_000}}, None) == 2 + (1 + 20_000 + 3) + (1 + 20_005 // 3072) * 18
    # The sort key is in every header.
    assert page_size({"pk": {"S": "a"}, "sk": {"S": "bcd"}}, "sk") == 2 + 3 + (18 + 3)
    assert page_size({"a": {"NULL": True}, "b": {"BOOL": True}, "c": {"N": "42"}}, None) == 2 + (1 + 2 + 4) + 18
    assert page_size({"a": {"SS": ["x", "y"]}}, None) == 2 + (1 + 2 + 2 + 1) + 18
    assert page_size({"a": {"M": {"name": {"S": "x"}}}}, None) == 2 + (1 + 3 + 2 + 2) + 18
    assert page_size({"a": {"L": [{"S": "x"}]}}, None) == 2 + (1 + 3 + 1 + 2) + 18


@given(items)
def test_the_bound_of_a_page_size_is_one(item: dict[str, dict[str, Any]]) -> None:
    for sort_key in (None, *item):
        assert page_size(item, sort_key) <= page_size_bound(item_size(item))
