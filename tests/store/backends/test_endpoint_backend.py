"""Requests to an endpoint, whatever becomes of the connection: an answer or an error, and never a wait without end."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import ssl
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config

from tablewright.engine import Engine
from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.backends.http import loop_pool, response_reader, socket_pool
from tablewright.store.backends.http.exchange import NO_RESPONSE, NOT_CONNECTED
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request
from tablewright.store.flow.retry import is_transient, is_undone
from tablewright.wire import serve_in_thread
from tests.store.backends.faces import LIST, Face, call, connected, failure
from tests.store.backends.scripted_server import Authority, Peer, Script, answering, response, scripted
from tests.threads import run_threads

__all__ = ["call"]

PUT = Request("PutItem", {"TableName": "rows", "Item": {"pk": {"S": "x" * 2_000_000}}})
TABLES = b'{"TableNames":["a"]}'


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


# -- connections that are cut -----------------------------------------------------------------------------------------


def test_an_endpoint_that_cannot_be_reached(call: Face) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        backend = connected(unused.getsockname()[1])
        failed = failure(call, backend)
    assert failed.code == NOT_CONNECTED
    assert is_transient(failed)
    assert is_undone(failed)


def test_a_host_that_does_not_exist(call: Face) -> None:
    backend = EndpointBackend(
        "us-east-1", "http://nowhere.invalid", {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    )
    assert failure(call, backend).code == NOT_CONNECTED


def test_a_name_has_to_be_resolved_in_time(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = threading.Event()
    resolve = socket.getaddrinfo

    def slowly(host: str, port: int, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            resolved.wait(10)
        return resolve(host, port, family, type, proto, flags)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    backend = EndpointBackend(
        "us-east-1",
        "http://nowhere.invalid",
        {
            "aws_access_key_id": "any",
            "aws_secret_access_key": "any",
            "config": Config(connect_timeout=0.1, read_timeout=0.1),
        },
    )
    began = time.monotonic()
    try:
        failed = failure(call, backend)
        took = time.monotonic() - began
    finally:
        resolved.set()
    assert failed.code == NOT_CONNECTED
    assert "took too long" in failed.message
    assert took < 9


def test_an_address_that_refuses_leaves_the_others(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may have several addresses, of which the first is often one of IPv6 that nobody listens on."""
    resolve = socket.getaddrinfo
    with socket.socket() as unused, scripted(answering(response(TABLES))) as server:
        unused.bind(("127.0.0.1", 0))
        nobody = unused.getsockname()[1]

        def both(host: str, port: int, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
            if host != "two.invalid" or flags & socket.AI_NUMERICHOST:
                return resolve(host, port, family, type, proto, flags)
            return [
                *resolve("127.0.0.1", nobody, family, type, proto, flags),
                *resolve("127.0.0.1", port, family, type, proto, flags),
            ]

        monkeypatch.setattr(socket, "getaddrinfo", both)
        backend = connected(server.port, host="two.invalid")
        assert call(backend) == {"TableNames": ["a"]}


def closed(peer: Peer) -> None:
    peer.read_request()


def reset(peer: Peer) -> None:
    peer.read_request()
    peer.reset()


def in_the_status_line(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 20")


def in_the_head(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES)[:20])


def in_the_body(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES)[:-3])


