"""One client's connection: bytes in, requests out, responses back in the order of the requests.

Parsing is llhttp's (through httptools), strict about framing. A request is processed as soon as it is complete, on the
event loop; a response that waits for something (a commit) keeps its position in a queue, so pipelined requests get
their responses in order whatever they wait for. Requests that arrive while the client is not reading its responses, or
beyond the limit of pending ones, wait until it does.

Time-outs are checked by the host's sweep: a connection only sets its deadline, by its state: idle, reading a head,
reading a body, or writing to a client that does not read. Whatever ends a connection early (limits, time-outs, broken
HTTP) sends its response, half-closes and drains for a moment, because closing with unread input would reset the
connection, and the response would be lost.

A subclass makes the responses:

    respond(request)         send(response, request) at once; or enqueue(pending) and later complete(pending, response)
    error_response(status)   what a client gets whose request could not be read to its end
"""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections import deque
from typing import Protocol, cast

import httptools

from tablewright.wire.connection_limits import Limits
from tablewright.wire.messages import Request


class Host(Protocol):
    """What a connection needs of the server it belongs to."""

    limits: Limits
    now: float
    stopping: bool

    def connection_opened(self, connection: Connection, /) -> bool: ...

    def connection_closed(self, connection: Connection, /) -> None: ...


class _Refused(Exception):
    """Raised inside a parser callback: the request is refused."""

    def __init__(self, status: int) -> None:
        self.status = status


class PendingResponse:
    """A response that keeps its position in the queue until it is ready."""

    __slots__ = ("last", "ready", "response")

    def __init__(self, last: bool, response: bytes = b"", ready: bool = False) -> None:
        self.last = last
        self.response = response
        self.ready = ready


