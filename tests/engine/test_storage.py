"""The data folder: who may open it, and what a disk that refuses does to the data (nothing)."""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine, data_folder
from tablewright.engine.data_folder import FORMAT_VERSION, DamagedError, StorageError, WriteAheadLog
from tablewright.engine.database import Database
from tablewright.engine.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    ResourceNotFoundException,
)
from tablewright.engine.operations import OPERATIONS

DATABASE = "tablewright.db"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Without its background work, which would commit what a test wants to be left open."""
    with Engine.open(tmp_path / "data") as opened:
        opened._maintenance.stop()
        create(opened)
        put(opened, "before")
        yield opened


def create(engine: Engine, name: str = "things") -> None:
    engine.call("CreateTable", definition(name))


def definition(name: str) -> dict[str, Any]:
    """A table with an index and a stream, so that a write is more than one row."""
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "kind", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-kind",
                "KeySchema": [{"AttributeName": "kind", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def putting(key: str, size: int = 0, table: str = "things") -> dict[str, Any]:
    return {"TableName": table, "Item": {"pk": {"S": key}, "kind": {"S": "k"}, "text": {"S": "x" * size}}}


def put(engine: Engine, key: str, size: int = 0, table: str = "things") -> None:
    engine.call("PutItem", putting(key, size, table))


def keys(engine: Engine, table: str = "things") -> set[str]:
    return {item["pk"]["S"] for item in engine.call("Scan", {"TableName": table})["Items"]}


class Disk:
    """Lets the engine's statements through until it is told to refuse some."""

    def __init__(self, engine: Engine) -> None:
        self._execute = engine._storage.execute
        self._refused: str | None = None
        self.error: BaseException = sqlite3.OperationalError("disk I/O error")
        engine._storage.execute = self

    def __call__(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        if self._refused is not None and statement.startswith(self._refused):
            raise self.error
        return self._execute(statement, *parameters)

    def refuse(self, start: str) -> None:
        self._refused = start

    def recover(self) -> None:
        self._refused = None


class Waiter:
    """Someone who waits for a commit, as the server does."""

    def __init__(self, engine: Engine, operation: str, request: dict[str, Any]) -> None:
        self._answers: list[InternalServerError | None] = []
        self._answered = threading.Event()
        _, batch = engine.execute(operation, request)
        assert batch is not None
        batch.when_durable(self._hear)

    def _hear(self, answer: InternalServerError | None) -> None:
        self._answers.append(answer)
        self._answered.set()

    @property
    def told(self) -> list[InternalServerError | None]:
        """What it has heard; the disk may still be at work."""
        assert self._answered.wait(30)
        return self._answers

    @property
    def was_refused(self) -> bool:
        return len(self.told) == 1 and isinstance(self.told[0], InternalServerError)


# -- a full disk ---------------------------------------------------------------------------------------------


def fill_disk(engine: Engine) -> None:
    (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
    engine._storage.execute(f"PRAGMA max_page_count = {pages + 2}")


def free_disk(engine: Engine) -> None:
    engine._storage.execute("PRAGMA max_page_count = 1000000")


def test_a_full_disk_refuses_the_write_and_keeps_the_rest(engine: Engine) -> None:
    fill_disk(engine)
    with pytest.raises(InternalServerError, match="full") as refused:
        put(engine, "large", 100_000)
    assert refused.value.status == 500
    assert keys(engine) == {"before"}
    assert engine.verify().ok


def test_the_engine_writes_again_once_the_disk_has_room(engine: Engine) -> None:
    fill_disk(engine)
    for attempt in range(3):
        with pytest.raises(InternalServerError):
            put(engine, f"large {attempt}", 100_000)
    free_disk(engine)
    put(engine, "large", 100_000)
    assert keys(engine) == {"before", "large"}
    assert engine.verify().ok


def test_a_full_disk_leaves_nothing_of_a_transaction(engine: Engine) -> None:
    create(engine, "others")
    fill_disk(engine)
    with pytest.raises(InternalServerError):
        engine.call(
            "TransactWriteItems",
            {"TransactItems": [{"Put": putting("small")}, {"Put": putting("large", 100_000, "others")}]},
        )
    assert keys(engine) == {"before"}
    assert keys(engine, "others") == set()
    assert engine.verify().ok


def test_a_full_disk_refuses_a_table(engine: Engine) -> None:
    (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
    engine._storage.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InternalServerError):
        create(engine, "others")
    assert engine.call("ListTables", {})["TableNames"] == ["things"]
    free_disk(engine)
    create(engine, "others")
    put(engine, "one", table="others")
    assert engine.verify().ok


def test_what_a_full_disk_refused_is_not_there_after_opening_again(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        put(engine, "before")
        fill_disk(engine)
        with pytest.raises(InternalServerError):
            put(engine, "large", 100_000)
    with Engine.open(tmp_path) as engine:
        assert keys(engine) == {"before"}
        assert engine.verify().ok


# -- I/O errors ----------------------------------------------------------------------------------------------

LIMITED = """
import json, resource, signal, sys
from pathlib import Path
from tablewright.engine import Engine
from tablewright.engine.errors import InternalServerError

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
largest = max(file.stat().st_size for file in folder.iterdir())
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

    run_threads(write, 8)
    disk.recover()
    assert len(refused) == 8
    assert keys(engine) == {"before"}
    assert engine.verify().ok


@pytest.mark.parametrize("start", ["BEGIN", "INSERT OR IGNORE INTO items", "INSERT INTO index", "INSERT INTO log"])
def test_a_statement_that_fails_leaves_nothing_of_its_write(engine: Engine, start: str) -> None:
    disk = Disk(engine)
    disk.refuse(start)
    with pytest.raises(InternalServerError):
        put(engine, "broken")
    disk.recover()
    assert keys(engine) == {"before"}
    assert engine.verify().ok
    put(engine, "after")
    assert keys(engine) == {"before", "after"}


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


# -- the tables in memory follow the rollback ----------------------------------------------------------------


def test_a_table_that_was_created_in_a_refused_batch_is_not_there(engine: Engine) -> None:
    disk = Disk(engine)
    waiter = Waiter(engine, "CreateTable", definition("others"))
    disk.refuse("COMMIT")
    engine.flush()
    disk.recover()
    assert waiter.was_refused
    with pytest.raises(ResourceNotFoundException):
        engine.call("DescribeTable", {"TableName": "others"})
    with pytest.raises(ResourceNotFoundException):
        put(engine, "one", table="others")
    create(engine, "others")
    put(engine, "one", table="others")
    assert engine.verify().ok


def test_a_table_that_was_deleted_in_a_refused_batch_is_still_there(engine: Engine) -> None:
    disk = Disk(engine)
    waiter = Waiter(engine, "DeleteTable", {"TableName": "things"})
    disk.refuse("COMMIT")
    engine.flush()
    disk.recover()
    assert waiter.was_refused
    assert keys(engine) == {"before"}
    put(engine, "after")
    assert engine.verify().ok


@pytest.mark.parametrize(
    ("operation", "request_members"),
    [
        ("UpdateTimeToLive", {"TimeToLiveSpecification": {"AttributeName": "expires", "Enabled": True}}),
        ("UpdateTable", {"StreamSpecification": {"StreamEnabled": False}}),
        ("UpdateTable", {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-kind"}}]}),
    ],
)
def test_a_change_of_a_table_in_a_refused_batch_did_not_happen(
    engine: Engine, operation: str, request_members: dict[str, Any]
) -> None:
    before = engine.call("DescribeTable", {"TableName": "things"})
    disk = Disk(engine)
    waiter = Waiter(engine, operation, {"TableName": "things", **request_members})
    disk.refuse("COMMIT")
    engine.flush()
    disk.recover()
    assert waiter.was_refused
    assert engine.call("DescribeTable", {"TableName": "things"}) == before
    put(engine, "after")
    assert engine.verify().ok


# -- nobody is told of what is not durable -------------------------------------------------------------------


def test_a_condition_that_failed_on_a_lost_write_is_not_told(engine: Engine) -> None:
    """What is not on disk has not happened, and a failed condition says that it has."""
    disk = Disk(engine)
    writer = Waiter(engine, "PutItem", putting("new"))
    disk.refuse("COMMIT")
    claim = {**putting("new"), "ConditionExpression": "attribute_not_exists(pk)"}
    with pytest.raises(InternalServerError):
        engine.call("PutItem", claim)
    assert writer.was_refused
    disk.recover()
    engine.call("PutItem", claim)
    assert keys(engine) == {"before", "new"}


def test_a_condition_that_failed_is_told_once_its_reason_is_durable(engine: Engine) -> None:
    writer = Waiter(engine, "PutItem", putting("new"))
    request = {**putting("new"), "ConditionExpression": "attribute_not_exists(pk)"}
    with pytest.raises(ConditionalCheckFailedException) as failed:
        engine.execute("PutItem", request)
    assert failed.value.batch is not None
    assert not failed.value.batch.done
    with pytest.raises(ConditionalCheckFailedException):
        engine.call("PutItem", request)
    assert writer.told == [None]


# -- an operation that breaks off ----------------------------------------------------------------------------


def break_off(monkeypatch: pytest.MonkeyPatch, error: BaseException, *, after_writing: bool) -> None:
    """Makes DescribeLimits an operation that raises, with or without having written something."""

    def handler(db: Database, _: dict[str, Any]) -> dict[str, Any]:
        if after_writing:
            db.storage.write()("CREATE TABLE half (done INTEGER)")
        raise error

    monkeypatch.setitem(OPERATIONS, "DescribeLimits", handler)


def test_an_operation_that_fails_before_it_writes_harms_nobody(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    break_off(monkeypatch, ZeroDivisionError(), after_writing=False)
    waiter = Waiter(engine, "PutItem", putting("kept"))
    with pytest.raises(ZeroDivisionError):
        engine.call("DescribeLimits", {})
    engine.flush()
    assert waiter.told == [None]
    assert keys(engine) == {"before", "kept"}


@pytest.mark.parametrize("error", [ZeroDivisionError("a defect"), KeyboardInterrupt("an interrupt")])
def test_an_operation_that_fails_halfway_loses_no_write_silently(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    break_off(monkeypatch, error, after_writing=True)
    waiter = Waiter(engine, "PutItem", putting("refused"))
    with pytest.raises(type(error)):
        engine.call("DescribeLimits", {})
    assert waiter.was_refused
    engine.flush()
    assert keys(engine) == {"before"}
    # Nothing is left of the half: it can be tried again.
    with pytest.raises(type(error)):
        engine.call("DescribeLimits", {})
    put(engine, "after")
    assert engine.verify().ok


def test_a_callback_that_raises_does_not_keep_the_others_waiting(engine: Engine) -> None:
    def raises(_: InternalServerError | None) -> None:
        raise ZeroDivisionError

    _, batch = engine.execute("PutItem", putting("one"))
    assert batch is not None
    batch.when_durable(raises)
    waiter = Waiter(engine, "PutItem", putting("two"))
    engine.flush()
    assert waiter.told == [None]


# -- closing -------------------------------------------------------------------------------------------------


def test_a_closed_engine_says_so_to_every_thread(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    engine.close()
    told: list[str] = []

    def call(_: int) -> None:
        for operation, request in [("PutItem", putting("late")), ("ListTables", {})]:
            with pytest.raises(StorageError, match="closed") as refused:
                engine.call(operation, request)
            told.append(str(refused.value))

    run_threads(call, 4)
    assert len(told) == 8
    engine.close()


def test_closing_while_others_write_keeps_what_they_were_told(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    acknowledged: list[str] = []
    under_way = threading.Barrier(9)

    def write(thread: int) -> None:
        under_way.wait()
        for number in range(10_000):
            try:
                put(engine, f"{thread} {number}")
            except StorageError:
                return
            acknowledged.append(f"{thread} {number}")

    def close(_: int) -> None:
        under_way.wait()
        while len(acknowledged) < 100:
            time.sleep(0.001)
        engine.close()

    run_threads(lambda number: close(number) if number == 8 else write(number), 9)
    with Engine.open(tmp_path) as reopened:
        assert set(acknowledged) <= keys(reopened)
        assert reopened.verify().ok


def test_closing_commits_what_nobody_has_flushed(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    create(engine)
    waiter = Waiter(engine, "PutItem", putting("kept"))
    engine.close()
    assert waiter.told == [None]
    with Engine.open(tmp_path) as reopened:
        assert keys(reopened) == {"kept"}


# -- one owner -----------------------------------------------------------------------------------------------

OWNER = """
import sys
from tablewright.engine import Engine
from tablewright.engine.data_folder import StorageError

try:
    engine = Engine.open(sys.argv[1])
except StorageError as error:
    print(f"refused: {error}", flush=True)
else:
    print(f"opened: {engine.call('ListTables', {})['TableNames']}", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def owners() -> Iterator[Callable[[Path], tuple[subprocess.Popen[str], str]]]:
    """Opens a folder in another process; that process, and what it said."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


Owners = Callable[[Path], tuple[subprocess.Popen[str], str]]


def test_a_second_process_is_told_that_the_folder_is_in_use(tmp_path: Path, owners: Owners) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        _, said = owners(tmp_path)
        assert said.startswith("refused: ")
        assert "in use" in said
        put(engine, "unharmed")
        assert engine.verify().ok
    _, said = owners(tmp_path)
    assert said == "opened: ['things']"
    with pytest.raises(StorageError, match="in use"):
        Engine.open(tmp_path)


def test_a_second_engine_in_the_same_process_is_refused(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="in use"):
        Engine.open(tmp_path / "data")
    put(engine, "unharmed")
    assert engine.verify().ok


def test_a_folder_is_free_again_once_its_owner_was_killed(tmp_path: Path, owners: Owners) -> None:
    with Engine.open(tmp_path) as engine:
        create(engine)
        put(engine, "before")
    process, said = owners(tmp_path)
    assert said == "opened: ['things']"
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Engine.open(tmp_path) as engine:
        assert keys(engine) == {"before"}
        assert engine.verify().ok


# -- what is not a data folder -------------------------------------------------------------------------------


def test_a_newer_format_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    Engine.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    connection.close()
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StorageError, match="newer version of Tablewright"):
        Engine.open(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 7])
def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("CREATE TABLE tables (something TEXT)")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StorageError, match="something else"):
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


def test_the_names_of_new_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that a power cut takes back takes with it what is in it."""
    synced: list[Path] = []
    monkeypatch.setattr(data_folder, "_sync_folder", synced.append)
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
    with pytest.raises(StorageError, match="needs a name"):
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


def test_a_database_whose_tables_cannot_be_read_is_let_go_of(tmp_path: Path) -> None:
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
from tablewright.engine.data_folder import StorageError

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
    assert "may not be written" in finished.stdout


def run_threads(work: Callable[[int], None], number: int) -> None:
    """Runs the work in so many threads; what one of them raises is raised here."""
    errors: list[BaseException] = []

    def run(position: int) -> None:
        try:
            work(position)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(position,)) for position in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# -- a disk that fails to sync -------------------------------------------------------------------------------


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


def test_a_sqlite_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    with pytest.raises(StorageError, match=r"needs 3\.35 or newer"):
        Engine.open()
