"""Connections that ask for too much: heads without end, heads that never come, clients that go away."""

from __future__ import annotations

import json
import logging
import re
import select
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from io import StringIO
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from websockets.sync.client import connect

from tablewright.runtime import logs
from tablewright.runtime.http import gate, problems
from tablewright.runtime.metrics import Metrics
from tablewright.systems import load
from tests.runtime.commands import up
from tests.runtime.http.connections import address_of, connected, received, running
from tests.systems.harness import Served, serving, wait_for


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(load("servicedesk"), memory=True) as served:
        yield served


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with up("--memory", "--system", "servicedesk", cwd=tmp_path_factory.mktemp("up")) as (_, url):
        yield url


# More than the kernel keeps for a client that does not read.
LARGE = 40_000_000


# How long a client may take nothing of its answer.
PATIENCE = 1.5


@pytest.fixture(scope="module")
def server() -> Iterator[uvicorn.Server]:
    """A server that waits for a moment only: for heads, and for those who do not take their answers."""

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(LARGE // 100_000):
            yield b"x" * 100_000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).accept()
            await receive()
            return
        answers = {"/large": Response(b"x" * LARGE), "/stream": StreamingResponse(parts())}
        await answers.get(scope["path"], Response("ok"))(scope, receive, send)

    with running(app, keep_alive=1, head_seconds=0.2, write_seconds=PATIENCE) as server:
        yield server


@pytest.fixture
def impatient(server: uvicorn.Server) -> str:
    wait_for(lambda: not server.server_state.tasks and not server.server_state.connections)
    return address_of(server)


def measuring() -> ASGIApp:
    """An application that takes bodies of up to 50,000 bytes, and says how long each is."""
    app = FastAPI()
    problems.install(app)

    @app.post("/")
    async def length(request: Request) -> int:
        return len(await request.body())

    return gate.Gate(app, {}, metrics=Metrics(), max_body=50_000)


@pytest.fixture(scope="module")
def reader() -> Iterator[str]:
    with running(measuring(), body_pause=0.5) as server:
        yield address_of(server)


def send_on(connection: socket.socket, line: bytes) -> None:
    """Send without an end; the server has to see to it that there is one."""
    connection.settimeout(60)
    for _ in range(1_000_000):
        connection.sendall(line * 1000)
        # Without a pause it would keep a processor busy, and the server's too.
        time.sleep(0.001)


@pytest.mark.parametrize("head", [b"GET /healthz HTTP/1.1\r\nX: ", b"GET /", b"GET /healthz HTTP/1.1\r\nA: b\r\n"])
def test_a_head_without_end_is_cut_off(url: str, head: bytes) -> None:
    line = b"A: b\r\n" if head.endswith(b"\n") else b"aaaaaa"
    with connected(url) as connection:
        connection.sendall(head)
        # Whatever the pieces are in which it arrives: until there is an answer.
        while not select.select([connection], [], [], 0)[0]:
            connection.sendall(line * 10_000)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
        # What comes after that is not listened to for long.
        with pytest.raises(ConnectionError):
            send_on(connection, line)


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\n"])
@pytest.mark.parametrize("after_another", [False, True])
def test_a_head_that_does_not_come_is_not_waited_for(impatient: str, sent: bytes, after_another: bool) -> None:
    with connected(impatient) as connection:
        if after_another:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(sent)
        answer = received(connection)
    # Whoever has begun to ask is told.
    assert answer == b"" if b"GET" not in sent else answer.startswith(b"HTTP/1.1 408 ")
    assert b"/problems/timeout" in answer or not answer


@pytest.mark.parametrize("path", ["/large", "/stream"])
def test_a_client_that_does_not_read_its_response_is_disconnected(
    server: uvicorn.Server, impatient: str, path: str
) -> None:
    state = server.server_state
    with connected(impatient) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert connection.recv(1) == b"H"
        wait_for(lambda: not state.connections and not state.tasks)
        assert len(received(connection)) < LARGE


@pytest.mark.parametrize("path", ["/large", "/stream"])
def test_a_client_that_takes_its_answer_slowly_gets_all_of_it(impatient: str, path: str) -> None:
    taken = 0
    with connected(impatient) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        # For longer than a client that takes nothing would have.
        end = time.monotonic() + 1.5 * PATIENCE
        while time.monotonic() < end:
            taken += len(connection.recv(1_500_000, socket.MSG_WAITALL))
            time.sleep(0.1)
        taken += len(received(connection))
    assert taken > LARGE


@pytest.mark.parametrize(
    "sent", [b"Content-Length: 5\r\n\r\n", b"Content-Length: 5\r\n\r\nab", b"Transfer-Encoding: chunked\r\n\r\n2\r\nab"]
)
def test_a_body_that_does_not_come_is_not_waited_for(reader: str, sent: bytes) -> None:
    with connected(reader) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\n" + sent)
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"/problems/timeout" in answer
    assert b"did not arrive in time; send it again" in answer


