"""Requests with an idempotency key, below HTTP: scope, errors, and duplicates at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, Get, Table
from tablewright.runtime.idempotency import UNKEYED, Idempotency, Responder
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AlreadyExists, AsyncStore, Cancelled, Check, Create, KeyMismatch, Outcome, Store
from tests.clocks import Clock

things = Table("things", "id")
idempotency = Idempotency("test")


class Thing(Entity, table=things):
    id: str

    @Get()
    def by_id(self, id: str) -> None:
        """A thing."""


@pytest.fixture
def store() -> Iterator[AsyncStore]:
    clock = Clock()
    with Engine.open(clock=clock) as engine:
        Store.on(engine).ensure_tables(things, internal_table)
        yield AsyncStore.on(engine, clock=clock)


def keyed(key: str = "k-1", caller: str = "ada") -> Responder[object, object]:
    return Responder(lambda result: result, caller, key)


async def make(store: AsyncStore, name: str, request: object = "a thing") -> object:
    async def work() -> Outcome:
        return Outcome({"made": name}, Create(Thing(id=name)))

    return await idempotency.execute(store, "thing", request, keyed(), work)


async def there(store: AsyncStore, *names: str) -> list[bool]:
    return [await store.get(Thing.by_id(id=name)) is not None for name in names]


def test_of_duplicates_at_the_same_time_one_commits_and_all_get_its_response(store: AsyncStore) -> None:
    async def scenario() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> Outcome:
            begun.set()
            await go_on.wait()
            return Outcome({"made": "a"}, Create(Thing(id="a")))

        first = asyncio.create_task(idempotency.execute(store, "thing", "a thing", keyed(), slowly))
        await begun.wait()
        assert await make(store, "b") == {"made": "b"}
        with pytest.raises(KeyMismatch, match="the idempotency key k-1 was used before, for another thing"):
            await make(store, "c", request="something else")
        go_on.set()
        assert await first == {"made": "b"}
        assert await there(store, "a", "b", "c") == [False, True, False]

    asyncio.run(scenario())


def test_a_hundred_duplicates_at_once_have_one_effect(store: AsyncStore) -> None:
    async def scenario() -> None:
        names = [f"t-{number}" for number in range(100)]
        responses = await asyncio.gather(*(make(store, name) for name in names))
        assert len({str(response) for response in responses}) == 1
        assert sum(await there(store, *names)) == 1

    asyncio.run(scenario())


def test_what_fails_fails_as_it_would_without_a_key_and_leaves_it_free(store: AsyncStore) -> None:
    async def scenario() -> None:
        await store.create(Thing(id="a"))
        with pytest.raises(AlreadyExists):
            await make(store, "a")

        async def both() -> Outcome:
            return Outcome(None, Check(Thing.by_id(id="nobody")), Create(Thing(id="b")))

        with pytest.raises(Cancelled) as cancelled:
            await idempotency.execute(store, "thing", "both", keyed(), both)
        assert len(cancelled.value.reasons) == 2
        assert await make(store, "c", request="at last") == {"made": "c"}
        assert await there(store, "b", "c") == [False, True]

    asyncio.run(scenario())


def test_a_key_belongs_to_a_system_an_operation_and_a_caller(store: AsyncStore) -> None:
    async def scenario() -> None:
        made = []

        async def work() -> Outcome:
            made.append(1)
            return Outcome(len(made))

        for system, operation, caller in (
            ("test", "thing", "ada"),
            ("test", "thing", "bob"),
            ("test", "other", "ada"),
            ("else", "thing", "ada"),
            ("test", "thing", "ada"),
        ):
            await Idempotency(system).execute(store, operation, "x", keyed(caller=caller), work)
        assert len(made) == 4

    asyncio.run(scenario())


def test_a_request_without_a_key_is_not_for_this(store: AsyncStore) -> None:
    async def work() -> Outcome:
        return Outcome(None)

    with pytest.raises(ValueError, match="without an idempotency key"):
        asyncio.run(idempotency.execute(store, "thing", "x", UNKEYED, work))
