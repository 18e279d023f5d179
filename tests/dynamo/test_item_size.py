"""What attribute values and items weigh, checked or canonical already."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import (
    LONG_LIST,
    RequestValidationException,
    checked,
    checked_item,
    item_size,
    number_size,
    value_size,
)
from tests.dynamo.value_strategies import items


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("42", 2),
        ("-42", 3),
        ("123", 3),
        ("1000", 2),
        ("0.0000001", 2),
        ("1.5", 3),
        ("12.3456", 4),
        ("-1.23", 4),
        ("1" * 38, 20),
    ],
)
def test_the_size_of_a_number_is_that_of_its_significant_digits(number: str, size: int) -> None:
    assert number_size(number) == size


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "abc"}, 3),
        ({"S": "é€😀"}, 9),
        ({"B": "AQI="}, 2),
        ({"B": ""}, 0),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["-20", "1"]}, 5),
        ({"BS": ["AQI=", "Ag=="]}, 3),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "a"}, {"NULL": True}]}, 3 + 2 + 2),
        ({"M": {"ab": {"S": "c"}}}, 3 + 1 + 2 + 1),
    ],
)
def test_sizes(value: dict[str, Any], size: int) -> None:
    assert checked(value) == (value, size)
    assert value_size(value) == size
    assert checked_item({"näme": value}) == ({"näme": value}, size + 5)
    assert item_size({"näme": value}) == size + 5


@given(items)
def test_checking_an_item_measures_it(item: dict[str, dict[str, Any]]) -> None:
    canonical, size = checked_item(item)
    assert canonical == item
    assert size == item_size(item)


@pytest.mark.parametrize(
    "members",
    [
        [{"N": str(number)} for number in range(-9, 100)],
        [{"N": str(number)} for number in range(150)],
        [{"S": "é" * (number % 3)} for number in range(100)],
        [{"N": "1"}] * 99 + [{"S": "x"}],
        [{"S": "x"}] * 99 + [{"L": [{"N": "1"}] * 70}],
    ],
)
def test_a_long_list_weighs_what_its_members_do(members: list[Any]) -> None:
    size = 3 + len(members) + sum(map(value_size, members))
    assert value_size({"L": members}) == size
    assert checked({"L": members}) == ({"L": members}, size)


@given(st.lists(st.sampled_from(["1", "01", "1.0", "-0", "123456", "1e2"]), min_size=LONG_LIST, max_size=LONG_LIST))
def test_a_long_list_becomes_canonical(numbers: list[str]) -> None:
    one_by_one = [checked({"N": number}) for number in numbers]
    canonical, size = checked({"L": [{"N": number} for number in numbers]})
    assert canonical == {"L": [value for value, _ in one_by_one]}
    assert size == 3 + len(numbers) + sum(size for _, size in one_by_one)


def test_a_member_of_two_types_is_refused_in_a_long_list_as_well() -> None:
    with pytest.raises(RequestValidationException, match="more than one datatypes"):
        checked({"L": [{"N": "1"}] * 100 + [{"N": "1", "S": "x"}]})
