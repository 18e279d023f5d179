"""The faces of a store: how one is opened, its settings, and that the asynchronous one does the same."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.store import AsyncStore, InvalidCursor, Page, ServiceError, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.context import Context
from tablewright.store.flow.driver import Request, Response, run
from tablewright.store.flow.retry import MAX_REQUEST_ATTEMPTS
from tablewright.store.read.batch_get import batch_get
from tablewright.wire import serve_in_thread
from tests.clocks import Clock
from tests.store.bench import Bench
from tests.store.models import TABLES, Call, Reading, Ticket, TicketStatus, calls, meters

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def call(number: int) -> Call:
    return Call(
        user_id="u-1", call_id=f"c-{number}", provider_id="p-1", scheduled_for=NOON + number * timedelta(hours=1)
    )


# -- opening --------------------------------------------------------------------------------------------------------


def test_a_store_keeps_its_data_in_a_folder(tmp_path: Path) -> None:
    with Store.open(tmp_path / "data") as store:
        store.ensure_tables(calls)
        store.put(call(1))
    with Store.open(tmp_path / "data") as store:
        found = store.get(Call.by_id(call_id="c-1"))
    assert found is not None
    assert found.scheduled_for == call(1).scheduled_for


def test_a_store_without_a_folder_is_in_memory() -> None:
    for _ in range(2):
        with Store.open() as store:
            store.ensure_tables(calls)
            assert store.get(Call.by_id(call_id="c-1")) is None
            store.put(call(1))


def test_a_store_on_an_engine_leaves_it_open(engine: Engine) -> None:
    with Store.on(engine) as store:
        store.ensure_tables(calls)
    assert engine.call("ListTables", {})["TableNames"] == ["Calls"]


def test_a_store_connects_to_an_endpoint(engine: Engine, clock: Clock) -> None:
    clock.now = 1.0
    with serve_in_thread(engine) as url:
        options = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        with Store.connect(region="eu-west-1", endpoint=url, clock=clock, strict=True, **options) as store:
            store.ensure_tables(calls)
            assert store.get(Call.by_id(call_id="c-1")) is None
            assert store.context.strict
            assert store.context.now() == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_tables_can_be_called_otherwise(engine: Engine) -> None:
    with Store.on(engine, table_names={"Calls": "staging-Calls"}) as store:
        store.ensure_tables(calls)
        store.put(call(1))
        assert store.get(Call.by_id(call_id="c-1")) is not None
    assert engine.call("ListTables", {})["TableNames"] == ["staging-Calls"]


# -- what reads send ------------------------------------------------------------------------------------------------


def test_capacity_is_reported_by_access_pattern(embedded: Bench) -> None:
    told: list[tuple[str, str, float]] = []

    def listen(pattern: str, operation: str, consumed: Any) -> None:
        for each in consumed if isinstance(consumed, list) else [consumed]:
            told.append((pattern, operation, each["CapacityUnits"]))

    embedded.save(call(1))
    store = Store(embedded.backend, table_names=embedded.names, on_capacity=listen)
    itself = Call.itself(user_id="u-1", call_id="c-1", scheduled_for=call(1).scheduled_for)
    store.get(itself)
    store.get(itself, consistent=True)
    store.get_many([itself])
    store.query(Call.upcoming(user_id="u-1"))
    store.scan(Call)
    store.count(Call.of_user(user_id="u-1"))
    assert told == [
        ("Call.itself", "GetItem", 0.5),
        ("Call.itself", "GetItem", 1.0),
        ("Call.itself", "BatchGetItem", 0.5),
        ("Call.upcoming", "Query", 0.5),
        ("Call.scan", "Scan", 0.5),
        ("Call.of_user", "Query", 0.5),
    ]


class Stingy(EmbeddedBackend):
    """An engine that processes a few keys of a batch only, and some batches not at all."""

    def __init__(self, engine: Engine, most: list[int]) -> None:
        super().__init__(engine, owned=False)
        self.most = most
        self.batches: list[int] = []

    def call(self, request: Request) -> Response:
        if request.operation != "BatchGetItem":
            return super().call(request)
        ((table, wanted),) = request.body["RequestItems"].items()
        keys = wanted["Keys"]
        self.batches.append(len(keys))
        most = self.most.pop(0) if self.most else 100
        response: Response = {"Responses": {table: []}, "UnprocessedKeys": {}}
        if most:
            response = super().call(Request(request.operation, {"RequestItems": {table: {"Keys": keys[:most]}}}))
        if keys[most:]:
            response["UnprocessedKeys"] = {table: {"Keys": keys[most:]}}
        return response


def test_unprocessed_keys_are_asked_for_again(engine: Engine, clock: Clock) -> None:
    backend = Stingy(engine, most=[40, 0, 30])
    bench = Bench(backend, clock)
    bench.create(*TABLES)
    bench.save(*(call(n) for n in range(120)))
    lookups = [Call.itself(user_id="u-1", call_id=f"c-{n}", scheduled_for=call(n).scheduled_for) for n in range(120)]
    assert bench.store.get_many(lookups) == [call(n) for n in range(120)]
    assert backend.batches == [100, 60, 60, 30, 20]


def test_unprocessed_keys_are_not_asked_for_for_ever(engine: Engine, clock: Clock) -> None:
    class Hasty(random.Random):
        def uniform(self, a: float, b: float) -> float:
            return a

    backend = Stingy(engine, most=[0] * 100)
    flow = batch_get(Context(entropy=Hasty()), [("t", {"id": {"S": "1"}})], "Call.itself")
    with pytest.raises(ServiceError, match=r"1 keys of Call\.itself were left unprocessed"):
        run(flow, backend)
    assert len(backend.batches) == MAX_REQUEST_ATTEMPTS


# -- asyncio --------------------------------------------------------------------------------------------------------


@pytest.fixture
def asynchronous(bench: Bench) -> AsyncStore:
    return AsyncStore(bench.backend, clock=bench.clock, table_names=bench.names)


def test_the_asynchronous_store_reads_what_the_other_one_does(bench: Bench, asynchronous: AsyncStore) -> None:
    bench.save(*(call(n) for n in range(5)))
    bench.save(*(Ticket(ticket_id=f"t-{n}", customer_id="k", opened_at=NOON) for n in range(10)))

    async def work() -> None:
        store = asynchronous
        assert await store.get(Call.by_id(call_id="c-1")) == call(1)
        assert await store.get(Call.by_id(call_id="c-9")) is None
        itself = [Call.itself(user_id="u-1", call_id=f"c-{n}", scheduled_for=call(n).scheduled_for) for n in (4, 9, 0)]
        assert await store.get_many(itself) == [call(4), None, call(0)]
        page = await store.query(Call.upcoming(user_id="u-1"), limit=2)
        assert page.items == [call(0), call(1)]
        rest = await store.query(Call.upcoming(user_id="u-1"), cursor=page.cursor)
        assert rest == Page([call(2), call(3), call(4)], None)
        with pytest.raises(InvalidCursor):
            await store.query(Call.of_user(user_id="u-1"), cursor=page.cursor)
        assert await store.count(Ticket.by_status(status=TicketStatus.OPEN)) == 10
        assert len((await store.scan(Ticket, limit=3)).items) == 3
        found = [item async for item in store.iterate(Call.of_user(user_id="u-1"), page_size=2, limit=3)]
        assert found == [call(0), call(1), call(2)]
        sizes = [len(page.items) async for page in store.pages(Ticket, limit=4)]
        assert sizes == [4, 4, 2]
        many = await asyncio.gather(*(store.get(Call.by_id(call_id=f"c-{n}")) for n in range(5)))
        assert many == [call(n) for n in range(5)]

    asyncio.run(work())


def test_the_asynchronous_store_opens_and_closes_an_engine(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncStore.open(tmp_path / "data") as store:
            await store.ensure_tables(meters)
            assert await store.get(Reading.at_time(meter="m-1", at=1)) is None

    asyncio.run(work())
    Engine.open(tmp_path / "data").close()


def public(face: type) -> Iterator[tuple[str, list[inspect.Parameter]]]:
    for name, member in inspect.getmembers(face, inspect.isfunction):
        if not name.startswith("_"):
            yield name, list(inspect.signature(member).parameters.values())


def test_both_stores_have_the_same_methods() -> None:
    def shape(face: type) -> dict[str, list[tuple[str, object]]]:
        return {name: [(each.name, each.default) for each in parameters] for name, parameters in public(face)}

    assert shape(Store) == shape(AsyncStore)
