"""What may be opened as a data folder, and what is refused and left as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.engine.closed_folder import verify_closed
from tablewright.engine.copies.copy_folder import CopyFolder
from tablewright.engine.copies.folder_backup import back_up
from tablewright.engine.storage import data_folder
from tablewright.engine.storage.data_folder import (
    FORMAT_VERSION,
    DamagedError,
    Files,
    StorageError,
    forget_end,
    holds_database,
)
from tests.engine.storage.disk import create, keys, put

DATABASE = "tablewright.db"


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (FORMAT_VERSION + 1, r"newer version of Tablewright .*; upgrade Tablewright to open it"),
        (FORMAT_VERSION - 1, r"older version of Tablewright .*; open it with the version that wrote it"),
    ],
)
def test_another_format_is_refused_and_left_as_it_is(tmp_path: Path, version: int, message: str) -> None:
    Engine.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StorageError, match=message):
        Engine.open(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 7])
def test_a_database_of_another_application_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("CREATE TABLE tables (something TEXT)")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StorageError, match="another application"):
        Engine.open(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"a letter to a friend" * 100)
    with pytest.raises(StorageError, match="not a Tablewright database"):
        Engine.open(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == b"a letter to a friend" * 100


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    with Engine.open(tmp_path) as engine:
        create(engine)
    with Engine.open(tmp_path) as engine:
        assert engine.call("ListTables", {})["TableNames"] == ["things"]


# -- a database that is lost --------------------------------------------------------------------------------------


@pytest.fixture(params=["closed", "killed", "killed after a restart of the log"])
def used(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A data folder that was in use."""
    with Engine.open(tmp_path / "open") as engine:
        engine._background.stop()
        create(engine)
        put(engine, "before")
        if request.param.startswith("killed"):
            if "restart" in request.param:
                engine._storage.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
                put(engine, "after")
            shutil.copytree(tmp_path / "open", tmp_path / "used")
    if request.param == "closed":
        (tmp_path / "open").rename(tmp_path / "used")
    return tmp_path / "used"


def emptied(file: Path) -> None:
    if file.exists():
        file.write_bytes(b"")


