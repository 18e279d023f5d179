"""Values of requests: what is blank, what an item cannot hold, what is there twice."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.runtime.http.json_values import each_once, not_blank, storable
from tablewright.runtime.http.path_ids import is_id


@pytest.mark.parametrize("text", ["", " ", "\t\r\n", "\u3000", "\u200b", "\ufeff\u2060", "\x00\x07", "\u2028", "\xa0"])
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    with pytest.raises(ValueError, match="must not be blank"):
        not_blank(text)
    assert not is_id(text)


@pytest.mark.parametrize("text", ["a", " a", "é", "中", "😀", "0", "."])
def test_what_can_be_seen_is_text(text: str) -> None:
    assert not_blank(text) == text


@pytest.mark.parametrize("value", [{"n": 2**64}, {"n": [-(2**63) - 1]}, {"a": {"b": [{"c": 10**40}]}}])
def test_an_integer_of_more_than_64_bits_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="more than 64 bits"):
        storable(value)


def test_an_integer_of_64_bits_is_kept() -> None:
    assert storable({"n": [2**64 - 1, -(2**63), True]}) == {"n": [2**64 - 1, -(2**63), True]}


def test_a_member_that_is_there_twice_is_refused() -> None:
    assert each_once(["a", "b"]) == ["a", "b"]
    with pytest.raises(ValueError, match="duplicate"):
        each_once(["a", "b", "a"])
