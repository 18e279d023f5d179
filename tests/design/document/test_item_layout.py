"""Items as they lie in a table or an index."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.design.document import lay_out

pytestmark = pytest.mark.requirement("ST3")


def item(partition: str, sort: str, kind: str = "S", **more: Any) -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {kind: sort}, **more}


def test_partitions_are_blocks_with_items_in_the_order_of_the_sort_key() -> None:
    found = lay_out(
        [("B", item("p2", "a")), ("A", item("p1", "b")), ("A", item("p1", "a")), ("", item("p1", "ab"))], ["pk"], ["sk"]
    )
    assert [(block.key[0]["S"], [each.item["sk"]["S"] for each in block.items]) for block in found] == [
        ("p1", ["a", "ab", "b"]),
        ("p2", ["a"]),
    ]
    assert [each.entity for each in found[0].items] == ["A", "", "A"]


def test_numbers_are_in_the_order_of_numbers_however_long() -> None:
    digits = "12345678901234567890123456789012345678"
    wanted = ["-1", "2", "10", digits[:-1] + "7", digits]
    found = lay_out([("", item("p", each, "N")) for each in reversed(wanted)], ["pk"], ["sk"])
    assert [each.item["sk"]["N"] for each in found[0].items] == wanted


def test_what_lacks_a_part_of_the_key_is_not_there_as_in_a_sparse_index() -> None:
    items = [("A", item("p", "a", gsi={"S": "x"})), ("A", item("p", "b"))]
    assert [len(block.items) for block in lay_out(items, ["gsi"], ["sk"])] == [1]
    assert lay_out([], ["pk"], ["sk"]) == []
