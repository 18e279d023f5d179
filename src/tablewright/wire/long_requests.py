"""Requests that take long, done beside the others.

A request that the engine does not finish in its first slice waits in a queue; one slice is done in each iteration of
the event loop, for the requests in the queue in turn. A large body is verified, parsed and checked in a thread
first, since that needs neither the loop nor the engine. Meanwhile there is no garbage collection: it would go through
the millions of values that a body can have, which are not garbage, again and again, and nobody could do anything else.

    large body ──▶ thread: verify, parse, check ──▶ first slice ──▶ queue: slice, slice, ... ──▶ response
    small body ───────────────────────────────────▶ first slice ─┴─▶ response

``LongRequest`` is a request at one of these stages; ``LongRequests`` is what takes it to the next.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tablewright.engine import Commit

_log = logging.getLogger("tablewright.wire")

Reply = tuple[bytes, Commit | None]
"""A rendered response, and the commit that it has to wait for."""
Callback = Callable[[Reply], None]
Stage = Callable[[], "Reply | LongRequest"]

# From here on a body takes milliseconds to parse.
LARGE_BODY = 256 * 1024
# The bodies that wait for the thread, or are in it.
_MAX_WAITING_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class LongRequest:
    """A request that is not finished: what to do next, in a thread if it has a large body."""

    next_stage: Stage
    body_size: int = 0


class LongRequests:
    """The requests of one server that are not finished. All methods are called on its event loop."""

    def __init__(self) -> None:
        self._queue: deque[tuple[LongRequest, Callback, Callable[[], bool]]] = deque()
        self._waiting_bytes = 0
        self._executor: ThreadPoolExecutor | None = None

    def accepts(self, request: LongRequest) -> bool:
        """Whether there is room for another large body."""
        return self._waiting_bytes + request.body_size <= _MAX_WAITING_BYTES

    def add(self, request: LongRequest, callback: Callback, is_wanted: Callable[[], bool]) -> None:
        """Finish a request, and call back with the reply, unless nobody waits for it any more."""
        if not request.body_size:
            self._queue.append((request, callback, is_wanted))
            if len(self._queue) == 1:
                asyncio.get_running_loop().call_soon(self._do_slice)
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="tablewright-large-bodies")
        if not self._waiting_bytes:
            gc.disable()
        self._waiting_bytes += request.body_size
        loop = asyncio.get_running_loop()

        def prepared(future: Future[Reply | LongRequest]) -> None:
            loop.call_soon_threadsafe(self._prepared, future, request.body_size, callback, is_wanted)

        self._executor.submit(request.next_stage).add_done_callback(prepared)

    def _prepared(
        self, future: Future[Reply | LongRequest], size: int, callback: Callback, is_wanted: Callable[[], bool]
    ) -> None:
        self._waiting_bytes -= size
        if not self._waiting_bytes:
            gc.enable()
        self._go_on(future.result(), callback, is_wanted)

    def _do_slice(self) -> None:
        request, callback, is_wanted = self._queue.popleft()
        if self._queue:
            asyncio.get_running_loop().call_soon(self._do_slice)
        if is_wanted():
            self._go_on(request.next_stage(), callback, is_wanted)

    def _go_on(self, outcome: Reply | LongRequest, callback: Callback, is_wanted: Callable[[], bool]) -> None:
        if isinstance(outcome, LongRequest):
            self.add(outcome, callback, is_wanted)
        else:
            try:
                callback(outcome)
            except Exception:
                _log.exception("a response could not be sent")

    def close(self) -> None:
        """Stop the thread; what it has not begun is not done."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            gc.enable()
