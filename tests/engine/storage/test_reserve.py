"""On a full disk deletes succeed, and what needs room is refused in words until there is some."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tablewright.engine.storage import disk_pace
from tablewright.engine.storage.data_folder import CHECKPOINT_PAGES
from tablewright.engine.storage.reserve import Reserve
from tests.engine.storage.disk import create, keys, put
from tests.engine.storage.small_disk import MEGABYTE, SmallDisk, mounted
from tests.engine.table_requests import attributes, index, on_demand

FULL = "The disk is full: deletes are accepted, but this write is refused until there is free space"
PROBLEM = "the disk is full: deletes are accepted, other writes are refused until there is free space"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted(tmp_path / "disk") as small:
        yield small


def plain(name: str = "plain") -> dict[str, Any]:
    """A table of which nobody keeps what its items were."""
    return on_demand(
        TableName=name,
        AttributeDefinitions=attributes("pk", "kind"),
        GlobalSecondaryIndexes=[index("by-kind", "kind")],
    )


def put_until_refused(engine: Engine, table: str, size: int = 20_000) -> set[str]:
    """Put items until the disk is full; gives those that were acknowledged."""
    stored: set[str] = set()
    with suppress(InternalServerError):
        for number in range(2_000):
            put(engine, str(number), size, table)
            stored.add(str(number))
    return stored


def use_up(engine: Engine, disk: SmallDisk) -> None:
    """Another program takes all the room that there is, and there is a write then."""
    while not engine._storage.lacks_room:
        disk.fill()
        with engine._storage.turn():
            engine._storage._release_reserve()


def delete(engine: Engine, key: str, table: str) -> None:
    engine.call("DeleteItem", {"TableName": table, "Key": {"pk": {"S": key}}})


def opened(folder: Path) -> Engine:
    """Without its background work, so that a test knows what has been done."""
    engine = Engine.open(folder)
    engine._background.stop()
    return engine


@pytest.mark.parametrize("size", [3_000, 20_000, 200_000])
def test_every_item_can_be_deleted_from_a_full_disk(disk: SmallDisk, size: int) -> None:
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        stored = put_until_refused(engine, "plain", size)
        assert keys(engine, "plain") == stored
        disk.fill()
        for number, key in enumerate(sorted(stored)):
            delete(engine, key, "plain")
            if number % 20 == 0:
                disk.fill()  # whatever becomes free is taken by somebody else
        assert keys(engine, "plain") == set()
        assert engine.verify().ok
    with Engine.open(disk.data) as engine:
        assert keys(engine, "plain") == set()


def test_a_disk_that_another_program_has_filled_refuses_no_delete(disk: SmallDisk) -> None:
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        for number in range(100):
            put(engine, str(number), 5_000, "plain")
    with opened(disk.data) as engine:
        disk.fill()
        for number in range(100):
            delete(engine, str(number), "plain")
        assert keys(engine, "plain") == set()


def test_what_needs_room_is_refused_until_there_is_some(disk: SmallDisk) -> None:
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        put(engine, "first", 50_000, "plain")
        assert disk.reserve > 0
        disk.fill()
        stored = put_until_refused(engine, "plain", 50_000) | {"first"}
        assert disk.reserve == 0
        for _ in range(3):
            with pytest.raises(InternalServerError) as refused:
                put(engine, "another", 50_000, "plain")
            assert refused.value.message == FULL
        assert engine.problems() == [PROBLEM]
        assert keys(engine, "plain") == stored
        disk.clear()
        put(engine, "another", 50_000, "plain")
        assert engine.problems() == []
        assert disk.reserve > 0
        assert keys(engine, "plain") == stored | {"another"}
        assert engine.verify().ok


def test_what_deletes_have_freed_is_room_again(disk: SmallDisk) -> None:
    """Free pages are in the middle of the file: they have to leave it, however few they are."""
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        stored = sorted(put_until_refused(engine, "plain"))
        disk.fill()
        for key in stored[: len(stored) * 2 // 3]:
            delete(engine, key, "plain")
        engine.sweep()
        assert engine.problems() == []
        put(engine, "another", 50_000, "plain")
        assert engine.verify().ok


def test_the_background_work_finds_the_room_by_itself(disk: SmallDisk) -> None:
    with Engine.open(disk.data) as engine:
        engine.call("CreateTable", plain())
        put(engine, "first", 50_000, "plain")
        use_up(engine, disk)
        assert engine.problems() == [PROBLEM]
        disk.clear()
        for _ in range(1000):
            if not engine.problems():
                break
            time.sleep(0.01)
        assert engine.problems() == []


OPERATIONS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "delete": ("DeleteItem", {"TableName": "plain", "Key": {"pk": {"S": "0"}}}, True),
    "delete, and remember it": ("DeleteItem", {"TableName": "things", "Key": {"pk": {"S": "0"}}}, True),
    "smaller": ("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "0"}, "kind": {"S": "k"}}}, True),
    "remove": (
        "UpdateItem",
        {
            "TableName": "plain",
            "Key": {"pk": {"S": "0"}},
            "UpdateExpression": "REMOVE #t",
            "ExpressionAttributeNames": {"#t": "text"},
        },
        True,
    ),
    "larger": (
        "UpdateItem",
        {
            "TableName": "plain",
            "Key": {"pk": {"S": "0"}},
            "UpdateExpression": "SET another = :t",
            "ExpressionAttributeValues": {":t": {"S": "x" * 100}},
        },
        False,
    ),
    "new": ("PutItem", {"TableName": "plain", "Item": {"pk": {"S": "new"}}}, False),
    "remove, and remember it": (
        "UpdateItem",
        {
            "TableName": "things",
            "Key": {"pk": {"S": "0"}},
            "UpdateExpression": "REMOVE #t",
            "ExpressionAttributeNames": {"#t": "text"},
        },
        False,
    ),
    "delete a batch": (
        "BatchWriteItem",
        {"RequestItems": {"plain": [{"DeleteRequest": {"Key": {"pk": {"S": str(n)}}}} for n in range(20)]}},
        True,
    ),
    "delete together": (
        "TransactWriteItems",
        {
            "ClientRequestToken": "t",
            "TransactItems": [
                {
                    "ConditionCheck": {
                        "TableName": "plain",
                        "Key": {"pk": {"S": "99"}},
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
                *({"Delete": {"TableName": "plain", "Key": {"pk": {"S": str(n)}}}} for n in range(20)),
            ],
        },
        True,
    ),
    "delete and put together": (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Delete": {"TableName": "plain", "Key": {"pk": {"S": "0"}}}},
                {"Put": {"TableName": "plain", "Item": {"pk": {"S": "new"}}}},
            ]
        },
        False,
    ),
    "delete by statement": ("ExecuteStatement", {"Statement": "DELETE FROM \"plain\" WHERE pk = '0'"}, True),
    "insert by statement": ("ExecuteStatement", {"Statement": "INSERT INTO \"plain\" VALUE {'pk': 'new'}"}, False),
    "a table": ("CreateTable", plain("another"), False),
    "no table": ("DeleteTable", {"TableName": "plain"}, True),
    "an index": (
        "UpdateTable",
        {
            "TableName": "plain",
            "AttributeDefinitions": attributes("pk", "text"),
            "GlobalSecondaryIndexUpdates": [{"Create": index("by-text", "text")}],
        },
        False,
    ),
    "no index": (
        "UpdateTable",
        {"TableName": "plain", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-kind"}}]},
        True,
    ),
    "a backup": ("CreateBackup", {"TableName": "plain", "BackupName": "now"}, False),
    "recovery": (
        "UpdateContinuousBackups",
        {"TableName": "plain", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}},
        False,
    ),
    "no stream": ("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}}, True),
    "expiry": (
        "UpdateTimeToLive",
        {"TableName": "plain", "TimeToLiveSpecification": {"AttributeName": "at", "Enabled": True}},
        False,
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_a_full_disk_accepts(disk: SmallDisk, name: str) -> None:
    operation, request, is_accepted = OPERATIONS[name]
    with opened(disk.data) as engine:
        create(engine)
        engine.call("CreateTable", plain())
        for number in range(100):
            put(engine, str(number), 3_000, "plain")
        put(engine, "0", 3_000)
        use_up(engine, disk)
        before = keys(engine, "plain")
        if is_accepted:
            engine.call(operation, request)
        else:
            with pytest.raises(InternalServerError) as refused:
                engine.call(operation, request)
            assert refused.value.message == FULL
            assert keys(engine, "plain") == before
        assert engine._storage.lacks_room
        assert engine.verify().ok


def test_a_refused_write_leaves_those_of_others(disk: SmallDisk) -> None:
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        for number in range(10):
            put(engine, str(number), 3_000, "plain")
        use_up(engine, disk)
        _, commit = engine.execute("DeleteItem", {"TableName": "plain", "Key": {"pk": {"S": "1"}}})
        operation, request, _ = OPERATIONS["delete and put together"]
        with pytest.raises(InternalServerError):
            engine.execute(operation, request)
        assert commit is not None
        engine._storage.wait_durable(commit)
        assert keys(engine, "plain") == {str(n) for n in range(10)} - {"1"}


def test_a_table_with_a_stream_and_recovery_is_emptied(disk: SmallDisk) -> None:
    with opened(disk.data) as engine:
        create(engine)
        recovery = {"PointInTimeRecoveryEnabled": True}
        engine.call("UpdateContinuousBackups", {"TableName": "things", "PointInTimeRecoverySpecification": recovery})
        stored = put_until_refused(engine, "things", 3_000)
        # What is deleted is kept twice, so that takes room: some succeed, and then the table can go as a whole.
        deleted: set[str] = set()
        with suppress(InternalServerError):
            for key in sorted(stored):
                delete(engine, key, "things")
                deleted.add(key)
        assert len(deleted) > 20
        assert keys(engine, "things") == stored - deleted
        engine.call("DeleteTable", {"TableName": "things"})
        assert engine.verify().ok


def test_a_delete_takes_few_pages_of_the_log_however_large_the_item_is(tmp_path: Path) -> None:
    """Some builds of SQLite write zeros to every page that becomes free, unless they are told not to."""
    with opened(tmp_path / "data") as engine:
        engine.call("CreateTable", plain())
        put(engine, "large", 390_000, "plain")
        log = engine._storage._log
        assert log is not None
        before = log.frames
        delete(engine, "large", "plain")
        assert log.frames - before < 20


def test_some_free_pages_stay_for_what_deletes_leave(disk: SmallDisk) -> None:
    """Idempotency tokens, records of streams: another program takes what is given back to the system."""
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        for number in range(40):
            put(engine, str(number), 50_000, "plain")
        use_up(engine, disk)
        for number in range(30):
            delete(engine, str(number), "plain")
            engine.sweep()
            disk.fill()
        assert engine._storage.lacks_room
        deleting = [{"Delete": {"TableName": "plain", "Key": {"pk": {"S": str(number)}}}} for number in range(30, 40)]
        engine.call("TransactWriteItems", {"TransactItems": deleting, "ClientRequestToken": "once"})
        assert keys(engine, "plain") == set()
        assert engine.verify().ok


# -- how large it is ----------------------------------------------------------------------------------------


def test_a_small_folder_has_a_small_reserve(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        put(engine, "a")
        assert 0 < (tmp_path / "data/tablewright.reserve").stat().st_size < MEGABYTE


def test_it_is_as_large_as_a_checkpoint_needs_and_gets_smaller_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data/tablewright.reserve"
    monkeypatch.setattr(disk_pace, "_OF_LARGE_ITEMS", 1_000_000)
    with opened(tmp_path / "data") as engine:
        # Until it is asked for, there is no checkpoint.
        engine._storage.checkpoint_pace.pages = CHECKPOINT_PAGES
        engine.call("CreateTable", plain())
        for number in range(200):
            put(engine, str(number), 100_000, "plain")
        state = engine.storage_figures()
        (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
        assert file.stat().st_size >= pages * 4096 - state.database_bytes
        assert file.stat().st_blocks * 512 >= file.stat().st_size
        with engine._storage.turn():
            assert engine._storage.write_log_back()
        put(engine, "after", 100_000, "plain")
        assert file.stat().st_size <= 10 * MEGABYTE


def test_it_stays_when_the_folder_is_closed(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        before = (tmp_path / "data/tablewright.reserve").stat()
    assert before.st_mode & 0o077 == 0
    with Engine.open(tmp_path / "data") as engine:
        put(engine, "a")
        after = (tmp_path / "data/tablewright.reserve").stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)


def test_it_is_in_no_copy(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        copy = engine.copy_to(tmp_path / "copies")
        assert list(copy.files) == []
    Engine.restore_copy(tmp_path / "copies", tmp_path / "restored")
    assert not (tmp_path / "restored/tablewright.reserve").exists()
    with Engine.open(tmp_path / "restored") as engine:
        put(engine, "a")
        assert engine.problems() == []


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, errno.EFBIG])
def test_a_file_system_that_cannot_allocate_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(descriptor: int, offset: int, length: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with Engine.open(tmp_path / "data") as engine:
        create(engine)
        put(engine, "a", 100_000)
        assert engine.problems() == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_writes_are_refused_when_it_cannot_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Whether the disk is full or the user has no more of it: before a commit fails."""

    def refuse(descriptor: int, offset: int, length: int) -> None:
        raise OSError(code, os.strerror(code))

    with opened(tmp_path / "data") as engine:
        create(engine)
        monkeypatch.setattr(os, "posix_fallocate", refuse)
        stored = put_until_refused(engine, "things", 50_000)
        assert stored
        assert keys(engine) == stored
        assert engine.problems() == [PROBLEM]
        delete(engine, "0", "things")
        monkeypatch.undo()
        put(engine, "0")
        assert engine.problems() == []


