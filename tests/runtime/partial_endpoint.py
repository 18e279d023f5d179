"""An endpoint that forwards to another one, and does without some of it, as those that only speak the protocol do."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

# Answers a request itself, given the operation and the body: a status and an answer; or None, to forward it.
Answer = Callable[[str, dict[str, Any]], tuple[int, dict[str, Any]] | None]


# What Alternator's documentation lists as not implemented, of what a start asks for.
ALTERNATOR_LACKS = ("TransactWriteItems", "TransactGetItems", "DescribeContinuousBackups")


def error(code: str, message: str) -> tuple[int, dict[str, Any]]:
    return 400, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}


@contextmanager
def partial_endpoint(
    upstream: str, lacking: Sequence[str] = (), answer: Answer = lambda operation, body: None
) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the operations that it was asked for.

    Operations that it lacks are answered as Alternator answers them.
    """
    parts = urlsplit(upstream)
    assert parts.hostname is not None
    host, port = parts.hostname, parts.port
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            operation = self.headers["X-Amz-Target"].partition(".")[2]
            asked.append(operation)
            if operation in lacking:
                own = error("UnknownOperationException", f"Unsupported operation {operation}")
            else:
                own = answer(operation, json.loads(content)) or (0, {})
            status, response = (own[0], json.dumps(own[1]).encode()) if own[0] else self._forwarded(content)
            self.send_response(status)
            self.send_header("Content-Length", str(len(response)))
            self.end_headers()
            self.wfile.write(response)

        def _forwarded(self, content: bytes) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(host, port, timeout=30)
            try:
                connection.request("POST", "/", content, dict(self.headers))
                response = connection.getresponse()
                return response.status, response.read()
            finally:
                connection.close()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
