"""Of the consumers of one name, one works on a shard; whoever was thought dead can do no harm."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

import pytest

from tablewright.engine import Engine
from tablewright.store import ServiceError, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.errors import Cancelled
from tablewright.store.flow.driver import Request, Response
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.consumer import Consumer
from tablewright.store.streams.effects import Effects
from tablewright.store.write.planning.executor import execute_all
from tests.clocks import Clock
from tests.store.streams.counted_tickets import Desk, Failing, Still, count, metrics, tickets


def test_one_who_knows_that_the_others_are_dead_need_not_wait_for_their_leases(any_desk: Desk) -> None:
    desk = any_desk
    desk.put("1")
    dead, alive = desk.consumer(), desk.consumer()
    dead.run_once()
    desk.put("2")
    assert alive.run_once().busy == 1
    alive.take_over()
    assert alive.run_once().records == 1
    # Should it not be dead after all, it does no harm.
    desk.put("3")
    assert (dead.run_once().records, alive.run_once().records) == (0, 1)
    assert desk.counters() == {"open": 3}


def test_two_consumers_of_one_name_do_not_work_on_one_shard(desk: Desk) -> None:
    desk.put("1")
    first, second = desk.consumer(), desk.consumer()
    first.run_once()
    desk.put("2")
    done = second.run_once()
    assert (done.records, done.busy) == (0, 1)
    desk.clock.now += 61
    assert second.run_once().records == 1
    assert first.run_once().busy == 1
    assert desk.counters() == {"open": 2}


def test_a_consumer_that_was_thought_dead_can_do_no_harm(desk: Desk) -> None:
    other: list[Consumer] = []

    def slow(changes: Sequence[AnyChange], effects: Effects) -> None:
        count(changes, effects)
        # It takes so long that another consumer takes the shard over and does the same work.
        desk.clock.now += 61
        other[0].run_once()

    desk.put("1", "2")
    other.append(desk.consumer())
    assert desk.consumer(slow).run_once().busy == 1
    assert desk.counters() == {"open": 2}


def test_a_lost_answer_to_a_commit_is_not_taken_for_a_lost_lease(desk: Desk) -> None:
    class Forgetful(Failing):
        def call(self, request: Request) -> Response:
            response = self.backend.call(request)
            if request.operation == "UpdateItem" and self.left:
                self.left -= 1
                if not self.left:
                    raise ServiceError("InternalServerError", "lost")
            return response

    desk.put("1", "2")
    # The first update takes the lease, the second one is the checkpoint of a batch without effects.
    consumer = desk.consumer(
        lambda changes, effects: None, store=desk.another_store(Forgetful(desk.backend, 2, after=True))
    )
    done = consumer.run_once()
    assert (done.records, done.busy) == (2, 0)


def test_consumers_that_keep_taking_a_shard_from_each_other_count_once() -> None:
    with Engine.open() as engine:
        backend = EmbeddedBackend(engine, owned=False)
        desk = Desk(backend, engine, Clock(0))
        stop = threading.Event()
        failures: list[Exception] = []

        def work(seed: int) -> None:
            # A lease is over before a batch is done, so that whoever comes next takes the shard away.
            store = Store(backend, entropy=Still(seed))
            try:
                lease = timedelta(milliseconds=2)
                consumer = Consumer(
                    store, tickets, count, name="metrics", checkpoints=metrics, batch_size=7, lease=lease
                )
                while not stop.is_set():
                    consumer.run_once()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(100, 104)]
        for thread in threads:
            thread.start()
        chance = random.Random(3)
        for _ in range(300):
            desk.put(str(chance.randrange(20)), status=chance.choice(["open", "closed"]))
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []
        time.sleep(0.01)
        Consumer(Store(backend), tickets, count, name="metrics", checkpoints=metrics).run_once()
        assert desk.counters() == desk.truth()


def test_a_checkpoint_moves_on_from_where_it_is_and_from_nowhere_else(desk: Desk) -> None:
    leases = desk.consumer()._worker.leases
    context = desk.store.context
    checkpoint = desk.store.run_flow(leases.acquire("stream", "shard"))
    assert checkpoint is not None
    desk.store.run_flow(execute_all(context, [leases.advance(checkpoint, "5")], "test"))
    with pytest.raises(Cancelled):
        desk.store.run_flow(execute_all(context, [leases.advance(checkpoint, "6")], "test"))
    stranger = desk.consumer()._worker.leases
    with pytest.raises(Cancelled):
        desk.store.run_flow(execute_all(context, [stranger.advance(leases.advanced(checkpoint, "5"), "6")], "test"))
