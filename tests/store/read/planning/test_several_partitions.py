"""Reads of several partitions: merged in order, page by page, each partition once."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tablewright.model import Entity, Get, GlobalIndex, Keys, ModelError, Query, Table, attr, sharded
from tablewright.store import InvalidCursor, Store, TolerantReader
from tests.store.bench import Bench
from tests.store.branches import Deal, State, branches
from tests.store.recording_backend import watched

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def deal(number: int, state: State, **more: Any) -> Deal:
    return Deal.model_validate(
        {"shop": "s", "number": number, "state": state, "at": NOON + timedelta(hours=number), **more}
    )


@pytest.fixture
def filled(bench: Bench, store: Store) -> Store:
    bench.create_own(branches)
    chosen = random.Random(3)
    store.write_many([deal(number, chosen.choice(list(State))) for number in range(40)])
    return store


def expected(store: Store, *states: State) -> list[int]:
    return sorted((each.number for each in store.iterate(Deal) if each.state in states), reverse=True)


def test_the_items_of_all_partitions_come_in_one_order(filled: Store) -> None:
    for states in ([State.OPEN, State.PAID], [State.SENT], (State.SENT, State.OPEN), list(State)):
        page = filled.query(Deal.latest(states), limit=100)
        assert [each.number for each in page.items] == expected(filled, *states)
        assert page.cursor is None


@pytest.mark.parametrize("limit", [1, 3, 7, 40])
def test_pages_go_on_where_they_stopped(filled: Store, limit: int) -> None:
    found: list[int] = []
    cursor = None
    while True:
        page = filled.query(Deal.latest([State.OPEN, State.SENT]), limit=limit, cursor=cursor, page_size=2)
        found += [each.number for each in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == expected(filled, State.OPEN, State.SENT)


def test_a_value_that_is_named_twice_is_read_once(filled: Store) -> None:
    assert filled.count(Deal.latest([State.OPEN] * 3)) == len(expected(filled, State.OPEN))
    assert filled.query(Deal.latest([])).items == []
    assert filled.count(Deal.latest([])) == 0
    assert filled.first(Deal.latest([])) is None
    assert TolerantReader(filled).page(Deal.latest([]), limit=3).items == []


def test_a_range_holds_in_every_partition(filled: Store) -> None:
    since, before = NOON + timedelta(hours=10), NOON + timedelta(hours=30)
    found = filled.query(Deal.latest(list(State), since=since, before=before), limit=100).items
    assert [each.number for each in found] == list(range(29, 9, -1))
    assert filled.count(Deal.latest(list(State)), where=attr(Deal.number) < 5) == 5


def test_two_fields_of_a_partition_are_all_their_combinations(bench: Bench, filled: Store) -> None:
    filled.put(Deal(shop="t", number=90, at=NOON, state=State.PAID))
    filled.put(Deal(shop="u", number=91, at=NOON, state=State.PAID))
    found = filled.query(Deal.of_shops(["s", "t", "x"], [State.PAID, State.OPEN], after=20), limit=100).items
    assert [each.number for each in found] == [
        *(number for number in reversed(expected(filled, State.PAID, State.OPEN)) if 20 < number < 90),
        90,
    ]


def test_a_cursor_is_for_these_values_only(filled: Store) -> None:
    page = filled.query(Deal.latest([State.OPEN, State.PAID]), limit=2)
    with pytest.raises(InvalidCursor):
        filled.query(Deal.latest([State.OPEN, State.SENT]), limit=2, cursor=page.cursor)


def test_one_request_for_each_partition(bench: Bench, filled: Store) -> None:
    store, backend = watched(bench)
    store.count(Deal.of_shops(["s"], [State.OPEN, State.PAID, State.SENT]))
    assert backend.operations.count("Query") == 3


def test_too_many_or_no_sequence_is_refused(filled: Store) -> None:
    with pytest.raises(ModelError, match="merges 100 partitions at most"):
        filled.query(Deal.of_shops([str(number) for number in range(40)], list(State)))
    with pytest.raises(ModelError, match=r"takes several values of state: state=\[<State.OPEN"):
        filled.query(Deal.latest(State.OPEN))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"takes several values of shop: shop=\['s'\]"):
        filled.query(Deal.of_shops("s", []))  # type: ignore[arg-type]


def test_only_fields_of_the_partition_key_take_several_values() -> None:
    table = Table("several", "PK", "SK")
    with pytest.raises(ModelError, match="takes several number, which is not part of the partition key"):

        class Sorted(Entity, table=table):
            shop: str
            number: int

            keys = Keys(PK="{shop}", SK="{number:04}")

            @Query()
            def numbered(self, shop: str, number: list[int]) -> None: ...

    with pytest.raises(ModelError, match="reads one item, so it takes one shop; read several with get_many"):

        class Single(Entity, table=table):
            shop: str
            number: int

            keys = Keys(PK="{shop}", SK="{number:04}")

            @Get()
            def one(self, shop: list[str], number: int) -> None: ...


def test_partitions_that_are_being_resharded_are_read_exactly() -> None:
    table = Table("parcels", "PK", indexes=[GlobalIndex("byState", "GSI1PK", "GSI1SK")])

    def parcels(rule: Any) -> Any:
        class Parcel(Entity, table=Table("parcels", "PK", indexes=table.indexes)):
            number: int
            state: str

            keys = Keys(PK="{number:04}", GSI1PK=rule, GSI1SK="{number:04}")

            @Query("byState")
            def by_state(self, state: list[str], *, after: int | None = None) -> None: ...

        return Parcel

    with Store.open() as store:
        store.ensure_tables(table)
        before = parcels("STATE#{state}")
        store.write_many([before(number=number, state="abc"[number % 3]) for number in range(30)])
        between = parcels(sharded("STATE#{state}", 3, was=1))
        store.repair(between, dry_run=False, limit=10, page_size=10)
        found = store.query(between.by_state(["a", "c"], after=3), limit=100).items
        assert [each.number for each in found] == [number for number in range(4, 30) if number % 3 != 1]
