"""Scans: of a table or an index, in segments that are read together, with progress; and how many items there are."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import AsyncStore, ReadProgress, Scan, ServiceError, Store, TolerantReader
from tablewright.store.flow.driver import Request, Response
from tests.store.bench import Bench
from tests.store.branches import Buyer, Deal, State, branches

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, **more: Any) -> Deal:
    return Deal.model_validate(
        {"shop": f"s-{number % 7}", "number": number, "at": NOON + timedelta(hours=number), **more}
    )


@pytest.fixture
def filled(bench: Bench, store: Store) -> Store:
    bench.create_own(branches)
    store.write_many([deal(number) for number in range(60)])
    store.put(Buyer(buyer_id="b", name="Ada"))
    return store


def numbers(found: Any) -> list[int]:
    return sorted(each.number for each in found)


@pytest.mark.parametrize("segments", [1, 2, 5, 16])
def test_segments_together_have_every_item_once(filled: Store, segments: int) -> None:
    scan = Scan(Deal, segments=segments)
    assert numbers(filled.iterate(scan)) == list(range(60))
    assert numbers(filled.iterate(scan, page_size=3)) == list(range(60))
    assert numbers(item for page in filled.pages(scan, limit=7) for item in page.items) == list(range(60))
    assert len(list(filled.iterate(scan, limit=11))) == 11
    assert filled.count(scan) == 60


def test_a_parallel_scan_goes_on_from_its_cursor(filled: Store) -> None:
    found: list[Deal] = []
    cursor, pages = None, 0
    while True:
        page = filled.scan(Scan(Deal, segments=4), limit=7, cursor=cursor, page_size=2)
        found += page.items
        cursor, pages = page.cursor, pages + 1
        if cursor is None:
            break
    assert numbers(found) == list(range(60))
    assert pages >= 9


def test_progress_counts_what_is_read_and_what_is_returned(filled: Store) -> None:
    seen: list[ReadProgress] = []
    found = list(
        filled.iterate(Scan(Deal, segments=4), page_size=5, where=attr(Deal.number) < 10, on_progress=seen.append)
    )
    assert len(found) == 10
    assert seen[-1] == ReadProgress(read=61, returned=10, parts=4, ended=4)
    assert [each.read for each in seen] == sorted(each.read for each in seen)
    assert len(seen) > 1
    of_selection: list[ReadProgress] = []
    list(filled.pages(Deal.of_shop("s-1"), limit=4, on_progress=of_selection.append))
    assert of_selection[-1].returned == 9
    assert (of_selection[-1].parts, of_selection[-1].ended) == (1, 1)


def test_an_index_is_scanned_for_the_items_that_it_has(bench: Bench, filled: Store) -> None:
    assert numbers(filled.iterate(Scan(Deal, index="byState"))) == list(range(60))
    # Of an index with keys only, items come from the table.
    assert filled.first(Deal.of_shop("s-1")) in list(filled.iterate(Scan(Deal, index="keysOnly", segments=2)))
    assert filled.count(Scan(Deal, index="keysOnly")) == 60
    page = filled.scan(Scan(Deal, index="byState"), limit=10)
    rest = filled.scan(Scan(Deal, index="byState"), cursor=page.cursor)
    assert numbers([*page.items, *rest.items]) == list(range(60))
    paid = filled.scan(Scan(Deal, index="byState"), where=attr(Deal.note) == "x")
    assert paid.items == []
    # What an index does not have is looked at in the table.
    assert filled.count(Scan(Deal, index="keysOnly"), where=attr(Deal.number) < 7) == 7
    assert numbers(filled.iterate(Scan(Deal, index="keysOnly", segments=2), where=attr(Deal.number) < 7)) == list(
        range(7)
    )
    assert numbers(TolerantReader(filled).page(Scan(Deal, index="byState"), limit=100).items) == list(range(60))


def test_a_local_index_is_scanned_for_whole_items(filled: Store) -> None:
    assert numbers(filled.scan(Scan(Deal, index="byTotal"), consistent=True).items) == list(range(60))
    assert filled.count(Scan(Deal, index="byTotal"), where=attr(Deal.number) < 7) == 7
    assert numbers(filled.iterate(Scan(Deal, index="byTotal", segments=2), where=attr(Deal.number) < 7)) == list(
        range(7)
    )


def test_invalid_scans_are_refused(filled: Store) -> None:
    with pytest.raises(ModelError, match="Buyer is never in index 'byState'"):
        filled.scan(Scan(Buyer, index="byState"))
    with pytest.raises(ModelError, match="always eventually consistent"):
        filled.scan(Scan(Deal, index="byState"), consistent=True)
    with pytest.raises(ModelError, match="has no index"):
        filled.scan(Scan(Deal, index="lost"))
    with pytest.raises(ModelError, match="Scan takes the class of an entity"):
        Scan(Deal.of_shop)  # type: ignore[arg-type, type-var]
    with pytest.raises(ValueError, match="segments must be from 1"):
        Scan(Deal, segments=0)


def test_counts(filled: Store) -> None:
    assert filled.count(Deal) == 60
    assert filled.count(Buyer) == 1
    assert filled.count(Deal, where=attr(Deal.number) >= 50) == 10
    assert filled.count(Deal.latest([State.OPEN, State.PAID])) == 60


class Together:
    """A backend that answers the first scans only when so many of them have been sent at the same time."""

    def __init__(self, bench: Bench, number: int) -> None:
        self._bench = bench
        self._all_here = threading.Barrier(number, timeout=20)
        self._waiting = number
        self._lock = threading.Lock()
        self._arrived: asyncio.Event | None = None

    def call(self, request: Request) -> Response:
        if request.operation == "Scan":
            with self._lock:
                self._waiting -= 1
                first = self._waiting >= 0
            if first:
                self._all_here.wait()
        return self._bench.backend.call(request)

    async def call_async(self, request: Request) -> Response:
        if self._arrived is None:
            self._arrived = asyncio.Event()
        if request.operation == "Scan":
            self._waiting -= 1
            if self._waiting <= 0:
                self._arrived.set()
            await asyncio.wait_for(self._arrived.wait(), 20)
        return self._bench.backend.call(request)

    def close(self) -> None: ...


def test_on_an_endpoint_segments_are_read_at_the_same_time(bench: Bench, filled: Store) -> None:
    store = Store(Together(bench, 4), clock=bench.clock, table_names=bench.names)
    store.context.reads_ahead = True
    assert numbers(store.iterate(Scan(Deal, segments=4), page_size=4)) == list(range(60))

    async def read() -> list[int]:
        store = AsyncStore(Together(bench, 4), clock=bench.clock, table_names=bench.names)
        store.context.reads_ahead = True
        return numbers([each async for each in store.iterate(Scan(Deal, segments=4), page_size=4)])

    assert asyncio.run(read()) == list(range(60))


def test_an_error_in_one_segment_is_raised_and_the_scan_can_go_on(bench: Bench, filled: Store) -> None:
    failing = {2}

    class Failing:
        def call(self, request: Request) -> Response:
            if request.body.get("Segment") in failing:
                raise ServiceError("AccessDeniedException", "no")
            return bench.backend.call(request)

        async def call_async(self, request: Request) -> Response:
            return self.call(request)

        def close(self) -> None: ...

    store = Store(Failing(), clock=bench.clock, table_names=bench.names)
    with pytest.raises(ServiceError, match="no"):
        list(store.iterate(Scan(Deal, segments=4)))
    failing.clear()
    assert numbers(store.iterate(Scan(Deal, segments=4))) == list(range(60))
