"""An engine reduced to what the wire sees of one."""

from __future__ import annotations

from typing import Any

import orjson

from tablewright.dynamo import InternalServerError
from tablewright.engine import Commit


class FakeEngine:
    """Answers with the request it was given; PutItem waits for a flush, and answers may be set."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.flushes = 0
        self.flush_error: InternalServerError | None = None
        self.answers: dict[str, bytes | Exception] = {}
        self.open_commit: Commit | None = None

    def execute(self, operation: str, request: Any, /) -> tuple[bytes, Commit | None]:
        self.calls.append((operation, request))
        answer = self.answers.get(operation)
        if isinstance(answer, Exception):
            raise answer
        body = orjson.dumps(request) if answer is None else answer
        if operation != "PutItem":
            return body, None
        if self.open_commit is None:
            self.open_commit = Commit()
        return body, self.open_commit

    def flush(self) -> None:
        self.flushes += 1
        commit, self.open_commit = self.open_commit, None
        if commit is not None:
            commit.finish(self.flush_error)
        if self.flush_error is not None:
            raise self.flush_error
