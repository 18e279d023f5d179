"""Web sockets of a system: reached by its name, with its authentication, and closed when the process stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated

import pytest
from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tablewright.model import Design
from tablewright.runtime import Caller, Role, System, allow
from tests.systems.harness import Served, serving, wait_for

MEMBERS = Role("chat:Members")
router = APIRouter()
left = threading.Event()


@router.websocket("/echo")
async def echo(socket: WebSocket, caller: Annotated[Caller, allow(MEMBERS)]) -> None:
    await socket.accept()
    try:
        while True:
            await socket.send_text(f"{caller.user_id}: {await socket.receive_text()}")
    except WebSocketDisconnect:
        left.set()


system = System(
    "chat", "Chat", "Echoes.", Design("Chat", tables=[]), router, service=lambda runtime: None, roles=[MEMBERS]
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving([system]) as served:
        yield served


def address(served: Served, path: str) -> str:
    return served.url.replace("http://", "ws://") + path


def test_a_caller_talks_to_a_system(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token('ada', 'chat:Members')}"}
    with connect(address(served, "/chat/echo"), additional_headers=headers) as socket:
        for text in ("hello", "x" * 100_000):
            socket.send(text)
            assert socket.recv(timeout=30) == f"ada: {text}"
    wait_for(left.is_set)


@pytest.mark.parametrize(("group", "status"), [(None, 401), ("tasks:Members", 403)])
def test_others_are_refused_as_by_any_route(served: Served, group: str | None, status: int) -> None:
    headers = {} if group is None else {"Authorization": f"Bearer {served.token('ada', group)}"}
    with pytest.raises(InvalidStatus) as refused, connect(address(served, "/chat/echo"), additional_headers=headers):
        pass
    assert refused.value.response.status_code == status
    assert b"/problems/" in bytes(refused.value.response.body or b"")


@pytest.mark.parametrize("path", ["/chat/nowhere", "/nowhere", "/"])
def test_there_are_no_web_sockets_elsewhere(served: Served, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(address(served, path)):
        pass
    assert refused.value.response.status_code in (403, 404)


def test_a_message_that_is_too_large_ends_the_connection() -> None:
    with serving([system], max_body=10_000) as served:
        headers = {"Authorization": f"Bearer {served.token('ada', 'chat:Members')}"}
        with connect(address(served, "/chat/echo"), additional_headers=headers) as socket:
            socket.send("x" * 20_000)
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=30)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


def test_a_server_that_stops_closes_them() -> None:
    with ExitStack() as server, ExitStack() as client:
        served = server.enter_context(serving([system]))
        headers = {"Authorization": f"Bearer {served.token('ada', 'chat:Members')}"}
        socket = client.enter_context(connect(address(served, "/chat/echo"), additional_headers=headers))
        socket.send("hello")
        assert socket.recv(timeout=30) == "ada: hello"
        server.close()
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=30)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
