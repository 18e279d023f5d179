"""Tables that nobody needs any more are emptied some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tablewright.engine import Engine, discarded_tables
from tests.engine.table_requests import on_demand

ROWS = 2_000


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine with a discarded table."""
    with Engine.open() as engine:
        engine._background.stop()
        engine.call("CreateTable", on_demand())
        for number in range(ROWS):
            engine.execute("PutItem", {"TableName": "music", "Item": {"pk": {"S": str(number)}}})
        engine.call("DeleteTable", {"TableName": "music"})
        yield engine


def step(engine: Engine, monkeypatch: pytest.MonkeyPatch, row_seconds: float) -> int:
    """How many rows a step deletes where each takes so long."""
    database = engine._database
    (name,) = discarded_tables._names(database)
    left = f"SELECT count(*) FROM {name}"
    before = database.storage.execute(left).fetchone()[0]

    def now() -> float:
        return float((before - database.storage.execute(left).fetchone()[0]) * row_seconds)

    monkeypatch.setattr(discarded_tables, "time", SimpleNamespace(perf_counter=now))
    with engine._storage.turn():
        assert discarded_tables.step(database) == 0.0
    return int(before - database.storage.execute(left).fetchone()[0])


def test_large_rows_are_deleted_a_few_at_a_time(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert step(engine, monkeypatch, row_seconds=0.001) == 4


def test_a_step_takes_some_milliseconds_whatever_the_rows_are_like(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for microseconds in (2, 10, 50, 200):
        assert 0.003 <= step(engine, monkeypatch, microseconds * 1e-6) * microseconds * 1e-6 <= 0.0046
