"""Batches: how large they are, how long they wait, and what becomes of one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tablewright.store import NotFound, ServiceError, Unavailable
from tablewright.store.flow.driver import Request, Response
from tablewright.store.streams.change_records import AnyChange, Change, RawChange
from tablewright.store.streams.effects import Effects
from tablewright.store.write.put import Create
from tests.store.streams.counted_tickets import Desk, Event, Failing, Ticket, count


@pytest.mark.requirement("SU13")
def test_batches_are_of_the_given_size(desk: Desk) -> None:
    sizes: list[int] = []
    desk.put(*map(str, range(25)))
    desk.consumer(lambda changes, _: sizes.append(len(changes)), batch_size=10).run_once()
    assert sizes == [10, 10, 5]


@pytest.mark.requirement("SU13")
def test_a_small_batch_waits_until_its_window_is_over_and_a_full_one_does_not(desk: Desk) -> None:
    sizes: list[int] = []
    consumer = desk.consumer(lambda changes, _: sizes.append(len(changes)), batch_size=4)

    def step() -> None:
        consumer._store.run_flow(consumer._worker.run_pass(flush=False))

    desk.put("1", "2")
    step()
    desk.clock.now += 4
    step()
    assert sizes == []
    desk.clock.now += 1
    step()
    assert sizes == [2]
    desk.put("3", "4", "5", "6", "7")
    step()
    assert sizes == [2, 4]
    desk.clock.now += 5
    step()
    assert sizes == [2, 4, 1]


@pytest.mark.requirement("SU13")
def test_what_comes_while_a_small_batch_is_dealt_with_is_gathered_until_the_next_pass(desk: Desk) -> None:
    sizes: list[int] = []

    def busy(changes: Sequence[AnyChange], _: Effects) -> None:
        sizes.append(len(changes))
        if len(sizes) <= 2:
            desk.put(f"meanwhile-{len(sizes)}")

    consumer = desk.consumer(busy, batch_size=4, window=timedelta(0))
    desk.put("1", "2", "3", "4", "5", "6")
    for _ in range(2):
        consumer._store.run_flow(consumer._worker.run_pass(flush=False))
    assert sizes == [4, 3, 1]


def test_a_batch_is_split_before_the_handler_is_given_more_changes_than_it_takes(desk: Desk) -> None:
    sizes: list[int] = []
    desk.put(*map(str, range(25)))
    result = desk.consumer(lambda changes, _: sizes.append(len(changes)), batch_size=12, max_changes=5).run_once()
    assert sizes == [5, 5, 2, 5, 5, 2, 1]
    assert (result.records, result.batches) == (25, 7)


def test_changes_that_are_filtered_out_do_not_count_when_a_batch_is_split(desk: Desk) -> None:
    given: list[list[str]] = []

    def note(changes: Sequence[AnyChange], _: Effects) -> None:
        given.append([change.key["PK"]["S"].removeprefix("TICKET#") for change in changes])

    def is_even(change: RawChange) -> bool:
        return int(change.key["PK"]["S"].removeprefix("TICKET#")) % 2 == 0

    desk.put(*map(str, range(10)))
    assert desk.consumer(note, max_changes=2, change_filter=is_even).run_once().records == 10
    assert given == [["0", "2"], ["4", "6"], ["8"]]


def test_a_checkpoint_is_written_after_each_part_of_a_batch(desk: Desk) -> None:
    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if any(change.key["PK"]["S"] == "TICKET#7" for change in changes):
            raise Unavailable("not now")
        count(changes, effects)

    desk.put(*map(str, range(10)))
    consumer = desk.consumer(choosy, max_changes=3)
    with pytest.raises(Unavailable):
        consumer.run_once()
    assert desk.counters() == {"open": 6}
    consumer.release()
    assert desk.consumer(max_changes=3).run_once().records == 4
    assert desk.counters() == {"open": 10}


@pytest.mark.requirement("SU13")
def test_a_failing_batch_is_cut_down_to_the_record_that_is_to_blame(any_desk: Desk) -> None:
    desk = any_desk
    calls: list[int] = []

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        calls.append(len(changes))
        if any(change.key["PK"]["S"] == "TICKET#6" for change in changes):
            raise ValueError("not this one")
        count(changes, effects)

    desk.put(*map(str, range(10)))
    consumer = desk.consumer(choosy)
    done = consumer.run_once()
    assert (done.records, done.dead_letters) == (10, 1)
    assert desk.counters() == {"open": 9}
    # Once in each batch that it was part of, and then four times alone: once, and three times again.
    assert calls.count(1) >= 4
    (letter,) = consumer.dead_letters()
    assert letter.error == "ValueError: not this one"
    assert letter.attempts == 4
    assert "TICKET#6" in letter.record


@pytest.mark.requirement("SU13")
def test_without_bisecting_the_whole_batch_becomes_dead_letters(desk: Desk) -> None:
    calls: list[int] = []

    def broken(changes: Sequence[AnyChange], effects: Effects) -> None:
        calls.append(len(changes))
        raise ValueError("no")

    desk.put(*map(str, range(25)))
    consumer = desk.consumer(broken, bisect=False, retries=2)
    assert consumer.run_once().dead_letters == 25
    assert calls == [25, 25, 25]
    assert len(consumer.dead_letters()) == 25
    assert consumer.run_once().records == 0


def test_effects_that_are_refused_are_the_fault_of_the_record(desk: Desk) -> None:
    def once_only(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in changes:
            assert isinstance(change, Change)
            assert isinstance(change.after, Ticket)
            effects.do(Create(Event(event_id=change.after.status)))

    desk.put("1", "2")
    consumer = desk.consumer(once_only)
    done = consumer.run_once()
    assert (done.records, done.dead_letters) == (2, 1)
    assert "already exists" in consumer.dead_letters()[0].error


@pytest.mark.requirement("SU13")
def test_a_dead_letter_can_be_replayed_and_counts_once(any_desk: Desk) -> None:
    desk = any_desk
    strict = True

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if strict:
            raise ValueError("not now")
        count(changes, effects)

    desk.put("1")
    consumer = desk.consumer(choosy, retries=0)
    consumer.run_once()
    (letter,) = consumer.dead_letters()
    with pytest.raises(ValueError, match="not now"):
        consumer.replay(letter)
    assert consumer.dead_letters() == [letter]
    strict = False
    consumer.replay(letter)
    assert consumer.dead_letters() == []
    with pytest.raises(NotFound):
        consumer.replay(letter)
    assert desk.counters() == {"open": 1}


def test_a_failure_of_the_service_makes_no_dead_letters(desk: Desk) -> None:
    class Down(Failing):
        def call(self, request: Request) -> Response:
            if request.operation == "TransactWriteItems":
                raise ServiceError("InternalServerError", "down")
            return self.backend.call(request)

    desk.put("1")
    store = desk.another_store(Down(desk.backend, 0, after=False))
    consumer = desk.consumer(store=store)
    with pytest.raises(ServiceError, match="down"):
        consumer.run_once()
    assert consumer.dead_letters() == []
    store.backend = desk.backend
    assert consumer.run_once().records == 1
    assert desk.counters() == {"open": 1}


def test_a_handler_that_lacks_something_waits_and_nothing_is_put_aside(desk: Desk) -> None:
    away = True

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        if away:
            raise Unavailable("the mail server cannot be reached")
        count(changes, effects)

    for number in range(5):
        desk.put(str(number))
    consumer = desk.consumer(handle)
    for _ in range(10):
        with pytest.raises(Unavailable, match="mail server"):
            consumer.run_once()
    away = False
    assert consumer.run_once().records == 5
    assert consumer.dead_letters() == []
    assert desk.counters() == {"open": 5}


def test_half_of_a_batch_that_was_committed_before_the_service_failed_counts_once(desk: Desk) -> None:
    class Flaky(Failing):
        """Fails for good from the second transaction on."""

        def call(self, request: Request) -> Response:
            self.left -= request.operation == "TransactWriteItems"
            if self.left <= 0 and request.operation == "TransactWriteItems":
                raise ServiceError("InternalServerError", "down")
            return self.backend.call(request)

    def one_at_a_time(changes: Sequence[AnyChange], effects: Effects) -> None:
        if len(changes) > 1:
            raise ValueError("too many")
        count(changes, effects)

    desk.put("1", "2", "3", "4")
    store = desk.another_store(Flaky(desk.backend, 3, after=False))
    consumer = desk.consumer(one_at_a_time, store=store)
    with pytest.raises(ServiceError, match="down"):
        consumer.run_once()
    assert desk.counters() == {"open": 2}
    store.backend = desk.backend
    assert consumer.run_once().records == 2
    assert desk.counters() == {"open": 4}
