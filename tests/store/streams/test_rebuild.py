"""A rebuild makes everything anew, exactly, while the table is written to."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.store import InProgress, NotFound
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.errors import LeaseLost, RebuildUnfinished
from tablewright.store.flow.driver import Flow, Request, Response, run
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.effects import Effects
from tablewright.store.streams.rebuild import rebuild
from tests.clocks import Clock
from tests.store.streams.counted_tickets import Counter, Crash, Desk, Failing, count


def test_a_rebuild_makes_everything_anew(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1", "2", "3")
    desk.put("2", status="closed")
    consumer = desk.consumer()
    consumer.run_once()
    wrong = Counter(name="open", count=99).item()
    desk.call("PutItem", {"TableName": "Metrics", "Item": wrong})
    told: list[tuple[int, int]] = []
    consumer.rebuild([Counter], on_progress=lambda progress: told.append((progress.items, progress.estimated)))
    assert desk.counters() == desk.truth()
    assert told[-1] == (3, 3)
    desk.put("9")
    assert consumer.run_once().records == 1
    assert desk.counters() == desk.truth()


@pytest.mark.parametrize("seed", range(25))
def test_a_rebuild_is_exact_while_the_table_is_written_to(seed: int, clock: Clock) -> None:
    chance = random.Random(seed)

    def write_something(desk: Desk) -> None:
        for _ in range(chance.randrange(3)):
            ticket_id = str(chance.randrange(12))
            if chance.random() < 0.3:
                desk.remove(ticket_id)
            else:
                desk.put(ticket_id, status=chance.choice(["open", "closed"]))

    def interleaved(desk: Desk, flow: Flow[Any]) -> Flow[Any]:
        """The same flow, with other writers at work between any two of its steps, and small pages."""
        answer: Any = None
        steps = 0
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as end:
                return end.value
            steps += 1
            if steps < 80:
                write_something(desk)
            if isinstance(step, Request) and step.operation == "Scan":
                step = Request(step.operation, {**step.body, "Limit": 3})
            answer = yield step

    with Engine.open(clock=clock) as engine:
        desk = Desk(EmbeddedBackend(engine, owned=False), engine, clock)
        for _ in range(10):
            write_something(desk)
        consumer = desk.consumer(batch_size=chance.choice([1, 2, 5]))
        if chance.random() < 0.5:
            consumer.run_once()
        write_something(desk)
        run(interleaved(desk, rebuild(consumer._worker, [Counter], None, 0.0)), desk.backend)
        consumer.run_once()
        assert desk.counters() == desk.truth()


def test_a_rebuild_that_was_not_finished_must_be_begun_again(desk: Desk) -> None:
    desk.put("1", "2")
    consumer = desk.consumer()
    consumer.run_once()
    dying = desk.consumer(store=desk.another_store(Failing(desk.backend, 9, after=True)))
    with pytest.raises(Crash):
        dying.rebuild([Counter])
    assert consumer.run_once().busy == 1
    with pytest.raises(InProgress):
        consumer.rebuild([Counter])
    desk.clock.now += 61
    with pytest.raises(RebuildUnfinished):
        consumer.run_once()
    consumer.rebuild([Counter])
    consumer.run_once()
    assert desk.counters() == desk.truth()


def test_a_rebuild_that_was_thought_dead_can_do_no_harm(desk: Desk) -> None:
    class Halting(Failing):
        """Takes so long for the n-th call that another rebuild begins, and is done."""

        def call(self, request: Request) -> Response:
            self.left -= 1
            if self.left == 0:
                desk.clock.now += 61
                desk.consumer().rebuild([Counter])
            return self.backend.call(request)

    desk.put("1", "2", "3")
    overtaken = 0
    for at in range(2, 20):
        halting = Halting(desk.backend, at, after=False)
        try:
            desk.consumer(store=desk.another_store(halting)).rebuild([Counter])
        except LeaseLost:
            overtaken += 1
        assert desk.counters() == desk.truth(), at
    assert overtaken > 5


def test_a_rebuild_counts_what_dead_letters_tell_of_and_forgets_them(desk: Desk) -> None:
    strict = True

    def choosy(changes: Sequence[AnyChange], effects: Effects) -> None:
        if strict:
            raise ValueError("not now")
        count(changes, effects)

    desk.put("1", "2")
    consumer = desk.consumer(choosy, retries=0)
    consumer.run_once()
    letters = consumer.dead_letters()
    strict = False
    consumer.rebuild([Counter])
    assert consumer.dead_letters() == []
    with pytest.raises(NotFound):
        consumer.replay(letters[0])
    assert desk.counters() == {"open": 2}


def test_a_rebuild_takes_the_shards_from_others(desk: Desk) -> None:
    desk.put("1")
    worker = desk.consumer()
    worker.run_once()
    desk.put("2")
    desk.consumer().rebuild([Counter])
    assert worker.run_once().records == 0
    assert desk.counters() == {"open": 2}
