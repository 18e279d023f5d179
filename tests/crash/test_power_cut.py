"""A power cut leaves what was synced. Whatever the engine has told anyone must be among that.

Killing a process cannot show this: what it has written but not synced survives it. So here every sync leaves a
copy of the data folder, as it was when the sync began: the least that a power cut just after it would leave.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tablewright.dynamo import ConditionalCheckFailedException, InternalServerError
from tablewright.engine import Engine
from tablewright.engine.database import Database
from tablewright.engine.operations import HANDLERS
from tablewright.engine.storage import disk_pace
from tablewright.engine.storage.data_folder import WriteAheadLog
from tablewright.wire import boto, serve_in_thread
from tests.engine.table_requests import on_demand
from tests.threads import run_threads


class Disk:
    """Stands in for the sync of the log: copies the folder, or does what a test wants."""

    def __init__(self, folder: Path, copies: Path) -> None:
        self._folder = folder
        self._copies = copies
        self.synced = 0
        self.instead: Callable[[], None] | None = None

    def sync(self) -> None:
        if self.instead is not None:
            self.instead()
            return
        if self._folder.exists():
            shutil.copytree(self._folder, self.copy(self.synced + 1))
        self.synced += 1

    def copy(self, number: int) -> Path:
        return self._copies / str(number)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk(tmp_path / "data", tmp_path / "copies")
    monkeypatch.setattr(WriteAheadLog, "sync", lambda log: made.sync())
    return made


@pytest.fixture(params=["fast disk", "slow disk"])
def engine(
    disk: Disk, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """On a slow disk reads do not wait for commits that they have seen nothing of, and the server syncs in a thread."""
    if request.param == "slow disk":
        monkeypatch.setattr(disk_pace, "_SLOW_SYNC", -1.0)
        monkeypatch.setattr(disk_pace, "_FAST_SYNC", -1.0)
    with Engine.open(tmp_path / "data") as opened:
        assert opened.flush_takes_long == (request.param == "slow disk")
        opened.call("CreateTable", on_demand(TableName="things"))
        yield opened


def putting(name: str) -> dict[str, Any]:
    return {"TableName": "things", "Item": {"pk": {"S": name}}}


def getting(name: str) -> dict[str, Any]:
    return {"TableName": "things", "Key": {"pk": {"S": name}}}


def names(folder: Path) -> set[str]:
    with Engine.open(folder) as engine:
        assert engine.verify().ok
        return {item["pk"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]}


class Told:
    """What was told, and how many syncs had been done by then."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._names: list[tuple[str, int]] = []

    def note(self, name: str) -> None:
        self._names.append((name, self._disk.synced))

    def check(self) -> None:
        assert self._names
        # The copies are opened to be read: their own syncs are of no interest.
        self._disk.instead = lambda: None
        left = {number: names(self._disk.copy(number)) for number in {number for _, number in self._names}}
        for name, number in self._names:
            assert name in left[number], f"{name} was told, and sync {number} had not brought it to disk"


def test_results_returned_to_threads_survive_a_power_cut(engine: Engine, disk: Disk) -> None:
    told = Told(disk)

    def writer(thread: int) -> Callable[[], None]:
        def write() -> None:
            for number in range(8):
                engine.call("PutItem", putting(f"{thread} {number}"))
                told.note(f"{thread} {number}")

        return write

    def read() -> None:
        for _ in range(20):
            for item in engine.call("Scan", {"TableName": "things"})["Items"]:
                told.note(item["pk"]["S"])

    def claim() -> None:
        for number in range(8):
            try:
                request = {**putting(f"1 {number}"), "ConditionExpression": "attribute_not_exists(pk)"}
                engine.call("PutItem", request)
            except ConditionalCheckFailedException:
                pass
            told.note(f"1 {number}")

    run_threads(*[writer(thread) for thread in range(6)], read, claim)
    told.check()


