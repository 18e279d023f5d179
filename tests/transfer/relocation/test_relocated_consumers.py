"""Consumers go on when tables move: each change is handled once, whichever place has it."""

from __future__ import annotations

import asyncio

import pytest

from tablewright.store import Consumer, EndpointBackend, Store, SwitchedBackend
from tests.store.streams.counted_tickets import Counter, Ticket, count, metrics, tickets
from tests.transfer.relocation.served_places import running, served_places

pytestmark = [pytest.mark.requirement("SH6"), pytest.mark.timeout(120)]


def test_each_change_is_counted_once_across_a_cut_and_the_way_back() -> None:
    with served_places() as places:
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        first, second = (EndpointBackend("us-east-1", url, keys) for url in places.urls)
        with Store(SwitchedBackend(first, second)) as store:
            store.ensure_tables(tickets, metrics)
            staying = Consumer(store, tickets, count, name="metrics", checkpoints=metrics)
            made = 0

            def put(number: int) -> None:
                nonlocal made
                for _ in range(number):
                    store.put(Ticket(ticket_id=str(made)))
                    made += 1

            def counted() -> int:
                """What was counted, when there is nothing more to read."""
                while staying.run_once().records:
                    pass
                counter = store.get(Counter.named(name="open"))
                return 0 if counter is None else counter.count

            async def run() -> None:
                async with running(places, []) as relocation:
                    put(5)
                    assert await asyncio.to_thread(counted) == 5
                    # Not read before the tables move.
                    put(3)
                    assert (await relocation.ask("cut"))["done"]
                    put(4)
                    assert await asyncio.to_thread(counted) == 12
                    put(2)
                    assert (await relocation.ask("back"))["done"]
                    put(1)
                    assert await asyncio.to_thread(counted) == 15
                    assert await relocation.ask("finish") == {"done": True}
                put(1)
                assert await asyncio.to_thread(counted) == 16

            asyncio.run(run())
