"""One client's connection: bytes in, requests out, responses back in the order of the requests.

Parsing is llhttp's (through httptools), strict about framing. A request is processed as soon as it is complete, on the
event loop; a response that waits for something (a commit) keeps its position in a queue, so pipelined requests get
their responses in order.

Pipelined requests are executed in order, too: a request waits until the one before it has been. It also waits while the
client is not reading its responses, or beyond the limit of pending ones. Of what is read at once, one request is
processed at once, and the others in turn with those of other connections (``turn``), so no client can occupy the event
loop. Input behind a waiting request is not parsed.

    read ──▶ _input ──▶ parser ──▶ request ─┬───────────────────▶ respond
                                            └▶ _backlog ──▶ turn ───▲

The memory of a connection is limited twice: by its own limits, and by that of all connections (``memory_budget``).
``_received`` is its account of input, unfinished or waiting, and ``_unsent`` that of responses. A body beyond the
budget gets 503; while responses are beyond it, requests get 503 before they are processed, and a client that does not
read at all is dropped.

Timeouts are checked by the host's sweep: a connection only sets its deadline, by its state: idle, reading a head,
reading a body, or writing to a client that does not read. If a connection ends early (limits, timeouts, invalid HTTP),
it sends its response, half-closes and drains for a moment, because closing with unread input would reset the
connection, and the response would be lost.

A subclass creates the responses:

    respond(request)              send(response, request) at once; or enqueue(pending) and later complete(pending)
    unavailable_response(request) the response while the server has no memory left for the request's own
    error_response(status)        the response to a request that could not be read to its end
"""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections import deque
from typing import Final, Protocol, cast

import httptools

from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.http.memory_budget import Account, MemoryBudget
from tablewright.wire.http.messages import Request
from tablewright.wire.http.pending_response import PendingResponse

# Parsing takes a few microseconds for each request, and a short one is 20 bytes.
_PARSED_AT_ONCE: Final = 8 * 1024
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class ConnectionHost(Protocol):
    """What a connection needs from its server."""

    limits: Limits
    now: float
    stopping: bool
    received: MemoryBudget
    unsent: MemoryBudget

    def connection_opened(self, connection: Connection, /) -> bool: ...

    def connection_closed(self, connection: Connection, /) -> None: ...

    def take_turn(self, connection: Connection, /) -> None: ...


class _Refused(Exception):
    """Raised inside a parser callback: the request is refused."""

    def __init__(self, status: int) -> None:
        self.status = status


