"""Requests to an endpoint: forms of responses, errors, and pools of connections."""

from __future__ import annotations

import asyncio
import gzip
import os
import threading
import time
import zlib
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.store.backends.http import response_reader
from tablewright.store.flow.driver import Request
from tablewright.store.flow.retry import is_transient
from tablewright.wire import serve_in_thread
from tests.store.backends.cut_responses import TABLES
from tests.store.backends.faces import LIST, Face, call, connected, failure
from tests.store.backends.scripted_server import Peer, answering, response, scripted
from tests.threads import run_threads

__all__ = ["call"]


# -- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        response(TABLES),
        b"HTTP/1.1 100 Continue\r\n\r\n" + response(TABLES),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%b\r\nf\r\n%b\r\n0\r\n\r\n"
        % (TABLES[:5], TABLES[5:]),
        response(TABLES, "200 OK", f"X-Amz-Crc32: {zlib.crc32(TABLES)}"),
        response(gzip.compress(TABLES, mtime=0), "200 OK", "Content-Encoding: gzip"),
        response(
            (packed := gzip.compress(TABLES, mtime=0)),
            "200 OK",
            "Content-Encoding: gzip",
            f"x-amz-crc32: {zlib.crc32(packed)}",
        ),
    ],
    ids=["plain", "continued", "chunked", "checked", "compressed", "compressed and checked"],
)
def test_forms_of_a_response(call: Face, answer: bytes) -> None:
    with scripted(answering(answer)) as server:
        backend = connected(server.port)
        assert [call(backend) for _ in range(3)] == [{"TableNames": ["a"]}] * 3
        assert server.connections == 1
        backend.close()


@pytest.mark.parametrize(
    "answer",
    [response(TABLES, "200 OK", "Connection: close"), b"HTTP/1.0 200 OK\r\n\r\n" + TABLES],
    ids=["close", "1.0"],
)
def test_a_response_that_ends_its_connection(call: Face, answer: bytes) -> None:
    def script(peer: Peer) -> None:
        peer.read_request()
        peer.send(answer)

    with scripted(script) as server:
        backend = connected(server.port)
        assert [call(backend) for _ in range(2)] == [{"TableNames": ["a"]}] * 2
        assert server.connections == 2
        backend.close()


def test_a_response_has_a_largest_size(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_reader, "MAX_BODY_BYTES", 1000)
    large = b'{"TableNames":["%b"]}' % (b"a" * 2000)
    for answer in (response(large), response(gzip.compress(large, mtime=0), "200 OK", "Content-Encoding: gzip")):
        with scripted(answering(answer)) as server:
            backend = connected(server.port)
            assert "too large" in failure(call, backend).message
            backend.close()


def test_errors_of_the_service_and_of_what_is_in_front_of_it(call: Face) -> None:
    condition = (
        b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{}}'
    )
    answers = [
        response(condition, "400 Bad Request"),
        response(b'{"__type":"com.amazon.coral.service#SerializationException","Message":"what"}', "400 Bad Request"),
        response(b"<html>Bad gateway</html>", "502 Bad Gateway"),
        response(b"", "503 Service Unavailable"),
        response(b"[]", "429 Too Many Requests"),
    ]
    with scripted(answering(*answers)) as server:
        backend = connected(server.port)
        found = [failure(call, backend) for _ in answers]
        backend.close()
    assert [(each.code, each.message) for each in found] == [
        ("ConditionalCheckFailedException", "no"),
        ("SerializationException", "what"),
        ("502", "<html>Bad gateway</html>"),
        ("503", ""),
        ("429", "[]"),
    ]
    assert found[0].details == {"Item": {}}
    assert [is_transient(each) for each in found] == [False, False, True, True, True]


