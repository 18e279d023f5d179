"""Moves: a change of the primary key is one transaction; at no instant are there two items, or none."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from tablewright.model import FieldCondition, ModelError, attr
from tablewright.store import AlreadyExists, ConditionFailed, NotFound, NotUnique, ReadRequired, Store, VersionConflict
from tests.store.bench import Bench
from tests.store.members import Line, Slot, everything, people
from tests.store.models import Call, CallStatus, Event, calls
from tests.store.recording_backend import watched

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
MONDAY, TUESDAY = date(2026, 1, 5), date(2026, 1, 6)


@pytest.fixture
def call(written: Bench) -> Call:
    return written.store.create(Call(user_id="u-1", call_id="c-1", provider_id="p-1", scheduled_for=JANUARY))


def only_call(bench: Bench) -> Call:
    (item,) = [item for item in everything(bench, calls) if not calls.is_internal(item)]
    return Call.of(item)


def test_rescheduling_moves_the_item(written: Bench, call: Call) -> None:
    later = JANUARY + timedelta(days=2)
    written.store.update(call, attr(Call.scheduled_for).set(later))
    assert (call.scheduled_for, call.version) == (later, 2)
    assert only_call(written) == call
    assert written.store.get(Call.by_id(call_id="c-1")) == call
    assert written.store.get(Call.itself(user_id="u-1", scheduled_for=JANUARY, call_id="c-1"), consistent=True) is None


def test_reassigning_moves_the_item_with_all_its_index_keys(written: Bench, call: Call) -> None:
    written.store.update(
        Call.by_id(call_id="c-1"), attr(Call.user_id).set("u-2"), attr(Call.status).set(CallStatus.COMPLETED)
    )
    moved = only_call(written)
    assert (moved.user_id, moved.version) == ("u-2", 2)
    assert written.store.query(Call.completed(user_id="u-2")).items == [moved]
    assert written.store.query(Call.upcoming(user_id="u-1")).items == []


def test_a_move_is_a_single_transaction(written: Bench, call: Call) -> None:
    store, backend = watched(written)
    store.update(call, attr(Call.scheduled_for).set(JANUARY + timedelta(days=2)))
    assert backend.operations == ["TransactWriteItems"]


def test_a_value_that_stays_the_same_moves_nothing(written: Bench, call: Call) -> None:
    store, backend = watched(written)
    store.update(call, attr(Call.scheduled_for).set(JANUARY), attr(Call.user_id).set("u-1"), attr(Call.minutes).set(4))
    assert backend.operations == ["UpdateItem"]
    assert only_call(written).minutes == 4


def test_a_time_may_change_within_the_day_that_is_in_the_key(written: Bench) -> None:
    event = written.store.create(Event(ticket_id="t-1", at=JANUARY, sequence=1))
    store, backend = watched(written)
    store.update(event, attr(Event.at).set(JANUARY + timedelta(hours=3)))
    store.update(event, attr(Event.at).set(JANUARY + timedelta(days=3)))
    assert backend.operations == ["GetItem", "UpdateItem", "GetItem", "TransactWriteItems"]


def test_a_stale_version_does_not_move(written: Bench, call: Call) -> None:
    stale = call.model_copy()
    written.store.update(call, attr(Call.minutes).set(1))
    with pytest.raises(VersionConflict, match="expected version 1, found 2"):
        written.store.update(stale, attr(Call.scheduled_for).set(JANUARY + timedelta(days=2)))
    assert only_call(written) == call


def test_moving_an_item_that_was_moved_already_is_a_version_conflict(written: Bench, call: Call) -> None:
    stale = call.model_copy()
    written.store.update(call, attr(Call.scheduled_for).set(JANUARY + timedelta(days=2)))
    with pytest.raises(VersionConflict, match="the item no longer exists"):
        written.store.update(stale, attr(Call.scheduled_for).set(JANUARY + timedelta(days=3)))


def test_a_move_onto_another_item_is_refused(written: Bench) -> None:
    slot = written.store.create(Slot(day=MONDAY, slot_id="s"))
    written.store.create(Slot(day=TUESDAY, slot_id="s", hour=17))
    with pytest.raises(AlreadyExists, match="Slot day 2026-01-06, slot_id s already exists"):
        written.store.update(slot, attr(Slot.day).set(TUESDAY))
    assert slot.day == MONDAY
    assert len(everything(written, people)) == 2


def test_the_guard_of_a_unique_value_is_handed_over(written: Bench) -> None:
    slot = written.store.create(Slot(day=MONDAY, slot_id="s", guest="Ada"))
    written.store.update(slot, attr(Slot.day).set(TUESDAY))
    written.store.update(slot, attr(Slot.day).set(MONDAY), attr(Slot.guest).set("Bea"))
    with pytest.raises(NotUnique, match="Slot: guest Bea is already taken"):
        written.store.create(Slot(day=TUESDAY, slot_id="t", guest="Bea"))
    written.store.create(Slot(day=TUESDAY, slot_id="t", guest="Ada"))


def test_a_move_to_a_value_that_is_taken_is_refused(written: Bench) -> None:
    written.store.create(Slot(day=MONDAY, slot_id="s", guest="Ada"))
    slot = written.store.create(Slot(day=MONDAY, slot_id="t", guest="Bea"))
    with pytest.raises(NotUnique):
        written.store.update(slot, attr(Slot.day).set(TUESDAY), attr(Slot.guest).set("Ada"))
    assert len(everything(written, people)) == 4


def test_without_a_version_nothing_that_others_write_is_lost(written: Bench) -> None:
    slot = written.store.create(Slot(day=MONDAY, slot_id="s", guest="Ada"))
    store, backend = watched(written)
    itself = Slot.itself(day=MONDAY, slot_id="s")
    backend.before["TransactWriteItems"] = lambda: written.store.update(itself, attr(Slot.hour).set(17))
    store.update(slot, attr(Slot.day).set(TUESDAY))
    assert backend.operations == ["GetItem", "TransactWriteItems", "TransactWriteItems"]
    assert (slot.day, slot.hour, slot.guest) == (TUESDAY, 17, "Ada")


def test_unknown_attributes_move_along(written: Bench) -> None:
    slot = Slot(day=MONDAY, slot_id="s")
    written.save_item(people, {**slot.item(), "note": {"S": "keep"}})
    written.store.update(slot, attr(Slot.day).set(TUESDAY))
    (item,) = everything(written, people)
    assert item["note"] == {"S": "keep"}


def test_arithmetic_on_the_primary_key_moves(written: Bench) -> None:
    line = written.store.create(Line(order_id="o-1"))
    written.store.create(Line(order_id="o-1"))
    written.store.delete(Line.itself(order_id="o-1", number=2))
    assert (
        written.store.update(
            Line.itself(order_id="o-1", number=1), attr(Line.number).add(1), attr(Line.text).set("x")
        ).number
        == 2
    )
    assert line.number == 1


@pytest.mark.parametrize("expect", [None, attr(Slot.hour) == 9], ids=str)
def test_a_move_by_lookup_reads_first(written: Bench, expect: FieldCondition | None) -> None:
    lookup = Slot.itself(day=MONDAY, slot_id="s")
    with pytest.raises(NotFound):
        written.store.update(lookup, attr(Slot.day).set(TUESDAY), expect=expect)
    written.store.create(Slot(day=MONDAY, slot_id="s"))
    strict = Store(written.backend, clock=written.clock, table_names=written.names, strict=True)
    with pytest.raises(ReadRequired):
        strict.update(lookup, attr(Slot.day).set(TUESDAY), expect=expect)
    assert written.store.update(lookup, attr(Slot.day).set(TUESDAY), expect=expect).day == TUESDAY


def test_a_move_under_a_condition(written: Bench) -> None:
    slot = written.store.create(Slot(day=MONDAY, slot_id="s"))
    with pytest.raises(ConditionFailed, match="hour = 10 does not hold: hour is 9"):
        written.store.update(slot, attr(Slot.day).set(TUESDAY), expect=attr(Slot.hour) == 10)


def test_a_key_cannot_be_taken_away(written: Bench, call: Call) -> None:
    with pytest.raises(ModelError, match="without call_id"):
        written.store.update(call, attr(Call.call_id).remove())
    assert only_call(written) == call
