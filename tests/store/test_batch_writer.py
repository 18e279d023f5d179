"""The batch writer: puts and deletes, collected and written in batches."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from tablewright.model import ModelError
from tablewright.store import AsyncStore, Conflict, Store
from tablewright.store.flow.driver import Request, Response
from tests.store.bench import Bench
from tests.store.branches import Article, Buyer, Deal, branches, goods
from tests.store.recording_backend import watched

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, note: str = "") -> Deal:
    return Deal(shop="s", number=number, at=NOON, note=note)


def test_many_writes_are_few_requests(bench: Bench) -> None:
    bench.create_own(branches, goods)
    store, backend = watched(bench)
    with store.batch_writer() as batch:
        for number in range(60):
            batch.put(Article(sku=str(number)))
        assert batch.written == 50
    assert batch.written == 60
    assert backend.operations == ["BatchWriteItem"] * 3
    assert store.count(Article) == 60
    with store.batch_writer() as batch:
        batch.delete(*(Article.by_sku(str(number)) for number in range(10)), Article(sku="11"))
    assert store.count(Article) == 49
    with store.batch_writer() as batch:
        pass
    assert batch.written == 0


def test_of_several_writes_of_an_item_the_last_one_counts(bench: Bench, store: Store) -> None:
    bench.create_own(goods)
    with store.batch_writer() as batch:
        batch.put(Article(sku="1", title="first"))
        batch.delete(Article.by_sku("1"))
        batch.put(Article(sku="1", title="last"), Article(sku="2"))
        batch.delete(Article.by_sku("2"))
    assert list(store.iterate(Article)) == [Article(sku="1", title="last")]


def test_what_a_batch_cannot_check_is_refused_at_once(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    with pytest.raises(ModelError, match="Buyer has a version, which a batch cannot check"):
        store.batch_writer().put(Buyer(buyer_id="b", name="Ada"))
    with pytest.raises(ModelError, match="takes an entity"):
        store.batch_writer().put(Article.by_sku("1"))  # type: ignore[arg-type]


def test_a_block_that_raises_writes_no_more(bench: Bench, store: Store) -> None:
    bench.create_own(goods)

    def write() -> None:
        with store.batch_writer() as batch:
            batch.put(*(Article(sku=str(number)) for number in range(30)))
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert store.count(Article) == 25


class Busy:
    """A backend that processes a share of each batch, or nothing of it."""

    def __init__(self, bench: Bench, most: int) -> None:
        self._bench = bench
        self.most = most

    def call(self, request: Request) -> Response:
        if request.operation != "BatchWriteItem":
            return self._bench.backend.call(request)
        ((table, writes),) = request.body["RequestItems"].items()
        if self.most:
            self._bench.backend.call(Request("BatchWriteItem", {"RequestItems": {table: writes[: self.most]}}))
        return {"UnprocessedItems": {table: writes[self.most :]} if writes[self.most :] else {}}

    async def call_async(self, request: Request) -> Response:
        return self.call(request)

    def close(self) -> None: ...


def test_what_is_left_unprocessed_is_written_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.create_own(goods)
    monkeypatch.setattr("time.sleep", lambda _: None)
    backend = Busy(bench, 4)
    store = Store(backend, clock=bench.clock, table_names=bench.names)
    with store.batch_writer() as batch:
        batch.put(*(Article(sku=str(number)) for number in range(30)))
    assert store.count(Article) == 30
    backend.most = 0
    batch = store.batch_writer()
    batch.put(Article(sku="x"))
    with pytest.raises(Conflict, match="the service is throttling: 1 items were not written"):
        batch.flush()
    # It is still there to be written.
    backend.most = 25
    batch.flush()
    assert store.get(Article.by_sku("x")) is not None


def test_asynchronously(bench: Bench) -> None:
    bench.create_own(goods)

    async def write() -> int:
        store = AsyncStore(bench.backend, clock=bench.clock, table_names=bench.names)
        async with store.batch_writer() as batch:
            for number in range(30):
                await batch.put(Article(sku=str(number)))
            await batch.delete(Article.by_sku("0"))
        return await store.count(Article)

    assert asyncio.run(write()) == 29
