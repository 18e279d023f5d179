"""``relocate_to``: the store of a runtime goes where the switch says."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime, SettingsError
from tablewright.store import PlaceSwitch
from tablewright.wire import serve_in_thread
from tests.store.switch.switch_places import Places

pytestmark = pytest.mark.requirement("SH6")


def test_the_embedded_engine_does_not_move() -> None:
    with pytest.raises(SettingsError, match="TABLEWRIGHT_RELOCATE_TO is for an endpoint: serve the data folder"):
        Runtime.open(Settings.model_validate({"memory": True, "relocate_to": "aws:eu-west-1"}), [])


@pytest.mark.parametrize("place", ["", "ftp://somewhere", "./data", "aws:"])
def test_a_place_that_is_no_endpoint_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="relocate_to"):
        Settings.model_validate({"endpoint": "http://127.0.0.1:8000", "relocate_to": place})


def test_requests_of_a_system_go_by_the_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    places = Places()
    places.set(0, PlaceSwitch("moved", 2, frozenset({internal_table.name})))
    with ExitStack() as stack:
        for engine in places.engines:
            stack.callback(engine.close)
        first, second = (stack.enter_context(serve_in_thread(engine)) for engine in places.engines)
        settings = Settings.model_validate({"data": tmp_path, "endpoint": first, "relocate_to": second})
        runtime = Runtime.open(settings, [])
        stack.callback(runtime.close)
        runtime.sync_store.ensure_tables(internal_table)
        found = [internal_table.name in engine.call("ListTables", {})["TableNames"] for engine in places.engines]
        assert found == [False, True]
