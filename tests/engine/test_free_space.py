"""A database and its log get smaller again after what was in them is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tablewright.engine import Engine, free_space
from tablewright.engine.storage.log_check import check_log, read_end_mark
from tests.engine.storage.damage import DATABASE, LOG
from tests.engine.table_requests import on_demand

MEGABYTE = 1024 * 1024


def fill(engine: Engine, count: int = 60) -> None:
    engine.call("CreateTable", on_demand(TableName="large"))
    for number in range(count):
        item = {"pk": {"S": str(number)}, "text": {"S": "x" * 50_000}}
        engine.execute("PutItem", {"TableName": "large", "Item": item})
    engine.flush()


def delete_items(engine: Engine) -> None:
    for number in range(60):
        engine.execute("DeleteItem", {"TableName": "large", "Key": {"pk": {"S": str(number)}}})
    engine.flush()


def delete_table(engine: Engine) -> None:
    engine.call("DeleteTable", {"TableName": "large"})


@pytest.mark.parametrize("delete", [delete_items, delete_table])
def test_the_file_and_the_log_shrink(tmp_path: Path, delete: object) -> None:
    with Engine.open(tmp_path / "data") as engine:
        engine._background.stop()
        engine.call("CreateTable", on_demand(TableName="kept"))
        engine.call("PutItem", {"TableName": "kept", "Item": {"pk": {"S": "a"}}})
        fill(engine)
        engine._storage.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        assert (tmp_path / "data" / DATABASE).stat().st_size > 2.5 * MEGABYTE
        assert callable(delete)
        delete(engine)
        engine.sweep()
        assert (tmp_path / "data" / DATABASE).stat().st_size <= 1.5 * MEGABYTE
        assert (tmp_path / "data" / LOG).stat().st_size == 0
        # The end of an empty log is known, and so is that of what follows.
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
        engine.call("PutItem", {"TableName": "kept", "Item": {"pk": {"S": "b"}}})
        state = check_log(tmp_path / "data" / LOG, read_end_mark(tmp_path / "data" / "tablewright.end"))
        assert (state.commits, state.damage) == (1, None)
        assert engine.verify().ok
    with Engine.open(tmp_path / "killed") as engine:
        assert engine.call("Scan", {"TableName": "kept"})["Count"] == 1
        assert engine.verify().ok


def test_the_log_waits_for_those_who_write(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine._background.stop()
        fill(engine)
        with engine._storage.turn():
            engine._storage.write()
            assert not engine._storage.empty_log()
        engine.flush()
        with engine._storage.turn():
            assert engine._storage.empty_log()
        assert (tmp_path / LOG).stat().st_size == 0


def test_a_table_whose_items_come_and_go_keeps_some_pages(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine._background.stop()
        fill(engine)
        engine.call("DeleteItem", {"TableName": "large", "Key": {"pk": {"S": "1"}}})
        engine.sweep()
        assert engine._storage.execute("PRAGMA freelist_count").fetchone()[0] > 10


def test_deletes_wake_the_background_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.engine.database._DELETES_BETWEEN_LOOKS", 60)
    with Engine.open(tmp_path) as engine:
        fill(engine)
        delete_items(engine)
        assert engine._background._thread is not None


def test_a_step_gives_many_pages_back(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine._background.stop()
        fill(engine)
        delete_items(engine)
        pages = engine._storage.execute("PRAGMA page_count").fetchone()[0]
        with engine._storage.turn():
            assert free_space.step(engine._database) == 0.0
        assert engine._storage.execute("PRAGMA page_count").fetchone()[0] <= pages - 100