# -- when the process ends ----------------------------------------------------------------------------------


def test_a_process_that_is_started_on_a_full_disk_goes_on_as_the_one_before(disk: SmallDisk) -> None:
    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        for number in range(50):
            put(engine, str(number), 50_000, "plain")
        use_up(engine, disk)
        delete(engine, "0", "plain")
    disk.fill()
    with opened(disk.data) as engine:
        with pytest.raises(InternalServerError, match="full"):
            put(engine, "another", 50_000, "plain")
        assert engine.problems() == [PROBLEM]
        for number in range(1, 20):
            delete(engine, str(number), "plain")
        disk.clear()
        put(engine, "another", 50_000, "plain")
        assert engine.problems() == []
        assert keys(engine, "plain") == {*map(str, range(20, 50)), "another"}


def test_whenever_the_process_is_killed_nothing_is_lost(
    disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder as it is before and after each step of the reserve is what a killed process would leave."""
    there: set[str] = set()
    states: list[tuple[Path, set[str]]] = []

    def keep_state() -> None:
        folder = tmp_path / f"killed-{len(states)}"
        shutil.copytree(disk.data, folder)
        states.append((folder, set(there)))

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        times = 0

        def run(*arguments: Any) -> Any:
            nonlocal times
            times += 1
            if times > 3:
                return step(*arguments)
            keep_state()
            result = step(*arguments)
            keep_state()
            return result

        return run

    with opened(disk.data) as engine:
        engine.call("CreateTable", plain())
        for name in ("release", "_grow"):
            monkeypatch.setattr(Reserve, name, watched(getattr(Reserve, name)))
        with suppress(InternalServerError):
            for number in range(10_000):
                put(engine, str(number), 100_000, "plain")
                there.add(str(number))
        keep_state()
        for key in sorted(there)[:40]:
            there.discard(key)  # it is gone, or not: nobody was told yet
            delete(engine, key, "plain")
            if len(there) % 10 == 0:
                keep_state()
        disk.clear()
        engine.sweep()
        keep_state()
    assert len(states) > 8
    for folder, acknowledged in states:
        with Engine.open(folder) as engine:
            assert engine.verify().ok
            assert keys(engine, "plain") >= acknowledged
            put(engine, "after", 1000, "plain")
        shutil.rmtree(folder)
