"""Many conditional writes at once, with a result for each."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import (
    AlreadyExists,
    AsyncStore,
    ConditionFailed,
    Create,
    Delete,
    NotFound,
    NotUnique,
    Put,
    ServiceError,
    Store,
    Update,
    VersionConflict,
)
from tablewright.store.flow.driver import Request, Response
from tests.store.bench import Bench
from tests.store.branches import Article, Buyer, Deal, State, branches, goods

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, **more: Any) -> Deal:
    return Deal.model_validate({"shop": "s", "number": number, "at": NOON, **more})


def test_each_has_its_own_result(bench: Bench, store: Store) -> None:
    bench.create_own(branches)
    store.put(deal(1))
    ada = store.create(Buyer(buyer_id="a", name="Ada", email="ada@example.com"))
    stale = ada.model_copy()
    store.update(ada, attr(Buyer.name).set("Ada L."))
    results = store.write_each(
        [
            Create(deal(1)),
            Create(deal(2)),
            Update(Deal.by_number("s", 1), attr(Deal.state).set(State.PAID), expect=attr(Deal.state) == State.SENT),
            Update(Deal.by_number("s", 9), attr(Deal.note).set("x")),
            Delete(Deal.by_number("s", 8)),
            Put(stale),
            Create(Buyer(buyer_id="b", name="Bea", email="ada@example.com")),
            Create(Buyer(buyer_id="c", name="Cid", email="cid@example.com")),
            Update(Deal.by_number("s", 1), attr(Deal.note).set("n")),
        ]
    )
    errors = [each.error for each in results]
    assert list(map(type, errors)) == [
        AlreadyExists,
        type(None),
        ConditionFailed,
        NotFound,
        type(None),
        VersionConflict,
        NotUnique,
        type(None),
        type(None),
    ]
    assert [each.is_written for each in results] == [error is None for error in errors]
    assert results[1].result == deal(2)
    assert results[4].result is False
    assert results[8].result.note == "n"
    assert results[7].result.version == 1
    assert results[0].operation.name == "create"
    assert store.verify(branches).is_clean


def test_a_request_that_fails_is_the_result_of_its_operation(bench: Bench) -> None:
    bench.create_own(goods)

    class Failing:
        def call(self, request: Request) -> Response:
            if request.operation == "PutItem" and request.body["Item"]["sku"] == {"S": "3"}:
                raise ServiceError("AccessDeniedException", "not this one")
            return bench.backend.call(request)

        async def call_async(self, request: Request) -> Response:
            return self.call(request)

        def close(self) -> None: ...

    store = Store(Failing(), clock=bench.clock, table_names=bench.names)
    results = store.write_each(Create(Article(sku=str(number))) for number in range(10))
    assert [number for number, each in enumerate(results) if not each.is_written] == [3]
    assert store.count(Article) == 9


def test_they_are_on_their_way_at_the_same_time(bench: Bench) -> None:
    bench.create_own(goods)
    all_here = threading.Barrier(8, timeout=20)

    class Waiting:
        def call(self, request: Request) -> Response:
            if request.operation == "PutItem":
                all_here.wait()
            return bench.backend.call(request)

        async def call_async(self, request: Request) -> Response:
            return bench.backend.call(request)

        def close(self) -> None: ...

    store = Store(Waiting(), clock=bench.clock, table_names=bench.names)
    assert all(
        each.is_written for each in store.write_each([Put(Article(sku=str(n))) for n in range(16)], concurrency=8)
    )


def test_on_a_data_folder_they_are_durable(tmp_path: Path) -> None:
    async def write() -> list[bool]:
        async with AsyncStore.open(tmp_path / "data") as store:
            await store.ensure_tables(goods)
            results = await store.write_each([Create(Article(sku=str(number % 20))) for number in range(40)])
            return [each.is_written for each in results]

    assert asyncio.run(write()).count(True) == 20
    with Store.open(tmp_path / "data") as store:
        assert store.count(Article) == 20


def test_a_deadline_holds_for_each(bench: Bench) -> None:
    bench.create_own(goods)
    store = Store(bench.backend, clock=bench.clock, table_names=bench.names, deadline=0.0)
    results = store.within(30).write_each([Create(Article(sku=str(number))) for number in range(4)])
    assert all(each.is_written for each in results)


def test_wrong_arguments(bench: Bench, store: Store) -> None:
    assert store.write_each([]) == []
    with pytest.raises(ModelError, match="write_each takes operations, such as Create"):
        store.write_each([deal(1)])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="write_each takes a list of operations"):
        store.write_each(Create(deal(1)))  # type: ignore[arg-type]
