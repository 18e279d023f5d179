"""A server for a test, and clients that say exactly what the test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from tablewright.runtime.http.bounded_connection import ConnectionLimits, bounded
from tests.systems.harness import wait_for


@contextmanager
def running(app: ASGIApp, *, keep_alive: int = 3600, **limits: Any) -> Iterator[uvicorn.Server]:
    """A server as ``tablewright up`` has it, with ordinary limits or others."""
    http = bounded(ConnectionLimits(**limits))
    config = uvicorn.Config(app, port=0, http=http, log_config=None, lifespan="off", timeout_keep_alive=keep_alive)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    yield server
    server.should_exit = True
    thread.join(30)


def address_of(server: uvicorn.Server) -> str:
    return "http://127.0.0.1:" + str(server.servers[0].sockets[0].getsockname()[1])


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    address = urlsplit(url)
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=20) as connection:
        yield connection


def received(connection: socket.socket) -> bytes:
    """All that is sent until the connection ends."""
    answer = b""
    # A server that closes while something is still being sent resets the connection.
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            answer += part
    return answer