class Connection(asyncio.Protocol):
    def __init__(self, host: Host) -> None:
        self._host = host
        self._limits = host.limits
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._request = Request()
        self._reading_head = False
        self._reading_body = False
        self._head_size = 0
        self._open_head_size = 0
        self._chunks: list[bytes] = []
        self._body_size = 0
        self._queue: deque[PendingResponse] = deque()
        self._backlog: deque[Request] = deque()
        self._writing_paused = False
        self._client_done = False
        self._unsent = 0  # bytes in the write buffer when the client was last seen to read
        self._ending = False  # the last request has been read: further input is ignored
        self._refused = False  # ... because that request was refused
        self.deadline = math.inf
        self.write_deadline = math.inf

    # -- the transport's side ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not subclasses of it
        if self._host.connection_opened(self):
            self.deadline = self._host.now + self._limits.idle_seconds
        else:
            self._refuse(503)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._queue.clear()
        self._backlog.clear()
        self._host.connection_closed(self)

    def data_received(self, data: bytes) -> None:
        open_request = self._request if self._reading_head else None
        rest: bytes | memoryview = data
        while not self._ending:
            try:
                self._parser.feed_data(rest)
                break
            except httptools.HttpParserUpgrade as upgrade:
                # A loop, because a client may offer it in any number of requests at once.
                rest = memoryview(rest)[upgrade.args[0] :]
                self._ignore_upgrade()
            except httptools.HttpParserError as error:
                self._refuse_unreadable(error)
        if self._reading_head and self._request is open_request:
            # The parser passes on complete header fields only: count what it may have buffered.
            self._open_head_size += len(data)
            if self._open_head_size > self._limits.head_bytes:
                self._refuse(431)

    def _ignore_upgrade(self) -> None:
        """Ignores an offer to upgrade to another protocol, as HTTP allows: reads the request without it.

        The parser ends such a request with its head, body or not.
        """
        request = self._request
        if request.method == b"CONNECT":
            self._refuse(404)
            return
        fields = b"".join(b"%b: %b\r\n" % field for field in request.headers.items() if field[0] != b"upgrade")
        version = self._parser.get_http_version().encode()
        self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(b"%b %b HTTP/%b\r\n%b\r\n" % (request.method, request.url, version, fields))
        except httptools.HttpParserError as error:
            self._refuse_unreadable(error)

    def _refuse_unreadable(self, error: httptools.HttpParserError) -> None:
        cause = error.__context__
        if isinstance(cause, _Refused):
            self._refuse(cause.status)
            return
        self._refuse(400)
        if isinstance(error, httptools.HttpParserCallbackError) and cause is not None:
            raise cause from None

    def eof_received(self) -> bool:
        self._client_done = True
        # The transport stays open for the responses still to be sent, and closes after the last of them.
        return bool(self._queue or self._backlog)

    def pause_writing(self) -> None:
        self._writing_paused = True
        self._watch_client()
        self._pause_reading()

    def resume_writing(self) -> None:
        self._writing_paused = False
        if self._transport is not None and not self._transport.is_closing():
            self.write_deadline = math.inf
        self._resume()

    # -- the parser's side -----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._request = Request()
        self._reading_head = True
        self._head_size = self._open_head_size = 0
        self.deadline = self._host.now + self._limits.head_seconds

    def on_url(self, url: bytes) -> None:
        self._request.url += url
        self._head_size += len(url)
        if self._head_size > self._limits.head_bytes:
            raise _Refused(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        headers = self._request.headers
        if self._head_size > self._limits.head_bytes or len(headers) >= self._limits.head_fields:
            raise _Refused(431)
        if not self._reading_head:
            return  # a trailer: nothing that was checked before the body may change after it
        name = name.lower()
        headers[name] = value if name not in headers else headers[name] + b"," + value

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._reading_body = True
        self._body_size = 0
        self.deadline = self._host.now + self._limits.body_seconds
        request = self._request
        request.method = self._parser.get_method()
        headers = request.headers
        if b"upgrade" in headers and self._parser.should_upgrade():
            return
        # The parser has checked that these are digits, and that the number is not too large.
        length = headers.get(b"content-length", b"0").lstrip(b"0")
        if len(length) > 4 and int(length) > self._limits.body_bytes:
            raise _Refused(413)
        if b"expect" in headers:
            if headers[b"expect"].strip().lower() != b"100-continue":
                raise _Refused(417)
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n", None)

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size > self._limits.body_bytes:
            raise _Refused(413)
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        self._reading_body = False
        request = self._request
        if self._chunks:
            request.body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks.clear()
        request.keep_alive = self._parser.should_keep_alive()
        if self._ending or request.method == b"CONNECT":
            return  # the parser asks for another protocol next
        if b"upgrade" in request.headers and self._parser.should_upgrade():
            return
        if self._backlog or self._writing_paused or len(self._queue) >= self._limits.pipelined:
            self._backlog.append(request)
            self._pause_reading()
        else:
            self._respond(request)

    # -- responses ---------------------------------------------------------------------------------------

    @abstractmethod
    def respond(self, request: Request) -> None:
        """Sends the response to a request, now or later."""

    @abstractmethod
    def error_response(self, status: int) -> bytes:
        """The response to a request that could not be read to its end; the connection closes after it."""

    def enqueue(self, pending: PendingResponse) -> None:
        """Reserves the position of a response that is still to come."""
        self.deadline = math.inf
        self._queue.append(pending)

    def complete(self, pending: PendingResponse, response: bytes) -> None:
        """Sends a response as soon as those before it have been sent."""
        pending.response = response
        pending.ready = True
        self._send_ready()

    def _respond(self, request: Request) -> None:
        if self._host.stopping:
            request.keep_alive = False
        if not request.keep_alive:
            self._ending = True
        self.respond(request)

    def send(self, response: bytes, request: Request | None) -> None:
        """Sends a response that is ready, after those to all earlier requests."""
        last = request is not None and not request.keep_alive
        if self._queue:
            self._queue.append(PendingResponse(last, response, True))
        else:
            self._write(response, last)

    def _send_ready(self) -> None:
        queue = self._queue
        while queue and queue[0].ready:
            pending = queue.popleft()
            self._write(pending.response, pending.last)
        if self._backlog:
            self._resume()

    def _write(self, response: bytes, last: bool) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(response)
        done = self._client_done and not (self._queue or self._backlog)
        if last or done or (self._host.stopping and self.idle):
            self._close()
        elif self._refused:
            if not self._queue:
                transport.write_eof()
        elif not (self._reading_head or self._reading_body):
            self.deadline = self._host.now + self._limits.idle_seconds

    def _pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _resume(self) -> None:
        """Processes requests that had to wait, and reads on once there are none."""
        while self._backlog and not self._writing_paused and len(self._queue) < self._limits.pipelined:
            self._respond(self._backlog.popleft())
            if self._ending:
                self._backlog.clear()
        transport = self._transport
        if transport is None or transport.is_closing() or self._backlog or self._writing_paused:
            return
        transport.resume_reading()

    # -- endings -----------------------------------------------------------------------------------------

    def _refuse(self, status: int) -> None:
        """Ends the connection with this status, after the responses that are still to be sent."""
        if self._ending:
            return
        self._ending = self._refused = True
        self._reading_head = self._reading_body = False
        self._backlog.clear()
        self.deadline = self._host.now + self._limits.drain_seconds
        self.send(self.error_response(status), None)

    @property
    def idle(self) -> bool:
        return not (self._queue or self._backlog or self._reading_head or self._reading_body)

    def stop(self) -> None:
        """Closes a connection that waits for its next request; a busy one closes after its response."""
        if self.idle:
            self._close()

    def _close(self) -> None:
        """Closes once everything written has been sent, which needs a client that reads it."""
        self._ending = True
        self.deadline = math.inf
        self._watch_client()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _watch_client(self) -> None:
        """From now on the client has to read something of what is sent before each write time-out."""
        self._unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        self.write_deadline = self._host.now + self._limits.write_seconds

    def check_time(self, now: float) -> None:
        if self.write_deadline < now:
            left = 0 if self._transport is None else self._transport.get_write_buffer_size()
            if 0 < left < self._unsent:
                self._watch_client()
            else:
                self.abort()
        elif self._ending and self.deadline < now:
            self.abort()
        elif self.deadline >= now or self._writing_paused:
            return
        elif self.idle:
            self.stop()
        else:
            self._refuse(408)
