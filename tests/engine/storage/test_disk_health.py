"""An engine knows what is wrong with its disk, and says so until it works again."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import WriteAheadLog
from tests.engine.storage.disk import Disk, definition, put


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path) as opened:
        # It would commit, or fail to, while a test counts problems.
        opened._background.stop()
        opened.call("CreateTable", definition("things"))
        assert opened.problems() == []
        yield opened


def test_a_full_disk_is_a_problem_until_a_write_is_stored(engine: Engine) -> None:
    (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
    engine._storage.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InternalServerError, match="full"):
        put(engine, "large", 300_000)
    assert engine.problems() == ["the database could not be read or written: database or disk is full"]
    engine._storage.execute("PRAGMA max_page_count = 1000000")
    put(engine, "small")
    assert engine.problems() == []


@pytest.mark.parametrize("statement", ["INSERT", "COMMIT", "SELECT"])
def test_an_error_of_the_disk_is_a_problem_until_a_write_is_stored(engine: Engine, statement: str) -> None:
    disk = Disk(engine)
    disk.refuse(statement)
    with pytest.raises(InternalServerError):
        put(engine, "a")
    assert engine.problems() == ["the database could not be read or written: disk I/O error"]
    disk.recover()
    put(engine, "a")
    assert engine.problems() == []


def test_what_the_service_refuses_is_no_problem(engine: Engine) -> None:
    with pytest.raises(Exception, match="not found"):
        put(engine, "a", table="missing")
    assert engine.problems() == []


def test_a_failed_sync_is_a_problem_for_good(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    engine.when_failed(heard.append)

    def fail(_: WriteAheadLog) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(WriteAheadLog, "sync", fail)
        with pytest.raises(InternalServerError):
            put(engine, "a")
    expected = "the disk failed to sync: [Errno 5] Input/output error"
    assert (engine.problems(), heard) == ([expected], [expected])
    with pytest.raises(InternalServerError):
        put(engine, "b")
    assert engine.problems() == [expected]
    # Whoever asks later hears of it at once.
    engine.when_failed(heard.append)
    assert heard == [expected, expected]


def test_a_listener_that_fails_does_not_keep_others_from_hearing_of_a_failed_sync(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    def gone(reason: str) -> None:
        raise RuntimeError("Event loop is closed")

    def fail(_: WriteAheadLog) -> None:
        raise OSError(errno.EIO, "Input/output error")

    engine.when_failed(gone)
    engine.when_failed(heard.append)
    with monkeypatch.context() as broken:
        broken.setattr(WriteAheadLog, "sync", fail)
        with pytest.raises(InternalServerError, match="failed to sync"):
            put(engine, "a")
    assert len(heard) == 1


def test_a_failed_checkpoint_is_found_and_is_a_problem_until_one_succeeds(engine: Engine) -> None:
    """SQLite does not say that its own checkpoints fail: the log grows."""
    engine._storage.checkpoint_pages = 1_000_000
    log = engine._storage._log
    assert log is not None
    engine._storage.health.log_limit = log.size + 200_000
    disk = Disk(engine)
    disk.error = sqlite3.OperationalError("database or disk is full")
    disk.refuse("PRAGMA wal_checkpoint")
    for number in range(4):
        put(engine, str(number), 50_000)
    (problem,) = engine.problems()
    assert "cannot be checkpointed: database or disk is full" in problem
    # It is tried again when the log has grown some more.
    disk.recover()
    engine._storage.health.log_limit = log.size + 100_000
    checkpoints = log.checkpoints
    for number in range(4, 8):
        put(engine, str(number), 50_000)
    assert engine.problems() == []
    put(engine, "after", 50_000)
    assert log.checkpoints == checkpoints + 1


def test_a_database_in_memory_has_no_log_to_watch() -> None:
    with Engine.open() as engine:
        engine.call("CreateTable", definition("things"))
        put(engine, "a")
        assert engine.problems() == []
