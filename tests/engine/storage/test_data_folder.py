"""What may be opened as a data folder, and what is refused and left as it is."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage import data_folder
from tablewright.engine.storage.data_folder import FORMAT_VERSION, DamagedError, StorageError
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
