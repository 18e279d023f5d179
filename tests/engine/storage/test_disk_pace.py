"""How long the log may be before a checkpoint, by what checkpoints took."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage import disk_pace
from tablewright.engine.storage.data_folder import CHECKPOINT_PAGES, WriteAheadLog
from tablewright.engine.storage.disk_pace import CheckpointPace
from tests.engine.table_requests import on_demand

Machine = Callable[[int], float]
FAST_SYNC = 0.001


def settled(takes: Machine, sync_seconds: float = FAST_SYNC) -> CheckpointPace:
    """After some checkpoints on a machine where one of so many pages takes so long."""
    pace = CheckpointPace()
    for _ in range(20):
        pace.made(pace.pages, takes(pace.pages), sync_seconds)
    return pace


@pytest.mark.parametrize("microseconds", [2, 4, 8])
def test_a_checkpoint_is_made_before_it_takes_long(microseconds: int) -> None:
    pace = settled(lambda pages: pages * microseconds * 1e-6)
    assert 0.75 <= pace.pages * microseconds * 1e-6 / disk_pace._SECONDS <= 1.25


def test_a_log_is_never_longer_than_its_bound() -> None:
    assert settled(lambda pages: 0.0).pages == CHECKPOINT_PAGES


def test_a_log_is_long_enough_to_be_worth_a_checkpoint() -> None:
    assert settled(lambda pages: pages * 0.001).pages == 2_000


def test_where_syncs_take_long_there_are_no_more_checkpoints_than_they_are_worth() -> None:
    """Its syncs take the most of a checkpoint then, however short the log is."""
    pace = settled(lambda pages: 2 * 0.05 + pages * 4e-6, sync_seconds=0.05)
    assert pace.pages == CHECKPOINT_PAGES


def test_one_slow_checkpoint_changes_little() -> None:
    pace = settled(lambda pages: pages * 2e-6)
    before = pace.pages
    pace.made(pace.pages, 10.0, FAST_SYNC)
    assert pace.pages >= before // 2
    for _ in range(4):
        pace.made(pace.pages, pace.pages * 2e-6, FAST_SYNC)
    assert pace.pages >= before * 0.9


def test_an_engine_keeps_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    with Engine.open(tmp_path) as engine:
        engine.call("CreateTable", on_demand())
        storage = engine._storage
        assert storage._log is not None
        before = storage._log.checkpoints
        monkeypatch.setattr(CheckpointPace, "made", lambda pace, pages, seconds, sync_seconds: made.append(pages))
        storage.checkpoint_pace.pages = 60
        for number in range(100):
            item = {"pk": {"S": str(number)}, "v": {"S": "x" * 5_000}}
            engine.call("PutItem", {"TableName": "music", "Item": item})
        assert storage._log.checkpoints > before + 1
        # The log starts over with the commit behind a checkpoint.
        assert len(made) - (storage._log.checkpoints - before) in (0, 1)
    # Before it is too long, where commits are alike.
    assert all(40 < pages < 70 for pages in made)


def test_a_checkpoint_is_made_at_a_commit_if_writers_never_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    sync = WriteAheadLog.sync
    with Engine.open(tmp_path) as engine:
        engine.call("CreateTable", on_demand())
        storage = engine._storage

        def sync_and_begin_to_write(log: WriteAheadLog) -> None:
            sync(log)
            storage.write()

        with monkeypatch.context() as patches:
            patches.setattr(CheckpointPace, "made", lambda pace, pages, seconds, sync_seconds: made.append(pages))
            patches.setattr(WriteAheadLog, "sync", sync_and_begin_to_write)
            storage.checkpoint_pace.pages = 60
            for number in range(100):
                item = {"pk": {"S": str(number)}, "v": {"S": "x" * 5_000}}
                engine.call("PutItem", {"TableName": "music", "Item": item})
    assert len(made) > 5
    assert all(60 <= pages < 90 for pages in made)


def test_pages_of_large_items_are_counted_as_a_checkpoint_writes_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of hot pages, which are written once however often they changed, say nothing of these."""
    monkeypatch.setattr(disk_pace, "_OF_LARGE_ITEMS", 200)
    with Engine.open(tmp_path) as engine:
        engine.call("CreateTable", on_demand())
        storage = engine._storage
        log = storage._log
        assert log is not None
        storage.checkpoint_pace.pages = CHECKPOINT_PAGES

        def put(size: int, number: int) -> None:
            item = {"pk": {"S": str(number)}, "v": {"S": "x" * size}}
            engine.call("PutItem", {"TableName": "music", "Item": item})

        before = log.checkpoints
        for number in range(100):
            put(5_000, number)
        assert log.checkpoints == before
        for number in range(40):
            put(100_000, number)
        # A thousand pages.
        assert 3 <= log.checkpoints - before <= 6


def test_a_large_transaction_does_not_wait_for_a_checkpoint_of_what_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_pace, "_OF_LARGE_ITEMS", 500)
    made: list[int] = []
    with Engine.open(tmp_path) as engine:
        engine.call("CreateTable", on_demand())
        storage = engine._storage
        assert storage._log is not None
        storage.checkpoint_pace.pages = CHECKPOINT_PAGES
        for number in range(15):
            item = {"pk": {"S": str(number)}, "v": {"S": "x" * 100_000}}
            engine.call("PutItem", {"TableName": "music", "Item": item})
        assert storage._log.frames > 375
        monkeypatch.setattr(CheckpointPace, "made", lambda pace, pages, seconds, sync_seconds: made.append(pages))
        items = [{"pk": {"S": f"t-{number}"}, "v": {"S": "y" * 300_000}} for number in range(13)]
        engine.call(
            "TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "music", "Item": i}} for i in items]}
        )
    # Its own pages alone, right after it.
    assert made
    assert all(900 < pages < 1100 for pages in made)
