"""Tickets whose changes are counted: the design, the store, and a backend that dies when it is told to."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any

from tablewright.engine import Engine
from tablewright.model import Entity, ExpiresAt, Expiry, Get, Keys, Table, UpdatedAt, Version, attr
from tablewright.store import Store
from tablewright.store.flow.driver import Backend, Request, Response
from tablewright.store.streams.change_records import AnyChange, Change
from tablewright.store.streams.consumer import Consumer
from tablewright.store.streams.effects import Effects
from tablewright.store.streams.shard_reader import ShardReader, describe_stream
from tests.clocks import Clock

tickets = Table("Tickets", "PK", "SK", type_attribute="kind", stream="NEW_AND_OLD_IMAGES")
metrics = Table("Metrics", "PK", "SK", type_attribute="kind", ttl="ttl")


class Ticket(Entity, table=tickets):
    ticket_id: str
    status: str = "open"

    keys = Keys(PK="TICKET#{ticket_id}", SK="TICKET")

    @Get()
    def by_id(self, ticket_id: str) -> None: ...


class Counter(Entity, table=metrics):
    name: str
    count: int = 0
    version: Version = 0

    keys = Keys(PK="COUNTER#{name}", SK="COUNTER")

    @Get()
    def named(self, name: str) -> None: ...


class Tally(Entity, table=metrics):
    day: date
    total: Decimal = Decimal(0)
    tickets: int = 0
    version: Version = 0
    updated_at: UpdatedAt = None
    ttl: Annotated[ExpiresAt, Expiry(timedelta(days=30))] = None

    keys = Keys(PK="TALLY", SK="{day}")

    @Get()
    def of_day(self, day: date) -> None: ...


class Reading(Entity, table=metrics):
    meter: str
    unit: str
    total: int = 0

    keys = Keys(PK="METER#{meter}", SK="METER")

    @Get()
    def of_meter(self, meter: str) -> None: ...


class Event(Entity, table=metrics):
    event_id: str

    keys = Keys(PK="EVENT#{event_id}", SK="EVENT")

    @Get()
    def by_id(self, event_id: str) -> None: ...


class Still(random.Random):
    """Chance that never waits."""

    def uniform(self, a: float, b: float) -> float:
        return 0.0


def count(changes: Sequence[AnyChange], effects: Effects) -> None:
    """Tickets by status: what a ticket was counts one less, what it is counts one more."""
    for change in changes:
        assert isinstance(change, Change)
        for ticket, amount in ((change.before, -1), (change.after, 1)):
            if isinstance(ticket, Ticket):
                effects.add(Counter.named(name=ticket.status), attr(Counter.count).add(amount))


class Desk:
    """A store, and what tests do with it; on another endpoint than ours, the engine is not what it runs on."""

    def __init__(self, backend: Backend, engine: Engine, clock: Clock) -> None:
        self.backend = backend
        self.engine = engine
        self.clock = clock
        self._seed = 0
        self.store = self.another_store()
        self.store.ensure_tables(tickets, metrics)

    def another_store(self, backend: Backend | None = None) -> Store:
        self._seed += 1
        return Store(backend or self.backend, clock=self.clock, entropy=Still(self._seed))

    def consumer(self, handler: Callable[[Sequence[AnyChange], Effects], None] = count, **settings: Any) -> Consumer:
        store = settings.pop("store", None) or self.another_store()
        return Consumer(store, tickets, handler, name="metrics", checkpoints=metrics, **settings)

    def call(self, operation: str, body: dict[str, Any]) -> Response:
        return self.backend.call(Request(operation, body))

    def put(self, *ids: str, status: str = "open") -> None:
        for ticket_id in ids:
            item = Ticket(ticket_id=ticket_id, status=status).item()
            self.call("PutItem", {"TableName": "Tickets", "Item": item})

    def remove(self, ticket_id: str) -> None:
        item = Ticket(ticket_id=ticket_id).item()
        self.call("DeleteItem", {"TableName": "Tickets", "Key": {"PK": item["PK"], "SK": item["SK"]}})

    def renew_stream(self) -> None:
        """Switch the stream of the tickets off, and a new one on."""
        for enabled in ({"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}):
            self.call("UpdateTable", {"TableName": "Tickets", "StreamSpecification": enabled})
            self.clock.now += 1

    def counters(self) -> dict[str, int]:
        found = self.call("Scan", {"TableName": "Metrics"})["Items"]
        counters = [Counter.of(item) for item in found if item["kind"] == {"S": "Counter"}]
        return {counter.name: counter.count for counter in counters if counter.count}

    def truth(self) -> dict[str, int]:
        statuses = [item["status"]["S"] for item in self.call("Scan", {"TableName": "Tickets"})["Items"]]
        return {status: statuses.count(status) for status in set(statuses)}

    def records(self) -> list[dict[str, Any]]:
        stream = self.store.run_flow(describe_stream(self.store.context, tickets))
        reader = ShardReader(stream.arn, stream.shards[0], None)
        self.store.run_flow(reader.fill(self.store.context, 1000))
        return reader.pending


class Failing:
    """A backend that dies at the n-th call: before it is carried out, or after."""

    def __init__(self, backend: Backend, at: int, *, after: bool) -> None:
        self.backend = backend
        self.left = at
        self.after = after

    def call(self, request: Request) -> Response:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Crash
        response = self.backend.call(request)
        if self.left == 0:
            raise Crash
        return response

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


class Crash(BaseException):
    """The end of a process."""
