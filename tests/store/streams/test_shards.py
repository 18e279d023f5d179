"""Shards are read in order, new streams after old ones, and one who comes too late is told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tablewright.store.errors import RecordsLost
from tablewright.store.flow.driver import Request, Response
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.effects import Effects
from tests.store.streams.counted_tickets import Counter, Desk, Failing


def test_shards_are_read_in_order_and_their_checkpoints_forgotten_with_them(desk: Desk) -> None:
    seen: list[str] = []

    def note(changes: Sequence[AnyChange], effects: Effects) -> None:
        seen.extend(change.key["PK"]["S"] for change in changes)

    consumer = desk.consumer(note)
    for number in range(4):
        desk.put(str(number))
        desk.clock.now += 5 * 3600
        desk.engine.sweep()
    consumer.run_once()
    assert seen == [f"TICKET#{number}" for number in range(4)]
    assert len(desk.store.run_flow(consumer._worker.leases.load())) > 2
    desk.clock.now += 30 * 3600
    desk.engine.sweep()
    consumer.run_once()
    consumer.run_once()
    assert len(desk.store.run_flow(consumer._worker.leases.load())) <= 2


def test_a_consumer_that_is_too_late_gets_records_lost_and_can_rebuild(desk: Desk) -> None:
    consumer = desk.consumer()
    desk.put("1")
    consumer.run_once()
    desk.put("2", "3")
    desk.clock.now += 12 * 3600
    desk.put("4")
    desk.clock.now += 13 * 3600
    with pytest.raises(RecordsLost):
        consumer.run_once()
    consumer.rebuild([Counter])
    assert desk.counters() == desk.truth() == {"open": 4}
    desk.put("5")
    consumer.run_once()
    assert desk.counters() == desk.truth()


def test_a_consumer_whose_shard_has_expired_gets_records_lost_too(desk: Desk) -> None:
    consumer = desk.consumer()
    desk.put("1")
    consumer.run_once()
    desk.put("2")
    for _ in range(10):
        desk.clock.now += 5 * 3600
        desk.engine.sweep()
    desk.put("3")
    with pytest.raises(RecordsLost):
        consumer.run_once()
    assert consumer.skip_lost() == 1
    assert consumer.skip_lost() == 0
    consumer.run_once()
    assert desk.counters() == {"open": 2}
    consumer.rebuild([Counter])
    assert desk.counters() == desk.truth() == {"open": 3}


def test_one_who_was_trimmed_can_go_on_with_what_is_left(desk: Desk) -> None:
    consumer = desk.consumer()
    desk.put("1")
    consumer.run_once()
    desk.put("2")
    desk.clock.now += 12 * 3600
    desk.put("3")
    desk.clock.now += 13 * 3600
    with pytest.raises(RecordsLost):
        consumer.run_once()
    assert consumer.skip_lost() == 1
    assert consumer.run_once().records == 1


def test_a_stream_that_is_switched_on_anew_comes_after_the_old_one(any_desk: Desk) -> None:
    desk = any_desk
    seen: list[str] = []

    def note(changes: Sequence[AnyChange], effects: Effects) -> None:
        seen.extend(change.key["PK"]["S"] for change in changes)

    consumer = desk.consumer(note)
    desk.put("1")
    consumer.run_once()
    desk.put("2")
    desk.renew_stream()
    desk.put("3")
    consumer.run_once()
    assert seen == ["TICKET#1", "TICKET#2", "TICKET#3"]


def test_a_new_stream_is_not_begun_while_another_consumer_works_on_the_old_one(desk: Desk) -> None:
    first, second = desk.consumer(), desk.consumer()
    desk.put("1")
    first.run_once()
    desk.put("2")
    desk.renew_stream()
    desk.put("2", status="closed")
    assert (second.run_once().records, second.run_once().busy) == (0, 1)
    first.run_once()
    assert desk.counters() == desk.truth() == {"open": 1, "closed": 1}


def test_shards_of_others_are_not_asked_for_again_and_again(desk: Desk) -> None:
    asked: list[str] = []

    class Counting(Failing):
        def call(self, request: Request) -> Response:
            asked.append(request.operation)
            return self.backend.call(request)

    first = desk.consumer()
    first.run_once()
    second = desk.consumer(store=desk.another_store(Counting(desk.backend, 0, after=False)))
    for _ in range(5):
        assert second._store.run_flow(second._worker.run_pass(flush=False)).busy == 1
    assert asked == ["Query", "DescribeTable", "DescribeStream"]
