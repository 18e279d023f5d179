"""What an engine meters for a studio: units of each table with its indexes, from when somebody starts it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tablewright.store import Store
from tablewright.studio.observe.engine_meter import heat_of, start_metering, stop_metering, units_by_table
from tests.studio.studio_browser import odd_requests

pytestmark = pytest.mark.requirement("ST1", "ST8")


def test_units_are_counted_by_table_while_it_is_metered() -> None:
    with Store.open() as store:
        engine = store.backend.engine  # type: ignore[attr-defined]
        for request in odd_requests():
            engine.call(*request)
        assert heat_of(engine) is None
        start_metering(engine)
        start_metering(engine)
        key = {"pk": {"S": "sets"}, "n": {"N": "6"}}
        engine.call("GetItem", {"TableName": "odd", "Key": key, "ConsistentRead": True})
        engine.call("DeleteItem", {"TableName": "odd", "Key": key})
        heat = heat_of(engine)
        assert heat is not None
        assert units_by_table(heat) == {"odd": (Decimal(1), Decimal(1))}, "each request once"
        stop_metering(engine)
        assert heat_of(engine) is None
