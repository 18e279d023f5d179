"""A web server to call: a scoring model, or the receiver of a webhook, that does as it is told; and an unruly one."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


# A status and a body; headers, if there are any; None keeps silent until the server is closed.
Reply = tuple[int, bytes] | tuple[int, bytes, dict[str, str]] | None


@dataclass
class Web:
    """On a port of its own; ``answer`` says what to do with a request."""

    answer: Callable[[Asked], Reply]
    asked: list[Asked] = field(default_factory=list)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Web:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                web.asked.append(asked)
                reply = web.answer(asked)
                if reply is None:
                    web._closing.wait(20)
                    self.close_connection = True
                    return
                status, content, *more = reply
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                for name, value in (more[0] if more else {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"


@contextmanager
def unruly(behave: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A server that does with each connection as it likes, until the event is set; its address."""
    closing = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def connected(connection: socket.socket) -> None:
        with connection:
            try:
                behave(connection, closing)
            except OSError:
                # The other side has gone.
                return

    def accept() -> None:
        while not closing.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=connected, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        closing.set()
        # A thread that waits for a connection is not woken up by a close.
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)
