"""Copies of a data folder: taken while others write, each of one instant, restored elsewhere as they were."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import DamagedError, Engine, StorageError
from tablewright.engine.copies import folder_backup, snapshot
from tablewright.engine.copies.copy_folder import CopyFolder, FolderCopy
from tablewright.engine.copies.folder_backup import back_up, restore
from tests.clocks import Clock
from tests.engine.copies.spoiled_chunks import spoil
from tests.engine.copies.writing_process import TABLES, WRITERS
from tests.engine.storage.damage import flip
from tests.engine.storage.disk import create, keys, put

ROOT = Path(__file__).parents[3]


def restored(copies: Path, to: Path, copy: FolderCopy | None = None) -> Path:
    source = CopyFolder(copies)
    restore(source, copy or source.choose(None), to)
    return to


def chunks(copies: Path) -> set[str]:
    return set(CopyFolder(copies).chunks.names())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A closed data folder with one item, and a blob."""
    folder = tmp_path / "data"
    with Engine.open(folder) as engine:
        create(engine)
        put(engine, "before")
    blob = folder / "blobs" / "things" / "Thing" / "3f" / "one"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"a large value" * 50_000)
    return folder


# -- consistency --------------------------------------------------------------------------------------------


@contextmanager
def writing(folder: Path, checkpoint_pages: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.copies.writing_process", str(folder), str(checkpoint_pages)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def newest_versions(engine: Engine, table: str) -> dict[int, int]:
    """The newest version that each writer has written."""
    newest: dict[int, int] = {}
    for item in engine.call("Scan", {"TableName": table})["Items"]:
        writer = int(item["pk"]["S"].partition("-")[0])
        newest[writer] = max(newest.get(writer, 0), int(item["version"]["N"]))
    return newest


def scan(engine: Engine, table: str) -> dict[str, Any]:
    return {item["pk"]["S"]: item for item in engine.call("Scan", {"TableName": table})["Items"]}


def check_prefix(folder: Path, acknowledged: dict[int, int]) -> None:
    """What was acknowledged before is there, and of no writer anything without all before it."""
    with Engine.open(folder) as engine:
        engine._background.stop()
        assert engine.verify().ok
        left, right = (scan(engine, table) for table in TABLES)
        assert left == right, "a transaction is there by half"
        for writer, newest in newest_versions(engine, "left").items():
            assert newest >= acknowledged.get(writer, 0)
            expected = {f"{writer}-{version % 50}": version for version in range(max(newest - 49, 1), newest + 1)}
            found = {key: int(item["version"]["N"]) for key, item in left.items() if key.startswith(f"{writer}-")}
            assert found == expected


@pytest.mark.parametrize("checkpoint_pages", [16_000, 40])
def test_a_copy_made_while_another_process_writes_is_what_had_been_acknowledged_and_no_half_of_a_transaction(
    tmp_path: Path, checkpoint_pages: int
) -> None:
    acknowledged: dict[int, int] = {}
    enough = threading.Event()
    with writing(tmp_path / "data", checkpoint_pages) as process:
        assert process.stdout is not None
        lines = process.stdout

        def listen() -> None:
            for number, line in enumerate(lines):
                _, writer, version = line.split()
                acknowledged[int(writer)] = int(version)
                if number > 60 and len(acknowledged) == WRITERS:
                    enough.set()

        listener = threading.Thread(target=listen)
        listener.start()
        assert enough.wait(60)
        for number in range(4):
            known = dict(acknowledged)
            copy = back_up(tmp_path / "data", tmp_path / "copies")
            assert copy.problems == []
            check_prefix(restored(tmp_path / "copies", tmp_path / f"restored-{number}"), known)
        assert acknowledged != known, "nobody wrote meanwhile"
        process.kill()
        listener.join(30)


def test_a_copy_of_an_engine_of_this_process(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        put(engine, "before")
        copy = engine.copy_to(tmp_path / "copies")
        put(engine, "after")
        # SQLite's own locks are still there.
        assert (
            b"locked"
            in subprocess.run(
                [sys.executable, "-c", _READ_IN_ANOTHER_PROCESS, str(tmp_path / "data")], stderr=subprocess.PIPE
            ).stderr
        )
        assert engine.copy_to(tmp_path / "copies").taken_at > copy.taken_at
    with Engine.open(restored(tmp_path / "copies", tmp_path / "restored", copy)) as engine:
        assert keys(engine) == {"before"}
    with Engine.open(restored(tmp_path / "copies", tmp_path / "newer")) as engine:
        assert keys(engine) == {"before", "after"}


_READ_IN_ANOTHER_PROCESS = (
    "import sqlite3, sys; sqlite3.connect(sys.argv[1] + '/tablewright.db', timeout=0).execute('SELECT * FROM tables')"
)


def test_an_engine_may_be_closed_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine.open(tmp_path / "data")
    create(engine)
    put(engine, "before")
    copy_log = snapshot._copy_log

    def closing(source: Path, target: Path) -> None:
        monkeypatch.undo()
        engine.close()
        copy_log(source, target)

    monkeypatch.setattr(snapshot, "_copy_log", closing)
    engine.copy_to(tmp_path / "copies")
    with Engine.open(restored(tmp_path / "copies", tmp_path / "restored")) as copied:
        assert keys(copied) == {"before"}
    with pytest.raises(StorageError, match="has been closed"):
        engine.copy_to(tmp_path / "copies")


def test_a_database_that_goes_on_changing_is_given_up(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_log = snapshot._copy_log

    def checkpoint(source: Path, target: Path) -> None:
        os.utime(data / "tablewright.db")
        copy_log(source, target)

    monkeypatch.setattr(snapshot, "_copy_log", checkpoint)
    with pytest.raises(StorageError, match="changes faster"):
        back_up(data, data.parent / "copies")
    assert CopyFolder(data.parent / "copies").names() == []


def test_a_copy_is_restored_by_the_time_that_it_was_taken(data: Path, tmp_path: Path) -> None:
    clock = Clock()
    for clock.now in (1000.0, 2000.0, 3000.0):
        with Engine.open(data) as engine:
            put(engine, f"at {clock.now}")
        back_up(data, tmp_path / "copies", clock=clock)
    for at, newest in ((1000.0, 1000.0), (2999.0, 2000.0), (None, 3000.0)):
        copy = Engine.restore_copy(tmp_path / "copies", tmp_path / f"as of {at}", at=at)
        assert copy.taken_at == newest
        with Engine.open(tmp_path / f"as of {at}") as engine:
            assert max(keys(engine) - {"before"}) == f"at {newest}"
    with pytest.raises(StorageError, match="the oldest copy"):
        Engine.restore_copy(tmp_path / "copies", tmp_path / "too early", at=999.0)


def test_a_database_in_memory_has_no_folder_to_copy(tmp_path: Path) -> None:
    with Engine.open() as engine, pytest.raises(StorageError, match="in memory"):
        engine.copy_to(tmp_path)


# -- increments ---------------------------------------------------------------------------------------------


def test_a_second_copy_writes_what_has_changed(data: Path, tmp_path: Path) -> None:
    with Engine.open(data) as engine:
        for number in range(16):
            put(engine, f"large {number}", 300_000)
        first = engine.copy_to(tmp_path / "copies")
        put(engine, "small")
        second = engine.copy_to(tmp_path / "copies")
    assert second.size >= first.size > 4_000_000
    assert second.written < first.written / 4
    with Engine.open(restored(tmp_path / "copies", tmp_path / "restored", first)) as engine:
        assert "small" not in keys(engine)
    with Engine.open(restored(tmp_path / "copies", tmp_path / "newer", second)) as engine:
        assert "small" in keys(engine)


def test_blobs_are_copied_once_and_restored(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = back_up(data, tmp_path / "copies")
    (data / "blobs" / "things" / "Thing" / "3f" / "two").write_bytes(b"another")
    (data / "blobs" / "things" / "Thing" / "3f" / "three.part").write_bytes(b"unfinished")
    (data / "tablewright.toml").write_text("")
    (data / "tablewright.db-shm").write_text("")
    second = back_up(data, tmp_path / "copies")
    assert second.written < first.written
    folder = restored(tmp_path / "copies", tmp_path / "restored")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "tablewright.db",
        "tablewright.toml",
        "blobs/things/Thing/3f/one",
        "blobs/things/Thing/3f/two",
    }
    assert (folder / "blobs/things/Thing/3f/one").read_bytes() == b"a large value" * 50_000
    assert {os.stat(folder / name).st_mode & 0o077 for name in files} == {0}


def test_old_copies_go_with_the_chunks_that_only_they_had(data: Path, tmp_path: Path) -> None:
    clock = Clock()
    (data / "blobs" / "gone").write_bytes(random.Random(1).randbytes(3_000_000))
    first = back_up(data, tmp_path / "copies", clock=clock)
    gone = set(first.files["blobs/gone"].chunks)
    (data / "blobs" / "gone").unlink()
    for _ in range(3):
        clock.now += 60
        back_up(data, tmp_path / "copies", keep=2, clock=clock)
    copies = CopyFolder(tmp_path / "copies")
    assert len(copies.names()) == 2
    kept = {chunk for name in copies.names() for chunk in copies.read(name).chunks()}
    assert kept <= chunks(tmp_path / "copies")
    assert gone.isdisjoint(chunks(tmp_path / "copies"))
    with Engine.open(restored(tmp_path / "copies", tmp_path / "restored")) as engine:
        assert keys(engine) == {"before"}


def test_copies_are_in_their_order_even_if_the_clock_is_set_back(data: Path, tmp_path: Path) -> None:
    first = back_up(data, tmp_path / "copies", clock=lambda: 2_000_000_000.0)
    second = back_up(data, tmp_path / "copies", clock=lambda: 1_900_000_000.0)
    third = back_up(data, tmp_path / "copies", clock=lambda: 1_900_000_000.0)
    assert CopyFolder(tmp_path / "copies").names() == [first.name, second.name, third.name]


# -- damage and crashes -------------------------------------------------------------------------------------


def test_a_backup_that_is_broken_off_leaves_earlier_copies(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = tmp_path / "copies"
    back_up(data, copies)
    names = CopyFolder(copies).names()
    with Engine.open(data) as engine:
        put(engine, "after")
    for broken, target in (
        ("take_snapshot", folder_backup),
        ("verify_closed", folder_backup),
        ("add", CopyFolder),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, broken, _interrupted)
            with pytest.raises(KeyboardInterrupt):
                back_up(data, copies)
        assert CopyFolder(copies).names() == names
    with Engine.open(restored(copies, tmp_path / "restored")) as engine:
        assert keys(engine) == {"before"}
    back_up(data, copies, keep=1)
    with Engine.open(restored(copies, tmp_path / "newer")) as engine:
        assert keys(engine) == {"before", "after"}


def _interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_damaged_chunk_is_found_and_written_anew_by_the_next_backup(data: Path, tmp_path: Path) -> None:
    copy = back_up(data, tmp_path / "copies")
    spoil(CopyFolder(tmp_path / "copies"), copy.database.chunks[0])
    with pytest.raises(DamagedError, match="is damaged"):
        restored(tmp_path / "copies", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
    assert list(tmp_path.glob("*restoring*")) == []
    back_up(data, tmp_path / "copies")
    restored(tmp_path / "copies", tmp_path / "restored", copy)


def test_a_damaged_chunk_of_a_blob_is_written_anew_by_the_next_backup(data: Path, tmp_path: Path) -> None:
    """Blobs never change, so they are not read again; the chunks that stand for them are."""
    first = back_up(data, tmp_path / "copies")
    stored = first.files["blobs/things/Thing/3f/one"]
    spoil(CopyFolder(tmp_path / "copies"), stored.chunks[7])
    second = back_up(data, tmp_path / "copies")
    assert second.files["blobs/things/Thing/3f/one"] == stored
    for number, copy in enumerate((first, second)):
        folder = restored(tmp_path / "copies", tmp_path / f"restored-{number}", copy)
        assert (folder / "blobs/things/Thing/3f/one").read_bytes() == b"a large value" * 50_000
    third = back_up(data, tmp_path / "copies", keep=1)
    assert third.written == 0
    restored(tmp_path / "copies", tmp_path / "newest", third)


def test_a_pack_that_is_lost_is_written_anew_by_the_next_backup(data: Path, tmp_path: Path) -> None:
    first = back_up(data, tmp_path / "copies")
    (tmp_path / "copies" / "packs" / "00000001").unlink()
    with pytest.raises(DamagedError, match="is missing"):
        restored(tmp_path / "copies", tmp_path / "restored")
    back_up(data, tmp_path / "copies", keep=1)
    folder = restored(tmp_path / "copies", tmp_path / "restored")
    assert (folder / "blobs/things/Thing/3f/one").read_bytes() == b"a large value" * 50_000
    assert first.name not in CopyFolder(tmp_path / "copies").names()


def test_intact_blobs_are_read_in_the_folder_of_copies_and_no_more_in_the_data_folder(
    data: Path, tmp_path: Path
) -> None:
    first = back_up(data, tmp_path / "copies")
    blob = data / "blobs/things/Thing/3f/one"
    flip(blob, 1000)
    second = back_up(data, tmp_path / "copies")
    assert second.files == first.files


def test_a_damaged_description_is_found(data: Path, tmp_path: Path) -> None:
    copy = back_up(data, tmp_path / "copies")
    flip(tmp_path / "copies" / "copies" / copy.name, 100)
    with pytest.raises(DamagedError, match="description"):
        restored(tmp_path / "copies", tmp_path / "restored")


def test_chunks_of_a_copy_that_cannot_be_read_are_kept(data: Path, tmp_path: Path) -> None:
    (data / "note").write_bytes(random.Random(2).randbytes(3_000_000))
    copy = back_up(data, tmp_path / "copies")
    flip(tmp_path / "copies" / "copies" / copy.name, 100)
    (data / "note").unlink()
    back_up(data, tmp_path / "copies", keep=2)
    assert set(copy.chunks()) <= chunks(tmp_path / "copies")
    back_up(data, tmp_path / "copies", keep=1)
    assert set(copy.files["note"].chunks).isdisjoint(chunks(tmp_path / "copies"))


def test_copies_of_a_damaged_folder_do_not_replace_intact_ones(data: Path, tmp_path: Path) -> None:
    clock = Clock()

    def taken(keep: int) -> str:
        clock.now += 60
        return back_up(data, tmp_path / "copies", keep=keep, clock=clock).name

    intact = [taken(2) for _ in range(3)][1:]
    content = (data / "tablewright.db").read_bytes()
    offset = content.index(b"before")
    flip(data / "tablewright.db", offset)
    damaged = [taken(2) for _ in range(3)]
    copies = CopyFolder(tmp_path / "copies")
    assert copies.names() == intact + damaged
    assert all(copies.read(name).problems for name in damaged)
    flip(data / "tablewright.db", offset)
    later = [taken(2) for _ in range(2)]
    assert copies.names() == later


def test_a_full_disk_is_reported_and_leaves_earlier_copies(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = back_up(data, tmp_path / "copies")
    (data / "note").write_text("new")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StorageError, match=r"cannot copy .* No space left on device"):
            back_up(data, tmp_path / "copies")
    assert CopyFolder(tmp_path / "copies").names() == [first.name]
    back_up(data, tmp_path / "copies", keep=1)
    # What the backup had written by then is gone.
    packs = {path.name for path in (tmp_path / "copies" / "packs").iterdir()}
    assert len(packs) % 2 == 0
    assert not [name for name in packs if name.endswith(".part")]


def test_a_damaged_data_folder_is_copied_and_reported(data: Path, tmp_path: Path) -> None:
    place = (data / "tablewright.db").read_bytes().index(b'"before"')
    flip(data / "tablewright.db", place + 2)
    copy = back_up(data, tmp_path / "copies")
    assert any("does not match its checksum" in problem for problem in copy.problems)
    restored(tmp_path / "copies", tmp_path / "restored")


def test_a_database_that_cannot_be_opened_is_not_copied(data: Path, tmp_path: Path) -> None:
    flip(data / "tablewright.db", 21)
    with pytest.raises(DamagedError, match=f"{data}/tablewright.db is damaged"):
        back_up(data, tmp_path / "copies")
    assert CopyFolder(tmp_path / "copies").names() == []


def test_a_log_that_is_damaged_in_the_middle_is_not_copied(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "live") as engine:
        create(engine)
        for number in range(20):
            put(engine, str(number), 3000)
        shutil.copytree(tmp_path / "live", tmp_path / "data")
    flip(tmp_path / "data" / "tablewright.db-wal", 60_000)
    with pytest.raises(DamagedError, match=f"the log {tmp_path}/data/tablewright.db-wal is damaged"):
        back_up(tmp_path / "data", tmp_path / "copies")
    assert CopyFolder(tmp_path / "copies").names() == []


def test_folders_that_will_not_do_are_refused(data: Path, tmp_path: Path) -> None:
    for inside in (data, data / "copies", tmp_path):
        with pytest.raises(StorageError, match="inside the other"):
            back_up(data, inside)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with pytest.raises(StorageError, match=r"one\.jpg is in it"):
        back_up(data, tmp_path / "photos")
    back_up(data, tmp_path / "copies")
    with pytest.raises(StorageError, match="is not empty"):
        restored(tmp_path / "copies", data)
    with pytest.raises(StorageError, match="there is no copy"):
        restored(tmp_path / "photos", tmp_path / "restored")


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))}


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """Files are created with whatever mode they are given."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_only_its_owner_may_read_a_folder_of_copies_or_a_restored_folder(
    data: Path, tmp_path: Path, open_to_all: None
) -> None:
    back_up(data, tmp_path / "new" / "copies")
    assert modes(tmp_path / "new" / "copies") == {0}
    assert modes(restored(tmp_path / "new" / "copies", tmp_path / "restored")) == {0}


def test_a_folder_that_its_user_has_made_for_copies_keeps_its_mode(data: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies").chmod(0o750)
    back_up(data, tmp_path / "copies")
    assert (tmp_path / "copies").stat().st_mode & 0o777 == 0o750


def test_only_one_backup_writes_to_a_folder(data: Path, tmp_path: Path) -> None:
    with CopyFolder(tmp_path / "copies").writing(), pytest.raises(StorageError, match="another backup"):
        back_up(data, tmp_path / "copies")


# -- whose copies they are ----------------------------------------------------------------------------------


def test_a_folder_of_copies_takes_those_of_one_data_folder(data: Path, tmp_path: Path) -> None:
    back_up(data, tmp_path / "copies")
    with Engine.open(tmp_path / "other") as engine:
        create(engine)
    before = (CopyFolder(tmp_path / "copies").names(), chunks(tmp_path / "copies"))
    with pytest.raises(StorageError) as refused:
        back_up(tmp_path / "other", tmp_path / "copies", keep=1)
    assert str(refused.value) == (
        f"the copies in {tmp_path / 'copies'} are of another data folder, not of {tmp_path / 'other'}; choose "
        "another folder for copies of this one"
    )
    assert (CopyFolder(tmp_path / "copies").names(), chunks(tmp_path / "copies")) == before
    back_up(tmp_path / "other", tmp_path / "copies of the other")


def test_a_restored_folder_goes_on_with_the_copies_of_the_one_that_it_was(data: Path, tmp_path: Path) -> None:
    first = back_up(data, tmp_path / "copies")
    again = restored(tmp_path / "copies", tmp_path / "restored")
    with Engine.open(again) as engine:
        put(engine, "after")
    second = back_up(again, tmp_path / "copies")
    assert first.folder_id == second.folder_id != ""
    assert CopyFolder(tmp_path / "copies").names() == [first.name, second.name]


def test_a_moved_folder_keeps_its_copies(data: Path, tmp_path: Path) -> None:
    back_up(data, tmp_path / "copies")
    back_up(data.rename(tmp_path / "elsewhere"), tmp_path / "copies")
