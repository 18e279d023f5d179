"""What a start on an endpoint finds out before it makes tables there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tablewright.dynamo.errors import DynamoError
from tablewright.engine import Engine

pytestmark = pytest.mark.requirement("SH7")


@contextmanager
def without_transactions(engine: Engine) -> Iterator[str]:
    """An endpoint that has all of DynamoDB's operations but transactions, as some have."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            operation = self.headers["X-Amz-Target"].partition(".")[2]
            status, answer = 200, dict[str, object]()
            try:
                if operation.startswith("Transact"):
                    status, answer = 400, {"__type": "com.amazonaws.dynamodb.v20120810#UnknownOperationException"}
                else:
                    answer = engine.call(operation, body)
            except DynamoError as error:
                status, answer = 400, {"__type": error.code, "message": error.message}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_endpoint_without_transactions_is_named_before_tables_are_made(tmp_path: Path) -> None:
    with Engine.open() as engine, without_transactions(engine) as url:
        done = subprocess.run(
            [sys.executable, "-m", "tablewright", "up", "--system", "tasks", "--endpoint", url, "--port", "0"],
            env={**os.environ, "TABLEWRIGHT_DATA": str(tmp_path / "data")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert engine.call("ListTables", {})["TableNames"] == []
    assert done.returncode == 2, done.stderr
    assert "the endpoint has no transactions (TransactWriteItems)" in done.stderr
    assert "tablewright check" in done.stderr
    assert "Traceback" not in done.stderr
