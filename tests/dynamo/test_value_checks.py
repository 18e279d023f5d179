"""Attribute values: what is accepted, and what it becomes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tablewright.dynamo import (
    NESTED_TOO_DEEPLY,
    RequestValidationException,
    SerializationException,
    checked,
    checked_item,
    plain_size,
    text_size,
)
from tests.dynamo.value_problems import problem
from tests.dynamo.value_strategies import items


def test_a_value_has_exactly_one_type() -> None:
    assert problem({}) == ("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    assert problem({"S": "a", "N": "1"}) == (
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )
    # What is wrong with one of them is said first.
    assert problem({"S": "a", "N": "x"}) == "The parameter cannot be converted to a numeric value: x"


INVALID = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"SS": []}, INVALID + "An string set  may not be empty"),
        ({"NS": []}, INVALID + "An number set  may not be empty"),
        ({"BS": []}, INVALID + "Binary sets should not be empty"),
        ({"SS": ["a", "b", "a"]}, INVALID + "Input collection [a, b, a] contains duplicates."),
        ({"BS": ["Yg==", "Yg=="]}, INVALID + "Input collection [Yg==, Yg==]of type BS contains duplicates."),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
    ],
)
def test_values_that_put_and_update_count_out(value: dict[str, Any], message: str) -> None:
    for nested in (value, {"L": [value]}, {"M": {"a": value}}):
        with pytest.raises(RequestValidationException) as caught:
            checked(nested)
        assert caught.value.message == message


def test_empty_text_binary_list_and_map_are_values() -> None:
    empty: list[dict[str, Any]] = [{"S": ""}, {"B": ""}, {"L": []}, {"M": {}}, {"SS": [""]}]
    for value in empty:
        assert checked(value)[0] is value


def test_a_canonical_value_is_the_same_object_and_another_is_a_copy() -> None:
    given = {"M": {"a": {"L": [{"N": "1"}, {"N": "2"}]}}}
    assert checked(given)[0] is given
    uneven: dict[str, Any] = {"M": {"a": {"L": [{"N": "1.0"}, {"NS": ["2.0", "1"]}]}, "b": {"S": "x"}}}
    assert checked(uneven)[0] == {"M": {"a": {"L": [{"N": "1"}, {"NS": ["1", "2"]}]}, "b": {"S": "x"}}}
    assert uneven["M"]["a"]["L"][0] == {"N": "1.0"}


@pytest.mark.parametrize("kind", ["L", "M"])
@pytest.mark.parametrize("leaf", [{"S": "x"}, {"N": "1"}, {"BOOL": True}, {"NULL": True}, {"SS": ["a"]}, {"L": []}])
def test_a_value_may_lie_31_levels_deep(kind: str, leaf: dict[str, Any]) -> None:
    def nested(levels: int) -> dict[str, Any]:
        value = leaf
        for _ in range(levels):
            value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
        return value

    checked(nested(31))
    assert problem(nested(32)) == NESTED_TOO_DEEPLY


def test_text_that_json_could_not_carry() -> None:
    bad: Any
    for bad in ("\ud800", "a\udfff", 1, b"x", None):
        with pytest.raises(SerializationException):
            text_size(bad)
        with pytest.raises(SerializationException):
            checked_item({bad: {"S": "x"}})
        with pytest.raises(SerializationException):
            checked({"M": {bad: {"S": "x"}}})


@given(items)
def test_a_plain_item_is_measured_in_one_walk(item: dict[str, Any]) -> None:
    size = plain_size(item)
    assert size is None or (item, size) == checked_item(item)


@pytest.mark.parametrize(
    "value",
    [
        {"S": ""},
        {"S": "é"},
        {"N": "-1.5"},
        {"BOOL": False},
        {"NULL": True},
        {"M": {}},
        {"M": {"é": {"L": [{"S": "é"}, {"N": "100"}, {"M": {"a": {"NULL": True}}}]}}},
    ],
)
def test_most_items_are_plain(value: dict[str, Any]) -> None:
    item = {"pk": {"S": "a"}, "value": value}
    assert plain_size(item) == checked_item(item)[1]


@pytest.mark.parametrize(
    "item",
    [
        None,
        [],
        {"": {"S": "a"}},
        {1: {"S": "a"}},
        {"a": {}},
        {"a": None},
        {"a": {"S": "a", "N": "1"}},
        {"a": {"S": None}},
        {"a": {"S": b"a"}},
        {"a": {"S": "\ud800"}},
        {"\ud800": {"S": "a"}},
        {"a": {"N": 1}},
        {"a": {"N": b"1"}},
        {"a": {"N": "1.0"}},
        {"a": {"N": "x"}},
        {"a": {"NULL": False}},
        {"a": {"BOOL": 1}},
        {"a": {"M": []}},
        {"a": {"M": {"": {"S": "a"}}}},
        {"a": {"L": ""}},
        {"a": {"L": {}}},
        {"a": {"L": ({"S": "a"},)}},
        {"a": {"L": [None]}},
        {"a": {"X": "a"}},
        {"a": {"SS": "a"}},
        {"a": {"S": "x" * 70_000}},
    ],
)
def test_all_others_are_not(item: Any) -> None:
    assert plain_size(item) is None
