"""A snapshot while the engine writes: what a checkpoint, or a log that starts over, could do to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine, StorageError
from tablewright.engine.closed_folder import verify_closed
from tablewright.engine.copies import snapshot
from tablewright.engine.copies.snapshot import take_snapshot
from tablewright.engine.storage import checkpoint_gate
from tablewright.engine.storage.data_folder import Files
from tests.engine.storage.disk import create, keys, put

CHECKPOINT_PAGES = 60


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine that makes a checkpoint after every few writes."""
    with Engine.open(tmp_path / "data") as opened:
        opened._background.stop()
        opened._storage.checkpoint_pages = CHECKPOINT_PAGES
        create(opened)
        put_all(opened, "before", 40)
        yield opened


def put_all(engine: Engine, name: str, count: int) -> None:
    for number in range(count):
        put(engine, f"{name} {number}", 2000)


def names(name: str, count: int) -> set[str]:
    return {f"{name} {number}" for number in range(count)}


def taken(engine: Engine, folder: Path) -> set[str]:
    """The keys in a snapshot."""
    assert engine.folder is not None
    folder.mkdir()
    with engine._storage.reading() as descriptor:
        take_snapshot(Files.of(engine.folder), folder, descriptor, lambda done, total: None, nullcontext)
    assert verify_closed(folder).problems == []
    with Engine.open(folder) as copied:
        return keys(copied)


def meanwhile(monkeypatch: pytest.MonkeyPatch, function: str, action: Callable[[], None], *, times: int = 1) -> None:
    """Do something after a step of a snapshot."""
    original, left = getattr(snapshot, function), [times]

    def then(*arguments: Any) -> Any:
        result = original(*arguments)
        if left[0]:
            left[0] -= 1
            action()
        return result

    monkeypatch.setattr(snapshot, function, then)


def test_no_checkpoint_changes_the_database_while_it_is_copied(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine.folder is not None
    files = Files.of(engine.folder)
    before = files.database.stat().st_mtime_ns

    def write() -> None:
        # Several times what otherwise makes a checkpoint.
        put_all(engine, "meanwhile", 200)
        assert files.database.stat().st_mtime_ns == before
        assert files.log.stat().st_size > 2 * CHECKPOINT_PAGES * 4096

    meanwhile(monkeypatch, "_settled", write)
    assert taken(engine, tmp_path / "copy") == names("before", 40) | names("meanwhile", 200)
    put(engine, "afterwards")
    assert files.database.stat().st_mtime_ns > before


def test_writes_behind_the_instant_are_not_in_it(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, "log_frames", lambda: put_all(engine, "later", 5))
    assert taken(engine, tmp_path / "copy") == names("before", 40)


@pytest.mark.parametrize("moment", ["_settled", "log_frames"])
def test_a_log_that_starts_over_meanwhile(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    engine._storage.execute("PRAGMA wal_checkpoint")
    # The next write begins the log again.
    meanwhile(monkeypatch, moment, lambda: put_all(engine, "again", 3))
    assert taken(engine, tmp_path / "copy") == names("before", 40) | names("again", 3)


def test_a_log_that_becomes_too_long_is_checkpointed_and_the_copy_starts_over(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_gate, "_LARGEST_LOG", 0)
    meanwhile(monkeypatch, "_settled", lambda: put_all(engine, "meanwhile", 600))
    assert taken(engine, tmp_path / "copy") == names("before", 40) | names("meanwhile", 600)


def test_what_is_not_committed_is_not_in_it(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = engine._storage
    storage.execute("PRAGMA cache_size = 10")  # pages of an open transaction are in the log

    def leave_open() -> None:
        with storage.turn():
            storage.write()
            for number in range(200):
                storage.execute("INSERT INTO settings VALUES (?, 1, 1)", (f"{number}" + "x" * 2000,))

    meanwhile(monkeypatch, "_settled", leave_open)
    assert taken(engine, tmp_path / "copy") == names("before", 40)
    storage.abort(ValueError("given up"))


def test_a_second_reader_waits_and_gives_up(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_gate, "_PATIENCE", 0.05)
    assert engine.folder is not None
    with (
        checkpoint_gate.closed(engine.folder),
        pytest.raises(StorageError, match="another program has been copying"),
    ):
        taken(engine, tmp_path / "copy")
