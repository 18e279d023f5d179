"""Calls that are awaited: who shares a commit, who gets a turn, and what a task leaves behind that is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import WriteAheadLog

TABLE: dict[str, Any] = {
    "TableName": "rows",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def putting(name: str) -> dict[str, Any]:
    return {"TableName": "rows", "Item": {"pk": {"S": name}}}


@pytest.fixture(params=["in memory", "in a folder"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(None if request.param == "in memory" else tmp_path / "data") as engine:
        engine.call("CreateTable", TABLE)
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "data") as engine:
        engine.call("CreateTable", TABLE)
        yield engine


def test_a_write_is_durable_when_it_is_answered(engine: Engine) -> None:
    async def write() -> None:
        await engine.call_async("PutItem", putting("a"))
        assert engine._storage.newest_commit() is None

    asyncio.run(write())


def test_others_get_a_turn_while_one_task_writes_and_writes(engine: Engine) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def write() -> None:
        waiting = asyncio.create_task(others())
        for number in range(1000):
            await engine.call_async("PutItem", putting(str(number)))
        waiting.cancel()

    asyncio.run(write())
    assert turns >= 10


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each time that the log is synced."""
    done: list[None] = []
    sync = WriteAheadLog.sync

    def noted(log: WriteAheadLog) -> None:
        done.append(None)
        sync(log)

    monkeypatch.setattr(WriteAheadLog, "sync", noted)
    return done


def test_tasks_that_are_ready_together_share_one_sync(folder: Engine, syncs: list[None]) -> None:
    async def write() -> None:
        for round_ in range(5):
            calls = [folder.call_async("PutItem", putting(f"{round_} {number}")) for number in range(20)]
            await asyncio.gather(*calls)

    asyncio.run(write())
    assert len(syncs) == 5


def test_tasks_that_come_one_after_the_other_share_one_sync(folder: Engine, syncs: list[None]) -> None:
    async def write(number: int) -> None:
        for _ in range(number):
            # As a request that is read in one turn of the loop, and answered in another.
            await asyncio.sleep(0)
        await folder.call_async("PutItem", putting(str(number)))

    async def all_of_them() -> None:
        await asyncio.gather(*[write(number) for number in range(10)])

    asyncio.run(all_of_them())
    assert len(syncs) == 1


def test_a_write_is_not_delayed_forever_by_others(folder: Engine) -> None:
    answered = False

    async def first() -> None:
        nonlocal answered
        await folder.call_async("PutItem", putting("first"))
        answered = True

    async def all_of_them() -> None:
        waiting: list[asyncio.Task[Any]] = [asyncio.create_task(first())]
        # A slow disk takes some more of them.
        for number in range(10_000):
            waiting.append(asyncio.create_task(folder.call_async("PutItem", putting(str(number)))))
            await asyncio.sleep(0)
            if answered:
                break
        assert answered
        await asyncio.gather(*waiting)

    asyncio.run(all_of_them())


def test_a_task_that_is_cancelled_leaves_nothing_pending(folder: Engine) -> None:
    async def write() -> None:
        task = asyncio.create_task(folder.call_async("PutItem", putting("a")))
        await asyncio.sleep(0)
        assert folder._storage.open_commit is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert folder._storage.newest_commit() is None

    asyncio.run(write())
    assert folder.call("GetItem", {"TableName": "rows", "Key": {"pk": {"S": "a"}}})["Item"] == {"pk": {"S": "a"}}
