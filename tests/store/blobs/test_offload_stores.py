"""Large values in every kind of store: the real threshold, the real folder, memory, and asyncio."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, Get, Keys, Large, Table, attr
from tablewright.store import AsyncStore, MemoryBlobStore, Store, offloaded_sizes
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Backend, Request
from tests.store.bench import Bench
from tests.store.large_value_design import THRESHOLD, A, B, Paper, Shelf, paper, papers, shelved


@pytest.mark.requirement("SU15")
def test_an_item_past_350_kb_goes_to_the_folder_and_comes_back(tmp_path: Path) -> None:
    table = Table("desk", "PK")

    class Case(Entity, table=table):
        case_id: str
        description: Annotated[str, Large()] = ""

        keys = Keys(PK="CASE#{case_id}")

        @Get()
        def by_id(self, case_id: str) -> None: ...

    with Store.open(tmp_path) as store:
        store.ensure_tables(table)
        inside = store.create(Case(case_id="1", description="d" * (350 * 1024 - 100)))
        outside = store.create(Case(case_id="2", description="d" * 350 * 1024))
        huge = store.create(Case(case_id="3", description="d" * 5_000_000))
        assert [offloaded_sizes(each) for each in (inside, outside, huge)] == [
            {},
            {"description": 350 * 1024},
            {"description": 5_000_000},
        ]
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 2
    with Store.open(tmp_path) as store:
        assert store.get(Case.by_id(case_id="3")) == huge
        store.delete(huge)
        store.delete(outside)
        assert store.collect_orphans(table, dry_run=False, grace=timedelta(0)).removed.blobs == 2
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


def test_stores_on_one_engine_in_memory_share_its_blobs() -> None:
    with Engine.open() as engine:
        one, other = Store.on(engine), Store.on(engine)
        one.ensure_tables(papers)
        one.put(paper(body=A))
        found = other.get(Paper.by_id(folder="f", paper_id="1"))
        assert found is not None
        assert found.body == A


def test_the_asynchronous_store_does_the_same(shelf: Shelf) -> None:
    settings: dict[str, Any] = {"clock": shelf.context.clock, "table_names": shelf.context.table_names}
    store = AsyncStore(shelf.backend, blobs=shelf.blobs, **settings)

    async def work() -> None:
        await store.put(paper(body=A))
        await store.update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.scan).set(b"s" * 3 * THRESHOLD))
        found = [each async for each in store.iterate(Paper)]
        assert [(each.body, len(each.scan or b"")) for each in found] == [(A, 3 * THRESHOLD)]
        report = await store.collect_orphans(papers)
        assert (report.total.blobs, report.orphans.blobs) == (2, 0)
        partly = Paper.of(shelf.item(paper()))
        assert (await store.load(partly)).body == A
        assert await store.delete(Paper.by_id(folder="f", paper_id="1"))

    asyncio.run(work())


def test_the_event_loop_does_not_wait_for_blobs(embedded: Bench) -> None:
    threads: set[int] = set()

    class Noting(MemoryBlobStore):
        def put(self, name: str, data: bytes) -> None:
            threads.add(threading.get_ident())
            super().put(name, data)

        def get(self, name: str) -> bytes | None:
            threads.add(threading.get_ident())
            return super().get(name)

        def delete(self, name: str) -> None:
            threads.add(threading.get_ident())
            super().delete(name)

    shelf = shelved(embedded, Noting())
    store = AsyncStore(shelf.backend, clock=shelf.context.clock, table_names=embedded.names, blobs=shelf.blobs)

    async def work() -> None:
        await store.put(paper(body=A))
        await store.get(Paper.by_id(folder="f", paper_id="1"))
        await store.delete(Paper.by_id(folder="f", paper_id="1"))

    asyncio.run(work())
    assert threads
    assert threading.get_ident() not in threads


def test_large_values_cost_nothing_where_there_are_none(embedded: Bench) -> None:
    """No request more, and nothing of an object store, for entities without large fields."""
    sent: list[str] = []

    class Counting:
        def __init__(self, backend: Backend) -> None:
            self.backend = backend

        def call(self, request: Request) -> dict[str, Any]:
            sent.append(request.operation)
            return self.backend.call(request)

        async def call_async(self, request: Request) -> dict[str, Any]:
            raise NotImplementedError

        def close(self) -> None: ...

    table = Table("plain", "PK")

    class Plain(Entity, table=table):
        plain_id: str
        text: str = ""

        keys = Keys(PK="{plain_id}")

        @Get()
        def by_id(self, plain_id: str) -> None: ...

    embedded.create(table)
    assert isinstance(embedded.backend, EmbeddedBackend)
    store = Store(Counting(embedded.backend), table_names=embedded.names, blobs=MemoryBlobStore())
    store.put(Plain(plain_id="1", text=A))
    store.update(Plain.by_id(plain_id="1"), attr(Plain.text).set(B))
    store.get(Plain.by_id(plain_id="1"))
    store.delete(Plain.by_id(plain_id="1"))
    assert sent == ["PutItem", "UpdateItem", "GetItem", "DeleteItem"]
