"""Whatever way the bytes arrive, the answers are the same; whatever bytes arrive, there is an answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from tablewright.wire.engine_connection import EngineConnection
from tablewright.wire.http.connection import Connection
from tablewright.wire.http.connection_limits import Limits
from tests.wire.fakes import FakeEngine, FakeHost, FakeTransport
from tests.wire.raw_http import request

PUT = b"DynamoDB_20120810.PutItem"


def connect() -> tuple[FakeHost, FakeEngine, Connection, FakeTransport]:
    engine, transport = FakeEngine(), FakeTransport()
    host = FakeHost(engine)
    connection = EngineConnection(cast(Any, host))
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    return host, engine, connection, transport


def finish(host: FakeHost, engine: FakeEngine) -> None:
    """Commits, and lets connections continue, until there is nothing to do."""
    while host.has_turns or engine.open_commit is not None:
        host.give_turns()
        engine.flush()


def requests_of(kinds: list[str]) -> bytes:
    made: dict[str, Callable[[bytes], bytes]] = {
        "get": lambda body: request(body, b"DynamoDB_20120810.GetItem"),
        "put": lambda body: request(body, PUT),
        "chunked": lambda body: (
            request(b"", PUT, length=False, transfer_encoding=b"chunked") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        ),
        "upgrade": lambda body: request(body, PUT, connection=b"upgrade", upgrade=b"h2c"),
    }
    return b"".join(made[kind](b'{"n":%d}' % number) for number, kind in enumerate(kinds))


@given(
    st.lists(st.sampled_from(["get", "put", "chunked", "upgrade"]), max_size=12),
    st.lists(st.integers(1, 400)),
    st.data(),
)
def test_answers_do_not_depend_on_how_the_bytes_arrive(kinds: list[str], cuts: list[int], data: Any) -> None:
    host, engine, connection, transport = connect()
    stream = requests_of(kinds)
    for size in cuts:
        piece, stream = stream[:size], stream[size:]
        connection.data_received(piece)
        if data.draw(st.booleans()):
            engine.flush()
        if data.draw(st.booleans()):
            host.give_turns()
    connection.data_received(stream)
    finish(host, engine)
    answered = [int(number) for number in re.findall(rb'\{"n":(\d+)\}', transport.written)]
    assert answered == list(range(len(kinds)))
    assert transport.written.count(b"HTTP/1.1 200 OK") == len(kinds)


EVENTS = st.sampled_from(["commit", "turn", "stop reading", "read", "nothing"])


@given(
    st.lists(st.sampled_from(["get", "put", "chunked", "upgrade"]), max_size=12),
    st.lists(st.tuples(st.integers(1, 400), EVENTS)),
    st.booleans(),
)
def test_what_a_connection_holds_is_counted_and_given_back(
    kinds: list[str], events: list[tuple[int, str]], leaves: bool
) -> None:
    """Whatever waits for whatever: nothing is counted twice, and all of it is free in the end."""
    engine, transport = FakeEngine(), FakeTransport()
    # Every byte counts.
    host = FakeHost(engine, Limits(pipelined=3, allowance_bytes=0))
    connection = EngineConnection(cast(Any, host))
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    stream = requests_of(kinds)
    for size, event in events:
        piece, stream = stream[:size], stream[size:]
        connection.data_received(piece)
        if event == "commit":
            engine.flush()
        elif event == "turn":
            host.give_turns()
        elif event == "stop reading" and not transport.unsent:
            transport.unsent = 500
            connection.pause_writing()
        elif event == "read" and transport.unsent:
            transport.unsent = 0
            connection.resume_writing()
        backlog = sum(each.held_bytes for each in connection._backlog)
        assert host.received.used == connection._body_size + backlog + len(connection._input)
        waiting = sum(len(each.response) for each in connection._queue)
        assert host.unsent.used in (waiting + transport.unsent, waiting + max(transport.unsent, connection._written))
    if leaves:
        connection.connection_lost(None)
        engine.flush()
    else:
        connection.data_received(stream)
        if transport.unsent:
            transport.unsent = 0
            connection.resume_writing()
        finish(host, engine)
        answered = [int(number) for number in re.findall(rb'\{"n":(\d+)\}', transport.written)]
        assert answered == list(range(len(kinds)))
    assert (host.received.used, host.unsent.used) == (0, 0)


@given(
    st.lists(st.sampled_from(["get", "put", "chunked", "upgrade"]), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 600), st.binary(max_size=6)), min_size=1, max_size=4),
)
def test_damaged_requests_are_answered_or_refused(kinds: list[str], damage: list[tuple[int, bytes]]) -> None:
    host, engine, connection, transport = connect()
    stream = requests_of(kinds)
    for at, garbage in damage:
        stream = stream[:at] + garbage + stream[at + len(garbage) :]
    connection.data_received(stream)
    finish(host, engine)
    for line in re.findall(rb"HTTP/1.1 (\d+) [A-Z]", transport.written):
        assert int(line) in (100, 200, 400, 404, 413, 417)
