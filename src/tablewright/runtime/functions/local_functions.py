"""Functions on this machine, each in a process behind Lambda's runtime interface.

    with LocalFunctions() as functions:
        functions.add("Api", "tablewright.runtime.functions.api_function.handler", variables)
        functions.call("Api", event)

``call`` corresponds to Lambda's Invoke: it sends an event to a process of the function and returns its response. A
function has one process, which handles one event at a time, like an execution environment of Lambda.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["FunctionFailed", "LocalFunctions"]

_STARTS_WITHIN = 60.0
_STOPS_WITHIN = 10.0
_INTERFACE = "tablewright.runtime.functions.runtime_interface"
_HOST = "127.0.0.1"


class FunctionFailed(Exception):
    """A handler raised, or its process ended."""


class _Call:
    def __init__(self, event: Any, seconds: float) -> None:
        self.id = str(uuid.uuid4())
        self.event = json.dumps(event).encode()
        self.deadline_ms = int((time.time() + seconds) * 1000)
        self.done = threading.Event()
        self.response: Any = None
        self.error: str | None = None

    def end(self, response: Any = None, error: str | None = None) -> None:
        self.response, self.error = response, error
        self.done.set()


class _Function:
    """One function: its process, and the interface that the process asks for events."""

    def __init__(self, name: str, handler: str, variables: Mapping[str, str], command: list[str] | None) -> None:
        self.name = name
        self.calls: queue.Queue[_Call | None] = queue.Queue()
        self.running: dict[str, _Call] = {}
        self.failure: str | None = None
        self.server = _Interface((_HOST, 0), self)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        environment = {
            **os.environ,
            **variables,
            "AWS_LAMBDA_RUNTIME_API": f"{_HOST}:{self.server.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
        }
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", _INTERFACE, handler], env=environment, stdin=subprocess.DEVNULL
        )

    def call(self, event: Any, seconds: float) -> Any:
        call = _Call(event, seconds)
        self.calls.put(call)
        end = time.monotonic() + seconds + _STARTS_WITHIN
        while not call.done.wait(0.05):
            if self.failure is not None or self.process.poll() is not None:
                raise FunctionFailed(f"{self.name} ended: {self.failure or self.process.returncode}")
            if time.monotonic() > end:
                raise FunctionFailed(f"{self.name} did not respond within {seconds} seconds")
        if call.error is not None:
            raise FunctionFailed(f"{self.name}: {call.error}")
        return call.response

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.calls.put(None)
        self.server.shutdown()
        self.server.server_close()


class _Interface(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], function: _Function) -> None:
        super().__init__(address, _Handler)
        self.function = function


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Interface

    def do_GET(self) -> None:
        call = self.server.function.calls.get()
        if call is None:
            self.close_connection = True
            return
        self.server.function.running[call.id] = call
        self._answer(
            200,
            call.event,
            {
                "Lambda-Runtime-Aws-Request-Id": call.id,
                "Lambda-Runtime-Deadline-Ms": str(call.deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": f"arn:aws:lambda:local:0:function:{self.server.function.name}",
            },
        )

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"null")
        *_, call_id, what = self.path.split("/")
        if what == "error":
            shown = f"{content['errorType']}: {content['errorMessage']}\n{''.join(content.get('stackTrace', []))}"
            if call_id == "init":
                self.server.function.failure = shown
            else:
                self.server.function.running.pop(call_id).end(error=shown)
        else:
            self.server.function.running.pop(call_id).end(content)
        self._answer(202, b"{}", {})

    def _answer(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""


class LocalFunctions:
    """Functions by name; they end when it is closed."""

    def __init__(self) -> None:
        self._functions: dict[str, _Function] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for function in self._functions.values():
            function.stop()

    def add(self, name: str, handler: str, variables: Mapping[str, str], command: list[str] | None = None) -> None:
        """Start a function; ``command`` runs another process with the runtime interface, such as a package's."""
        self._functions[name] = _Function(name, handler, variables, command)

    @property
    def names(self) -> list[str]:
        return list(self._functions)

    def call(self, name: str, event: Any, seconds: float = 30.0) -> Any:
        """Call a function; FunctionFailed if its handler raises."""
        return self._functions[name].call(event, seconds)
