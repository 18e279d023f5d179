"""uvicorn's connections, with limits for clients that are slow or never finish.

uvicorn only ends a connection that is idle after a response: a request may take any time to arrive, its head may have
any size, and a client may leave its response unread for ever. All of that is limited here. The size of a request body
is limited by the application (see ``gate``).

    nothing, or part of a head       head_seconds, then 408 (no response if nothing was sent)
    a head, or trailers, too long    more than head_bytes, then 400
    part of a body                   body_pause without a byte, or body_seconds in all, then 408
    a response that is not read      write_seconds without progress, then the connection is cut
    a web socket                     none of this: uvicorn pings it, and ends one that does not respond

A request that arrives in one piece, as most do, needs no timer.
"""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tablewright.runtime.http.problems import problem

__all__ = ["BoundedConnection", "ConnectionLimits", "bounded"]

# How long a client that was refused may go on sending.
_DRAIN_SECONDS = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long, and how much, a client may take."""

    head_bytes: int = 64 * 1024
    head_seconds: float = 20.0
    body_pause: float = 20.0
    body_seconds: float = 120.0
    write_seconds: float = 120.0


def bounded(limits: ConnectionLimits) -> Any:
    """The connection class for uvicorn: ``uvicorn.Config(app, http=bounded(ConnectionLimits()))``."""
    return partial(BoundedConnection, limits)


class BoundedConnection(HttpToolsProtocol):
    """A connection with limits on its time and on the size of the head."""

    def __init__(self, limits: ConnectionLimits, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits = limits
        # Whether a request has begun and is not complete, and where it is.
        self._is_arriving = False
        self._is_in_body = False
        self._body_ends_at = 0.0
        # Bytes since the last piece that was of any use: the end of a head, or some of a body.
        self._unused = 0
        self._is_refused = False
        self._is_web_socket = False
        self._arrival: asyncio.TimerHandle | None = None
        self._departure: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    # -- the request -----------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        was_arriving, was_in_body = self._is_arriving, self._is_in_body
        self._unused += len(data)
        super().data_received(data)
        if self._is_web_socket:
            return
        if not self._is_arriving:
            self._unused = 0
            if self._is_responding:
                self._stop_waiting()
            elif self._arrival is None:
                # Blank lines, which begin nothing.
                self._wait(self._limits.head_seconds)
        elif self._unused > self._limits.head_bytes:
            self._refuse("malformed", f"the head of a request may have at most {self._limits.head_bytes} bytes")
        elif self._is_in_body:
            if not (was_arriving and was_in_body):
                self._body_ends_at = self.loop.time() + self._limits.body_seconds
            self._wait(min(self._limits.body_pause, max(0.0, self._body_ends_at - self.loop.time())))
        elif not was_arriving or was_in_body:
            self._wait(self._limits.head_seconds)

    def on_message_begin(self) -> None:
        self._is_arriving, self._is_in_body = True, False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._unused, self._is_in_body = 0, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unused = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_arriving = False
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        # Another protocol has the connection from here on; a timer of this one would cut it.
        self._is_web_socket = True
        self._stop_waiting()
        self.resume_writing()
        super().handle_websocket_upgrade()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._arrival = self.loop.call_later(seconds, self._too_late)

    def _stop_waiting(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    @property
    def _is_responding(self) -> bool:
        # There is none before the first request, whatever its type says.
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _too_late(self) -> None:
        if self._is_refused:
            self.transport.abort()
        elif self.flow.read_paused:
            # It is the application that keeps the client waiting.
            self._wait(self._limits.body_pause)
        elif self._is_arriving:
            self._refuse("timeout", "the request did not arrive in time; send it again")
        else:
            self.transport.close()

    def _refuse(self, kind: str, detail: str) -> None:
        """Respond in place of the application, and close; if a response is under way, close after that."""
        if self._is_responding and not (self._is_in_body and not self.cycle.response_started):
            self.shutdown()
            return
        request_id = os.urandom(16).hex()
        response = problem(kind, detail, request_id)
        status = HTTPStatus(response.status_code)
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {response.media_type}\r\n"
            f"content-length: {len(response.body)}\r\nx-request-id: {request_id}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + bytes(response.body))
        self.transport.write_eof()
        # Closed at once, a connection is reset, and a client that is still sending does not get to see the response.
        self._is_refused = True
        self._wait(_DRAIN_SECONDS)
        _log.info("request refused", extra={"status": status.value, "request_id": request_id})

    def send_400_response(self, msg: str) -> None:
        self._refuse("malformed", "the request is not valid HTTP")

    # -- the response ----------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:
            # Requests that wait for their turn are answered before more of them are read.
            self.flow.pause_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        if self._departure is not None:
            self._departure.cancel()
            self._departure = None
        super().resume_writing()

    def _watch(self, unread: int) -> None:
        self._departure = self.loop.call_later(self._limits.write_seconds, self._check_progress, unread)

    def _check_progress(self, before: int) -> None:
        unread = self.transport.get_write_buffer_size()
        # As much as before is no progress; more is a response that goes on.
        if unread == before:
            self.transport.abort()
        else:
            self._watch(unread)
