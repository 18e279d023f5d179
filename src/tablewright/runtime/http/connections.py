"""Connections of the systems: HTTP as the engine's own server reads it, and ASGI behind it.

uvicorn listens, starts and stops; what a connection says is read by ``wire``, which is bounded in every direction
(heads, bodies, waiting requests, and the time for each; see ``wire.limits``). A request is handed to the application as
a whole where it is here as a whole, as most are. Where its body is still to come, the application has its head: it may
not want a body from somebody whom it does not know, and bounds what it takes by itself (see ``http``). An answer leaves
in one piece, unless the application sends it in several: those go as they come, and no faster than the client takes
them.

    request ──▶ Exchange: a task of the application, receive and send ──▶ its place among the answers
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import httptools
from starlette.types import ASGIApp, Message, Scope
from uvicorn import Config
from uvicorn.server import ServerState

from tablewright.runtime.http.gate import BODY_IS_HERE
from tablewright.runtime.http.problems import problem
from tablewright.wire.connection import Connection, PendingResponse
from tablewright.wire.connection_limits import Limits
from tablewright.wire.connection_registry import ConnectionRegistry
from tablewright.wire.messages import STATUS_LINES, Request, http_date

__all__ = ["LIMITS", "AsgiConnection", "connections"]

LIMITS = Limits(
    connections=2000, pipelined=100, idle_seconds=30.0, head_seconds=20.0, body_seconds=120.0, write_seconds=120.0
)

# What is wrong with a request that cannot be read, by the status that says so.
_REFUSALS = {
    408: ("timeout", "the request did not come; send it again"),
    413: ("too-large", "a body has at most {limits.body_bytes} bytes"),
    503: ("unavailable", "there are too many connections; come again"),
}
_MALFORMED = ("malformed", "this is no HTTP that can be read here, or its head is too long")
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_NO_CONTENT = frozenset({204, 304})
# What is kept of a body that the application does not take as fast as it comes.
_MOST_UNREAD = 64 * 1024

_log = logging.getLogger(__name__)


def connections(limits: Limits) -> Any:
    """What uvicorn makes connections with: ``Config(app, http=connections(LIMITS))``."""
    return partial(AsgiConnection, limits)


# Each server has one; uvicorn tells its connections apart by this state alone.
_HOSTS: WeakKeyDictionary[ServerState, ConnectionRegistry] = WeakKeyDictionary()


class AsgiConnection(Connection):
    """A client of an ASGI application."""

    def __init__(
        self,
        limits: Limits,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        host = _HOSTS.get(server_state)
        if host is None:
            shared: Any = server_state.connections
            host = _HOSTS[server_state] = ConnectionRegistry(limits, shared)
        super().__init__(host)
        self._state = app_state
        self._app: ASGIApp = config.loaded_app
        self._tasks: set[asyncio.Task[None]] = server_state.tasks
        self._loop = _loop or asyncio.get_running_loop()
        self._ends: tuple[Any, Any] = (None, None)
        # The one whose body is still coming, and whether there is more of it here than is being taken.
        self._open: Exchange | None = None
        self._is_full = False

    def shutdown(self) -> None:
        """uvicorn says that the server stops: after the answers that are owed, so does this."""
        self._host.stopping = True
        self.stop()

    # -- the transport's side ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._ends = _address(transport.get_extra_info("peername")), _address(transport.get_extra_info("sockname"))
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        exchanges, self._open = self._exchanges(), None
        super().connection_lost(exc)
        for exchange in exchanges:
            exchange.end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._reading_body and self._open is None:
            if self._ending or self._backlog or self._writing_paused or len(self._queue) >= self._limits.pipelined:
                return
            request = self._request
            request.keep_alive = self._parser.should_keep_alive() and not self._host.stopping
            self._open = self._begin(request, self._chunks, is_whole=False)
            self._chunks = []

    def eof_received(self) -> bool:
        stays = super().eof_received()
        # Who still waits for it hears that nothing will come; what is owed is sent all the same.
        self._go_on()
        return stays

    def resume_writing(self) -> None:
        super().resume_writing()
        self._go_on()

    def _go_on(self) -> None:
        for exchange in self._exchanges():
            exchange.go_on()

    def _exchanges(self) -> list[Exchange]:
        """Those that are not answered yet."""
        return [pending for pending in self._queue if isinstance(pending, Exchange)]

    # -- requests and answers ------------------------------------------------------------------------

    def on_body(self, body: bytes) -> None:
        if self._open is None:
            super().on_body(body)
        elif self._open.feed(body) > _MOST_UNREAD and not self._is_full:
            self._is_full = True
            self._pause_reading()

    def on_message_complete(self) -> None:
        if self._open is None:
            super().on_message_complete()
            return
        exchange, self._open = self._open, None
        self._reading_body = False
        self._ending = exchange.last
        exchange.feed(b"", is_last=True)

    def respond(self, request: Request) -> None:
        self._begin(request, [request.body], is_whole=True)

    def _begin(self, request: Request, body: list[bytes], *, is_whole: bool) -> Exchange:
        # Of the newest request; but no client changes it from one to the next.
        version = self._parser.get_http_version()
        exchange = Exchange(self, request, version, body, is_whole)
        self.enqueue(exchange)
        task = self._loop.create_task(exchange.run(self._app, self._scope(request, version, is_whole)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return exchange

    def _refuse(self, status: int) -> None:
        if self._open is not None:
            # What it waits for will not come.
            exchange, self._open = self._open, None
            self._queue.remove(exchange)
            exchange.end()
        super()._refuse(status)

    def error_response(self, status: int) -> bytes:
        kind, detail = _REFUSALS.get(status, _MALFORMED)
        request_id = os.urandom(16).hex()
        answer = problem(kind, detail.format(limits=self._limits), request_id)
        _log.info("request refused", extra={"status": answer.status_code, "request_id": request_id})
        marks = (b"x-request-id", request_id.encode()), (b"connection", b"close")
        return _head(answer.status_code, [*answer.raw_headers, *marks]) + bytes(answer.body)

    def _scope(self, request: Request, version: str, is_whole: bool) -> Scope:
        url = request.url
        if not url.startswith(b"/") and url != b"*":
            url = _origin_form(url)
        path, _, query = url.partition(b"?")
        text = path.decode("utf-8", "replace")
        client, server = self._ends
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": server,
            "client": client,
            "scheme": "http",
            "method": request.method.decode("ascii"),
            "root_path": "",
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            "headers": list(request.headers.items()),
            "state": {**self._state, BODY_IS_HERE: True} if is_whole else {**self._state},
        }

    # -- for exchanges -------------------------------------------------------------------------------

    @property
    def is_silent(self) -> bool:
        """Whether the client has said all that it will say."""
        return self._client_done

    def takes(self, exchange: Exchange) -> bool:
        """Whether more of an answer can be sent now."""
        return not self._writing_paused and bool(self._queue) and self._queue[0] is exchange

    def read_on(self) -> None:
        """What was kept of a body has been taken, or is not wanted."""
        if self._is_full:
            self._is_full = False
            self._resume()

    def close_after(self, exchange: Exchange) -> None:
        """An answer is about to be sent: if its request is not here as a whole, the rest is not waited for."""
        if exchange is self._open:
            self._open = None
            self._reading_body = False
            # As after a refusal: the client gets to see the answer while it is still sending.
            self._ending = self._refused = True
            self.deadline = self._host.now + self._limits.drain_seconds
            self.read_on()

    def finish(self, exchange: Exchange, rest: bytes) -> None:
        self.complete(exchange, rest)
        if self._queue:
            self._go_on()


class Exchange(PendingResponse):
    """One request and its answer, as the application sees them."""

    __slots__ = (
        "_body",
        "_chunked",
        "_connection",
        "_head",
        "_is_over",
        "_is_whole",
        "_request",
        "_version",
        "_waiters",
    )

    def __init__(
        self, connection: AsgiConnection, request: Request, version: str, body: list[bytes], is_whole: bool
    ) -> None:
        super().__init__(not request.keep_alive)
        self._connection = connection
        self._request = request
        self._version = version
        # What is here of the body and has not been taken; None when all has been. And whether that is all there is.
        self._body: list[bytes] | None = body
        self._is_whole = is_whole
        self._is_over = False
        self._waiters: list[asyncio.Future[None]] = []
        # Of the answer: its head until something of it is sent, and whether its parts are chunks.
        self._head: Message | None = None
        self._chunked: bool | None = None

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self._send)
        except Exception as error:
            _log.error("request failed", exc_info=error)
        finally:
            if not self._is_over:
                self._fail()

    def _fail(self) -> None:
        """The application has ended, and its answer has not."""
        if self._chunked is None:
            self._settle()
            answer = problem("internal", "something went wrong here; the log has more", os.urandom(16).hex())
            self._finish(self._rendered(answer.status_code, answer.raw_headers, bytes(answer.body)))
        else:
            # An answer that is not whole cannot be told from one that is but by an end without a word.
            self.end()
            self._connection.abort()

    def _finish(self, rest: bytes) -> None:
        self.end()
        self._connection.finish(self, rest)

    # -- what becomes of it ----------------------------------------------------------------------------

    def feed(self, part: bytes, *, is_last: bool = False) -> int:
        """Some more of the body; how much of it there is by now that has not been taken."""
        unread = self._body or []
        unread.append(part)
        self._body, self._is_whole = unread, is_last
        self.go_on()
        return sum(map(len, unread))

    def end(self) -> None:
        """It is answered, or nobody is there any more to be answered."""
        self._is_over = True
        self.go_on()

    def go_on(self) -> None:
        """Something that was waited for may have come about."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    # -- the application's side ------------------------------------------------------------------------

    async def _receive(self) -> Message:
        if self._body is not None:
            if not self._is_whole:
                await self._until(lambda: self._is_whole or bool(self._body) or self._is_left())
            if self._is_whole or not self._is_left():
                body = b"".join(self._body)
                self._body = None if self._is_whole else []
                self._connection.read_on()
                return {"type": "http.request", "body": body, "more_body": not self._is_whole}
        await self._until(self._is_left)
        return {"type": "http.disconnect"}

    def _is_left(self) -> bool:
        """Whether nobody is there any more, or nobody who would say anything."""
        return self._is_over or self._connection.is_silent

    async def _send(self, message: Message) -> None:
        if self._is_over:
            # Nobody is told that a client has gone away while it was answered.
            return
        if message["type"] == "http.response.start":
            self._head = message
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._chunked is None:
            if self._head is None:
                raise RuntimeError("an answer begins with http.response.start")
            self._settle()
            status, headers = self._head["status"], self._head.get("headers", ())
            if not more:
                self._finish(self._rendered(status, headers, body))
                return
            self._begin(status, headers, body)
        elif more:
            self._connection.send_part(self, self._part(body))
        else:
            self._finish(self._part(body) + (b"0\r\n\r\n" if self._chunked else b""))
            return
        await self._until(lambda: self._is_over or self._connection.takes(self))

    def _settle(self) -> None:
        """Before the answer: it is the last one here if the request is not."""
        if not self._is_whole:
            self._request.keep_alive = self.last = False
            self._connection.close_after(self)

    def _begin(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        """Send the head of an answer that comes in parts, and the first of them."""
        headers = [*headers, *self._connection_headers()]
        self._chunked = False
        if _has_content(status) and b"content-length" not in dict(headers):
            if self._version == "1.1":
                headers.append((b"transfer-encoding", b"chunked"))
                self._chunked = self._request.method != b"HEAD"
            else:
                # The end of the connection is the end of the answer.
                self.last = True
        self._connection.send_part(self, _head(status, headers) + self._part(body))

    def _part(self, body: bytes) -> bytes:
        if not body or self._request.method == b"HEAD":
            return b""
        return b"%x\r\n%b\r\n" % (len(body), body) if self._chunked else body

    def _rendered(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bytes:
        """An answer in one piece."""
        headers = [*headers, *self._connection_headers()]
        if not _has_content(status):
            return _head(status, headers)
        if b"content-length" not in dict(headers):
            headers.append((b"content-length", b"%d" % len(body)))
        return _head(status, headers) + (b"" if self._request.method == b"HEAD" else body)

    def _connection_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        if not self._request.keep_alive:
            return ((b"connection", b"close"),)
        return () if self._version == "1.1" else ((b"connection", b"keep-alive"),)


def _has_content(status: int) -> bool:
    return status >= 200 and status not in _NO_CONTENT


def _head(status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    lines = [b"%b: %b\r\n" % pair for pair in headers]
    block = b"".join(lines)
    if block.count(b"\n") != len(lines) or block.count(b"\r") != len(lines):
        raise RuntimeError("a header of an answer has more than one line")
    line = STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
    return b"%bdate: %b\r\n%b\r\n" % (line, http_date(), block)


def _origin_form(url: bytes) -> bytes:
    """``http://host/path`` as a proxy would ask for it, as ``/path``."""
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        return b""
    return (parsed.path or b"/") + (b"" if parsed.query is None else b"?" + parsed.query)


def _address(end: Any) -> tuple[str, int] | None:
    return (str(end[0]), int(end[1])) if isinstance(end, tuple | list) else None