def in_a_chunk(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{")


def reset_in_the_body(peer: Peer) -> None:
    in_the_body(peer)
    peer.reset()


def not_http(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"SSH-2.0-OpenSSH\r\n\r\n")


def not_json(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(b"<html>", "200 OK", "Connection: close"))


def wrong_checksum(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES, "200 OK", "x-amz-crc32: 1"))


def another_protocol(peer: Peer) -> None:
    peer.read_request()
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")


def endless_head(peer: Peer) -> None:
    peer.read_request()
    while True:
        peer.send(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 65536)


def unknown_encoding(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(TABLES, "200 OK", "Content-Encoding: br"))


def half_of_what_is_compressed(peer: Peer) -> None:
    peer.read_request()
    peer.send(response(gzip.compress(TABLES, mtime=0)[:-9], "200 OK", "Content-Encoding: gzip"))


@pytest.mark.parametrize(
    "script",
    [
        closed,
        reset,
        in_the_status_line,
        in_the_head,
        in_the_body,
        in_a_chunk,
        reset_in_the_body,
        not_http,
        not_json,
        wrong_checksum,
        another_protocol,
        endless_head,
        unknown_encoding,
        half_of_what_is_compressed,
    ],
)
def test_a_request_without_a_whole_response_may_have_been_executed(call: Face, script: Script) -> None:
    with scripted(script, answering(response(TABLES))) as server:
        backend = connected(server.port)
        failed = failure(call, backend)
        assert failed.code == NO_RESPONSE
        assert is_transient(failed)
        assert not is_undone(failed)
        # The connection is not used again.
        assert call(backend) == {"TableNames": ["a"]}
        assert server.connections == 2
        backend.close()


@pytest.mark.parametrize("halves", ["closed", "reset"])
def test_a_connection_that_is_cut_while_the_request_is_sent(call: Face, halves: str) -> None:
    def script(peer: Peer) -> None:
        peer.read_head()
        if halves == "reset":
            peer.reset()

    with scripted(script) as server:
        backend = connected(server.port, config={"read_timeout": 5})
        # asyncio does not say how much has been sent.
        assert failure(call, backend, PUT).code in (NO_RESPONSE, NOT_CONNECTED)
        backend.close()


def test_a_connection_that_is_closed_while_nobody_uses_it_is_not_used_again(call: Face) -> None:
    ended = threading.Event()

    def once(peer: Peer) -> None:
        peer.read_request()
        peer.send(response(TABLES))
        peer.connection.shutdown(socket.SHUT_RDWR)
        ended.set()

    with scripted(once, answering(response(TABLES))) as server:
        backend = connected(server.port)
        call(backend)
        assert ended.wait(5)
        time.sleep(0.02)
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()


def test_a_connection_that_was_idle_for_long_is_not_used_again(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(answering(response(TABLES))) as server:
        backend = connected(server.port)
        call(backend)
        call(backend)
        assert server.connections == 1
        monkeypatch.setattr(socket_pool, "MAX_IDLE_SECONDS", 0.0)
        monkeypatch.setattr(loop_pool, "MAX_IDLE_SECONDS", 0.0)
        call(backend)
        assert server.connections == 2
        backend.close()


def test_a_response_that_nobody_asked_for_ends_the_connection(call: Face) -> None:
    """Or it would be taken for that of the next request."""
    other = response(b'{"TableNames":["not this one"]}')
    with scripted(answering(response(TABLES) + other), answering(response(TABLES))) as server:
        backend = connected(server.port)
        with pytest.raises(ServiceError, match="more than one response"):
            call(backend)
        backend.close()

    def late(peer: Peer) -> None:
        peer.read_request()
        peer.send(response(TABLES))
        time.sleep(0.05)
        peer.send(other)
        peer.wait_for_end()

    with scripted(late, answering(response(TABLES))) as server:
        backend = connected(server.port)
        call(backend)
        time.sleep(0.1)
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()


# -- servers that stall -----------------------------------------------------------------------------------------------


def silent(peer: Peer) -> None:
    peer.wait_for_end()


def silent_after_the_request(peer: Peer) -> None:
    peer.read_request()
    peer.wait_for_end()


def drop_by_drop(peer: Peer) -> None:
    peer.read_request()
    for number in response(TABLES * 100):
        peer.send(bytes([number]))
        time.sleep(0.02)


def reads_nothing(peer: Peer) -> None:
    time.sleep(1.0)


@pytest.mark.parametrize("script", [silent_after_the_request, drop_by_drop])
def test_a_response_has_to_be_there_in_time(call: Face, script: Script) -> None:
    with scripted(script) as server:
        backend = connected(server.port)
        before = time.monotonic()
        failed = failure(call, backend)
        assert 0.2 < time.monotonic() - before < 3
        assert failed.code == NO_RESPONSE
        assert "took too long" in failed.message
        backend.close()


def test_an_endpoint_that_does_not_read_does_not_hold_up_its_client(call: Face) -> None:
    big = Request("PutItem", {"TableName": "rows", "Item": {"pk": {"S": "x" * 20_000_000}}})
    with scripted(reads_nothing) as server:
        backend = connected(server.port)
        before = time.monotonic()
        assert failure(call, backend, big).code in (NO_RESPONSE, NOT_CONNECTED)
        assert time.monotonic() - before < 3
        backend.close()


def test_tls_has_to_be_agreed_on_in_time(call: Face) -> None:
    with scripted(silent) as server:
        backend = connected(server.port, scheme="https", verify=False)
        before = time.monotonic()
        failed = failure(call, backend)
        assert time.monotonic() - before < 3
        assert failed.code == NOT_CONNECTED
        backend.close()


def test_a_deadline_counts_if_it_is_earlier(call: Face) -> None:
    with scripted(silent_after_the_request) as server:
        backend = connected(server.port, config={"read_timeout": 30, "max_pool_connections": 1})
        before = time.monotonic()
        failed = failure(call, backend, Request("ListTables", {}, deadline=before + 0.2))
        assert time.monotonic() - before < 3
        assert failed.code == NO_RESPONSE
        backend.close()


def test_a_turn_does_not_come_in_time() -> None:
    with scripted(silent_after_the_request) as server:
        backend = connected(server.port, config={"read_timeout": 30, "max_pool_connections": 1})

        async def together() -> None:
            now = time.monotonic()
            first = asyncio.create_task(backend.call_async(Request("ListTables", {}, deadline=now + 1.0)))
            await asyncio.sleep(0.5)
            with pytest.raises(ServiceError, match="all connections are in use") as failed:
                await backend.call_async(Request("ListTables", {}, deadline=now + 0.6))
            assert failed.value.code == NOT_CONNECTED
            with pytest.raises(ServiceError, match="took too long"):
                await first
            backend.close()

        asyncio.run(together())


def test_a_turn_does_not_come_in_time_for_a_thread() -> None:
    with scripted(silent_after_the_request) as server:
        backend = connected(server.port, config={"read_timeout": 2, "max_pool_connections": 1})
        first = threading.Thread(target=lambda: suppressed(backend))
        first.start()
        time.sleep(0.5)
        with pytest.raises(ServiceError, match="all connections are in use"):
            backend.call(Request("ListTables", {}, deadline=time.monotonic() + 0.1))
        first.join()
        backend.close()


def suppressed(backend: EndpointBackend) -> None:
    with suppress(ServiceError):
        backend.call(LIST)


# -- reads that are sent twice ----------------------------------------------------------------------------------------

HEDGED = Request("GetItem", {}, hedge_after=0.05)


def test_a_read_that_stalls_is_sent_on_another_connection(call: Face) -> None:
    with scripted(silent_after_the_request, answering(response(TABLES))) as server:
        backend = connected(server.port, config={"read_timeout": 30})
        before = time.monotonic()
        assert call(backend, HEDGED) == {"TableNames": ["a"]}
        assert time.monotonic() - before < 5
        # The connection that stalls is closed, the other one is kept.
        assert call(backend, HEDGED) == {"TableNames": ["a"]}
        assert server.connections == 2
        backend.close()


def test_a_read_that_is_quick_is_sent_once(call: Face) -> None:
    with scripted(answering(response(TABLES))) as server:
        backend = connected(server.port, config={"read_timeout": 30})
        for _ in range(3):
            assert call(backend, Request("GetItem", {}, hedge_after=10.0)) == {"TableNames": ["a"]}
        assert server.connections == 1
        backend.close()


def test_a_second_connection_that_fails_leaves_the_first(call: Face) -> None:
    def slow(peer: Peer) -> None:
        peer.read_request()
        time.sleep(0.3)
        peer.send(response(TABLES))
        peer.wait_for_end()

    with scripted(slow, reset) as server:
        backend = connected(server.port, config={"read_timeout": 30})
        assert call(backend, HEDGED) == {"TableNames": ["a"]}
        assert server.connections == 2
        backend.close()


def test_an_endpoint_that_is_slow_as_a_whole_does_not_get_twice_the_load(call: Face) -> None:
    def slow(peer: Peer) -> None:
        while True:
            peer.read_request()
            time.sleep(0.02)
            peer.send(response(TABLES))

    with scripted(slow) as server:
        backend = connected(server.port, config={"read_timeout": 30})
        for _ in range(60):
            call(backend, Request("GetItem", {}, hedge_after=0.001))
        # Ten at first, and one for every ten after that; each closes the connection of one of the two.
        assert server.connections <= 2 + 10 + 6
        backend.close()


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


# -- TLS --------------------------------------------------------------------------------------------------------------


def test_requests_over_tls(call: Face, authority: Authority) -> None:
    page = b'{"TableNames":["%b"]}' % (b"a" * 300_000)
    with scripted(answering(response(page)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        for _ in range(3):
            assert len(call(backend, PUT)["TableNames"][0]) == 300_000
        assert server.connections == 1
        backend.close()


def test_the_bundle_of_the_environment_is_used(
    call: Face, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.bundle))
    with scripted(answering(response(TABLES)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https")
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(call: Face, authority: Authority) -> None:
    with scripted(answering(response(TABLES)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https")
        failed = failure(call, backend)
        assert failed.code == NOT_CONNECTED
        assert "certificate" in failed.message.lower()
        backend.close()


def test_an_endpoint_that_refuses_us_by_an_alert(call: Face, authority: Authority) -> None:
    context = authority.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.bundle)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with scripted(answering(response(TABLES)), tls=context) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        failed = failure(call, backend)
        assert failed.code == NOT_CONNECTED
        assert "alert" in failed.message.lower()
        backend.close()


def test_an_alert_after_the_request(call: Face, authority: Authority) -> None:
    """With TLS 1.3 a client learns only then that its certificate was wanted."""
    context = authority.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.bundle)
    with scripted(answering(response(TABLES)), tls=context) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        assert failure(call, backend).code == NO_RESPONSE
        backend.close()


@pytest.mark.parametrize("script", [closed, reset, in_the_body, reset_in_the_body])
def test_tls_that_is_cut(call: Face, authority: Authority, script: Script) -> None:
    with scripted(script, answering(response(TABLES)), tls=authority.server_context()) as server:
        backend = connected(server.port, scheme="https", verify=str(authority.bundle))
        assert failure(call, backend).code == NO_RESPONSE
        assert call(backend) == {"TableNames": ["a"]}
        backend.close()


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