def test_results_returned_to_tasks_survive_a_power_cut(engine: Engine, disk: Disk) -> None:
    told = Told(disk)

    async def task(number: int) -> None:
        for position in range(4):
            name = f"{number} {position}"
            await engine.call_async("PutItem", putting(name))
            told.note(name)
            response = await engine.call_async("GetItem", getting(f"{(number + 1) % 20} {position}"))
            if "Item" in response:
                told.note(response["Item"]["pk"]["S"])

    async def main() -> None:
        await asyncio.gather(*[task(number) for number in range(20)])

    asyncio.run(main())
    told.check()


@pytest.mark.parametrize("transport", ["server", "in process"])
def test_results_returned_to_clients_survive_a_power_cut(engine: Engine, disk: Disk, transport: str) -> None:
    told = Told(disk)

    def writer(client: Any, thread: int) -> Callable[[], None]:
        def write() -> None:
            for number in range(5):
                client.put_item(**putting(f"{thread} {number}"))
                told.note(f"{thread} {number}")
                response = client.get_item(**getting(f"{thread - 1} {number}"))
                if "Item" in response:
                    told.note(response["Item"]["pk"]["S"])

        return write

    with serve_in_thread(engine) as url:
        config = Config(retries={"total_max_attempts": 1})
        client = (
            boto.client(engine)
            if transport == "in process"
            else boto3.client("dynamodb", endpoint_url=url, config=config)
        )
        run_threads(*[writer(client, thread) for thread in range(5)])
    told.check()


def test_what_a_killed_process_had_not_synced_is_synced_before_it_is_shown(
    engine: Engine, disk: Disk, tmp_path: Path
) -> None:
    """Committed, not synced, killed: the next process sees it, so it has to see to it."""
    killed = tmp_path / "killed"

    def be_killed() -> None:
        shutil.copytree(tmp_path / "data", killed)

    disk.instead = be_killed
    engine.call("PutItem", putting("almost"))
    syncs: list[None] = []
    disk.instead = lambda: syncs.append(None)
    with Engine.open(killed) as reopened:
        assert "Item" in reopened.call("GetItem", getting("almost"))
        assert syncs


# -- a disk that fails to sync -------------------------------------------------------------------------------


def fail() -> None:
    raise OSError(5, "Input/output error")


def test_a_sync_that_succeeds_after_one_that_failed_proves_nothing(engine: Engine, disk: Disk) -> None:
    """The system may have dropped what it could not write, and forgotten that it ever had it."""
    later = []

    def fail_while_another_writes() -> None:
        later.append(engine.execute("PutItem", putting("second"))[1])
        disk.instead = None
        fail()

    disk.instead = fail_while_another_writes
    with pytest.raises(InternalServerError):
        engine.call("PutItem", putting("first"))
    (commit,) = later
    assert commit is not None
    with pytest.raises(InternalServerError):
        engine._storage.wait_durable(commit)
    with pytest.raises(InternalServerError):
        engine.call("GetItem", getting("first"))


def test_a_read_under_way_while_the_disk_fails_tells_nothing(
    engine: Engine, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncing, failing, refused = threading.Event(), threading.Event(), threading.Event()

    def fail_when_told() -> None:
        syncing.set()
        assert failing.wait(30)
        fail()

    def write() -> None:
        with pytest.raises(InternalServerError):
            engine.call("PutItem", putting("unsure"))
        refused.set()

    def read(db: Database, _: dict[str, Any]) -> dict[str, Any]:
        table = db.table("things")
        row = db.fetch(table, table.row_key({"pk": {"S": "unsure"}}))
        assert row is not None
        failing.set()
        assert refused.wait(30)
        return {"Seen": True}

    monkeypatch.setitem(HANDLERS, "DescribeLimits", read)
    disk.instead = fail_when_told
    writer = threading.Thread(target=write)
    writer.start()
    assert syncing.wait(30)
    with pytest.raises(InternalServerError):
        engine.call("DescribeLimits", {})
    writer.join()


def test_tasks_hear_of_a_disk_that_fails(engine: Engine, disk: Disk) -> None:
    disk.instead = fail

    async def main() -> list[Any]:
        calls = [engine.call_async("PutItem", putting(str(number))) for number in range(10)]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    assert {type(outcome) for outcome in asyncio.run(main())} == {InternalServerError}
