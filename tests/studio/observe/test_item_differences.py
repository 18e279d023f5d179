"""How two versions of an item differ, in short texts."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.studio.observe.item_differences import Difference, differences, short_item, short_value


@pytest.mark.requirement("ST7")
def test_attributes_that_differ() -> None:
    before: dict[str, Any] = {"pk": {"S": "a"}, "n": {"N": "1"}, "gone": {"BOOL": True}}
    after: dict[str, Any] = {"pk": {"S": "a"}, "n": {"N": "2"}, "new": {"SS": ["x", "y"]}}
    assert differences(before, after) == [
        Difference("gone", "true", None),
        Difference("n", "1", "2"),
        Difference("new", None, "{x, y}"),
    ]
    assert differences(None, {"pk": {"S": "a"}}) == [Difference("pk", None, "a")]
    assert differences(before, before) == []


@pytest.mark.requirement("ST7")
def test_long_values_are_cut() -> None:
    assert len(short_value({"S": "x" * 400_000})) == 120
    assert short_value({"M": {"a": {"NULL": True}}}) == '{"M":{"a":{"NULL":true}}}'
    assert short_item({"pk": {"S": "a"}, "b": {"N": "1"}, "c": {"NULL": True}}, ("pk",)) == "b: 1  c: null"
