"""The deny list: whoever is deactivated is refused by every process, at once or within a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.runtime.errors import Forbidden
from tablewright.runtime.identity.absence_cache import REMEMBERED
from tablewright.runtime.identity.deny_list import DeactivatedUser, DenyList
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, EmbeddedBackend
from tablewright.systems import load
from tablewright.wire import serve_in_thread
from tests.systems.harness import Served, serving


class Time:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class CountedStore:
    """A store that counts reads, and may do something between a read and its answer."""

    def __init__(self, store: AsyncStore) -> None:
        self.store = store
        self.reads = 0
        self.after_read: Callable[[], Awaitable[None]] | None = None

    async def get(self, lookup: Any, **options: Any) -> Any:
        self.reads += 1
        found = await self.store.get(lookup, **options)
        if self.after_read is not None:
            await self.after_read()
        return found


@pytest.fixture
def counted() -> Iterator[CountedStore]:
    with Engine.open() as engine:
        store = AsyncStore(EmbeddedBackend(engine, owned=False))
        asyncio.run(store.ensure_tables(internal_table))
        yield CountedStore(store)


def is_admitted(deny_list: DenyList, user_id: str = "ada") -> bool:
    try:
        asyncio.run(deny_list.check(user_id))
    except Forbidden:
        return False
    return True


def deactivate(store: AsyncStore, user_id: str = "ada") -> None:
    asyncio.run(store.put(DeactivatedUser(user_id=user_id, deactivated_by="boss")))


def test_one_read_is_enough_for_a_while(counted: CountedStore) -> None:
    time = Time()
    deny_list = DenyList(counted, time)  # type: ignore[arg-type]
    assert [is_admitted(deny_list) for _ in range(50)] == [True] * 50
    assert counted.reads == 1
    time.now += REMEMBERED
    assert is_admitted(deny_list)
    assert counted.reads == 2


def test_another_process_refuses_within_the_bound(counted: CountedStore) -> None:
    time = Time()
    other = DenyList(counted, time)  # type: ignore[arg-type]
    assert is_admitted(other)
    deactivate(counted.store)
    assert is_admitted(other, "grace")
    time.now += REMEMBERED
    # Nobody who is refused is remembered: whoever comes back is let in at once.
    assert [is_admitted(other) for _ in range(3)] == [False] * 3
    asyncio.run(counted.store.delete(DeactivatedUser.by_id(user_id="ada")))
    assert is_admitted(other)


def test_the_process_that_changes_the_list_refuses_at_once(counted: CountedStore) -> None:
    deny_list = DenyList(counted, Time())  # type: ignore[arg-type]
    assert is_admitted(deny_list)
    deactivate(counted.store)
    deny_list.forget("ada")
    assert not is_admitted(deny_list)


def test_what_was_read_before_a_change_is_not_remembered_after_it(counted: CountedStore) -> None:
    deny_list = DenyList(counted, Time())  # type: ignore[arg-type]

    async def change() -> None:
        counted.after_read = None
        await counted.store.put(DeactivatedUser(user_id="ada", deactivated_by="boss"))
        deny_list.forget("ada")

    counted.after_read = change
    assert is_admitted(deny_list)
    assert not is_admitted(deny_list)


def test_the_list_does_not_grow_without_end(counted: CountedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.runtime.identity.absence_cache._MAX_REMEMBERED", 3)
    deny_list = DenyList(counted, Time())  # type: ignore[arg-type]
    for name in ("a", "b", "c", "d", "b", "d", "a"):
        assert is_admitted(deny_list, name)
    # Of a, b, c and d, the first was forgotten.
    assert counted.reads == 5


def _codes(served: Served, token: str) -> list[int]:
    headers = {"Authorization": f"Bearer {token}"}
    paths = ("/support/tickets/none", "/servicedesk/tickets/00000000-0000-4000-8000-000000000000", "/calls/calls/none")
    return [served.client().get(path, headers=headers).status_code for path in paths]


@pytest.mark.requirement("TM6")
def test_systems_in_processes_of_their_own_refuse_whom_tasks_has_deactivated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.runtime.identity.absence_cache.REMEMBERED", 0.0)
    with (
        Engine.open() as engine,
        serve_in_thread(engine) as url,
        serving(load("tasks"), endpoint=url) as tasks,
        serving(load("support", "servicedesk", "calls"), endpoint=url) as others,
    ):
        assert others.runtime.issuer is not None
        roles = ["support:Operators", "servicedesk:Agents", "calls:Schedulers"]
        token = others.runtime.issuer.token("grace", roles=roles)
        admin = tasks.client("root", "Admins", path="/tasks")
        for user, group in (("root", "Admins"), ("grace", "Members")):
            body = {"userId": user, "email": f"{user}@example.org", "groups": [group]}
            assert admin.post("/users", json=body).status_code == 201
        assert _codes(others, token) == [404, 404, 404]
        assert admin.post("/users/grace/deactivate", headers={"Idempotency-Key": "bye"}).status_code == 200
        assert _codes(others, token) == [403, 403, 403]
        assert admin.post("/users/grace/reactivate").status_code == 200
        assert _codes(others, token) == [404, 404, 404]


def test_a_stream_ends_when_its_reader_is_deactivated() -> None:
    with serving(load("tasks", "support")) as served:
        admin = served.client("root", "Admins", path="/tasks")
        for user, group in (("root", "Admins"), ("grace", "Members")):
            body = {"userId": user, "email": f"{user}@example.org", "groups": [group]}
            assert admin.post("/users", json=body).status_code == 201
        with served.client("grace", "Operators", path="/support").stream("GET", "/metrics/live") as live:
            lines = live.iter_lines()
            assert next(lines) == "event: metrics"
            assert admin.post("/users/grace/deactivate").status_code == 200
            # It has an end.
            assert list(lines)
