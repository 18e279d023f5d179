"""Numbers, amounts of money and sizes as text."""

from decimal import Decimal

import pytest

from tablewright.design.report.number_format import amount, units_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "-"),
        ("12.345", "12.35"),
        ("1234.5", "1,234.5"),
        ("0.5", "0.5"),
        ("0.123", "0.12"),
        ("0.0567", "0.057"),
        ("0.004234", "0.0042"),
        ("0.00000001234", "0.000000012"),
        ("0.0999", "0.1"),
    ],
)
def test_small_units_have_two_digits_that_say_something(number: str, text: str) -> None:
    assert units_text(Decimal(number)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [("0", "0"), ("1234.5", "1,234"), ("12.3456", "12.346"), ("0.0004321", "0.00043")],
)
def test_a_quantity_that_is_there_is_not_nothing(number: str, text: str) -> None:
    assert amount(Decimal(number)) == text
