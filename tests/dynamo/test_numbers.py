"""Numbers: what is accepted, and the one form that each has."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import (
    RequestValidationException,
    canonical_number,
    number_size,
)
from tablewright.dynamo.numbers import sized_number
from tests.dynamo.value_problems import problem


@pytest.mark.parametrize(
    ("given_as", "kept_as"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0e125", "0"),
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
        ("1e999999999", OVERFLOW),
        ("0e126", OVERFLOW),
        ("0.1e127", OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("-1e-131", UNDERFLOW),
        ("1e-999999999", UNDERFLOW),
        ("0e-131", UNDERFLOW),
        ("1" * 39, TOO_LONG),
        ("1." + "0" * 37 + "1", TOO_LONG),
    ],
)
def test_numbers_out_of_range(text: str, message: str) -> None:
    assert problem({"N": text}) == message


@pytest.mark.parametrize(
    ("text", "newer", "older"),
    [
        ("1e2147483646", OVERFLOW, OVERFLOW),
        # Its precision less its scale is no longer a number of 32 bits, and becomes a negative one.
        ("1e2147483647", OVERFLOW, UNDERFLOW),
        ("12e2147483646", OVERFLOW, UNDERFLOW),
        ("1e2147483648", OVERFLOW, None),
        ("1e2147483649", OVERFLOW, None),
        ("1e-2147483647", UNDERFLOW, UNDERFLOW),
        ("1e-2147483648", UNDERFLOW, None),
        ("1e9223372036854775807", OVERFLOW, None),
        ("1e-9223372036854775808", UNDERFLOW, None),
        ("1e9223372036854775808", None, None),
        ("1e" + "9" * 100_000, None, None),
    ],
)
def test_the_older_layer_of_checks_has_an_exponent_of_32_bits(text: str, newer: str | None, older: str | None) -> None:
    with pytest.raises(RequestValidationException) as caught:
        canonical_number(text)
    unknown = f"The parameter cannot be converted to a numeric value: {text}"
    assert caught.value.newer().message == (newer or unknown)
    assert caught.value.message == (older or unknown)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=10, min_value=-(10**20), max_value=10**20))
def test_the_form_of_a_number_does_not_change_its_value(number: Decimal) -> None:
    text = canonical_number(str(number))
    assert Decimal(text) == number
    assert canonical_number(text) == text
    assert "E" not in text
    assert not text.startswith(("+", "00"))


@given(st.one_of(st.integers().map(str), st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str)))
def test_a_number_is_measured_in_its_canonical_form(text: str) -> None:
    try:
        canonical = canonical_number(text)
    except RequestValidationException as refusal:
        with pytest.raises(RequestValidationException, match=refusal.message):
            sized_number(text)
    else:
        assert sized_number(text) == (canonical, number_size(canonical))


@pytest.mark.parametrize(
    "text", ["7", "10", "1200", "0", "00", "007", "\u0661", "\u00b2", "9" * 18, "9" * 19, "1" + "0" * 20]
)
def test_whole_numbers_are_measured_in_their_canonical_form(text: str) -> None:
    try:
        canonical = canonical_number(text)
    except RequestValidationException:
        with pytest.raises(RequestValidationException):
            sized_number(text)
    else:
        assert sized_number(text) == (canonical, number_size(canonical))
