"""An error of the disk is an error for everyone it concerns, and nothing is left of the write."""

from __future__ import annotations

import errno
import json
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import WriteAheadLog
from tests.engine.storage.disk import Disk, Waiter, definition, keys, put, putting
from tests.threads import run_threads

LIMITED = """
import json, resource, signal, sys
from pathlib import Path
from tablewright.engine import Engine
from tablewright.dynamo.errors import InternalServerError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
engine = Engine.open(folder)
engine.call("CreateTable", json.loads(sys.argv[2]))

def put(key):
    engine.call("PutItem", {"TableName": "things", "Item": {
        "pk": {"S": key}, "kind": {"S": "k"}, "text": {"S": "x" * 20_000}}})

kept, refused = [], []
put("first")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
largest = (folder / "tablewright.db-wal").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 150_000, hard))
for number in range(30):
    try:
        put(f"limited {number}")
        kept.append(f"limited {number}")
    except InternalServerError as error:
        refused.append(str(error))
assert engine.verify().ok
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
put("last")
report = engine.verify()
print(json.dumps({"kept": ["first", *kept, "last"], "refused": refused, "ok": report.ok}))
engine.close()
"""


def test_a_write_that_the_system_fails_is_refused_and_the_rest_kept(tmp_path: Path) -> None:
    """The system refuses to let a file grow: a real error out of a real write."""
    finished = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), json.dumps(definition("things"))],
        capture_output=True,
        text=True,
        check=True,
    )
    outcome = json.loads(finished.stdout)
    assert len(outcome["kept"]) > 2
    assert outcome["refused"]
    assert outcome["ok"]
    with Engine.open(tmp_path) as engine:
        assert keys(engine) == set(outcome["kept"])
        assert engine.verify().ok


def test_a_commit_that_fails_is_an_error_for_everyone_in_it(engine: Engine) -> None:
    disk = Disk(engine)
    waiters = [Waiter(engine, "PutItem", putting(f"item {number}")) for number in range(5)]
    reader = Waiter(engine, "GetItem", {"TableName": "things", "Key": {"pk": {"S": "item 1"}}})
    disk.refuse("COMMIT")
    engine.flush()
    assert all(waiter.was_refused for waiter in [*waiters, reader])
    disk.recover()
    assert keys(engine) == {"before"}
    assert engine.verify().ok


def test_a_commit_that_fails_is_an_error_for_every_thread_in_it(engine: Engine) -> None:
    disk = Disk(engine)
    disk.refuse("COMMIT")
    refused: list[str] = []

    def write(number: int) -> None:
        with pytest.raises(InternalServerError):
            put(engine, f"item {number}")
        refused.append(f"item {number}")

    run_threads(*[partial(write, number) for number in range(8)])
    disk.recover()
    assert len(refused) == 8
    assert keys(engine) == {"before"}
    assert engine.verify().ok


@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk I/O error"), MemoryError()], ids=["disk", "memory"])
@pytest.mark.parametrize(
    "start", ["BEGIN", "INSERT OR IGNORE INTO items", "INSERT INTO index", "INSERT INTO log", "COMMIT"]
)
def test_a_statement_that_fails_leaves_nothing_of_its_write(engine: Engine, start: str, error: Exception) -> None:
    disk = Disk(engine)
    disk.error = error
    disk.refuse(start)
    with pytest.raises(InternalServerError):
        put(engine, "broken")
    disk.recover()
    assert keys(engine) == {"before"}
    assert engine.verify().ok
    put(engine, "after")
    assert keys(engine) == {"before", "after"}


def test_a_read_for_which_sqlite_has_no_memory_is_refused_alone(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """It reports so if the length of a record is damaged."""
    disk = Disk(engine)
    disk.error = MemoryError()
    waiter = Waiter(engine, "PutItem", putting("kept"))
    disk.refuse("SELECT")
    with pytest.raises(InternalServerError, match="no memory for a record: its length is damaged"):
        engine.call("Scan", {"TableName": "things"})
    assert "Scan failed (table things" in caplog.text
    assert "no memory for a record" in engine.problems()[0]
    disk.recover()
    engine.flush()
    assert waiter.told == [None]
    assert keys(engine) == {"before", "kept"}


def test_a_batch_is_refused_even_when_the_tables_cannot_be_read_again(engine: Engine) -> None:
    disk = Disk(engine)
    waiter = Waiter(engine, "PutItem", putting("lost"))
    disk.refuse("COMMIT")

    def read_again() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    engine._storage.on_rollback = read_again
    engine.flush()
    assert waiter.was_refused
    disk.recover()
    assert keys(engine) == {"before"}


def test_a_signal_during_a_commit_does_not_turn_it_into_a_failure(engine: Engine) -> None:
    """Ctrl-C between the commit and the news of it: the write is on disk and says so."""
    storage = engine._storage
    execute = storage.execute

    def interrupted(statement: str, *parameters: Any) -> sqlite3.Cursor:
        cursor = execute(statement, *parameters)
        if statement == "COMMIT":
            raise KeyboardInterrupt
        return cursor

    waiter = Waiter(engine, "PutItem", putting("kept"))
    storage.execute = interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.flush()
    storage.execute = execute
    assert waiter.told == [None]
    assert keys(engine) == {"before", "kept"}


def test_after_a_failed_sync_nothing_is_acknowledged_until_the_folder_is_opened_anew(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: WriteAheadLog) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(WriteAheadLog, "sync", fail)
        waiter = Waiter(engine, "PutItem", putting("unsure"))
        engine.flush()
        assert waiter.was_refused
    for operation, request in (
        ("PutItem", putting("after")),
        ("GetItem", {"TableName": "things", "Key": {"pk": {"S": "x"}}}),
    ):
        with pytest.raises(InternalServerError, match="restart"):
            engine.call(operation, request)
    folder = engine._storage.folder
    engine.close()
    with Engine.open(folder) as reopened:
        assert "before" in keys(reopened)
        assert reopened.verify().ok
