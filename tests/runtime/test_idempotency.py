"""Requests under a key: one that is being carried out elsewhere is waited for, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, Get, Table
from tablewright.runtime.idempotency import under_key
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    Cancelled,
    Check,
    Conflict,
    Create,
    InProgress,
    KeyMismatch,
    Outcome,
    Store,
)

things = Table("things", "id")


class Thing(Entity, table=things):
    id: str

    by_id = Get()


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 12, tzinfo=UTC)

    def __call__(self) -> float:
        return self.now.timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[AsyncStore]:
    with Engine.open(clock=clock) as engine:
        Store.on(engine).ensure_tables(things, internal_table)
        yield AsyncStore.on(engine, clock=clock)


async def make(store: AsyncStore, name: str, request: object = "a thing") -> object:
    async def work() -> Outcome:
        return Outcome({"made": name}, Create(Thing(id=name)))

    return await under_key(store, "thing", "ada", "k-1", request, work)


async def there(store: AsyncStore, *names: str) -> list[bool]:
    return [await store.get(Thing.by_id(id=name)) is not None for name in names]


def test_a_copy_waits_for_the_first_and_gets_its_answer(store: AsyncStore) -> None:
    async def scenario() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> Outcome:
            begun.set()
            await go_on.wait()
            return Outcome({"made": "a"}, Create(Thing(id="a")))

        first = asyncio.create_task(under_key(store, "thing", "ada", "k-1", "a thing", slowly))
        await begun.wait()
        copy = asyncio.create_task(make(store, "b"))
        with pytest.raises(KeyMismatch, match="the idempotency key k-1 was used before, for another thing"):
            await make(store, "c", request="something else")
        go_on.set()
        assert await first == await copy == {"made": "a"}
        assert await there(store, "a", "b", "c") == [True, False, False]

    asyncio.run(scenario())


def test_one_that_is_not_heard_of_is_taken_over_when_its_lease_is_over_and_writes_nothing_then(
    store: AsyncStore, clock: Clock
) -> None:
    async def scenario() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def hangs() -> Outcome:
            begun.set()
            await go_on.wait()
            return Outcome({"made": "a"}, Create(Thing(id="a")))

        first = asyncio.create_task(under_key(store, "thing", "ada", "k-1", "a thing", hangs))
        await begun.wait()
        with pytest.raises(InProgress, match="the thing with the idempotency key k-1 is being carried out; ask again"):
            await make(store, "b")
        clock.now += timedelta(seconds=61)
        assert await make(store, "b") == {"made": "b"}
        go_on.set()
        with pytest.raises(Conflict):
            await first
        assert await there(store, "a", "b") == [False, True]

    asyncio.run(scenario())


def test_what_fails_fails_as_it_would_without_a_key_and_leaves_it_free(store: AsyncStore) -> None:
    async def scenario() -> None:
        await store.create(Thing(id="a"))
        with pytest.raises(AlreadyExists):
            await make(store, "a")

        async def both() -> Outcome:
            return Outcome(None, Check(Thing.by_id(id="nobody")), Create(Thing(id="b")))

        with pytest.raises(Cancelled) as cancelled:
            await under_key(store, "thing", "ada", "k-1", "both", both)
        assert len(cancelled.value.reasons) == 2
        assert await make(store, "c", request="at last") == {"made": "c"}
        assert await there(store, "b", "c") == [False, True]

    asyncio.run(scenario())


def test_a_key_is_of_its_caller_and_of_one_kind_of_request(store: AsyncStore) -> None:
    async def scenario() -> None:
        made = []

        async def work() -> Outcome:
            made.append(1)
            return Outcome(len(made))

        for what, caller in (("thing", "ada"), ("thing", "bob"), ("other", "ada"), ("thing", "ada")):
            await under_key(store, what, caller, "k-1", "x", work)
        assert len(made) == 3

    asyncio.run(scenario())
