"""Reading an index whose number of shards is being changed: nothing is missed, nothing is doubled.

The property runs a repair, writers and readers as flows, one request at a time in any order. What a reader must find is
what was there from its beginning to its end; what it must never do is give an item twice or out of order.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.model import (
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    Keys,
    ModelError,
    Query,
    Table,
    UpdatedAt,
    attr,
    schema_of,
    sharded,
)
from tablewright.store import Create, Delete, Put, ServiceError, Store
from tablewright.store.flow.driver import Flow, Request, Sleep
from tablewright.store.maintenance import verify_repair
from tablewright.store.read import query
from tablewright.store.write.put import put
from tablewright.store.write.transaction import transact
from tests.examples import examples
from tests.store.bench import Bench

NAME = "moving"
# From, to: more and fewer, with and without a suffix, of one width and of two, multiples and not.
NUMBERS = [(1, 3), (3, 1), (2, 4), (4, 2), (3, 5), (10, 12), (12, 10), (9, 11)]


@cache
def parcel(shards: int, was: int | None = None) -> Any:
    """The same entity, with another number of shards each time."""
    table = Table(
        NAME,
        "PK",
        indexes=[
            GlobalIndex("byState", "GSI1PK", "GSI1SK"),
            GlobalIndex("byStateOnly", "GSI1PK"),
            GlobalIndex("byStateKeys", "GSI1PK", "GSI1SK", include=[]),
        ],
    )
    rule = "STATE#{state}" if (shards, was) == (1, None) else sharded("STATE#{state}", shards, was=was)

    class Parcel(Entity, table=table):
        parcel_id: str
        state: str = "open"
        day: int
        touched: UpdatedAt = None

        keys = Keys(PK="{parcel_id}", GSI1PK=rule, GSI1SK="{day:04}")

        @Get()
        def by_id(self, parcel_id: str) -> None: ...

        @Query("byState")
        def in_order(self, state: str) -> None: ...

        @Query("byState", newest_first=True)
        def latest(self, state: str, *, since: int | None = None, until: int | None = None) -> None: ...

        @Query("byStateOnly")
        def unordered(self, state: str) -> None: ...

        @Query("byStateKeys")
        def entries(self, state: str) -> None: ...

        @Query("byState")
        def some(self, state: str) -> FieldCondition:
            return attr(self.day).is_in(0, 1, 3, 4)

    return Parcel


class Running:
    """A flow that goes on by one request at a time."""

    def __init__(self, flow: Flow[Any]) -> None:
        self.flow = flow
        self.result: Any = None
        self.step = next(flow)

    def advance(self, store: Store) -> bool:
        """Do one request; whether there are more."""
        try:
            try:
                response = None if isinstance(self.step, Sleep) else store.backend.call(self.step)
            except ServiceError as error:
                self.step = self.flow.throw(error)
            else:
                self.step = self.flow.send(response)
        except StopIteration as end:
            self.result = end.value
            return False
        return True


def reading(store: Store, selection: Any, limit: int, page_size: int | None, found: list[Any]) -> Flow[None]:
    """All of a selection, by a new request with a cursor for each page."""
    cursor = None
    while True:
        page = yield from query.query(store.context, selection, limit=limit, page_size=page_size, cursor=cursor)
        found.extend(page.items)
        cursor = page.cursor
        if cursor is None:
            return
        assert len(page.items) == limit


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        yield engine


_numbers = count()


def opened(engine: Engine) -> Store:
    name = f"{NAME}-{next(_numbers)}"
    store = Store.on(engine, entropy=random.Random(1), cursor_secret=b"s" * 32, table_names={NAME: name})
    engine.call("CreateTable", schema_of(parcel(1)).table.create_request(name))
    return store


@pytest.mark.requirement("SU16")
@settings(max_examples=examples(60))
@given(
    numbers=st.sampled_from(NUMBERS),
    days=st.lists(st.integers(0, 4), min_size=1, max_size=14),
    pattern=st.sampled_from(["in_order", "latest", "unordered", "entries", "some"]),
    limit=st.integers(1, 6),
    page_size=st.sampled_from([None, 1, 2]),
    chance=st.integers(0, 2**32).map(random.Random),
)
def test_whatever_is_there_throughout_is_read_once_and_in_order(
    engine: Engine,
    numbers: tuple[int, int],
    days: list[int],
    pattern: str,
    limit: int,
    page_size: int | None,
    chance: random.Random,
) -> None:
    was, now = numbers
    store, old, new = opened(engine), parcel(was), parcel(now, was)
    there = {str(number): old(parcel_id=str(number), day=day) for number, day in enumerate(days)}
    store.write_many(there.values())
    coming = [chance.randint(0, 4) for _ in range(chance.randint(0, 3))]
    going = {name for name in there if chance.random() < 0.1}
    touched = {name for name in there if chance.random() < 0.3} - going
    context = store.context
    found: list[Any] = []
    flows = [
        Running(verify_repair.repair(context, new, dry_run=False, page_size=chance.randint(1, 4))),
        Running(reading(store, getattr(new, pattern)(state="open"), limit, page_size, found)),
        *(
            Running(transact(context, Create(new(parcel_id=f"new-{number}", day=day))))
            for number, day in enumerate(coming)
        ),
        *(Running(transact(context, Delete(new.by_id(parcel_id=name)))) for name in going),
        *(Running(put(context, new(parcel_id=name, day=there[name].day))) for name in touched),
    ]
    while flows:
        flow = chance.choice(flows)
        if not flow.advance(store):
            flows.remove(flow)
    wanted = {name for name, each in there.items() if pattern != "some" or each.day != 2}
    names = [each.parcel_id for each in found]
    assert len(names) == len(set(names))
    assert set(names) >= wanted - going
    if pattern != "unordered":
        order = [each.day for each in found]
        assert order == sorted(order, reverse=pattern == "latest")
    # All have moved, and the earlier number need not be known any more.
    assert store.verify(parcel(now)).is_clean
    after = wanted - going | {f"new-{n}" for n, day in enumerate(coming) if pattern != "some" or day != 2}
    assert {each.parcel_id for each in store.iterate(getattr(parcel(now), pattern)(state="open"))} == after
    assert store.count(getattr(new, pattern)(state="open")) == len(after)
    engine.call("DeleteTable", {"TableName": context.table_names[NAME]})


@pytest.mark.requirement("SU16")
@pytest.mark.parametrize("number", [0, 1, 2], ids=["before", "midway", "after"])
def test_pages_are_as_of_one_partition_at_every_stage(bench: Bench, number: int) -> None:
    old, new = parcel(4), parcel(6, 4)
    bench.names[NAME] = f"{bench.names['Calls']}-{NAME}"
    bench.create(schema_of(old).table)
    store = bench.store
    store.write_many(old(parcel_id=f"{each:02}", day=each % 7) for each in range(30))
    store.repair(new, dry_run=False, limit=15 * number, page_size=5) if number else None
    expected = sorted((each % 7, f"{each:02}") for each in range(30))
    for page_size in (None, 3):
        pages = list(store.pages(new.in_order(state="open"), limit=8, page_size=page_size))
        assert [len(page.items) for page in pages] == [8, 8, 8, 6]
        assert [(item.day, item.parcel_id) for page in pages for item in page.items] == expected
    assert [item.day for item in store.iterate(new.latest(state="open", since=2, until=3))] == [3] * 4 + [2] * 4
    assert store.get(new.by_id(parcel_id="07")) is not None


@pytest.mark.requirement("SU16")
def test_readers_and_writers_go_on_while_a_repair_runs(bench: Bench) -> None:
    old, new = parcel(3), parcel(7, 3)
    bench.names[NAME] = f"{bench.names['Calls']}-{NAME}-load"
    bench.create(schema_of(old).table)
    steady = [old(parcel_id=f"{number:03}", day=number % 50) for number in range(200)]
    bench.store.write_many(steady)
    names = {each.parcel_id for each in steady}
    moved = threading.Event()
    failures: list[BaseException] = []

    def running(work: Callable[[int], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                for number in count():
                    work(number)
                    if moved.is_set():
                        return
            except BaseException as error:
                failures.append(error)

        return run

    def read(number: int) -> None:
        selection = new.latest(state="open") if number % 2 else new.in_order(state="open")
        found = [item.parcel_id for page in bench.store.pages(selection, limit=30) for item in page.items]
        assert len(found) == len(set(found))
        assert names <= set(found)

    def write(number: int) -> None:
        touched = steady[number * 7 % 200]
        bench.store.transact(
            Create(new(parcel_id=f"new-{number}", day=number % 50)),
            Put(new(parcel_id=touched.parcel_id, day=touched.day)),
        )

    threads = [threading.Thread(target=running(work)) for work in (read, read, write)]
    for thread in threads:
        thread.start()
    try:
        report = bench.store.repair(new, dry_run=False, page_size=10)
    finally:
        moved.set()
        for thread in threads:
            thread.join(60)
    assert failures == []
    assert report.progress.repaired > 0
    assert bench.store.repair(new, dry_run=False).progress.cursor is None
    assert bench.store.verify(parcel(7)).is_clean


def test_the_number_before_is_another_one_and_of_an_index() -> None:
    for shards, was in ((4, 4), (4, 0), (0, 4)):
        with pytest.raises(ModelError):
            sharded("X", shards, was=was)
    with pytest.raises(ModelError, match="is for keys of indexes only"):

        class Row(Entity, table=Table("rows", "PK")):
            name: str
            keys = Keys(PK=sharded("{name}", 4, was=2))


def test_a_position_of_another_number_of_shards_is_refused(engine: Engine) -> None:
    from tablewright.store import InvalidCursor

    store = opened(engine)
    store.write_many(parcel(2)(parcel_id=str(number), day=number) for number in range(5))
    cursor = store.query(parcel(2).in_order(state="open"), limit=2).cursor
    with pytest.raises(InvalidCursor):
        store.query(parcel(4, 2).in_order(state="open"), limit=2, cursor=cursor)


def test_a_read_asks_the_shards_that_items_leave_before_those_that_they_go_to(engine: Engine) -> None:
    store = opened(engine)
    flow = query.query(store.context, parcel(3, 2).in_order(state="open"), limit=1)
    asked = []
    running = Running(flow)
    while True:
        assert isinstance(running.step, Request)
        asked.append(next(iter(running.step.body["ExpressionAttributeValues"].values()))["S"])
        if not running.advance(store):
            break
    assert asked == [f"STATE#open#{shard}" for shard in (0, 1, 0, 1, 2)]
