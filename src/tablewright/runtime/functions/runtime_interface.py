"""The runtime interface of Lambda: a process that asks for the next event, calls the handler, and sends the response.

    python -m tablewright.runtime.functions.runtime_interface tablewright.runtime.functions.api_function.handler

Lambda's own Python has this built in. An image that runs as a function includes it, and so does ``local_functions``,
which runs functions on this machine. ``AWS_LAMBDA_RUNTIME_API`` is where events come from.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_PATH = "/2018-06-01/runtime"
# A process is frozen while it waits for an event, however long that is.
_WAITS = None


@dataclass(frozen=True, slots=True)
class InvocationContext:
    """What a handler knows about the call: the part of Lambda's context that ours use."""

    aws_request_id: str
    deadline_ms: int
    invoked_function_arn: str
    function_name: str

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.deadline_ms - int(time.time() * 1000))


def run(handler_name: str, address: str) -> None:
    """Handle events until the process is stopped."""
    connection = http.client.HTTPConnection(address, timeout=_WAITS)
    try:
        module, _, name = handler_name.rpartition(".")
        handler = getattr(import_module(module), name)
    except Exception as error:
        _post(connection, f"{_PATH}/init/error", _described(error))
        raise
    while True:
        connection.request("GET", f"{_PATH}/invocation/next")
        response = connection.getresponse()
        event = json.loads(response.read())
        if response.status != 200:
            raise SystemExit(f"the runtime interface responded with {response.status}")
        context = InvocationContext(
            response.headers["Lambda-Runtime-Aws-Request-Id"],
            int(response.headers["Lambda-Runtime-Deadline-Ms"]),
            response.headers.get("Lambda-Runtime-Invoked-Function-Arn", ""),
            os.environ.get("AWS_LAMBDA_FUNCTION_NAME", ""),
        )
        place = f"{_PATH}/invocation/{context.aws_request_id}"
        try:
            answer = json.dumps(handler(event, context)).encode()
        except Exception as error:
            _post(connection, f"{place}/error", _described(error))
        else:
            _post(connection, f"{place}/response", answer)


def _described(error: Exception) -> bytes:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return json.dumps({"errorType": type(error).__name__, "errorMessage": str(error), "stackTrace": lines}).encode()


def _post(connection: http.client.HTTPConnection, path: str, body: bytes) -> Any:
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    connection.getresponse().read()


if __name__ == "__main__":
    run(sys.argv[1], os.environ["AWS_LAMBDA_RUNTIME_API"])
