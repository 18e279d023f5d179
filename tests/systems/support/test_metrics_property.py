"""Support's metrics equal a recount of the table, whatever happened to the tickets and to those who count.

A history is made of things that happen to tickets and of consumers that come and go. Consumers, two at a time by
mistake, and rebuilds are flows that go on by one request at a time, in any order, with writes between; each can die at
any request, before it takes effect or after, and any of them can take so long that it is thought dead.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.runtime.idempotency import UNKEYED
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import (
    AsyncStore,
    Consumer,
    RebuildUnfinished,
    ServiceError,
    Store,
    StoreError,
)
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Flow, Sleep
from tablewright.store.streams.rebuild import rebuild
from tablewright.systems.support.maintenance_jobs import CONSUMER
from tablewright.systems.support.metric_counters import NAMES, WRITTEN, contribution, count
from tablewright.systems.support.model import FOLLOWING, Feedback, Metric, Status, Ticket, design, tickets
from tablewright.systems.support.service import Support
from tablewright.systems.support.trends.metric_check import verify_metrics
from tests.examples import examples

LEASE = timedelta(seconds=30)
EVENTS = ["create", "create", "move", "move", "move", "escalate", "feedback", "delete", "withdraw", "expire"]


class Still(random.Random):
    """Chance that never waits."""

    def uniform(self, a: float, b: float) -> float:
        return 0.0


class Office:
    """Support on an engine in memory, with a time that passes when somebody says so."""

    def __init__(self, engine: Engine, runner: asyncio.Runner, chance: random.Random, clock: list[float]) -> None:
        self.engine = engine
        self.chance = chance
        self.clock = clock
        self._runner = runner
        self.store = self.another_store()
        self.store.ensure_tables(internal_table, *design.tables)
        backend = EmbeddedBackend(engine, owned=False)
        self.support = Support(AsyncStore(backend, clock=self.time, entropy=Still(0)), self.time)
        self.tickets: dict[str, Status] = {}
        self.feedback: list[Feedback] = []

    def time(self) -> float:
        return self.clock[0]

    def another_store(self) -> Store:
        # Each has chances of its own, or all consumers would take themselves for one and the same.
        own = Still(self.chance.getrandbits(64))
        return Store(EmbeddedBackend(self.engine, owned=False), clock=self.time, entropy=own)

    def consumer(self) -> Consumer:
        size = self.chance.choice([1, 3, 100])
        settings: Any = {"name": CONSUMER, "checkpoints": internal_table, "lease": LEASE, "batch_size": size}
        return Consumer(self.another_store(), tickets, count, **settings)

    def happen(self, event: str) -> None:
        """Something happens to a ticket, by the use cases of the service."""
        self.clock[0] += self.chance.random() * 100
        if event == "create" or not self.tickets:
            ticket = self._runner.run(self.support.create_ticket("cust", "It hums", UNKEYED))
            self.tickets[ticket.ticket_id] = ticket.status
            return
        ticket_id = self.chance.choice(list(self.tickets))
        status = self.tickets[ticket_id]
        if event == "move":
            to = self.chance.choice(sorted(FOLLOWING[status] - {Status.ESCALATED}))
            self._runner.run(self.support.change_status(ticket_id, to, expected=status, by="somebody"))
            self.tickets[ticket_id] = to
        elif event == "escalate" and Status.ESCALATED in FOLLOWING[status]:
            self._runner.run(self.support.escalate(ticket_id, reason="r", engineer="e", by="somebody"))
            self.tickets[ticket_id] = Status.ESCALATED
        elif event == "feedback":
            rating, helper = self.chance.randint(1, 5), f"{self.chance.getrandbits(64):x}"
            self._runner.run(self.support.add_event(ticket_id, "customer_called", {}, by=helper))
            # Of the customer on the helper, or of the helper on the ticket.
            about, by = self.chance.choice([(helper, "cust"), (None, helper)])
            self.feedback.append(
                self._runner.run(self.support.feedback.give(ticket_id, UNKEYED, about=about, rating=rating, by=by))
            )
        elif event == "delete":
            self.store.delete(Ticket.by_id(ticket_id=ticket_id))
            del self.tickets[ticket_id]
        elif event == "withdraw" and self.feedback:
            self.store.delete(self.feedback.pop())
        elif event == "expire":
            self._runner.run(self.support.begin_session("u", timedelta(seconds=1)))
            self.clock[0] += 2
            self.engine.sweep()

    def numbers(self) -> dict[tuple[str, str], int | Decimal]:
        found = {}
        for metric in self.store.get_many([Metric.by_name(metric_name=name) for name in NAMES], consistent=True):
            if metric is not None:
                for field in ("count_value", "total_time", "total_ratings"):
                    found[metric.metric_name, field] = getattr(metric, field)
        return {place: number for place, number in found.items() if number}

    def recount(self) -> dict[tuple[str, str], int | Decimal]:
        sums: dict[tuple[str, str], int | Decimal] = defaultdict(int)
        for kind in (Ticket, Feedback):
            for item in self.store.iterate(kind, consistent=True):
                for name, worth in contribution(item).items():
                    for field, amount in worth._asdict().items():
                        sums[name, field] += amount
        return {place: number for place, number in sums.items() if number}


class Working:
    """A flow that goes on by one request at a time, and may die at any of them."""

    def __init__(self, flow: Flow[Any], backend: EmbeddedBackend) -> None:
        self._flow = flow
        self._backend = backend
        self._step = next(flow)

    def advance(self, dies: str | None) -> bool:
        """Go on; whether there is more to do."""
        if dies == "before":
            return False
        try:
            try:
                answer = None if isinstance(self._step, Sleep) else self._backend.call(self._step)
            except ServiceError as error:
                if dies == "after":
                    return False
                self._step = self._flow.throw(error)
            else:
                if dies == "after":
                    return False
                self._step = self._flow.send(answer)
        except (StopIteration, StoreError):
            # Done; or another one was faster, or a rebuild has to be begun again.
            return False
        return True


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.requirement("SU11")
@settings(max_examples=examples(80))
@given(
    history=st.lists(st.sampled_from([*EVENTS, "consume", "consume", "consume", "rebuild"]), min_size=10, max_size=60),
    chance=st.integers(0, 2**32).map(random.Random),
)
def test_metrics_equal_a_recount_of_the_table(
    runner: asyncio.Runner, history: list[str], chance: random.Random
) -> None:
    clock = [1_763_000_000.0]
    with Engine.open(clock=lambda: clock[0]) as engine:
        office = Office(engine, runner, chance, clock)
        working: list[Working] = []
        for event in history:
            if event in EVENTS:
                office.happen(event)
            else:
                consumer = office.consumer()
                worker = consumer._worker
                flow = worker.run_pass(flush=True) if event == "consume" else rebuild(worker, WRITTEN, None, 0)
                working.append(Working(flow, EmbeddedBackend(engine, owned=False)))
            for _ in range(chance.randint(0, 12)):
                if not working:
                    break
                if chance.random() < 0.03:
                    # Whoever is at work is thought dead from now on, and is not.
                    clock[0] += LEASE.total_seconds() + 1
                one = chance.choice(working)
                if not one.advance(chance.choice([None] * 20 + ["before", "after"])):
                    working.remove(one)
        # Whoever is left has died too; somebody else takes over.
        clock[0] += LEASE.total_seconds() + 1
        last = office.consumer()
        try:
            last.run_once()
        except RebuildUnfinished:
            last.rebuild(WRITTEN)
        assert office.numbers() == office.recount()
        verify_metrics(office.store, lambda done, total: None, pause=0)
        # And a rebuild comes to the same.
        last.rebuild(WRITTEN)
        assert office.numbers() == office.recount()
        verify_metrics(office.store, lambda done, total: None, pause=0)
