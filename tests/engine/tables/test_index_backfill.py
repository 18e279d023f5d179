"""Indexes added to tables with items: filled in the background, correct whatever happens meanwhile."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import Item, LimitExceededException, item_size
from tablewright.engine import Engine, slices
from tablewright.engine.database import Database
from tablewright.engine.slices import in_one_go
from tablewright.engine.storage.group_commit import Storage
from tablewright.engine.tables import index_backfill
from tablewright.engine.tables.table_operations import create_table, describe_table
from tablewright.engine.tables.update_table import update_table
from tests.engine.table_requests import attributes, create, describe, index, on_demand, refusal, update

ADD_INDEX = {
    "AttributeDefinitions": attributes("g"),
    "GlobalSecondaryIndexUpdates": [{"Create": index("by-g", "g")}],
}
DROP_INDEX = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]}


class Bench:
    """A database whose background work is done by hand, one step at a time."""

    def __init__(self, folder: Path | None = None) -> None:
        self.storage = Storage(folder)
        self.db = Database(self.storage, time.time, random.Random(1), "us-east-1", "000000000000")
        self.storage.on_rollback = self.db.load_tables
        if "music" not in self.db.tables:
            with self.storage.turn():
                create_table(self.db, on_demand())
            self.storage.flush()

    def write(self, number: int, group: str | None, text: str = "", *, remove: bool = False) -> None:
        item: Item = {"pk": {"S": str(number)}, "text": {"S": text}}
        if group is not None:
            item["g"] = {"S": group}
        with self.storage.turn():
            table = self.db.tables["music"]
            row_key = table.row_key(item)
            old = self.db.fetch(table, row_key)
            self.db.change(table, row_key, old, None if remove else item, item_size(item))
        self.storage.flush()

    def fill(self, count: int) -> None:
        for number in range(count):
            self.write(number, f"g{number % 7}" if number % 3 else None)

    def update(self, request: Mapping[str, object]) -> None:
        with self.storage.turn():
            in_one_go(update_table(self.db, {"TableName": "music", **request}))
        self.storage.flush()

    def step(self) -> bool:
        with self.storage.turn():
            more = index_backfill.step(self.db)
        self.storage.flush()
        return more

    def status(self) -> tuple[str, bool | None] | None:
        with self.storage.turn():
            table = in_one_go(describe_table(self.db, {"TableName": "music"}))["Table"]
            indexes = table.get("GlobalSecondaryIndexes")
        return (indexes[0]["IndexStatus"], indexes[0].get("Backfilling")) if indexes else None

    def entries(self) -> set[int]:
        """The ids of the rows in the index."""
        rows = self.db.tables["music"].indexes["by-g"].rows
        return {row for (row,) in self.storage.execute(f"SELECT id FROM {rows}")}

    def check(self) -> None:
        """The index has exactly an entry for each item that belongs in it."""
        table = self.db.tables["music"]
        by_g = table.indexes["by-g"]
        expected = set()
        for row_id, row_key in self.storage.execute(f"SELECT id, key FROM {table.rows}").fetchall():
            row = self.db.fetch(table, row_key)
            assert row is not None
            if by_g.holds(row.item):
                expected.add((table.index_key(by_g, row.item, row_key), row_id))
        assert set(self.storage.execute(f"SELECT key, id FROM {by_g.rows}")) == expected


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.storage.close()


def test_a_small_table_is_filled_at_once(bench: Bench) -> None:
    bench.fill(400)
    bench.update(ADD_INDEX)
    assert bench.status() == ("ACTIVE", None)
    bench.check()
    assert not bench.step()


def test_a_step_is_over_when_a_slice_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large items, and many indexes, take longer; small ones are always entered some hundreds at a time."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    for number in range(20):
        bench.write(number, "g", "x" * 10_000)
    bench.update(ADD_INDEX)
    # Seven items are more than what is looked at without the clock.
    assert [len(bench.entries()), bench.step(), len(bench.entries()), bench.step()] == [7, True, 14, False]
    bench.check()


def test_a_big_table_is_filled_step_by_step(bench: Bench) -> None:
    bench.fill(1200)
    bench.update(ADD_INDEX)
    assert bench.status() == ("CREATING", True)
    assert not bench.db.tables["music"].indexes["by-g"].queryable
    assert bench.step()
    assert bench.status() == ("CREATING", True)
    assert not bench.step()
    assert bench.status() == ("ACTIVE", None)
    assert bench.db.tables["music"].indexes["by-g"].queryable
    bench.check()


def test_writes_between_steps_are_neither_lost_nor_doubled(bench: Bench) -> None:
    bench.fill(1200)
    bench.update(ADD_INDEX)
    entered, to_come = 10, 1100
    for number in (entered, to_come):
        bench.write(number, "changed")
        bench.write(number + 1, None)
        bench.write(number + 2, "x", remove=True)
        bench.write(number + 3, f"g{(number + 3) % 7}")
    bench.write(5000, "new")
    while bench.step():
        pass
    bench.check()


@given(
    st.lists(
        st.one_of(
            st.just("step"),
            st.tuples(st.integers(0, 1100), st.sampled_from([None, "a", "b"]), st.booleans()),
        ),
        max_size=12,
    )
)
def test_any_writes_between_steps_leave_a_complete_index(
    actions: list[str | tuple[int, str | None, bool]],
) -> None:
    bench = Bench()
    with bench.storage.turn():
        table = bench.db.tables["music"]
        for number in range(1050):
            item: Item = {"pk": {"S": str(number)}, "g": {"S": "a"}}
            bench.db.change(table, table.row_key(item), None, item, item_size(item))
    bench.update(ADD_INDEX)
    for action in actions:
        if isinstance(action, tuple):
            number, group, remove = action
            bench.write(number, group, remove=remove)
        else:
            bench.step()
    while bench.step():
        pass
    bench.check()
    bench.storage.close()


def test_the_work_goes_on_after_a_restart_where_it_was(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.fill(1600)
    bench.update(ADD_INDEX)
    bench.step()
    entered = bench.entries()
    bench.storage.close()
    again = Bench(tmp_path)
    assert again.status() == ("CREATING", True)
    assert again.entries() == entered
    assert again.step()
    assert again.entries() > entered
    while again.step():
        pass
    again.check()
    again.storage.close()


def test_an_index_may_be_deleted_while_it_is_filled(bench: Bench) -> None:
    bench.fill(1200)
    bench.update(ADD_INDEX)
    bench.update(DROP_INDEX)
    assert bench.status() is None
    assert not bench.step()
    bench.update(ADD_INDEX)
    while bench.step():
        pass
    bench.check()


def test_another_index_has_to_wait(bench: Bench) -> None:
    bench.fill(1200)
    bench.update(ADD_INDEX)
    another = {
        "AttributeDefinitions": attributes("g"),
        "GlobalSecondaryIndexUpdates": [{"Create": index("other", "g")}],
    }
    assert refusal(lambda: bench.update(another), LimitExceededException) == (
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    )


def test_items_that_have_no_such_key_stay_out(bench: Bench) -> None:
    with bench.storage.turn():
        table = bench.db.tables["music"]
        odd: list[Item] = [
            {"pk": {"S": "1"}, "g": {"N": "1"}},
            {"pk": {"S": "2"}, "g": {"S": ""}},
            {"pk": {"S": "3"}, "g": {"S": "x" * 5000}},
            {"pk": {"S": "4"}, "g": {"S": "x"}},
        ]
        for item in odd:
            bench.db.change(table, table.row_key(item), None, item, item_size(item))
    bench.update(ADD_INDEX)
    assert len(bench.entries()) == 1


def test_the_engine_fills_indexes_by_itself() -> None:
    with Engine.open() as engine:
        create(engine, on_demand())
        for number in range(1100):
            item = {"pk": {"S": str(number)}, "g": {"S": "x"}}
            engine.call("PutItem", {"TableName": "music", "Item": item})
        update(engine, **ADD_INDEX)
        deadline = time.monotonic() + 20
        while describe(engine)["GlobalSecondaryIndexes"][0]["IndexStatus"] != "ACTIVE":
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert describe(engine)["GlobalSecondaryIndexes"][0]["ItemCount"] == 1100
        assert engine.verify().ok
