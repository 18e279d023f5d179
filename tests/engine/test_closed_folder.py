"""A folder that nobody has open is verified without a byte of it being changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tablewright.engine import DamagedError, Engine, StorageError, verify_closed, verify_folder
from tablewright.engine.storage import group_commit
from tests.engine.storage.damage import DATABASE, LOG, flip
from tests.engine.storage.disk import create, put


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
