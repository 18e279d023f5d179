"""Values in results and charts are text, whatever is in them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tablewright.studio.observe.result_parts import is_number, shown_value


@pytest.mark.requirement("ST5")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (12345, "12345"),
        (1234.5, "1,234.5"),
        (Decimal("19.90"), "19.90"),
        (b"\x01\xff", "01 ff"),
        (datetime(2026, 11, 1, 9, 30, tzinfo=UTC), "2026-11-01 09:30:00+00:00"),
        (date(2026, 11, 1), "2026-11-01"),
        (["a", 1], "['a', 1]"),
    ],
)
def test_values_on_one_line(value: Any, shown: str) -> None:
    assert shown_value(value) == shown


def test_truth_is_not_a_number() -> None:
    assert is_number(1)
    assert is_number(Decimal(1))
    assert not is_number(True)
    assert not is_number("1")
