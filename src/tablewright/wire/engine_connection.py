"""A client of the engine: its connection, whose responses may have to wait.

A response that depends on a commit is sent when that is durable, a long one when the engine has finished it; meanwhile
it keeps its place. ``MeasuredConnection`` is the same with metrics, so that without them nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final, Protocol

from tablewright.engine import Commit
from tablewright.wire.http.connection import Connection, ConnectionHost
from tablewright.wire.http.messages import Request, render_error, render_unavailable
from tablewright.wire.http.pending_response import PendingResponse
from tablewright.wire.long_requests import LongRequest, LongRequests, Reply
from tablewright.wire.operation_targets import OPERATION_BY_TARGET
from tablewright.wire.request_metrics import RequestMetrics

DurableCallback = Callable[[BaseException | None], None]

# All that it needs is in a processor's nearest caches, and another iteration would cost more than it saves.
_SHORTEST: Final = b"DynamoDB_20120810.GetItem"

# Measured requests that are not operations: health checks, preflights, refused requests.
_OTHER: Final = "other"


class EngineHost(ConnectionHost, Protocol):
    """What the connection needs from its server."""

    long_requests: LongRequests

    def respond(self, request: Request, /) -> Reply | LongRequest: ...

    def arrive(self, connection: EngineConnection, request: Request, /) -> None: ...

    def answer_arrivals(self) -> None: ...

    def failure_response(self, request: Request, cause: BaseException | None, /) -> bytes: ...

    def when_durable(self, commit: Commit, callback: DurableCallback, /) -> None: ...


class EngineConnection(Connection):
    """A client of the engine: a response may have to wait for a commit."""

    def __init__(self, server: EngineHost) -> None:
        super().__init__(server)
        self._server = server

    def eof_received(self) -> bool:
        # Clients do not half-close and then wait for long: this one has left, and its request can be dropped.
        return super().eof_received() and not self._unfinished

    def respond(self, request: Request) -> None:
        if request.headers.get(b"x-amz-target") == _SHORTEST:
            self._answer(request, self._server.respond(request))
        else:
            self.arrived = True
            self._server.arrive(self, request)

    def answer_arrived(self) -> None:
        self._server.answer_arrivals()

    def answer(self, request: Request, outcome: Reply | LongRequest) -> None:
        """Sends the response to a request that has arrived, or continues with it."""
        self.arrived = False
        self._answer(request, outcome)
        request.body = b""
        if self._received.charged:
            self._account_received()
        if self._backlog:
            self._resume()

    def _answer(self, request: Request, outcome: Reply | LongRequest) -> None:
        if isinstance(outcome, LongRequest):
            self._respond_later(request, outcome)
            return
        response, commit = outcome
        if commit is None:
            self.send(response, request)
            return
        pending = PendingResponse(not request.keep_alive, response)
        self.enqueue(pending)
        self._complete_when_durable(pending, request, commit)

    def _respond_later(self, request: Request, long: LongRequest) -> None:
        server = self._server
        if not server.long_requests.accepts(long):
            self.send(self.unavailable_response(request), request)
            return
        pending = PendingResponse(not request.keep_alive, b"")
        self.enqueue(pending)
        self._unfinished += 1

        def replied(reply: Reply) -> None:
            self._unfinished -= 1
            response, commit = reply
            if commit is None:
                if len(response) > self._allowance and self._all_unsent.exceeded:
                    # There was space when it began. It is a page, and can be read again.
                    response = self.unavailable_response(request)
                self.complete(pending, response)
            else:
                self.replace(pending, response)
                self._complete_when_durable(pending, request, commit)
                if self._backlog:
                    self._resume()

        server.long_requests.add(long, replied, lambda: not self.is_closed)

    def _complete_when_durable(self, pending: PendingResponse, request: Request, commit: Commit) -> None:
        server = self._server

        def durable(error: BaseException | None) -> None:
            self.complete(pending, None if error is None else server.failure_response(request, error))

        server.when_durable(commit, durable)

    def unavailable_response(self, request: Request) -> bytes:
        return render_unavailable(request)

    def error_response(self, status: int) -> bytes:
        return render_error(status)


class MeasuredConnection(EngineConnection):
    """The same, with every response counted and timed."""

    def __init__(self, server: EngineHost, metrics: RequestMetrics) -> None:
        super().__init__(server)
        self._metrics = metrics
        # The request that has arrived, with its operation and time; and the one that is being answered.
        self._began = (_OTHER, 0.0)
        self._measured: tuple[str, float] | None = None
        self._pending: dict[PendingResponse, tuple[str, float]] = {}

    def respond(self, request: Request) -> None:
        operation = OPERATION_BY_TARGET.get(request.headers.get(b"x-amz-target", b""), _OTHER)
        self._began = (operation, perf_counter())
        super().respond(request)

    def _answer(self, request: Request, outcome: Reply | LongRequest) -> None:
        self._measured = self._began
        super()._answer(request, outcome)
        self._measured = None

    def send(self, response: bytes, request: Request | None) -> None:
        if request is not None:
            operation, began = self._measured or (_OTHER, perf_counter())
            self._measured = None
            status = _status(response)
            self._metrics.responded(operation, status, perf_counter() - began)
            if status in (403, 503):
                self._metrics.refused(status)
        super().send(response, request)

    def enqueue(self, pending: PendingResponse) -> None:
        if self._measured is not None:
            self._pending[pending] = self._measured
            self._measured = None
        super().enqueue(pending)

    def complete(self, pending: PendingResponse, instead: bytes | None = None) -> None:
        measured = self._pending.pop(pending, None)
        if measured is not None:
            operation, began = measured
            status = _status(pending.response if instead is None else instead)
            self._metrics.responded(operation, status, perf_counter() - began)
        super().complete(pending, instead)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pending.clear()
        super().connection_lost(exc)

    def error_response(self, status: int) -> bytes:
        self._metrics.refused(status)
        return super().error_response(status)


def _status(response: bytes) -> int:
    return int(response[9:12])
