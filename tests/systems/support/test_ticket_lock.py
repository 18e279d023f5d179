"""Those who write to one ticket take turns in a process, and get in by trying again from several."""

from __future__ import annotations

import asyncio
import time

import pytest

from tablewright.engine import Engine
from tablewright.runtime.errors import StateConflict
from tablewright.runtime.idempotency import UNKEYED
from tablewright.store import AsyncStore
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.systems.support import ticket_lock
from tablewright.systems.support.model import design
from tablewright.systems.support.service import Support
from tablewright.systems.support.ticket_lock import TicketLocks


@pytest.mark.requirement("SU5", "SU17")
def test_writers_of_several_processes_all_get_in() -> None:
    async def work(engine: Engine) -> list[int]:
        stores = [AsyncStore(EmbeddedBackend(engine, owned=False)) for _ in range(4)]
        await stores[0].ensure_tables(*design.tables)
        # Each has turns of its own, as each process has.
        desks = [Support(store, time.time) for store in stores]
        ticket = await desks[0].create_ticket("c", "It hums", UNKEYED)
        writes = [
            desk.add_event(ticket.ticket_id, "customer_called", {}, by=f"op_{number}")
            for desk in desks
            for number in range(40)
        ]
        return sorted(event.number for event in await asyncio.gather(*writes))

    with Engine.open() as engine:
        assert asyncio.run(work(engine)) == list(range(2, 162))


def test_locks_that_are_not_in_use_are_discarded() -> None:
    async def work() -> None:
        made = TicketLocks()
        async with made.of("t-1"), made.of("t-2"):
            assert len(made._locks) == 2
        assert len(made._locks) == 0

    asyncio.run(work())


def test_a_lock_that_cannot_be_had_in_time_is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticket_lock, "_TIMEOUT", 0.01)

    async def work() -> None:
        made = TicketLocks()
        async with made.of("t-1"):
            with pytest.raises(StateConflict, match="too many requests are writing to ticket t-1"):
                async with made.of("t-1"):
                    raise AssertionError("it is not its turn")

    asyncio.run(work())
