"""Consumers of one name share the shards of a stream: who comes gets some, who goes leaves them to the others."""

from __future__ import annotations

from collections import Counter

import pytest

from tablewright.store.streams.checkpoint import CheckpointTable
from tablewright.store.streams.consumer import Consumer
from tests.store.streams.counted_tickets import Desk, metrics
from tests.store.streams.split_stream import SplitStream

pytestmark = pytest.mark.requirement("SH8")


def consumers(desk: Desk, number: int, shards: int) -> list[Consumer]:
    return [desk.consumer(store=desk.another_store(SplitStream(desk.backend, shards))) for _ in range(number)]


def owners(desk: Desk) -> list[int]:
    """How many shards each consumer has, those with the most first."""
    checkpoint = CheckpointTable.of(metrics).checkpoint
    found = [each.owner for each in desk.store.iterate(checkpoint.of_consumer(consumer="metrics"), consistent=True)]
    return sorted(Counter(owner for owner in found if owner is not None).values(), reverse=True)


def rounds(desk: Desk, workers: list[Consumer], number: int) -> int:
    """Let everybody have a turn, so many times; how many records were processed."""
    done = 0
    for _ in range(number):
        done += sum(worker.run_once().records for worker in workers)
        desk.clock.now += 5
    return done


@pytest.mark.parametrize(
    ("shards", "number", "expected"),
    [(4, 2, [2, 2]), (4, 3, [2, 1, 1]), (6, 3, [2, 2, 2]), (5, 2, [3, 2]), (1, 3, [1]), (2, 3, [1, 1])],
)
def test_who_comes_later_gets_as_many_shards_as_the_others(
    desk: Desk, shards: int, number: int, expected: list[int]
) -> None:
    first, *others = consumers(desk, number, shards)
    desk.put(*map(str, range(20)))
    assert first.run_once().records == 20
    assert owners(desk) == [shards]
    rounds(desk, [first, *others], 2 * shards + 2)
    assert owners(desk) == expected
    desk.put(*map(str, range(20)), status="closed")
    # Nothing changes hands any more, and nothing is left out or counted twice.
    before = owners(desk)
    assert rounds(desk, [first, *others], 3) == 20
    assert owners(desk) == before
    assert desk.counters() == desk.truth() == {"closed": 20}


def test_changes_go_on_to_count_once_while_shards_change_hands(desk: Desk) -> None:
    first, *others = consumers(desk, 3, 6)
    number = 0
    for turn in range(14):
        desk.put(*(f"{turn}-{each}" for each in range(7)))
        number += 7
        (first.run_once() if turn < 2 else rounds(desk, [first, *others], 1))
    rounds(desk, [first, *others], 2)
    assert owners(desk) == [2, 2, 2]
    assert desk.counters() == {"open": number}


def test_shards_of_one_who_has_asked_and_died_come_back(desk: Desk) -> None:
    first, second = consumers(desk, 2, 4)
    desk.put(*map(str, range(20)))
    first.run_once()
    # It asks for one, and is gone.
    second.run_once()
    desk.put(*map(str, range(20)), status="closed")
    first.run_once()
    assert owners(desk) == [3, 1]
    desk.clock.now += 61
    first.run_once()
    assert owners(desk) == [4]
    assert desk.counters() == {"closed": 20}


def test_shards_of_one_who_leaves_are_taken_at_once(desk: Desk) -> None:
    workers = consumers(desk, 2, 4)
    desk.put(*map(str, range(20)))
    rounds(desk, workers, 8)
    assert owners(desk) == [2, 2]
    workers[0].release()
    desk.put(*map(str, range(20)), status="closed")
    assert rounds(desk, workers[1:], 1) == 20
    assert owners(desk) == [4]
