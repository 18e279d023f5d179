"""Attribute values: what is accepted, what it becomes, and what it weighs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import (
    NESTED_TOO_DEEPLY,
    RequestValidationException,
    SerializationException,
    ValidationException,
    canonical_number,
    checked,
    checked_item,
    item_size,
    number_size,
    same_item,
    same_value,
    text_size,
    value_size,
)
from tablewright.engine.items.page_limits import page_size, page_size_bound


def problem(value: dict[str, Any]) -> str | None:
    with pytest.raises(ValidationException) as caught:
        checked(value)
    return caught.value.message


# -- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_as", "kept_as"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0e500", "0"),
        ("000.000", "0"),
        ("007", "7"),
        ("1.50", "1.5"),
        ("-1.50", "-1.5"),
        ("+5", "5"),
        ("+1.5e2", "150"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E2", "100"),
        ("1e+2", "100"),
        ("12e-1", "1.2"),
        ("120e-3", "0.12"),
        ("1" * 38, "1" * 38),
        ("1" * 38 + "000", "1" * 38 + "000"),
        ("0." + "0" * 129 + "1", "0." + "0" * 129 + "1"),
        ("1e-130", "0." + "0" * 129 + "1"),
        ("9.9e125", "99" + "0" * 124),
        ("1e0000000000000000000000002", "100"),
    ],
)
def test_a_number_has_one_form(given_as: str, kept_as: str) -> None:
    assert canonical_number(given_as) == kept_as
    assert canonical_number(kept_as) == kept_as


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "1x",
        " 1",
        "1 ",
        "1\n",
        "1_0",
        "1,5",
        "1.2.3",
        "1+2",
        "+-1",
        "--1",
        "e2",
        ".",
        "+",
        "1e",
        "\u0661",
        "NaN",
        "Infinity",
        "0x10",
    ],
)
def test_what_is_not_a_number(text: str) -> None:
    assert problem({"N": text}) == f"The parameter cannot be converted to a numeric value: {text}"


def test_an_empty_number_is_reported_without_its_text() -> None:
    assert problem({"N": ""}) == "The parameter cannot be converted to a numeric value"


OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_LONG = "Attempting to store more than 38 significant digits in a Number"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e126", OVERFLOW),
        ("-1e126", OVERFLOW),
        ("1e999999999999", OVERFLOW),
        ("0.1e127", OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("-1e-131", UNDERFLOW),
        ("1e-999999999999", UNDERFLOW),
        ("1" * 39, TOO_LONG),
        ("1." + "0" * 37 + "1", TOO_LONG),
    ],
)
def test_numbers_out_of_range(text: str, message: str) -> None:
    assert problem({"N": text}) == message


@given(st.decimals(allow_nan=False, allow_infinity=False, places=10, min_value=-(10**20), max_value=10**20))
def test_the_form_of_a_number_does_not_change_its_value(number: Decimal) -> None:
    text = canonical_number(str(number))
    assert Decimal(text) == number
    assert canonical_number(text) == text
    assert "E" not in text
    assert not text.startswith(("+", "00"))


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


# -- other values -------------------------------------------------------------------------------------------


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
    assert checked(uneven)[0] == {"M": {"a": {"L": [{"N": "1"}, {"NS": ["2", "1"]}]}, "b": {"S": "x"}}}
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
        ({"NS": ["1", "-20"]}, 5),
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


def test_text_that_json_could_not_carry() -> None:
    bad: Any
    for bad in ("\ud800", "a\udfff", 1, b"x", None):
        with pytest.raises(SerializationException):
            text_size(bad)
        with pytest.raises(SerializationException):
            checked_item({bad: {"S": "x"}})
        with pytest.raises(SerializationException):
            checked({"M": {bad: {"S": "x"}}})


# -- the size of a page -------------------------------------------------------------------------------------


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


values = st.recursive(
    st.one_of(
        st.builds(lambda text: {"S": text}, st.text(max_size=20)),
        st.builds(lambda number: {"N": str(number)}, st.integers(-(10**9), 10**9)),
        st.just({"NULL": True}),
        st.just({"BOOL": True}),
        st.just({"B": "AQ=="}),
        st.builds(lambda members: {"SS": sorted(members)}, st.sets(st.text(max_size=3), min_size=1, max_size=4)),
    ),
    lambda inner: st.one_of(
        st.builds(lambda members: {"L": members}, st.lists(inner, max_size=4)),
        st.builds(lambda members: {"M": members}, st.dictionaries(st.text(max_size=3), inner, max_size=4)),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=6))
def test_the_bound_of_a_page_size_is_one(item: dict[str, dict[str, Any]]) -> None:
    for sort_key in (None, *item):
        assert page_size(item, sort_key) <= page_size_bound(item_size(item))


@given(st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=6))
def test_checking_an_item_measures_it(item: dict[str, dict[str, Any]]) -> None:
    canonical, size = checked_item(item)
    assert canonical == item
    assert size == item_size(item)


# -- equality -----------------------------------------------------------------------------------------------


def test_sets_are_equal_in_any_order_and_lists_are_not() -> None:
    assert same_value({"SS": ["a", "b"]}, {"SS": ["b", "a"]})
    assert same_value({"L": [{"NS": ["1", "2"]}]}, {"L": [{"NS": ["2", "1"]}]})
    assert same_value({"M": {"a": {"BS": ["AQ==", "Ag=="]}}}, {"M": {"a": {"BS": ["Ag==", "AQ=="]}}})
    assert not same_value({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]})
    assert not same_value({"S": "1"}, {"N": "1"})
    assert not same_value({"SS": ["a"]}, {"SS": ["a", "b"]})
    assert not same_value({"M": {"a": {"S": "x"}}}, {"M": {"b": {"S": "x"}}})
    assert same_item({"a": {"SS": ["x", "y"]}}, {"a": {"SS": ["y", "x"]}})
    assert not same_item({"a": {"S": "x"}}, {"a": {"S": "x"}, "b": {"S": "x"}})
