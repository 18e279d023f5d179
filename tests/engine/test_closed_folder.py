"""A folder that nobody has open is verified without a byte of it being changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import DamagedError, Engine, StorageError, verify_closed, verify_folder
from tablewright.engine.copies.folder_backup import back_up
from tablewright.engine.storage import group_commit
from tests.engine.storage.damage import DATABASE, LOG, flip, quiet
from tests.engine.storage.disk import Disk, create, put


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    with Engine.open(tmp_path / "closed") as engine:
        create(engine)
        put(engine, "first")
    return tmp_path / "closed"


@pytest.fixture
def killed(tmp_path: Path, closed: Path) -> Path:
    """With a log that has an item the database has not."""
    with Engine.open(closed) as engine:
        put(engine, "second")
        shutil.copytree(closed, tmp_path / "killed")
    return tmp_path / "killed"


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file, with its times and its bytes."""
    return {
        path.name: (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in (folder, *folder.iterdir())
    }


@pytest.mark.parametrize("damaged", [None, DATABASE, LOG])
@pytest.mark.parametrize("kind", ["closed", "killed"])
def test_nothing_is_changed(kind: str, damaged: str | None, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(kind)
    if damaged is not None and not (folder / damaged).exists():
        pytest.skip("a closed folder has no log")
    if damaged is not None:
        flip(folder / damaged, (folder / damaged).stat().st_size - 50)
    for path in folder.iterdir():
        os.utime(path, ns=(1_000, 1_000))
    os.utime(folder, ns=(1_000, 1_000))
    before = contents(folder)
    try:
        report = verify_closed(folder)
    except DamagedError:
        assert damaged is not None
    else:
        assert damaged is not None or (report.ok, report.items) == (True, 1 if kind == "closed" else 2)
    assert contents(folder) == before


def test_a_damaged_log_is_found_with_what_is_in_doubt(killed: Path) -> None:
    flip(killed / LOG, (killed / LOG).stat().st_size - 50)
    report = verify_closed(killed)
    assert any("the log is damaged: frame" in problem for problem in report.problems)


def test_a_log_without_its_database_is_damage(killed: Path) -> None:
    (killed / DATABASE).unlink()
    with pytest.raises(DamagedError, match="no database beside it"):
        verify_closed(killed)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        with pytest.raises(StorageError, match="in use"):
            verify_closed(tmp_path)


READ_ONLY = """
import os, sys
from pathlib import Path
from tablewright.engine import verify_closed

if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
report = verify_closed(Path(sys.argv[1]))
print(report.ok, report.items)
"""


@pytest.mark.parametrize("kind", ["closed", "killed"])
def test_a_folder_that_may_only_be_read_is_verified(kind: str, request: pytest.FixtureRequest) -> None:
    source: Path = request.getfixturevalue(kind)
    # Not below pytest's own folder, which another user may not even enter.
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        shutil.copytree(source, folder)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        os.chmod(place, 0o755)
        finished = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True, check=True
        )
        folder.chmod(0o755)
    assert finished.stdout.split() == ["True", "1" if kind == "closed" else "2"]


def test_progress_moves_on_with_the_records(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine.open(closed) as engine:
        for number in range(25):
            put(engine, str(number))
    monkeypatch.setattr(verify_folder, "_ROWS_BETWEEN_REPORTS", 10)
    monkeypatch.setattr(group_commit, "_STEPS_BETWEEN_CALLS", 100)
    told: list[tuple[str, int, int]] = []
    assert verify_closed(closed, lambda *state: told.append(state)).ok
    # 26 items, and as many stream records.
    assert [done for what, done, _ in told if what == "verifying records"] == [0, 10, 20, 30, 40]
    structure = [done for what, done, _ in told if what == "verifying the structure"]
    assert structure == sorted(structure)
    assert len(structure) > 3


def test_progress_moves_on_while_a_folder_with_a_log_is_copied(killed: Path) -> None:
    told: list[str] = []
    assert verify_closed(killed, lambda what, done, total: told.append(what)).ok
    assert told[0] == "copying to read it (MB)"


def test_a_record_of_damaged_length_is_reported(tmp_path: Path) -> None:
    """SQLite asks for more memory than there is, and has no other word for it."""
    data = tmp_path / "data"
    with Engine.open(data) as engine:
        create(engine)
        for number in range(30):
            put(engine, f"item {number}", 100)
    whole = (data / DATABASE).read_bytes()
    found = 0
    with quiet():
        for begin in range(whole.rindex(b'"item 7"') - 60, whole.rindex(b'"item 7"') - 20):
            (data / DATABASE).write_bytes(whole[:begin] + b"\xff" * 16 + whole[begin + 16 :])
            report = verify_closed(data)
            if any("no memory for a record" in problem for problem in report.problems):
                found += 1
                assert back_up(data, tmp_path / "copies").problems == report.problems
                with Engine.open(data) as engine:
                    for operation in ("Scan", "DescribeTable"):
                        with suppress(InternalServerError):
                            engine.call(operation, {"TableName": "things"})
                    assert not engine.verify().ok
    # In other versions of SQLite it may be another byte.
    assert found or sqlite3.sqlite_version_info[:2] != (3, 40)


def test_verify_goes_on_where_sqlite_has_no_memory_for_a_record(closed: Path) -> None:
    with Engine.open(closed) as engine:
        disk = Disk(engine)
        disk.error = MemoryError()
        for start in ("PRAGMA integrity_check", "SELECT key, id, size, item FROM items_1", "SELECT name, value"):
            disk.refuse(start)
            (problem,) = engine.verify().problems
            assert problem.startswith("SQLite: no memory for a record: its length is damaged, or the memory is used up")
        for start in ("SELECT name, sql", "SELECT token"):
            disk.refuse(start)
            assert any("no memory for a record" in problem for problem in engine.verify().problems)