def test_a_transaction_keeps_its_token_however_often_it_is_sent(call: Face) -> None:
    """So that one whose response got lost is not done twice."""
    bodies: list[bytes] = []

    def script(peer: Peer) -> None:
        while True:
            bodies.append(peer.read_request()[1])
            peer.send(response(b"", "500 Internal Server Error"))

    delete = {"Delete": {"TableName": "rows", "Key": {"pk": {"S": "a"}}}}
    requests = [Request("TransactWriteItems", {"TransactItems": [delete]}) for _ in range(2)]
    with scripted(script) as server:
        backend = connected(server.port)
        for request in [*requests, *requests]:
            failure(call, backend, request)
        backend.close()
    assert b"ClientRequestToken" in bodies[0]
    assert bodies[:2] == bodies[2:]
    assert bodies[0] != bodies[1]


# -- pools ------------------------------------------------------------------------------------------------------------


class Crowd:
    """A script that notes how many requests are served at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, peer: Peer) -> None:
        while True:
            peer.read_request()
            with self._lock:
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(0.02)
            with self._lock:
                self.now -= 1
            peer.send(response(TABLES))


def test_so_many_connections_and_no_more() -> None:
    crowd = Crowd()
    with scripted(crowd) as server:
        backend = connected(server.port, config={"max_pool_connections": 3, "read_timeout": 5})

        def four() -> None:
            for _ in range(4):
                backend.call(LIST)

        run_threads(*[four] * 8)
        assert (crowd.most, server.connections) == (3, 3)
        backend.close()
    crowd = Crowd()
    with scripted(crowd) as server:
        backend = connected(server.port, config={"max_pool_connections": 3, "read_timeout": 5})

        async def together() -> None:
            await asyncio.gather(*(backend.call_async(LIST) for _ in range(32)))
            backend.close()

        asyncio.run(together())
        assert (crowd.most, server.connections) == (3, 3)


def test_a_task_that_is_cancelled_takes_its_connection_with_it() -> None:
    """The response may still come, and would be taken for that of another request."""

    asked, cancelled_at = threading.Event(), threading.Event()

    def slow(peer: Peer) -> None:
        peer.read_request()
        asked.set()
        cancelled_at.wait(5)
        peer.send(response(b'{"TableNames":["not this one"]}'))
        peer.wait_for_end()

    with scripted(slow, answering(response(TABLES))) as server:
        backend = connected(server.port, config={"max_pool_connections": 1, "read_timeout": 5})

        async def cancelled() -> None:
            task = asyncio.create_task(backend.call_async(LIST))
            await asyncio.to_thread(asked.wait, 5)
            waiting = [asyncio.create_task(backend.call_async(LIST)) for _ in range(2)]
            await asyncio.sleep(0)
            task.cancel()
            waiting[0].cancel()
            cancelled_at.set()
            assert await waiting[1] == {"TableNames": ["a"]}
            await asyncio.sleep(0.05)
            assert await backend.call_async(LIST) == {"TableNames": ["a"]}
            backend.close()

        asyncio.run(cancelled())


def test_a_backend_is_used_on_one_event_loop_after_the_other() -> None:
    with scripted(answering(response(TABLES))) as server:
        backend = connected(server.port)
        for _ in range(3):
            assert asyncio.run(backend.call_async(LIST)) == {"TableNames": ["a"]}
        assert backend.call(LIST) == {"TableNames": ["a"]}
        backend.close()


def test_a_forked_process_opens_connections_of_its_own() -> None:
    """Two processes that share one would read each other's responses."""
    with scripted(answering(response(TABLES))) as server:
        backend = connected(server.port)
        backend.call(LIST)
        child = os.fork()
        if not child:
            os._exit(0 if backend.call(LIST) == {"TableNames": ["a"]} else 1)
        assert os.waitpid(child, 0)[1] == 0
        backend.call(LIST)
        assert server.connections == 2
        backend.close()


def test_requests_go_on_over_our_own_server(call: Face, tmp_path: Path) -> None:
    with Engine.open() as engine, serve_in_thread(engine) as url:
        backend = connected(int(url.rpartition(":")[2]))
        assert call(backend) == {"TableNames": []}
        backend.close()
