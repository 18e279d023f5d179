"""Charts: scales of whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.ui.charts.svg_charts import nice_maximum

pytestmark = pytest.mark.requirement("AP5")


@given(st.floats(0, 1e9))
def test_the_top_of_a_scale_is_no_less_and_its_quarters_are_whole(value: float) -> None:
    top = nice_maximum(value)
    assert top >= value
    assert top % 4 == 0
    assert top <= max(4, 2.01 * value)
