"""An engine reduced to what the wire sees of one; a server and a transport as a connection sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tablewright.dynamo import InternalServerError
from tablewright.engine import Commit, Outcome, StorageFigures
from tablewright.engine.slices import IS_LARGE
from tablewright.wire.endpoint import Endpoint
from tablewright.wire.engine_connection import EngineConnection
from tablewright.wire.http.connection import Connection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.http.memory_budget import MemoryBudget
from tablewright.wire.http.messages import Request


class FakeEngine:
    """Answers with the request it was given; PutItem waits for a flush, and answers may be set."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.flushes = 0
        self.troubles: list[str] = []
        self.flush_error: InternalServerError | None = None
        self.answers: dict[str, bytes | Exception] = {}
        self.open_commit: Commit | None = None

    def check(self, operation: str, request: Any, /) -> Any:
        return request

    def begin(self, operation: str, checked: Any, /) -> Outcome:
        # What the endpoint tells the engine of a large body, beside what the client sent.
        if isinstance(checked, dict):
            checked = {name: value for name, value in checked.items() if name != IS_LARGE}
        return self.execute(operation, checked)

    def execute(self, operation: str, request: Any, /) -> Outcome:
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

    def problems(self) -> list[str]:
        return self.troubles

    def when_failed(self, callback: Callable[[str], None], /) -> None:
        pass

    def meter(self, sink: Callable[[dict[str, Any]], None], /) -> None:
        self.sink = sink

    def storage_figures(self) -> StorageFigures:
        return StorageFigures(database_bytes=4096, log_bytes=1234567, checkpoints=3)

    @property
    def flush_takes_long(self) -> bool:
        return False

    def flush(self) -> None:
        self.flushes += 1
        commit, self.open_commit = self.open_commit, None
        if commit is not None:
            commit.finish(self.flush_error)
        if self.flush_error is not None:
            raise self.flush_error


class FakeHost:
    """A server without a socket; commits when told to."""

    def __init__(self, engine: FakeEngine, limits: Limits | None = None) -> None:
        endpoint = Endpoint(engine)
        self.respond = endpoint.respond
        self.limits = limits or Limits(pipelined=3)
        self.received = MemoryBudget(self.limits.received_bytes, self.limits.allowance_bytes)
        self.unsent = MemoryBudget(self.limits.unsent_bytes, self.limits.allowance_bytes)
        self.now = 0.0
        self.stopping = False
        self._turns: list[Connection] = []

    def take_turn(self, connection: Connection, /) -> None:
        self._turns.append(connection)

    @property
    def has_turns(self) -> bool:
        return bool(self._turns)

    def give_turn(self) -> None:
        if self._turns:
            self._turns.pop(0).turn()

    def give_turns(self) -> None:
        while self._turns:
            self.give_turn()

    def arrive(self, connection: EngineConnection, request: Request, /) -> None:
        connection.answer(request, self.respond(request))

    def answer_arrivals(self) -> None:
        pass

    def failure_response(self, request: Request, cause: BaseException | None, /) -> bytes:
        raise AssertionError("nothing fails here")

    def when_durable(self, commit: Commit, callback: Callable[[BaseException | None], None], /) -> None:
        commit.when_durable(callback)

    def connection_opened(self, connection: Connection, /) -> bool:
        return True

    def connection_closed(self, connection: Connection, /) -> None:
        pass


class FakeTransport:
    """Remembers what was written to it; the client has yet to read ``unsent`` bytes."""

    def __init__(self) -> None:
        self.written = b""
        self.closing = False
        self.unsent = 0

    def write(self, data: bytes) -> None:
        assert not self.closing
        self.written += data

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return self.unsent
