"""Endpoints that stall: every request ends in time, and a read that stalls is sent on another connection."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

import pytest

from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.backends.http.exchange import NO_RESPONSE, NOT_CONNECTED
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Request
from tests.store.backends.cut_responses import TABLES, reset
from tests.store.backends.faces import LIST, Face, call, connected, failure
from tests.store.backends.scripted_server import Peer, Script, answering, response, scripted

__all__ = ["call"]


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
        assert "timed out" in failed.message
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
            with pytest.raises(ServiceError, match="timed out"):
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
