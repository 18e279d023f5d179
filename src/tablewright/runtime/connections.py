"""Connections in bounds: uvicorn's own bound neither the heads of requests, nor the wait for them or for a reader.

    size    what comes beside bodies (request lines, headers, trailers, the framing of chunks)
    time    from the opening of a connection, or the first byte of a request, until its headers are complete
    queue   requests that are sent before those in front of them are answered
    answer  how long a client may take nothing of an answer that waits for it

Bodies are bounded by ``http``, and idle connections by uvicorn's ``timeout_keep_alive``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tablewright.runtime.http import BODY_IS_HERE

_MOST_BESIDE_BODY = 256 * 1024
_HEAD_WITHIN = 20.0
_MOST_WAITING = 100
# The kernel shows that something was taken after a megabyte or so: enough for a client with 100 kbit/s.
_TAKES_SOME_WITHIN = 120.0


class BoundedConnection(HttpToolsProtocol):
    """A connection that is closed when a request's head is too long in either sense, or its answer is not taken."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._beside_body = 0
        self._waiting: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        if self._sending is not None:
            self._sending.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._beside_body += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._beside_body > _MOST_BESIDE_BODY:
            self.send_400_response("The head of the request is too long.")
        elif self._waiting is None and not self._is_answering():
            self._wait()

    def on_headers_complete(self) -> None:
        self._wait_no_more()
        if len(self.pipeline) >= _MOST_WAITING:
            # Ends the parsing: answered with 400, and closed.
            raise ValueError("too many requests at once")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._beside_body = 0
        self.scope["state"][BODY_IS_HERE] = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline and not self.transport.is_closing():
            # uvicorn reads on after each answer, however many requests are waiting.
            self.flow.pause_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._sending is not None and not self.transport.is_closing():
            self._sending.cancel()
            self._sending = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        # A connection is closed when all has been sent, which may be never.
        self._watch()

    def _watch(self) -> None:
        if self._sending is None:
            left = self.transport.get_write_buffer_size()
            self._sending = self.loop.call_later(_TAKES_SOME_WITHIN, self._look, left)

    def _look(self, before: int) -> None:
        """Go on as long as something is taken."""
        self._sending = None
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            self.transport.abort()
        elif left:
            self._watch()

    def _is_answering(self) -> bool:
        # There is none before the first request, whatever its type says.
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_HEAD_WITHIN, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