class Connection(asyncio.Protocol):
    def __init__(self, host: ConnectionHost) -> None:
        self._host = host
        self._limits = host.limits
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._request = Request()
        self._reading_head = False
        self._reading_body = False
        # The size of this read, and of those that continued an unfinished head; how many fields repeat a name or trail.
        self._read_size = self._open_head_size = self._more_fields = 0
        # Bytes of the read in which an open head began, which may have had others before it.
        self._first_read_size = 0
        self._body: bytes | bytearray = b""
        self._pieces: list[bytes] = []  # of the body, from the last read
        self._body_size = 0
        # Whether the host has a request that is neither answered nor in the queue; and the number not yet executed.
        self.arrived = False
        self._unfinished = 0
        # Whether a request may be answered at once: one of each read may.
        self._may_answer = False
        self._has_turn = False
        self._queue: deque[PendingResponse] = deque()
        self._queued_bytes = 0
        self._written = 0  # the size of the last large response
        self._backlog: deque[Request] = deque()
        self._backlog_bytes = 0
        self._input = b""  # behind the backlog, and not parsed yet
        self._continues = False  # whether a client behind the backlog waits for 100 Continue
        self._refusal = 0  # the status that ends the connection after the backlog
        self._allowance = host.limits.allowance_bytes
        self._received = Account(host.received)
        self._unsent = Account(host.unsent)
        self._all_unsent = host.unsent
        self._writing_paused = False
        self._client_done = False
        # The bytes in the write buffer when the client last read, and that time.
        self._unread, self._read_at = 0, 0.0
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
        self._ending = True
        self._forget_requests()
        for pending in self._queue:
            pending.response = b""  # its owner keeps it for as long as a commit takes
        self._queue.clear()
        self._queued_bytes = 0
        self._unsent.set(0)
        # The parser refers to its connection: without this, both would stay until a garbage collection.
        del self._parser
        self._host.connection_closed(self)

    def data_received(self, data: bytes) -> None:
        self._may_answer = True
        if self._backlog or len(data) > _PARSED_AT_ONCE:
            self._input += data
            self._parse_input()
        else:
            self._parse(data)

    def _parse_input(self) -> None:
        """Parses what was received, up to a request that has to wait."""
        received, self._input = self._input, b""
        start = 0
        while start < len(received) and not (self._backlog or self._ending or self._refusal):
            self._parse(received[start : start + _PARSED_AT_ONCE])
            start += _PARSED_AT_ONCE
        if self._backlog and not self._ending and not self._refusal:
            self._input = received[start:]
            if not self._account_received():
                self._refuse(503)

    def _parse(self, data: bytes) -> None:
        open_head = self._request if self._reading_head else None
        open_body = self._request if self._reading_body else None
        self._read_size = len(data)
        rest: bytes | memoryview = data
        while not (self._ending or self._refusal):
            try:
                self._parser.feed_data(rest)
                break
            except httptools.HttpParserUpgrade as upgrade:
                # A loop, because a client may offer it in any number of requests at once.
                rest = memoryview(rest)[upgrade.args[0] :]
                self._ignore_upgrade()
            except httptools.HttpParserError as error:
                self._refuse_unreadable(error)
        if self._pieces:
            self._join_pieces()
            if self._body_size > self._allowance and not self._account_received():
                self._refuse(503)
        if self._reading_head:
            if self._request is not open_head:
                self.deadline = self._host.now + self._limits.head_seconds
                self._first_read_size = len(data)
            else:
                # The parser passes on complete header fields only: count what it may have buffered.
                self._open_head_size += len(data)
            if self._open_head_size > self._limits.head_bytes or self._head_is_too_large():
                self._refuse(400)
        elif self._reading_body and self._request is not open_body:
            self.deadline = self._host.now + self._limits.body_seconds

    def _head_is_too_large(self) -> bool:
        """Whether the fields read so far are too many or too long."""
        url, headers, limits = self._request.url, self._request.headers, self._limits
        size = len(url) + sum(map(len, headers)) + sum(map(len, headers.values()))
        return size > limits.head_bytes or len(headers) + self._more_fields > limits.head_fields

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
        # The transport stays open for the remaining responses, and closes after the last of them.
        return self._has_requests

    def pause_writing(self) -> None:
        self._writing_paused = True
        self._watch_client()
        self._account_unsent()
        self._pause_reading()

    def resume_writing(self) -> None:
        self._writing_paused = False
        if self._transport is not None and not self._transport.is_closing():
            self.write_deadline = math.inf
        self._send_ready()
        self._account_unsent()
        self._resume()

    # -- the parser's side -----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._request = Request()
        self._reading_head = True
        self._first_read_size = self._open_head_size = self._more_fields = 0

    def on_url(self, url: bytes) -> None:
        self._request.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # This is called more often than anything else: their number and length are checked at the end.
        if not self._reading_head:
            # A trailer: nothing that was checked before the body may change after it.
            self._open_head_size += len(name) + len(value)
            self._count_field()
            return
        headers = self._request.headers
        name = name.lower()
        if name in headers:
            self._count_field()
            value = headers[name] + b"," + value
        headers[name] = value

    def _count_field(self) -> None:
        """Limits the head, except for one field of each name."""
        self._more_fields += 1
        if self._more_fields > self._limits.head_fields or self._open_head_size > self._limits.head_bytes:
            raise _Refused(400)

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._reading_body = True
        request = self._request
        request.method = self._parser.get_method()
        headers = request.headers
        limits = self._limits
        if len(headers) + self._more_fields > limits.head_fields:
            raise _Refused(400)
        read = self._first_read_size + self._open_head_size + self._read_size
        if read > limits.head_bytes and self._head_is_too_large():
            raise _Refused(400)
        if b"upgrade" in headers and self._parser.should_upgrade():
            return
        # The parser has checked that these are digits, and that the number is not too large.
        length = headers.get(b"content-length", b"0")
        if len(length) > 4 and int(length.lstrip(b"0") or b"0") > limits.body_bytes:
            raise _Refused(413)
        if b"host" not in headers and self._parser.get_http_version() == "1.1":
            raise _Refused(400)
        if b"transfer-encoding" in headers and headers[b"transfer-encoding"].strip().lower() != b"chunked":
            raise _Refused(501)
        if b"expect" in headers and self._parser.get_http_version() != "1.0":
            if headers[b"expect"].strip().lower() != b"100-continue":
                raise _Refused(417)
            if self._backlog:
                self._continues = True
            else:
                self.send(_CONTINUE, None)

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size > self._limits.body_bytes:
            raise _Refused(413)
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        self._reading_body = False
        request = self._request
        if self._body_size:
            if self._pieces:
                self._join_pieces()
            request.body, self._body, self._body_size = self._body, b"", 0
        request.keep_alive = self._parser.should_keep_alive()
        if self._ending or request.method == b"CONNECT":
            return  # the parser asks for another protocol next
        if b"upgrade" in request.headers and self._parser.should_upgrade():
            return
        if self._backlog or not self._may_answer or self._is_held:
            self._backlog.append(request)
            self._backlog_bytes += request.held_bytes
            if not self._account_received():
                raise _Refused(503)
            self._pause_reading()
            self._resume()
        else:
            self._may_answer = False
            self._respond(request)

    def _join_pieces(self) -> None:
        """Adds the bytes of a read to the body: small pieces would take many times their size, if kept."""
        pieces = self._pieces
        piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        if not self._body:
            self._body = piece
            return
        if type(self._body) is bytes:
            self._body = bytearray(self._body)
        self._body += piece

    # -- responses ---------------------------------------------------------------------------------------

    @abstractmethod
    def respond(self, request: Request) -> None:
        """Sends the response to a request, now or later; ``arrived`` until it is sent or in the queue."""

    def answer_arrived(self) -> None:
        """Has the arrived request answered now."""

    @abstractmethod
    def unavailable_response(self, request: Request) -> bytes:
        """The response to a request that is not processed because memory is short."""

    @abstractmethod
    def error_response(self, status: int) -> bytes:
        """The response to a request that could not be read to its end; the connection closes after it."""

    def enqueue(self, pending: PendingResponse) -> None:
        """Reserves the position of a response that may not be sent yet."""
        self.deadline = math.inf
        self._queue.append(pending)
        self._queued_bytes += len(pending.response)
        if self._queued_bytes > self._allowance:
            self._account_unsent()

    @property
    def is_closed(self) -> bool:
        """Whether the client is gone."""
        return self._transport is None

    def replace(self, pending: PendingResponse, response: bytes) -> None:
        """Replaces a response that may not be sent yet by another."""
        if self._transport is None:
            return
        self._queued_bytes += len(response) - len(pending.response)
        pending.response = response
        if self._queued_bytes > self._allowance:
            self._account_unsent()

    def complete(self, pending: PendingResponse, instead: bytes | None = None) -> None:
        """Sends a response, or another one instead, as soon as those before it have been sent."""
        if instead is not None:
            self.replace(pending, instead)
        pending.ready = True
        self._send_ready()
        if self._backlog:
            self._resume()

    def _respond(self, request: Request) -> None:
        if self._host.stopping:
            request.keep_alive = False
        if not request.keep_alive:
            self._ending = True
        if self._all_unsent.used > self._all_unsent.limit:
            self.send(self.unavailable_response(request), request)
        else:
            self.respond(request)
        if not self.arrived:
            request.body = b""  # while it waits for a commit, only the rest of the request is needed
            if self._received.charged:
                self._account_received()

    def send(self, response: bytes, request: Request | None) -> None:
        """Sends a response that is ready, after those to all earlier requests."""
        if request is None and self.arrived:
            self.answer_arrived()
        last = request is not None and not request.keep_alive
        if self._queue or self._writing_paused:
            self.enqueue(PendingResponse(last, response, True))
        else:
            self._write(response, last)

    def _send_ready(self) -> None:
        queue = self._queue
        while queue and queue[0].ready and not self._writing_paused:
            pending = queue.popleft()
            self._queued_bytes -= len(pending.response)
            self._write(pending.response, pending.last)
        if self._unsent.charged:
            self._account_unsent()

    def _write(self, response: bytes, last: bool) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if len(response) > self._allowance:
            # As long as any of it is unsent, the transport keeps all of it: it has to report when it is done with it.
            transport.set_write_buffer_limits(0)
            self._written = len(response)
        transport.write(response)
        done = self._client_done and not self._has_requests
        if last or done or (self._host.stopping and self._may_stop):
            self._close()
        elif self._refused:
            if not self._queue:
                transport.write_eof()
        elif not (self._reading_head or self._reading_body):
            self.deadline = self._host.now + self._limits.idle_seconds

    def _pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    @property
    def _is_held(self) -> bool:
        """Whether another request has to wait: for one before it, or for the client."""
        return (
            self.arrived or self._unfinished > 0 or self._writing_paused or len(self._queue) >= self._limits.pipelined
        )

    def _resume(self) -> None:
        """Continues with requests that had to wait, in turn with other connections; with reading, if there are none."""
        if self._backlog or self._refusal:
            if not self._has_turn and not self._is_held:
                self._has_turn = True
                self._host.take_turn(self)
            return
        if self._continues:
            self._continues = False
            self.send(_CONTINUE, None)
        transport = self._transport
        if transport is None or transport.is_closing() or self._writing_paused:
            return
        if self._reading_head:
            self.deadline = self._host.now + self._limits.head_seconds
        elif self._reading_body:
            self.deadline = self._host.now + self._limits.body_seconds
        transport.resume_reading()

    def turn(self) -> None:
        """Processes one of the requests that had to wait, or parses the input behind them."""
        self._has_turn = False
        if self._transport is None or self._is_held:
            return
        if self._backlog:
            request = self._backlog.popleft()
            self._backlog_bytes -= request.held_bytes
            self._respond(request)
            if self._ending:
                self._forget_requests()
        if not self._backlog and self._input:
            self._may_answer = False
            self._parse_input()
        if self._refusal and not self._backlog and not self._is_held:
            self._end(self._refusal)
        self._resume()

    # -- memory ------------------------------------------------------------------------------------------

    def _account_received(self) -> bool:
        return self._received.set(self._body_size + self._backlog_bytes + len(self._input))

    def _account_unsent(self) -> None:
        buffered = 0
        if self._writing_paused and self._transport is not None:
            buffered = max(self._written, self._transport.get_write_buffer_size())
        self._unsent.set(self._queued_bytes + buffered)

    def _forget_requests(self) -> None:
        """Frees received data that will not be processed."""
        self._body, self._body_size = b"", 0
        self._pieces.clear()
        self._request = Request()
        self._backlog.clear()
        self._backlog_bytes = 0
        self._input = b""
        self._continues = False
        self._refusal = 0
        self._received.set(0)

    # -- endings -----------------------------------------------------------------------------------------

    def _refuse(self, status: int) -> None:
        """Ends the connection with this status, after the requests before; at once if memory is short."""
        if self._ending or self._refusal:
            return
        if self._backlog and status != 503:
            self._refusal = status
            self._reading_head = self._reading_body = False
            self._body, self._body_size = b"", 0
            self._pieces.clear()
            self._account_received()
        else:
            self._end(status)

    def _end(self, status: int) -> None:
        """Ends the connection with this status, after the remaining responses."""
        self._ending = self._refused = True
        self._reading_head = self._reading_body = False
        self._forget_requests()
        self.deadline = self._host.now + self._limits.drain_seconds
        self.send(self.error_response(status), None)

    @property
    def _has_requests(self) -> bool:
        """Whether there are requests without a response."""
        return bool(self._queue or self._backlog or self.arrived)

    @property
    def idle(self) -> bool:
        return self._may_stop and not self._reading_head

    @property
    def _may_stop(self) -> bool:
        """Whether no request has begun, except for a part of its head."""
        return not (self._has_requests or self._reading_body)

    def stop(self) -> None:
        """Closes a connection that waits for its next request, or for the rest of its head; others after a response."""
        if self._may_stop:
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
        """From now on the client has to read some of the data within each write timeout."""
        self._unread = 0 if self._transport is None else self._transport.get_write_buffer_size()
        self._read_at = self._host.now
        self.write_deadline = self._host.now + self._limits.write_seconds

    def _has_to_go(self, now: float) -> bool:
        """Whether memory is short, and the client had a moment to read something."""
        return (
            self._writing_paused and self._all_unsent.exceeded and now - self._read_at > 1.5 * self._limits.tick_seconds
        )

    def check_time(self, now: float) -> None:
        if self.write_deadline < now or self._has_to_go(now):
            left = 0 if self._transport is None else self._transport.get_write_buffer_size()
            if 0 < left < self._unread:
                self._watch_client()
                self._account_unsent()
            else:
                self.abort()
        elif self._ending and self.deadline < now:
            self.abort()
        elif self.deadline >= now or self._writing_paused or self._backlog:
            return
        elif self.idle:
            self._close()
        else:
            self._refuse(408)