def deleted(file: Path) -> None:
    file.unlink(missing_ok=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("remaining", ["tablewright.end", "tablewright.reserve", "both"])
@pytest.mark.parametrize("lost", [emptied, deleted])
def test_a_lost_database_is_refused_and_no_new_one_is_created(
    used: Path, lost: Callable[[Path], None], remaining: str
) -> None:
    lost(used / DATABASE)
    lost(used / f"{DATABASE}-wal")
    for name in {"tablewright.end", "tablewright.reserve"} - {remaining} if remaining != "both" else ():
        (used / name).unlink()
    before = contents(used)
    for accept_loss in (False, True):
        with pytest.raises(DamagedError) as refused:
            Engine.open(used, accept_loss=accept_loss)
        assert f"the database {used / DATABASE} is missing or empty" in str(refused.value)
        assert "restore a copy of the folder" in str(refused.value)
    with pytest.raises(DamagedError, match="is missing or empty"):
        verify_closed(used)
    with pytest.raises(DamagedError, match="is missing or empty"):
        back_up(used, used.parent / "copies")
    assert CopyFolder(used.parent / "copies").names() == []
    assert contents(used) == before
    assert holds_database(used)
    # What the message says to do in order to begin anew.
    for name in ("tablewright.end", "tablewright.reserve"):
        assert not (used / name).exists() or name in str(refused.value)
        (used / name).unlink(missing_ok=True)
    with Engine.open(used) as engine:
        create(engine)


def test_a_database_that_has_lost_its_only_log_is_refused(tmp_path: Path) -> None:
    """Before the first checkpoint everything is in the log; the database is a page without tables."""
    with Engine.open(tmp_path / "open") as engine:
        engine._background.stop()
        create(engine)
        put(engine, "before")
        shutil.copytree(tmp_path / "open", tmp_path / "killed")
    folder = tmp_path / "killed"
    (folder / f"{DATABASE}-wal").unlink()
    forget_end(Files.of(folder))
    with pytest.raises(DamagedError, match="has no tables, but its log"):
        Engine.open(folder)
    with pytest.raises(DamagedError, match="has no tables, but its log"):
        verify_closed(folder)
    with pytest.raises(DamagedError, match=f"{folder / DATABASE} has no tables, but its log"):
        back_up(folder, tmp_path / "copies")
    with Engine.open(folder, accept_loss=True) as engine:
        create(engine)
        put(engine, "later")
    with Engine.open(folder) as engine:
        assert keys(engine) == {"later"}


def test_a_folder_without_a_database_has_nothing_to_verify(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(StorageError, match="there is no Tablewright database in") as refused:
            verify_closed(folder)
        assert not isinstance(refused.value, DamagedError)
        with pytest.raises(StorageError, match="there is no Tablewright database in"):
            back_up(folder, tmp_path.parent / f"{tmp_path.name}-copies")
    assert list(tmp_path.iterdir()) == []


def states_while_opening(folder: Path, states: Path) -> Iterator[Path]:
    """Open a new folder, and copy it as a kill after each line would leave it."""
    seen: list[dict[str, bytes]] = [{}]

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if f"{os.sep}storage{os.sep}" not in frame.f_code.co_filename:
            return None
        if folder.exists() and (now := contents(folder)) not in seen:
            seen.append(now)
        return trace

    sys.settrace(trace)
    try:
        Engine.open(folder).close()
    finally:
        sys.settrace(None)
    for number, state in enumerate(seen):
        (states / str(number)).mkdir(parents=True)
        for name, content in state.items():
            (states / str(number) / name).write_bytes(content)
        yield states / str(number)


def test_a_folder_whose_creation_was_killed_is_opened(tmp_path: Path) -> None:
    found = []
    for state in states_while_opening(tmp_path / "data", tmp_path / "states"):
        found.append(sorted(path.name for path in state.iterdir()))
        with suppress(StorageError):
            assert verify_closed(state).ok
        with Engine.open(state) as engine:
            create(engine)
            put(engine, "first")
        with Engine.open(state) as engine:
            assert keys(engine) == {"first"}
    # Every file comes into being separately.
    for names in ([], ["tablewright.lock"], [DATABASE, "tablewright.lock"]):
        assert names in found
    assert len(found) > 6


@pytest.mark.parametrize("size", [0, 512, 4096])
def test_a_folder_killed_while_sqlite_created_the_database_is_opened(tmp_path: Path, size: int) -> None:
    """With SQLite's own journal, which is in use until there is a log."""
    (tmp_path / "tablewright.lock").touch()
    (tmp_path / DATABASE).write_bytes(b"")
    (tmp_path / f"{DATABASE}-journal").write_bytes(bytes(size))
    with Engine.open(tmp_path) as engine:
        create(engine)


def test_a_restored_folder_is_opened(used: Path, tmp_path: Path) -> None:
    back_up(used, tmp_path / "copies")
    Engine.restore_copy(tmp_path / "copies", tmp_path / "restored")
    assert [path.name for path in (tmp_path / "restored").iterdir()] == [DATABASE]
    assert verify_closed(tmp_path / "restored").ok
    with Engine.open(tmp_path / "restored") as engine:
        assert "before" in keys(engine)


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "a" / "b" / "c") as engine:
        create(engine)
    assert (tmp_path / "a" / "b" / "c" / DATABASE).exists()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


@pytest.mark.parametrize("existing", [False, True], ids=["new", "empty"])
def test_only_its_owner_may_read_a_folder(tmp_path: Path, existing: bool) -> None:
    folder = tmp_path / "data"
    if existing:
        folder.mkdir(0o755)
    with Engine.open(folder) as engine:
        create(engine)
        found = modes(folder)
    assert found == {
        "data": 0o700,
        "tablewright.db": 0o600,
        "tablewright.db-wal": 0o600,
        "tablewright.end": 0o600,
        "tablewright.lock": 0o600,
        "tablewright.reserve": 0o600,
    }


def test_files_that_others_could_read_are_restricted_and_a_folder_with_other_files_is_left_to_its_user(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "notes.txt").touch(0o644)
    Engine.open(folder).close()
    (folder / DATABASE).chmod(0o664)
    Engine.open(folder).close()
    found = modes(folder)
    assert (found.pop("project"), found.pop("notes.txt")) == (0o755, 0o644)
    assert set(found.values()) == {0o600}


def test_a_relative_path_means_the_same_folder_after_the_process_has_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Engine.open("data") as engine:
        monkeypatch.chdir(tmp_path / "elsewhere")
        create(engine)
        put(engine, "here")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_links_are_resolved_once(tmp_path: Path) -> None:
    """The log is beside the database, wherever links lead to, and stays there when a link changes."""
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "link").symlink_to("first")
    with Engine.open(tmp_path / "link") as engine:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("second")
        create(engine)
        put(engine, "here")
    assert list((tmp_path / "second").iterdir()) == []
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / DATABASE).symlink_to(tmp_path / "first" / DATABASE)
    with Engine.open(tmp_path / "third") as engine:
        put(engine, "there")
        assert not (tmp_path / "third" / f"{DATABASE}-wal").exists()
    with Engine.open(tmp_path / "first") as engine:
        assert keys(engine) == {"here", "there"}


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(StorageError, match="cannot use"):
        Engine.open(tmp_path / "one")


