"""An engine reduced to what the wire sees of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

Durable = Callable[[BaseException | None], None]


class FakePending:
    def __init__(self) -> None:
        self.callbacks: list[Durable] = []

    def when_durable(self, callback: Durable, /) -> None:
        self.callbacks.append(callback)


class FakeEngine:
    """Answers with the request it was given; PutItem waits for a flush, and answers may be set."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.flushes = 0
        self.flush_error: Exception | None = None
        self.answers: dict[str, bytes | Exception] = {}
        self._pending: FakePending | None = None

    def execute(self, operation: str, request: Any, /) -> tuple[bytes, FakePending | None]:
        self.calls.append((operation, request))
        answer = self.answers.get(operation)
        if isinstance(answer, Exception):
            raise answer
        body = orjson.dumps(request) if answer is None else answer
        if operation != "PutItem":
            return body, None
        if self._pending is None:
            self._pending = FakePending()
        return body, self._pending

    def flush(self) -> None:
        self.flushes += 1
        pending, self._pending = self._pending, None
        if pending is not None:
            for callback in pending.callbacks:
                callback(self.flush_error)
        if self.flush_error is not None:
            raise self.flush_error
