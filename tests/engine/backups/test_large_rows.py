"""Tables of large items are copied a megabyte at a time: what is written is also committed and synced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine, Unfinished, slices
from tablewright.engine.backups import point_in_time
from tests.clocks import Clock
from tests.engine.table_requests import on_demand

ITEMS = 60
ITEM_BYTES = 100_000
RECOVERY = {"PointInTimeRecoveryEnabled": True}


@pytest.fixture(autouse=True)
def long_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 3600.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(tmp_path: Path, clock: Clock) -> Iterator[Engine]:
    with Engine.open(tmp_path / "data", clock=clock) as engine:
        engine._background.stop()
        engine.call("CreateTable", on_demand())
        engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": RECOVERY})
        put_all(engine, "before")
        yield engine


def put_all(engine: Engine, text: str) -> None:
    for number in range(ITEMS):
        item = {"pk": {"S": str(number)}, "text": {"S": text}, "more": {"S": "x" * ITEM_BYTES}}
        engine.execute("PutItem", {"TableName": "music", "Item": item})
    engine.flush()


def slices_of(engine: Engine, operation: str, request: dict[str, Any]) -> int:
    """How many slices an operation takes."""
    outcome = engine.begin(operation, request)
    count = 1
    while isinstance(outcome, Unfinished):
        if outcome.beside is not None:
            outcome.beside()
        outcome = outcome.resume()
        count += 1
    engine.flush()
    return count


def texts(engine: Engine, table: str) -> set[str]:
    found = engine.call("ExecuteStatement", {"Statement": f'SELECT text FROM "{table}"'})
    return {item["text"]["S"] for item in found["Items"]}


# A megabyte, and a statement's worth more.
EXPECTED = range(ITEMS * ITEM_BYTES // 1_400_000, ITEMS * ITEM_BYTES // 1_000_000 + 2)


def test_a_backup_and_its_restore(engine: Engine) -> None:
    assert slices_of(engine, "CreateBackup", {"TableName": "music", "BackupName": "all"}) in EXPECTED
    (backup,) = engine.call("ListBackups", {})["BackupSummaries"]
    request = {"BackupArn": backup["BackupArn"], "TargetTableName": "copy"}
    assert slices_of(engine, "RestoreTableFromBackup", request) in EXPECTED
    assert texts(engine, "copy") == {"before"}
    assert engine.verify().ok


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_restore_to_a_time(engine: Engine, clock: Clock, is_changed: bool) -> None:
    then = clock.now + 5
    clock.now += 10
    if is_changed:
        put_all(engine, "after")
    request = {"SourceTableName": "music", "TargetTableName": "copy", "RestoreDateTime": then}
    assert slices_of(engine, "RestoreTableToPointInTime", request) >= EXPECTED.start
    assert texts(engine, "copy") == {"before"}
    assert engine.verify().ok


def test_many_changes_that_take_long_to_read_are_noted_in_slices(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some in each, so that others cannot make them faster."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(point_in_time, "_NOTED_AT_LEAST", 4)
    then = clock.now + 5
    clock.now += 10
    put_all(engine, "after")
    request = {"SourceTableName": "music", "TargetTableName": "copy", "RestoreDateTime": then}
    assert slices_of(engine, "RestoreTableToPointInTime", request) >= ITEMS // 4
    assert texts(engine, "copy") == {"before"}


def test_old_changes_are_trimmed_some_at_a_time(engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_DELETED_BYTES", 10 * ITEM_BYTES)
    put_all(engine, "after")
    clock.now += 36 * 24 * 3600
    database = engine._database
    count = f"SELECT count(*) FROM {database.tables['music'].history}"
    left = []
    with engine._storage.turn():
        while point_in_time.trim(database) == 0.0:
            left.append(database.storage.execute(count).fetchone()[0])
    # The first changes have no item before them.
    assert left == [50, 40, 30, 20, 10, 0]


def test_rows_whose_items_are_lost_are_rows_as_well(engine: Engine) -> None:
    """A backup has them, too, and the others behind them."""
    engine._storage.write()(f"UPDATE {engine._database.tables['music'].rows} SET item = x''")
    engine.flush()
    engine.call("CreateBackup", {"TableName": "music", "BackupName": "all"})
    (rows,) = engine._storage.execute("SELECT count(*) FROM backup_1").fetchone()
    assert rows == ITEMS