def test_the_names_of_new_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a power cut takes back takes with it what is in it."""
    synced: list[Path] = []
    monkeypatch.setattr(data_folder, "sync_path", synced.append)
    with Engine.open(tmp_path / "a" / "b") as engine:
        create(engine)
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b"} <= set(synced)


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError, match=r"file is a file, not a folder"):
            Engine.open(path)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Engine.open("~/data").close()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    with pytest.raises(StorageError, match=r"cannot use ~nobody\.at\.all as a data folder"):
        Engine.open("~nobody.at.all")


@pytest.mark.parametrize("path", ["/a/\0b", "data\0", "\ud800"])
def test_a_path_that_no_folder_can_have_is_refused(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=r"cannot use .* as a data folder: "):
        Engine.open(path)
    with Engine.open(tmp_path / "data") as engine, pytest.raises(StorageError, match="cannot use"):
        engine.copy_to(path)
    with pytest.raises(StorageError, match="cannot use"):
        Engine.restore_copy(path, tmp_path / "restored")


def test_a_folder_without_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="path of the data folder is empty"):
        Engine.open("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("begin", [16, 100])
def test_a_damaged_database_is_called_damaged(tmp_path: Path, begin: int) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
    with open(tmp_path / DATABASE, "r+b") as file:
        file.seek(begin)
        file.write(b"\xee" * 4000)
    with pytest.raises(DamagedError, match=r"tablewright\.db is damaged \(.*; restore a copy"):
        Engine.open(tmp_path)


def test_damage_is_found_wherever_it_is(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "whole") as engine:
        create(engine)
        for number in range(20):
            put(engine, str(number))
    whole = (tmp_path / "whole" / DATABASE).read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    assert len(whole) > 10 * page
    for begin in range(0, len(whole), page):
        folder = tmp_path / str(begin)
        folder.mkdir()
        (folder / DATABASE).write_bytes(whole[:begin] + b"\xee" * page + whole[begin + page :])
        with suppress(DamagedError), Engine.open(folder) as engine:
            assert not engine.verify().ok, f"page {begin // page + 1}"


def test_a_database_whose_tables_cannot_be_read_is_released(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        engine._storage.write()("UPDATE tables SET definition = 'broken'")
        engine.flush()
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"damaged: .*; restore a copy"):
            Engine.open(tmp_path)


READ_ONLY = """
import os, sys
from tablewright.engine import Engine
from tablewright.engine import StorageError

if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    Engine.open(sys.argv[1])
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize("existing", [False, True], ids=["empty", "with a database"])
def test_a_folder_that_may_not_be_written_is_refused(existing: bool) -> None:
    # Not below pytest's own folder, which another user may not even enter.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        path.mkdir()
        if existing:
            Engine.open(path).close()
            (path / DATABASE).chmod(0o444)
        path.chmod(0o555)
        os.chmod(folder, 0o755)
        finished = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True, check=True
        )
        path.chmod(0o755)
    assert f"cannot use {path} as a data folder" in finished.stdout
    assert "is not writable" in finished.stdout


def test_a_sqlite_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    with pytest.raises(StorageError, match=r"needs 3\.35 or newer"):
        Engine.open()
