"""Pipelined requests: executed in order, in turn with those of other connections, and within the limits of memory."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from tablewright.engine import Engine
from tablewright.wire import serve_in_thread
from tablewright.wire.engine_connection import EngineConnection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.long_requests import FIRST_SLICES, LongRequest, LongRequests
from tests.wire.fakes import FakeEngine, FakeHost, FakeTransport
from tests.wire.raw_http import Client, request

GET, PUT, UPDATE = (b"DynamoDB_20120810." + name for name in (b"GetItem", b"PutItem", b"UpdateItem"))
KEY = {"pk": {"S": "a"}}
TABLE = {
    "TableName": "Pipes",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def put(**values: Any) -> bytes:
    return orjson.dumps({"TableName": "Pipes", "Item": {**KEY, **values}})


def connected(limits: Limits | None = None) -> tuple[FakeHost, FakeEngine, EngineConnection, FakeTransport]:
    engine, transport = FakeEngine(), FakeTransport()
    host = FakeHost(engine, limits)
    connection = EngineConnection(cast(Any, host))
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    return host, engine, connection, transport


def test_a_large_put_is_executed_before_the_update_behind_it() -> None:
    large = request(put(v={"N": "1"}, text={"S": "x" * 300_000}), PUT)
    update = {
        "TableName": "Pipes",
        "Key": KEY,
        "UpdateExpression": "SET v = :v",
        "ExpressionAttributeValues": {":v": {"N": "1000"}},
    }
    with Engine.open() as engine, serve_in_thread(engine) as url, Client(url) as client:
        engine.call("CreateTable", TABLE)
        for _ in range(5):
            client.send(large + request(orjson.dumps(update), UPDATE))
            assert [client.receive().status, client.receive().status] == [200, 200]
            assert engine.call("GetItem", {"TableName": "Pipes", "Key": KEY})["Item"]["v"] == {"N": "1000"}


def test_a_read_sees_the_compressed_put_before_it() -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url, Client(url) as client:
        engine.call("CreateTable", TABLE)
        for number in range(5):
            compressed = request(gzip.compress(put(v={"N": str(number)})), PUT, content_encoding=b"gzip")
            client.send(compressed + request(orjson.dumps({"TableName": "Pipes", "Key": KEY}), GET))
            assert client.receive().status == 200
            assert orjson.loads(client.receive().body)["Item"]["v"] == {"N": str(number)}


@pytest.mark.parametrize("on_disk", [False, True])
def test_more_writes_than_may_wait_are_all_executed(on_disk: bool, tmp_path: Path) -> None:
    puts = [orjson.dumps({"TableName": "Pipes", "Item": {"pk": {"S": str(number)}}}) for number in range(300)]
    with Engine.open(tmp_path if on_disk else None) as engine, serve_in_thread(engine) as url, Client(url) as client:
        engine.call("CreateTable", TABLE)
        client.send(b"".join(request(each, PUT) for each in puts))
        assert [client.receive().status for _ in puts] == [200] * 300
        assert engine.call("Scan", {"TableName": "Pipes", "Select": "COUNT"})["Count"] == 300


def test_of_the_requests_of_one_read_one_is_processed_in_each_turn() -> None:
    host, engine, connection, transport = connected(Limits())
    connection.data_received(b"".join(request(b'{"n":%d}' % number, GET) for number in range(800)))
    for processed in range(1, 801):
        assert len(engine.calls) == processed
        host.give_turn()
    assert [call[1]["n"] for call in engine.calls] == list(range(800))
    assert transport.written.count(b"HTTP/1.1 200") == 800
    assert connection.idle
    assert host.received.used == 0


def test_input_behind_a_waiting_request_is_not_parsed_and_all_of_it_is_counted() -> None:
    host, _, connection, _ = connected(Limits(allowance_bytes=0))
    fields: dict[str, Any] = {f"x{number}": b"" for number in range(100)}
    connection.data_received(request(b"{}", GET, **fields) * 100)
    assert len(connection._backlog) < 10
    assert host.received.used > 100 * 900 + len(connection._backlog) * 12_000
    host.give_turns()
    assert host.received.used == 0


def test_requests_that_wait_beyond_the_budget_are_refused() -> None:
    host, _, connection, transport = connected(Limits(allowance_bytes=0, received_bytes=20_000))
    fields: dict[str, Any] = {f"x{number}": b"" for number in range(100)}
    connection.data_received(request(b"{}", GET, **fields) * 100)
    host.give_turns()
    assert transport.written.count(b"HTTP/1.1 200") == 1
    assert transport.written.count(b"HTTP/1.1 503") == 1
    assert host.received.used == 0


def test_what_cannot_be_read_is_refused_after_the_requests_before_it() -> None:
    host, _, connection, transport = connected()
    connection.data_received(request(b'{"n":1}', GET) * 5 + b"nonsense\r\n\r\n" + request(b'{"n":2}', GET))
    host.give_turns()
    assert transport.written.count(b"HTTP/1.1 200") == 5
    assert transport.written.endswith(b"\r\n\r\n")
    assert transport.written.rpartition(b"HTTP/1.1 ")[2].startswith(b"400")


def test_a_client_that_waits_for_100_continue_gets_it_after_the_responses_before() -> None:
    host, _, connection, transport = connected()
    head, _, body = request(b'{"n":3}', GET, expect=b"100-continue").partition(b"\r\n\r\n")
    connection.data_received(request(b'{"n":1}', GET) + request(b'{"n":2}', GET) + head + b"\r\n\r\n")
    assert b"100 Continue" not in transport.written
    host.give_turns()
    assert transport.written.count(b"HTTP/1.1 200") == 2
    assert transport.written.endswith(b"HTTP/1.1 100 Continue\r\n\r\n")
    connection.data_received(body)
    host.give_turns()
    assert transport.written.count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request(host=None), 400),
        (request(b"", length=False, transfer_encoding=b"gzip, chunked") + b"0\r\n\r\n", 501),
    ],
)
def test_a_head_that_http_forbids_is_refused(sent: bytes, status: int) -> None:
    _, _, connection, transport = connected()
    connection.data_received(sent)
    assert transport.written.startswith(b"HTTP/1.1 %d" % status)


def test_an_older_client_gets_no_100_continue() -> None:
    _, _, connection, transport = connected()
    sent = request(b"{}", GET, expect=b"100-continue").replace(b"HTTP/1.1\r\n", b"HTTP/1.0\r\n", 1)
    connection.data_received(sent)
    assert transport.written.startswith(b"HTTP/1.1 200")


def test_few_bodies_are_parsed_at_a_time_and_small_ones_do_not_wait_for_them() -> None:
    async def run() -> None:
        requests, begun = LongRequests(), []

        def job(size: int) -> LongRequest:
            def unfinished() -> LongRequest:
                begun.append(size)
                return LongRequest(lambda: (b"", None), has_begun=True)

            return LongRequest(unfinished, small_size=size)

        large = 1024 * 1024
        # They have begun, and do not end.
        for _ in range(4):
            requests.add(LongRequest(lambda: (b"", None), has_begun=True, small_size=large), print, _no)
        assert not requests.may_begin(large)
        requests.add(job(large), print, _yes)
        requests.add(job(1000), print, _yes)
        requests._begin_some()
        assert begun == [1000]
        assert requests.forget_most() == 0
        for _ in range(20):
            await asyncio.sleep(0)
        assert begun == [1000, large]
        assert requests.forget_most() >= 4 * large
        assert len(requests) == 0

    asyncio.run(run())
    assert FIRST_SLICES > 1


def _yes() -> bool:
    return True


def _no() -> bool:
    return False
