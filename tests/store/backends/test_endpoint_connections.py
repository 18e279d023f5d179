"""Connections to an endpoint that are refused or cut: an error, and whether the request may have been executed."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest
from botocore.config import Config

from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.backends.http import loop_pool, socket_pool
from tablewright.store.backends.http.exchange import NO_RESPONSE, NOT_CONNECTED
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request
from tablewright.store.flow.retry import is_transient, is_undone
from tests.store.backends.cut_responses import (
    TABLES,
    another_protocol,
    closed,
    endless_head,
    half_of_what_is_compressed,
    in_a_chunk,
    in_the_body,
    in_the_head,
    in_the_status_line,
    not_http,
    not_json,
    reset,
    reset_in_the_body,
    unknown_encoding,
    wrong_checksum,
)
from tests.store.backends.faces import Face, call, connected, failure
from tests.store.backends.scripted_server import Peer, Script, answering, response, scripted

__all__ = ["call"]

PUT = Request("PutItem", {"TableName": "rows", "Item": {"pk": {"S": "x" * 2_000_000}}})


def test_an_endpoint_that_cannot_be_reached(call: Face) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        failed = failure(call, connected(port))
    assert (failed.code, failed.message) == (
        NOT_CONNECTED,
        f"http://127.0.0.1:{port} cannot be reached: Connection refused",
    )
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
    assert "timed out" in failed.message
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


def test_an_address_that_does_not_answer_leaves_the_others(call: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network may drop what goes to one of them without a word."""
    resolve = socket.getaddrinfo
    with ExitStack() as stack:
        server = stack.enter_context(scripted(answering(response(TABLES))))
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        for _ in range(4):
            # Nobody accepts them, so that whoever comes next is not answered.
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(silent.getsockname())

        def both(host: str, port: int, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
            if host != "two.invalid" or flags & socket.AI_NUMERICHOST:
                return resolve(host, port, family, type, proto, flags)
            return [
                *resolve("127.0.0.1", silent.getsockname()[1], family, type, proto, flags),
                *resolve("127.0.0.1", port, family, type, proto, flags),
            ]

        monkeypatch.setattr(socket, "getaddrinfo", both)
        backend = connected(server.port, host="two.invalid", config={"connect_timeout": 20, "read_timeout": 20})
        began = time.monotonic()
        assert call(backend) == {"TableNames": ["a"]}
        assert time.monotonic() - began < 15


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


def test_a_connection_closed_while_idle_is_not_reused(call: Face) -> None:
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


def test_an_unsolicited_response_ends_the_connection(call: Face) -> None:
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
