"""A long read of an endpoint asks for the next page while one is made into entities, and for no more than that."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, Get, Keys, Table
from tablewright.store import AsyncStore, Request, Response, ServiceError, Store
from tablewright.wire import serve_in_thread

shelves = Table("Shelves", "pk")
COUNT = 30


class Book(Entity, table=shelves):
    number: int
    text: str = "x" * 40

    keys = Keys(pk="BOOK#{number}")

    @Get()
    def itself(self, number: int) -> None: ...


class Noted:
    """A backend that notes the requests and may fail some."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.scans = 0
        self.failing: set[int] = set()

    def call(self, request: Request) -> Response:
        self.scans += request.operation == "Scan"
        response: Response = self.inner.call(request)
        return response

    async def call_async(self, request: Request) -> Response:
        self.scans += request.operation == "Scan"
        if self.scans in self.failing:
            self.failing.discard(self.scans)
            raise ServiceError("InternalServerError", "not now")
        response: Response = await self.inner.call_async(request)
        return response

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def url() -> Iterator[str]:
    with Engine.open() as engine, serve_in_thread(engine) as url, Store.on(engine) as store:
        store.ensure_tables(shelves)
        store.write_many(Book(number=number) for number in range(COUNT))
        yield url


def connected(url: str, **settings: Any) -> tuple[AsyncStore, Noted]:
    store = AsyncStore.connect("us-east-1", url, aws_access_key_id="any", aws_secret_access_key="any", **settings)
    store.backend = noted = Noted(store.backend)
    return store, noted


async def numbers(store: AsyncStore, page_size: int = 3) -> list[int]:
    return sorted([book.number async for book in store.iterate(Book, page_size=page_size)])


def test_everything_is_read_once(url: str) -> None:
    async def read() -> None:
        store, noted = connected(url)
        async with store:
            assert await numbers(store) == list(range(COUNT))
            # The last page may be empty.
            assert noted.scans in (10, 11)

    asyncio.run(read())
    assert gc.isenabled()


def test_a_request_that_was_begun_and_failed_is_sent_again(url: str) -> None:
    async def read() -> None:
        store, noted = connected(url)
        async with store:
            noted.failing = {2, 5, 7}
            assert await numbers(store) == list(range(COUNT))
            assert noted.failing == set()

    asyncio.run(read())


def test_a_reader_that_stops_has_read_at_most_one_more_page(url: str) -> None:
    async def read(items: int, **settings: Any) -> int:
        store, noted = connected(url, **settings)
        async with store:
            reading = store.iterate(Book, page_size=3)
            for _ in range(items):
                await anext(reading)
            await asyncio.sleep(0.05)
            await reading.aclose()  # type: ignore[attr-defined]
            return noted.scans

    assert asyncio.run(read(1)) == 1
    assert asyncio.run(read(6)) == 2
    assert asyncio.run(read(7)) == 4
    # Not where each call has a deadline, or is metered.
    assert asyncio.run(read(7, deadline=30.0)) == 3
    assert asyncio.run(read(7, on_capacity=lambda *_: None)) == 3


def test_one_page_is_one_request(url: str) -> None:
    async def read() -> None:
        store, noted = connected(url)
        async with store:
            page = await store.scan(Book, page_size=3)
            for _ in range(4):
                page = await store.scan(Book, page_size=3, cursor=page.cursor)
            assert noted.scans == 5

    asyncio.run(read())


def test_threads_read_one_page_after_the_other(url: str) -> None:
    with Store.connect("us-east-1", url, aws_access_key_id="any", aws_secret_access_key="any") as store:
        assert sorted(book.number for book in store.iterate(Book, page_size=3)) == list(range(COUNT))