@pytest.mark.parametrize("size", [0, 5, 49_999])
def test_a_body_is_taken_when_it_is_here_and_when_it_comes(reader: str, size: int) -> None:
    with connected(reader) as connection:
        head, body = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode(), b"x" * size
        for parts in ([head + body], [head, body[: size // 2], body[size // 2 :]]):
            for part in parts:
                connection.sendall(part)
            answer = connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200")
            assert answer.endswith(b"\r\n\r\n" + str(size).encode())


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_that_is_here_is_not_larger_than_allowed_either(reader: str, is_chunked: bool) -> None:
    body = b"x" * 50_001
    sent = b"Transfer-Encoding: chunked\r\n\r\nc351\r\n" + body + b"\r\n0\r\n\r\n"
    with connected(reader) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: a\r\n" + (sent if is_chunked else b"Content-Length: 50001\r\n\r\n" + body)
        )
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"a request body may have at most 50000 bytes" in answer


def test_trailers_without_end_are_cut_off(url: str) -> None:
    with connected(url) as connection:
        connection.sendall(b"POST /servicedesk/tickets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        connection.sendall(b"A: b\r\n" * 40_000)
        # It may have been answered before all of its body was here.
        assert connection.recv(65536).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))
        with pytest.raises(ConnectionError):
            send_on(connection, b"A: b\r\n")


def test_requests_without_end_that_wait_for_their_turn_are_cut_off(url: str) -> None:
    request = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
    sent = 0
    with connected(url) as connection, suppress(ConnectionError, TimeoutError):
        # Who does not take answers is not read from, and waits.
        connection.settimeout(2)
        while sent < 20_000_000:
            connection.sendall(request * 1000)
            sent += len(request) * 1000
    assert sent < 20_000_000


def test_requests_that_come_together_are_answered_in_turn(url: str) -> None:
    paths = [b"/healthz", b"/nowhere", b"/readyz"] * 10
    with connected(url) as connection:
        connection.sendall(b"".join(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n" for path in paths))
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        statuses = re.findall(rb"HTTP/1.1 (\d+)", received(connection))
    assert statuses == [b"200", b"404", b"200"] * 10 + [b"200"]


def test_a_head_of_an_ordinary_size_and_a_large_body_pass(url: str) -> None:
    headers = {f"X-{number}": "x" * 1000 for number in range(20)}
    assert httpx.get(f"{url}/healthz", headers=headers).status_code == 200
    answer = httpx.post(f"{url}/servicedesk/tickets", content=(b"x" * 1000 for _ in range(900)))
    assert answer.status_code in (401, 422)


def test_a_client_that_goes_away_is_no_failure_of_ours(served: Served) -> None:
    lines = logged_while_a_client_goes_away(served)
    assert [line for line in lines if line["level"] == "ERROR"] == []
    assert [line["status"] for line in lines if line.get("route") == "/tickets"] == [499]


def logged_while_a_client_goes_away(served: Served) -> list[dict[str, Any]]:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel("INFO")
    try:
        with connected(served.url) as connection:
            head = ["POST /servicedesk/tickets HTTP/1.1", "Host: a", "Content-Length: 100"]
            head.append(f"Authorization: Bearer {served.token('agent', 'Agents')}")
            connection.sendall("\r\n".join([*head, "", "abc"]).encode())
            time.sleep(0.1)
        wait_for(lambda: '"route":"/tickets"' in stream.getvalue())
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_made_up_methods_do_not_become_measures() -> None:
    assert gate.method_label("DELETE") == "DELETE"
    assert {gate.method_label(method) for method in ("FOO", "get", "BREW", "")} == {"other"}


def test_an_address_with_a_slash_too_many_is_not_there_and_leads_nowhere(served: Served) -> None:
    client = served.client("agent", "Agents")
    for path in ("/servicedesk/tickets/", "/healthz/", "/servicedesk/docs/"):
        answer = client.get(path, headers={"Host": "example.org"})
        assert (answer.status_code, answer.headers.get("location")) == (404, None)


def test_a_name_of_a_source_that_no_key_can_hold_is_refused(served: Served) -> None:
    admin = served.client("root", "Admins")
    assert admin.get("/runtime/events/" + "x" * 3000).status_code == 422


def test_a_web_socket_is_open_as_long_as_it_likes(impatient: str) -> None:
    with connect(impatient.replace("http://", "ws://")) as socket, pytest.raises(TimeoutError):
        # Longer than a head may take.
        socket.recv(timeout=0.6)
