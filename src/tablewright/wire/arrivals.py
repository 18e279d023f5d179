"""Requests that arrive together are processed together: each step is done for all of them before the next one.

The code that a request runs through, from the socket to SQLite and back, is larger than a processor's nearest caches.
Doing a step sixteen times in a row loads it only once: that saves about a tenth of the processor time of a request.

    sockets ──▶ add ──▶ prepare, prepare, ... ──▶ begin, begin, ... ──▶ render and answer, ...

No request waits for others: what has arrived in one iteration of the event loop is answered in the next, at most a few
dozen requests at once. A GetItem is answered as it arrives, and so is every request while there is only one connection.
A connection has one request among them at a time, so that its responses stay in order, and a client that does not read
is noticed in time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sized
from typing import Final, Protocol

from tablewright.engine import Outcome
from tablewright.wire.endpoint import Endpoint, Prepared, Replied
from tablewright.wire.http.memory_budget import MemoryBudget
from tablewright.wire.http.messages import Request
from tablewright.wire.long_requests import LongRequest, Reply

# More would bring no advantage, and the first would wait for the last.
_TOGETHER: Final = 32
# Responses from this size on are sent before others are made.
_LARGE_RESPONSE: Final = 16 * 1024

_log = logging.getLogger("tablewright.wire")


class Client(Protocol):
    """A connection whose request has arrived."""

    def answer(self, request: Request, outcome: Reply | LongRequest, /) -> None: ...

    def unavailable_response(self, request: Request, /) -> bytes: ...

    def abort(self) -> None: ...


class Arrivals:
    """The requests that have arrived at a server and are not answered yet."""

    def __init__(
        self, endpoint: Endpoint, connections: Sized, unsent: MemoryBudget, soon: Callable[[Callable[[], None]], object]
    ) -> None:
        """``soon`` calls back in the next iteration of the event loop."""
        self._endpoint = endpoint
        self._connections = connections
        self._unsent = unsent
        self._soon = soon
        self._waiting: list[tuple[Client, Request]] = []

    def add(self, client: Client, request: Request) -> None:
        """Answer a request, now or in the next iteration."""
        if len(self._connections) <= 1:
            client.answer(request, self._endpoint.respond(request))
            return
        waiting = self._waiting
        if not waiting:
            self._soon(self.answer_all)
        waiting.append((client, request))
        if len(waiting) >= _TOGETHER:
            self.answer_all()

    def answer_all(self) -> None:
        """Answer what has arrived so far."""
        arrived, self._waiting = self._waiting, []
        endpoint, unsent = self._endpoint, self._unsent
        prepare, begin, render = endpoint.prepare, endpoint.begin, endpoint.render
        begun: list[tuple[Client, Request, Prepared, Outcome]] = []
        # Whether any takes long: then those after it may have to queue.
        crowded = False
        for client, request, prepared in [(client, request, prepare(request)) for client, request in arrived]:
            if isinstance(prepared, Replied):
                _answer(client, request, prepared.reply)
            elif unsent.used > unsent.limit:
                _answer(client, request, (client.unavailable_response(request), None))
            elif crowded:
                _answer(client, request, endpoint.respond(request))
            elif isinstance(outcome := begin(request, prepared), Replied):
                crowded = isinstance(outcome.reply, LongRequest)
                _answer(client, request, outcome.reply)
            elif len(outcome[0]) > _LARGE_RESPONSE:
                _answer(client, request, render(request, prepared, outcome))
            else:
                begun.append((client, request, prepared, outcome))
        for client, request, prepared, outcome in begun:
            _answer(client, request, render(request, prepared, outcome))


def _answer(client: Client, request: Request, reply: Reply | LongRequest) -> None:
    try:
        client.answer(request, reply)
    except Exception:
        # Other responses must not be affected.
        _log.exception("a response could not be sent")
        client.abort()
