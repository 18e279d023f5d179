"""What all connections together may hold, and that it is given back at once."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import pytest

from tablewright.wire import server as server_module
from tablewright.wire.engine_connection import EngineConnection
from tablewright.wire.http.connection import Connection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.http.memory_budget import Account, MemoryBudget
from tablewright.wire.server import Server, serve_in_thread
from tests.wire.fakes import FakeEngine, FakeHost, FakeTransport
from tests.wire.raw_http import Client, request

KB = 1024
MB = KB * KB
SCAN = request(target=b"DynamoDB_20120810.Scan")


@contextmanager
def serving(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, **limits: float
) -> Iterator[tuple[Server, Callable[[], Client]]]:
    """A server with other limits, and what makes clients of it."""
    servers: list[Server] = []

    class Seen(Server):
        async def start(self) -> None:
            servers.append(self)
            await super().start()

    monkeypatch.setattr(server_module, "Server", Seen)
    with ExitStack() as stack:
        url = stack.enter_context(serve_in_thread(engine, limits=Limits(**limits)))  # type: ignore[arg-type]
        yield servers[0], lambda: stack.enter_context(Client(url))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_accounts_add_up_beyond_what_each_may_have_anyway() -> None:
    budget = MemoryBudget(limit=100, allowance=10)
    one, other = Account(budget), Account(budget)
    assert one.set(10)
    assert budget.used == 0
    assert one.set(90)
    assert budget.used == 80
    assert other.set(10)
    assert other.set(30)
    assert budget.used == 100
    assert not other.set(31)
    assert budget.exceeded
    # Whoever holds little is not concerned.
    assert Account(budget).set(5)
    other.set(0)
    assert (budget.used, budget.most) == (80, 101)
    one.set(0)
    assert budget.used == 0


def unfinished(size: int) -> bytes:
    return request(b"", content_length=str(MB).encode()) + b"x" * size


def test_bodies_beyond_the_budget_are_refused(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(engine, monkeypatch, received_bytes=400 * KB) as (server, client):
        first, second, third = client(), client(), client()
        first.send(unfinished(400 * KB))
        wait_for(lambda: server.received.used == 336 * KB)
        response = second.ask(unfinished(200 * KB))
        assert response.status == 503
        assert json.loads(response.body)["__type"] == "com.amazon.coral.service#ServiceUnavailableException"
        response.check_sum()
        assert second.closed()
        assert server.received.used == 336 * KB
        # There is always room for a small one, and a large one is still read to its end.
        assert third.ask(request(b'{"Limit":1}')).status == 200
        engine.answers["ListTables"] = b"{}"
        first.send(b"x" * 20 * KB)
        wait_for(lambda: server.received.used == 356 * KB)
        assert engine.calls == [("ListTables", {"Limit": 1})]


@pytest.mark.parametrize("ending", ["leaves", "is done", "is refused"])
def test_what_a_body_takes_is_given_back_at_once(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    engine.answers["ListTables"] = b"{}"
    with serving(engine, monkeypatch) as (server, new_client):
        client = new_client()
        body = b'"' + b"x" * (MB - 2) + b'"'
        client.send(request(body)[:-10])
        wait_for(lambda: server.received.used > 0)
        if ending == "leaves":
            client.socket.close()
        elif ending == "is done":
            assert client.ask(body[-10:]).status == 200
        else:
            client.send(body[-10:] + b"nonsense")
        wait_for(lambda: server.received.used == 0)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Connection]]:
    """Those that servers make."""
    made: list[weakref.ref[Connection]] = []
    original = EngineConnection.__init__

    def remember(self: EngineConnection, server: Server) -> None:
        original(self, server)
        made.append(weakref.ref(self))

    monkeypatch.setattr(EngineConnection, "__init__", remember)
    return made


def test_small_chunks_take_no_more_than_they_are(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, connections: list[weakref.ref[Connection]]
) -> None:
    engine.answers["ListTables"] = b"{}"
    with serving(engine, monkeypatch) as (_, new_client):
        client = new_client()
        client.send(request(b"", length=False, transfer_encoding=b"chunked") + b"1\r\n[\r\n" + b"2\r\n1,\r\n" * 50_000)
        wait_for(lambda: bool(connections))
        connection = connections[0]()
        assert connection is not None
        wait_for(lambda: len(connection._body) == 100_001)
        assert connection._pieces == []
        assert client.ask(b"2\r\n1]\r\n0\r\n\r\n").status == 200


def test_responses_beyond_the_budget_are_not_made(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.answers["Scan"] = b"x" * 4 * MB
    limits = {"unsent_bytes": 6 * MB, "write_seconds": 60.0}
    with serving(engine, monkeypatch, **limits) as (server, client):
        readers = [client() for _ in range(6)]
        for reader in readers:
            reader.send(SCAN * 3)
        wait_for(lambda: server.unsent.exceeded)
        calls = len(engine.calls)
        assert client().ask(SCAN).status == 503
        assert len(engine.calls) == calls
        # Those who read nothing are dropped, long before a slow client would be.
        wait_for(lambda: not server.unsent.exceeded)
        assert client().ask(request()).status == 200


def test_who_reads_something_is_not_dropped_when_memory_is_short(engine: FakeEngine) -> None:
    host, transport = FakeHost(engine), FakeTransport()
    host.unsent.limit = MB
    connection = EngineConnection(cast(Any, host))
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    transport.unsent = 4 * MB
    connection.pause_writing()
    assert host.unsent.exceeded
    tick = host.limits.tick_seconds

    def check() -> bool:
        host.now += tick
        connection.check_time(host.now)
        return not transport.closing

    for _ in range(5):
        # It has a moment, and has read some of it by then.
        assert check()
        transport.unsent -= 100 * KB
        assert check()
    assert check()
    assert not check()


def test_responses_that_wait_are_counted(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.answers["PutItem"] = b"x" * MB
    # Nobody flushes: both writes wait for the commit.
    monkeypatch.setattr(engine, "flush", lambda: None)
    with serving(engine, monkeypatch) as (server, new_client):
        client = new_client()
        client.send(request(target=b"DynamoDB_20120810.PutItem") * 2)
        wait_for(lambda: server.unsent.used > 2 * MB - 64 * KB)
        # Reset, because a client that only says that it is done still gets its responses.
        client.reset()
        wait_for(lambda: server.unsent.used == 0)
        commit = engine.open_commit
        assert commit is not None
        commit.finish(None)


def test_a_connection_does_not_wait_for_the_garbage_collector(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, connections: list[weakref.ref[Connection]]
) -> None:
    gc.disable()
    try:
        with serving(engine, monkeypatch) as (_, client):
            for data in (
                unfinished(200 * KB),
                request(),
                request(target=b"DynamoDB_20120810.PutItem"),
                request()[:-20],
                b"nonsense\r\n\r\n",
                request(upgrade=b"h2c", connection=b"upgrade"),
            ):
                leaving = client()
                leaving.send(data)
                time.sleep(0.02)
                leaving.socket.close()
            wait_for(lambda: len(connections) == 6 and not any(made() for made in connections))
    finally:
        gc.enable()


def test_a_header_that_is_repeated_counts_each_time(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(engine, monkeypatch) as (_, client):
        repeated = request().replace(b"\r\n\r\n", b"\r\n" + b"x: y\r\n" * 200 + b"\r\n")
        assert client().ask(repeated).status == 400
