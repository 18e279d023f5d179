"""Requests that arrive together are worked on together; what each client sees is as if they had been alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.engine import Outcome, Unfinished
from tablewright.wire.arrivals import Arrivals
from tablewright.wire.endpoint import Endpoint
from tablewright.wire.engine_connection import EngineConnection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.long_requests import FIRST_SLICES, LongRequests
from tablewright.wire.server import Server
from tests.wire.fakes import FakeEngine, FakeHost, FakeTransport
from tests.wire.raw_http import request

GET, PUT = b"DynamoDB_20120810.GetItem", b"DynamoDB_20120810.PutItem"
QUERY = b"DynamoDB_20120810.Query"


class Host(FakeHost):
    """A server whose next iteration is when a test says so."""

    long_requests: LongRequests

    def __init__(self, engine: FakeEngine, limits: Limits | None = None) -> None:
        super().__init__(engine, limits)
        self.soon: list[Callable[[], None]] = []
        self.connections: list[EngineConnection] = []
        arrivals = Arrivals(Endpoint(engine), self.connections, self.unsent, self.soon.append)
        self.arrive = arrivals.add  # type: ignore[method-assign]
        self.answer_arrivals = arrivals.answer_all  # type: ignore[method-assign]

    def connect(self) -> tuple[EngineConnection, FakeTransport]:
        connection, transport = EngineConnection(cast(Any, self)), FakeTransport()
        connection.connection_made(cast(asyncio.BaseTransport, transport))
        self.connections.append(connection)
        return connection, transport

    def iterate(self) -> None:
        soon, self.soon[:] = [*self.soon], []
        for callback in soon:
            callback()
        self.give_turns()


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def host(engine: FakeEngine) -> Host:
    return Host(engine)


def answered(transport: FakeTransport) -> list[int]:
    return [int(number) for number in re.findall(rb'\{"n":(\d+)\}', transport.written)]


def asked(number: int, target: bytes = QUERY) -> bytes:
    return request(b'{"n":%d}' % number, target)


def test_a_lone_client_is_answered_as_its_request_arrives(host: Host) -> None:
    connection, transport = host.connect()
    connection.data_received(asked(1))
    assert answered(transport) == [1]


def test_a_get_is_answered_as_it_arrives_unless_its_client_waits_already(host: Host) -> None:
    host.connect()
    connection, transport = host.connect()
    connection.data_received(asked(1, GET))
    assert answered(transport) == [1]
    connection.data_received(asked(2))
    assert answered(transport) == [1]
    connection.data_received(asked(3, GET))
    assert answered(transport) == [1]
    host.iterate()
    assert answered(transport) == [1, 2, 3]


def test_what_arrives_in_one_iteration_is_answered_in_the_next(host: Host, engine: FakeEngine) -> None:
    clients = [host.connect() for _ in range(3)]
    for number, (connection, _) in enumerate(clients):
        connection.data_received(asked(number, PUT if number == 1 else QUERY))
    assert not engine.calls
    host.iterate()
    assert [answered(transport) for _, transport in clients] == [[0], [], [2]]
    engine.flush()
    assert [answered(transport) for _, transport in clients] == [[0], [1], [2]]


def test_many_are_answered_without_waiting_for_the_iteration(host: Host) -> None:
    clients = [host.connect() for _ in range(40)]
    for number, (connection, _) in enumerate(clients):
        connection.data_received(asked(number))
    assert sum(len(answered(transport)) for _, transport in clients) == 32
    host.iterate()
    assert sum(len(answered(transport)) for _, transport in clients) == 40


@pytest.mark.parametrize(
    "pieces", [[b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nnot http\r\n"], [asked(1), b"not http\r\n\r\n"]]
)
def test_what_is_refused_comes_after_what_has_arrived(host: Host, pieces: list[bytes]) -> None:
    host.connect()
    connection, transport = host.connect()
    for piece in pieces:
        connection.data_received(piece)
    host.iterate()
    assert re.findall(rb"HTTP/1.1 (\d+)", transport.written) == [b"200", b"400"]


def test_a_client_that_is_done_still_gets_its_response(host: Host) -> None:
    host.connect()
    connection, transport = host.connect()
    connection.data_received(asked(1))
    assert connection.eof_received()
    connection.stop()
    assert not transport.closing
    host.iterate()
    assert answered(transport) == [1]
    assert transport.closing


def test_what_a_client_that_has_left_asked_for_is_done(host: Host, engine: FakeEngine) -> None:
    host.connect()
    connection, transport = host.connect()
    connection.data_received(asked(1, PUT))
    connection.connection_lost(None)
    host.iterate()
    assert engine.calls == [("PutItem", {"n": 1})]
    engine.flush()
    assert not transport.written
    assert host.unsent.used == host.received.used == 0


def test_a_response_that_cannot_be_sent_affects_no_other_connection(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    (broken, its), (other, transport) = host.connect(), host.connect()

    def fail(data: bytes) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(its, "write", fail)
    broken.data_received(asked(1))
    other.data_received(asked(2))
    host.iterate()
    assert its.closing
    assert answered(transport) == [2]


def test_large_responses_are_sent_one_after_the_other(engine: FakeEngine) -> None:
    """While a client reads none of them, the others are refused before they are made."""
    host = Host(engine, Limits(allowance_bytes=0, unsent_bytes=50_000))
    engine.answers["Query"] = b'"%b"' % (b"x" * 40_000)
    clients = [host.connect() for _ in range(4)]
    for connection, transport in clients:

        def write(data: bytes, connection: EngineConnection = connection, to: FakeTransport = transport) -> None:
            to.written += data
            to.unsent = len(data)
            connection.pause_writing()

        transport.write = write  # type: ignore[method-assign]
        connection.data_received(asked(1))
    host.iterate()
    statuses = [re.findall(rb"HTTP/1.1 (\d+)", transport.written)[0] for _, transport in clients]
    assert statuses == [b"200", b"200", b"503", b"503"]
    assert len(engine.calls) == 2


class Refusing(FakeEngine):
    def begin(self, operation: str, checked: Any, /) -> Outcome:
        if checked == {"n": 1}:
            raise ValueError("nobody expected this")
        return super().begin(operation, checked)


def test_an_unexpected_failure_is_an_error_for_that_client_alone() -> None:
    host = Host(Refusing())
    clients = [host.connect() for _ in range(3)]
    for number, (connection, _) in enumerate(clients):
        connection.data_received(asked(number))
    host.iterate()
    assert [answered(transport) for _, transport in clients] == [[0], [], [2]]
    assert clients[1][1].written.startswith(b"HTTP/1.1 500")


EVENTS = st.sampled_from(["commit", "stop reading", "read", "iteration", "nothing"])
SENT = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([GET, PUT, QUERY]), EVENTS), max_size=40)


@given(SENT)
def test_each_client_gets_its_responses_in_order(sent: list[tuple[int, bytes, str]]) -> None:
    engine = FakeEngine()
    host = Host(engine)
    clients = [host.connect() for _ in range(3)]
    expected: list[list[int]] = [[], [], []]
    for number, (at, target, event) in enumerate(sent):
        connection, transport = clients[at]
        connection.data_received(asked(number, target))
        expected[at].append(number)
        if event == "commit":
            engine.flush()
        elif event == "iteration":
            host.iterate()
        elif event == "stop reading" and not transport.unsent:
            transport.unsent = 500
            connection.pause_writing()
        elif event == "read" and transport.unsent:
            transport.unsent = 0
            connection.resume_writing()
    for connection, transport in clients:
        if transport.unsent:
            transport.unsent = 0
            connection.resume_writing()
    while host.soon or host.has_turns or engine.open_commit is not None:
        host.iterate()
        engine.flush()
    assert [answered(transport) for _, transport in clients] == expected
    assert host.unsent.used == host.received.used == 0
    assert all(connection.idle for connection, _ in clients)


class Slicing(FakeEngine):
    """A Query takes more than one slice."""

    def begin(self, operation: str, checked: Any, /) -> Outcome | Unfinished:  # type: ignore[override]
        outcome = super().begin(operation, checked)
        return Later(outcome) if operation == "Query" else outcome


class Later(Unfinished):
    def __init__(self, outcome: Outcome) -> None:
        self.beside = None
        self._outcome = outcome

    def resume(self) -> Outcome | Unfinished:
        return self._outcome


def test_of_long_requests_that_arrive_together_a_few_begin_and_the_others_stand_in_line() -> None:
    async def run() -> None:
        engine = Slicing()
        host = Host(engine)
        host.long_requests = LongRequests()
        arrivals = Arrivals(
            Endpoint(engine, may_begin=host.long_requests.may_begin), host.connections, host.unsent, host.soon.append
        )
        host.arrive, host.answer_arrivals = arrivals.add, arrivals.answer_all  # type: ignore[method-assign]
        clients = [host.connect() for _ in range(10)]
        for number, (connection, _) in enumerate(clients):
            connection.data_received(asked(number, PUT if number == 9 else QUERY))
        host.iterate()
        assert [operation for operation, _ in engine.calls] == ["Query"] * FIRST_SLICES + ["PutItem"]
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(engine.calls) == 10
        engine.flush()
        assert [answered(transport) for _, transport in clients] == [[number] for number in range(10)]

    asyncio.run(run())


def test_a_commit_covers_what_has_arrived_and_is_not_executed_yet(engine: FakeEngine) -> None:
    async def run() -> None:
        server = Server(engine)
        await server.start()
        clients = [(EngineConnection(server), FakeTransport()) for _ in range(3)]
        for connection, transport in clients:
            connection.connection_made(cast(asyncio.BaseTransport, transport))
        clients[0][0].data_received(asked(0, PUT))
        server.answer_arrivals()
        await asyncio.sleep(0)
        # Its flush is next, and two more arrive before it.
        for number in (1, 2):
            clients[number][0].data_received(asked(number, PUT))
        while not engine.flushes:
            await asyncio.sleep(0)
        assert [answered(transport) for _, transport in clients] == [[0], [1], [2]]
        assert engine.flushes == 1
        for connection, _ in clients:
            connection.connection_lost(None)
        await server.stop()

    asyncio.run(run())
