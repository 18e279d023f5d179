"""On a disk that takes long to sync, only those wait who have seen what is not on it yet."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tablewright.engine.storage import disk_pace
from tablewright.engine.storage.data_folder import WriteAheadLog
from tablewright.wire import serve_in_thread
from tests.engine.table_requests import attributes, index, key, on_demand
from tests.wire.raw_http import Client, request


class SlowDisk:
    """Lets a sync go on when it is told to."""

    def __init__(self) -> None:
        self.is_blocked = False
        self.began = threading.Event()
        self.released = threading.Event()

    def sync(self) -> None:
        if self.is_blocked:
            self.began.set()
            assert self.released.wait(30)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    disk = SlowDisk()
    monkeypatch.setattr(disk_pace, "_SLOW_SYNC", -1.0)
    monkeypatch.setattr(disk_pace, "_FAST_SYNC", -1.0)
    monkeypatch.setattr(WriteAheadLog, "sync", lambda log: disk.sync())
    yield disk
    disk.released.set()


@pytest.fixture
def engine(tmp_path: Path, disk: SlowDisk) -> Iterator[Engine]:
    with Engine.open(tmp_path) as opened:
        opened._background.stop()
        opened.call(
            "CreateTable",
            on_demand(
                TableName="things",
                AttributeDefinitions=attributes("pk", "sk", "kind"),
                KeySchema=key("pk", "sk"),
                GlobalSecondaryIndexes=[index("by-kind", "kind")],
            ),
        )
        opened.call("CreateTable", on_demand(TableName="others"))
        for partition in ("a", "b"):
            opened.call("PutItem", {"TableName": "things", "Item": item(partition, "1")})
        yield opened


def item(partition: str, sort: str) -> dict[str, Any]:
    return {"pk": {"S": partition}, "sk": {"S": sort}, "kind": {"S": "k"}}


def get(partition: str, sort: str) -> tuple[str, dict[str, Any]]:
    return "GetItem", {"TableName": "things", "Key": {"pk": {"S": partition}, "sk": {"S": sort}}}


def query(partition: str) -> tuple[str, dict[str, Any]]:
    return "Query", {
        "TableName": "things",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": partition}},
    }


PUT = ("PutItem", {"TableName": "things", "Item": item("a", "2")})
BY_KIND = (
    "Query",
    {
        "TableName": "things",
        "IndexName": "by-kind",
        "KeyConditionExpression": "kind = :k",
        "ExpressionAttributeValues": {":k": {"S": "k"}},
    },
)


@pytest.fixture
def writer(engine: Engine, disk: SlowDisk) -> Iterator[Future[Any]]:
    """Somebody whose write is being synced."""
    disk.is_blocked = True
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(engine.call, *PUT)
        assert disk.began.wait(30)
        yield writing
        disk.released.set()
        assert writing.result(30) == {}


@pytest.mark.parametrize(
    ("operation", "input_", "count"),
    [
        (*get("b", "1"), None),
        (*get("a", "1"), None),
        (*query("b"), 1),
        ("Scan", {"TableName": "others"}, 0),
        ("Query", {**query("b")[1], "FilterExpression": "attribute_exists(kind)"}, 1),
    ],
)
def test_who_has_seen_nothing_of_it_does_not_wait(
    engine: Engine, writer: Future[Any], operation: str, input_: dict[str, Any], count: int | None
) -> None:
    assert engine.call(operation, input_).get("Count") == count
    assert not writer.done()


@pytest.mark.parametrize(
    ("operation", "input_"),
    [
        get("a", "2"),
        query("a"),
        BY_KIND,
        ("Scan", {"TableName": "things"}),
        ("TransactGetItems", {"TransactItems": [{"Get": get("b", "1")[1]}]}),
        ("ExecuteStatement", {"Statement": "SELECT * FROM things WHERE pk = 'a'"}),
        ("PutItem", {"TableName": "things", "Item": item("b", "3")}),
    ],
)
def test_who_may_have_seen_it_waits(
    engine: Engine, disk: SlowDisk, writer: Future[Any], operation: str, input_: dict[str, Any]
) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(engine.call, operation, input_)
        time.sleep(0.05)
        assert not waiting.done()
        disk.released.set()
        waiting.result(30)
    assert writer.result(30) == {}


def test_a_change_of_a_table_is_waited_for_by_everyone(engine: Engine, disk: SlowDisk) -> None:
    disk.is_blocked = True
    with ThreadPoolExecutor(2) as threads:
        threads.submit(engine.call, "CreateTable", on_demand(TableName="third"))
        assert disk.began.wait(30)
        waiting = threads.submit(engine.call, *get("b", "1"))
        time.sleep(0.05)
        assert not waiting.done()
        disk.released.set()
        waiting.result(30)


def test_an_event_loop_goes_on_during_a_sync(engine: Engine, disk: SlowDisk) -> None:
    async def main() -> None:
        disk.is_blocked = True
        writing = asyncio.create_task(engine.call_async(*PUT))
        while not disk.began.is_set():
            await asyncio.sleep(0.001)
        assert "Item" in await engine.call_async(*get("b", "1"))
        assert not writing.done()
        disk.released.set()
        assert await writing == {}

    asyncio.run(main())


def sent(operation: str, input_: dict[str, Any]) -> bytes:
    return request(orjson.dumps(input_), f"DynamoDB_20120810.{operation}".encode())


def test_a_server_answers_others_during_a_sync(engine: Engine, disk: SlowDisk) -> None:
    with serve_in_thread(engine) as url, Client(url) as writer, Client(url) as other:
        disk.is_blocked = True
        writer.send(sent(*PUT))
        assert disk.began.wait(30)
        assert other.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200
        assert b'"Item"' in other.ask(sent(*get("b", "1"))).body
        # What is written meanwhile is in the next commit.
        other.send(sent("PutItem", {"TableName": "things", "Item": item("b", "4")}))
        disk.released.set()
        assert (writer.receive().status, other.receive().status) == (200, 200)


def test_a_server_answers_others_while_a_large_transaction_is_synced_on_a_fast_disk(
    engine: Engine, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_pace, "_SLOW_SYNC", 3600.0)
    monkeypatch.setattr(disk_pace, "_FAST_SYNC", 3600.0)
    engine.call(*PUT)
    assert not engine.flush_takes_long
    texts = {"text": {"S": "x" * 300_000}}
    puts = [{"Put": {"TableName": "things", "Item": {**item("a", str(number)), **texts}}} for number in range(10)]
    transaction = {"TransactItems": puts, "ClientRequestToken": "once"}
    with serve_in_thread(engine) as url, Client(url) as writer, Client(url) as other, Client(url) as third:
        disk.is_blocked = True
        writer.send(sent("TransactWriteItems", transaction))
        assert disk.began.wait(30)
        assert b'"Item"' in other.ask(sent(*get("b", "1"))).body
        third.send(sent(*get("a", "7")))
        # It waits, as its item may be lost; and others go on.
        assert b'"Item"' in other.ask(sent(*get("b", "1"))).body
        disk.released.set()
        assert writer.receive().status == 200
        assert b"xxx" in third.receive().body
    engine.call(*PUT)
    assert not engine.flush_takes_long


def test_a_server_does_not_wait_for_a_sync_of_another_thread_on_a_fast_disk(
    engine: Engine, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_pace, "_SLOW_SYNC", 3600.0)
    monkeypatch.setattr(disk_pace, "_FAST_SYNC", 3600.0)
    engine.call("PutItem", {"TableName": "things", "Item": item("b", "3")})
    assert not engine.flush_takes_long
    with serve_in_thread(engine) as url, Client(url) as one, Client(url) as other, ThreadPoolExecutor(1) as threads:
        disk.is_blocked = True
        writing = threads.submit(engine.call, *PUT)
        assert disk.began.wait(30)
        # What it has read may depend on the commit.
        one.send(sent(*get("a", "2")))
        time.sleep(0.05)
        assert other.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200
        disk.released.set()
        assert b'"Item"' in one.receive().body
        assert writing.result(30) == {}


def test_the_disk_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.03
    monkeypatch.setattr(WriteAheadLog, "sync", lambda log: time.sleep(seconds))
    with Engine.open(tmp_path) as engine:
        engine._background.stop()
        engine.call("CreateTable", on_demand(TableName="things"))
        for number in range(3):
            engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": str(number)}}})
        assert engine.flush_takes_long
        seconds = 0.0
        for number in range(20):
            engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": str(number)}}})
        assert not engine.flush_takes_long


def test_tasks_that_wait_for_one_commit_share_a_thread(
    engine: Engine, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    wait_durable = type(engine._storage).wait_durable

    def counted(storage: Any, commit: Any) -> None:
        name = threading.current_thread().name
        if name != threading.main_thread().name:
            threads.append(name)
        wait_durable(storage, commit)

    monkeypatch.setattr(type(engine._storage), "wait_durable", counted)

    async def main() -> None:
        puts = [engine.call_async("PutItem", {"TableName": "things", "Item": item("a", str(n))}) for n in range(40)]
        await asyncio.gather(*puts)

    asyncio.run(main())
    assert len(threads) == 1
    assert not engine._waiting
    found = engine.call(
        "Query",
        {"TableName": "things", "KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}},
    )
    assert found["Count"] == 40


def test_each_task_gets_the_error_of_a_sync_that_failed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(log: WriteAheadLog) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(WriteAheadLog, "sync", fail)

    async def main() -> list[Any]:
        puts = [engine.call_async("PutItem", {"TableName": "things", "Item": item("c", str(n))}) for n in range(5)]
        return list(await asyncio.gather(*puts, return_exceptions=True))

    errors = asyncio.run(main())
    assert all(isinstance(error, InternalServerError) and "the disk is gone" in str(error) for error in errors)
    assert len({id(error) for error in errors}) == 5
