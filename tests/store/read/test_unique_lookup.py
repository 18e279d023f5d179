"""A unique field is read consistently through its guard, which an index cannot do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import Conflict
from tablewright.store.flow.driver import Request
from tests.store.bench import Bench
from tests.store.members import everything
from tests.store.models import Call, calls
from tests.store.recording_backend import watched

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
BY_ID = Call.by_id(call_id="c-1")


@pytest.fixture
def call(written: Bench) -> Call:
    return written.store.create(Call(user_id="u-1", call_id="c-1", provider_id="p-1", scheduled_for=JANUARY))


def test_a_unique_value_leads_to_its_item_by_two_reads_of_the_table(written: Bench, call: Call) -> None:
    store, backend = watched(written)
    assert store.get(BY_ID, consistent=True) == call
    assert backend.operations == ["GetItem", "GetItem"]
    assert store.get(Call.by_id(call_id="c-2"), consistent=True) is None


def test_an_item_that_is_moved_in_between_is_found_where_it_is(written: Bench, call: Call) -> None:
    store, backend = watched(written)

    def let_the_guard_be_read() -> None:
        backend.before["GetItem"] = lambda: written.store.update(call, attr(Call.user_id).set("u-2"))

    backend.before["GetItem"] = let_the_guard_be_read
    assert store.get(BY_ID, consistent=True) == call
    assert call.user_id == "u-2"
    assert backend.operations == ["GetItem"] * 4


def test_an_item_that_is_moved_all_the_time_is_a_conflict_and_not_missing(written: Bench, call: Call) -> None:
    store, backend = watched(written)

    def move_before_every_other() -> None:
        if len(backend.operations) % 2 == 0:
            written.store.update(call, attr(Call.scheduled_for).set(call.scheduled_for + timedelta(hours=1)))
        backend.before["GetItem"] = move_before_every_other

    backend.before["GetItem"] = move_before_every_other
    with pytest.raises(Conflict, match="Call call_id c-1 kept moving to another item while it was read; try again"):
        store.get(BY_ID, consistent=True)


def test_a_guard_that_outlived_its_item_leads_to_nothing(written: Bench, call: Call) -> None:
    key = {name: call.item()[name] for name in calls.key}
    written.backend.call(Request("DeleteItem", {"TableName": written.names[calls.name], "Key": key}))
    assert written.store.get(BY_ID, consistent=True) is None
    for guard in everything(written, calls):
        key = {name: guard[name] for name in calls.key}
        written.backend.call(Request("DeleteItem", {"TableName": written.names[calls.name], "Key": key}))


def test_other_reads_of_a_global_index_stay_eventually_consistent(written: Bench) -> None:
    with pytest.raises(ModelError, match="always eventually consistent"):
        written.store.query(Call.upcoming(user_id="u-1"), consistent=True)
