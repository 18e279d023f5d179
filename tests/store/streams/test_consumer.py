"""A consumer runs until it is told to stop, in a thread or an event loop, with notes in a table of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tablewright.model import ModelError, Table
from tablewright.store import AsyncStore, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response, Sleep
from tablewright.store.streams.async_consumer import AsyncConsumer
from tablewright.store.streams.change_records import AnyChange
from tablewright.store.streams.consumer import Consumer
from tablewright.store.streams.consumer_settings import PassResult
from tablewright.store.streams.effects import Effects
from tests.store.streams.counted_tickets import Counter, Desk, count, metrics, tickets


def test_it_runs_until_stopped_and_releases_its_leases(desk: Desk) -> None:
    stop = threading.Event()

    def handler(changes: Sequence[AnyChange], effects: Effects) -> None:
        count(changes, effects)
        stop.set()

    consumer = desk.consumer(handler, window=timedelta(0))
    thread = threading.Thread(target=consumer.run, args=(stop,), kwargs={"pause": 0.001})
    thread.start()
    desk.put("1")
    thread.join(10)
    assert not thread.is_alive()
    assert desk.counters() == {"open": 1}
    desk.put("2")
    assert desk.consumer().run_once().records == 1


def test_the_asynchronous_consumer_does_the_same(desk: Desk) -> None:
    async def main() -> None:
        store = AsyncStore.on(desk.engine, clock=desk.clock)
        stop = asyncio.Event()

        def handler(changes: Sequence[AnyChange], effects: Effects) -> None:
            count(changes, effects)
            if len(changes) == 1:
                stop.set()

        consumer = AsyncConsumer(store, tickets, handler, name="metrics", checkpoints=metrics, window=timedelta(0))
        desk.put("1", "2")
        assert (await consumer.run_once()).records == 2
        desk.put("3")
        await asyncio.wait_for(consumer.run(stop, pause=0.001), 10)
        await consumer.rebuild([Counter])
        assert await consumer.dead_letters() == []

    asyncio.run(main())
    assert desk.counters() == {"open": 3}


def test_checkpoints_need_a_text_key_of_two_parts() -> None:
    with pytest.raises(ModelError, match="need a text partition key and a text sort key"):
        Consumer(Store.open(), tickets, count, name="x", checkpoints=Table("One", "PK"))


def test_sleeping_is_a_step_of_the_flow_and_not_of_the_consumer(desk: Desk) -> None:
    """A retry asks its driver to wait, so that a test (or a simulation) can decide how long that is."""

    def broken(changes: Sequence[AnyChange], effects: Effects) -> None:
        raise ValueError("no")

    desk.put("1")
    flow = desk.consumer(broken)._worker.run_pass(flush=True)
    waits = 0
    answer: Any = None
    try:
        while True:
            step = flow.send(answer)
            answer = None if isinstance(step, Sleep) else desk.backend.call(step)
            waits += isinstance(step, Sleep)
    except StopIteration:
        assert waits == 3


def test_checkpoints_cannot_be_in_the_table_whose_stream_is_read(desk: Desk) -> None:
    """Each note would be a change to be noted: the consumer would never come to an end."""
    with pytest.raises(
        ModelError, match=r"metrics: checkpoints cannot be stored in table 'Tickets', whose stream the consumer reads"
    ):
        Consumer(desk.store, tickets, count, name="metrics", checkpoints=tickets)


@pytest.mark.parametrize("kind", ["function", "object"])
def test_a_handler_that_would_have_to_be_awaited_is_refused(desk: Desk, kind: str) -> None:
    async def handler(changes: Sequence[AnyChange], effects: Effects) -> None:
        count(changes, effects)

    class Handler:
        async def __call__(self, changes: Sequence[AnyChange], effects: Effects) -> None:
            count(changes, effects)

    chosen: Any = handler if kind == "function" else Handler()
    with pytest.raises(ModelError, match="metrics: the handler of a consumer only adds effects, and is not awaited"):
        desk.consumer(chosen)
    with pytest.raises(ModelError, match="use a plain function, without async"):
        AsyncConsumer(AsyncStore.on(desk.engine), tickets, chosen, name="metrics", checkpoints=metrics)


def test_while_others_write_a_pass_reads_a_page_and_not_until_there_is_no_more(desk: Desk) -> None:
    """Each further page would have the few records that were written since: requests without an end."""
    reads = 0
    number = 0
    stop = threading.Event()

    class Busy(EmbeddedBackend):
        """Somebody writes between any two requests."""

        def call(self, request: Request) -> Response:
            nonlocal reads, number
            if request.operation == "GetRecords":
                reads += 1
                for _ in range(3):
                    number += 1
                    desk.put(str(number))
            return super().call(request)

    def count_passes(result: PassResult) -> None:
        if result.records:
            stop.set()

    consumer = Consumer(
        Store(Busy(desk.engine, owned=False), clock=desk.clock),
        tickets,
        count,
        name="metrics",
        checkpoints=metrics,
        window=timedelta(0),
    )
    consumer.run(stop, pause=0.001, on_pass=count_passes)
    assert reads == 1
    assert desk.counters() == {"open": 3}


def test_a_page_that_is_full_of_large_records_is_not_the_last_of_a_pass(desk: Desk) -> None:
    """A page has a megabyte at most: a page per pass would be few records in a second."""
    for number in range(20):
        item = {"PK": f"TICKET#{number}", "SK": "TICKET", "kind": "Ticket", "ticket_id": str(number), "status": "open"}
        item["pad"] = "x" * 300_000
        values = {name: {"S": value} for name, value in item.items()}
        desk.engine.call("PutItem", {"TableName": "Tickets", "Item": values})
    stop = threading.Event()
    records: list[int] = []

    def count_passes(result: PassResult) -> None:
        records.append(result.records)
        stop.set()

    desk.consumer(window=timedelta(0)).run(stop, on_pass=count_passes)
    assert records == [20]
    assert desk.counters() == {"open": 20}
