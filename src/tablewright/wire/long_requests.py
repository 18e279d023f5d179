"""Requests that take long, interleaved with others.

A request that the engine does not finish in its first slice waits in a queue; one slice is done in each iteration of
the event loop, for the requests in the queue in turn. A large body is verified, parsed and checked in a thread first,
since that needs neither the loop nor the engine, and finally freed there, both in pieces (``large_documents``). The
same goes for the engine's work on a large item between two slices. Meanwhile garbage collection is off: it would
traverse the millions of values that a body can have, which are not garbage, again and again, and block everything else.

    large body ──▶ thread: verify, parse, check ─┐
    small body ────────────────────────────────┬─┴─▶ first slice ─┬─▶ queue: slice, slice, ... ──▶ response
                                               └─▶ line ──▶ ──────┴─▶ response

Many may arrive at once. So only a few of those that do not finish in their first slice get it at once, in each
iteration; the others queue for theirs, and a few of them get it in each iteration. A request that arrives when there is
no such crowd, or needs no slices, does not queue.

``LongRequest`` is a request at one of these stages; ``LongRequests`` moves it to the next.

Their memory is limited: a parsed body takes up to thirty times its size, and a page that has begun is up to 1 MB. So
only a few bodies are parsed at a time (those of large requests, and of small ones that have begun), only some requests
may begin, only a few of those get slices in turn, and the others wait unparsed. Bodies beyond the limit are refused.
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

# A body of this size takes milliseconds to parse.
LARGE_BODY = 256 * 1024
# The bodies of unfinished requests; and how much of them may be parsed at a time, unless it is only one.
MAX_WAITING_BYTES = 64 * 1024 * 1024
_MAX_PARSED_BYTES = 4 * 1024 * 1024
# A body of this size is parsed whatever others there are: each connection has one at a time.
_SMALL_BODY = 4 * 1024
# The requests that may have begun: each may have a page.
MAX_BEGUN = 96
BEGUN_BYTES = 1024 * 1024
# A parsed body takes at least this many times its size.
_PARSED_TIMES = 8
# The requests that slices are done for in turn.
MAX_IN_TURN = 32
_SLICES_IN_A_COMMIT = 4
# First slices in an iteration: of requests that arrive and have more to do, and of as many queued ones.
FIRST_SLICES = 4


@dataclass(slots=True)
class LongRequest:
    """An unfinished request: what to do next, in a thread if it has a large body."""

    next_stage: Stage
    body_size: int = 0
    has_begun: bool = False
    # The size of its body, if that is not large.
    small_size: int = 0
    # What is done in the thread before the next stage.
    beside: Callable[[], None] | None = None
    # What to do in the thread when the request is finished, with any result.
    free: Callable[[], None] | None = None


@dataclass(slots=True)
class _Job:
    """A request in progress; ``size`` is that of its large body, if it has one, until it is finished."""

    next_stage: Stage
    callback: Callback
    is_wanted: Callable[[], bool]
    size: int
    small_size: int
    free: Callable[[], None] | None
    # Whether garbage collection waits for it.
    holds: bool = False
    # Whether it is one of the small requests that have begun.
    has_begun: bool = False


class LongRequests:
    """The unfinished requests of a server. All methods are called on its event loop."""

    def __init__(self, flush: Callable[[], None] = lambda: None) -> None:
        """``flush`` is called when there may be writes that no request waits for yet, or any more: after some slices,
        since making a whole backup durable at once takes long, and when a client has left.
        """
        self._flush = flush
        self._slices = 0
        self._bodies: deque[_Job] = deque()
        self._line: deque[_Job] = deque()
        # In this iteration, of requests that arrived in it.
        self._first_slices = 0
        self._next_iteration = False
        self._turns: deque[_Job] = deque()
        self._later: deque[_Job] = deque()
        # Of bodies: of large ones and of those in the line; and of parsed ones, large and small.
        self._waiting_bytes = self._parsed_bytes = self._begun_bytes = 0
        self._begun = 0
        # The most memory that was used since ``forget_most``, about.
        self.most = 0
        # Those in the thread, and those that garbage collection waits for.
        self._beside = self._held = 0
        # Whether the program had garbage collection on before a body was parsed.
        self._collects_garbage = False
        self._executor: ThreadPoolExecutor | None = None

    def __len__(self) -> int:
        """The number of those that wait for the thread or for their turn."""
        return len(self._bodies) + len(self._line) + len(self._turns) + len(self._later) + self._beside

    def may_begin(self, size: int) -> bool:
        """Whether a request that may take long, with a small body of this size, can have its first slice now."""
        return self._first_slices < FIRST_SLICES and self._has_space(size)

    def _has_space(self, size: int) -> bool:
        is_small = size <= _SMALL_BODY or not self._begun_bytes or self._begun_bytes + size <= _MAX_PARSED_BYTES
        return is_small and self._begun < MAX_BEGUN

    def accepts(self, request: LongRequest) -> bool:
        """Whether there is space for another body that has to wait."""
        size = request.body_size + (0 if request.has_begun else request.small_size)
        return self._waiting_bytes + size <= MAX_WAITING_BYTES

    def forget_most(self) -> int:
        """About how much memory they had since the last call; 0 while there are any."""
        if self._begun or self._parsed_bytes:
            return 0
        most, self.most = self.most, 0
        return most

    def add(self, request: LongRequest, callback: Callback, is_wanted: Callable[[], bool]) -> None:
        """Finish a request, and call back with the reply, unless its client is gone."""
        job = _Job(request.next_stage, callback, is_wanted, request.body_size, request.small_size, request.free)
        if job.size:
            self._waiting_bytes += job.size
            self._bodies.append(job)
            self._parse_more()
            return
        if request.has_begun:
            self._first_slices += 1
            self._begin(job)
            self._go_on(job, request)
        else:
            self._waiting_bytes += job.small_size
            self._line.append(job)
        self._look_again()

    def _begin(self, job: _Job) -> None:
        job.has_begun = True
        self._begun += 1
        self._begun_bytes += job.small_size
        self._note_most()

    def _note_most(self) -> None:
        parsed = (self._begun_bytes + self._parsed_bytes) * _PARSED_TIMES
        self.most = max(self.most, self._begun * BEGUN_BYTES + parsed)

    def _look_again(self) -> None:
        """In the next iteration: others may begin, and some of the queued ones do."""
        if not self._next_iteration:
            self._next_iteration = True
            asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        self._next_iteration = False
        self._first_slices = 0
        begun = 0
        for _ in range(len(self._line)):
            job = self._line.popleft()
            if begun == FIRST_SLICES or not self._has_space(job.small_size):
                self._line.append(job)
                continue
            begun += 1
            self._waiting_bytes -= job.small_size
            self._begin(job)
            self._do_stage(job)
        if self._line:
            self._look_again()

    def _parse_more(self) -> None:
        """Passes bodies to the thread, as long as there is memory for their parsed values."""
        loop = asyncio.get_running_loop()
        while self._bodies:
            job = self._bodies[0]
            if self._parsed_bytes and self._parsed_bytes + job.size > _MAX_PARSED_BYTES:
                return
            self._bodies.popleft()
            self._parsed_bytes += job.size
            self._note_most()
            self._hold(job)

            def parsed(future: Future[Reply | LongRequest], job: _Job = job) -> None:
                loop.call_soon_threadsafe(self._parsed, future, job)

            self._thread().submit(job.next_stage if job.is_wanted() else _abandoned).add_done_callback(parsed)

    def _thread(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="tablewright-large-requests")
        return self._executor

    def _hold(self, job: _Job) -> None:
        """Garbage collection is off until the request is finished."""
        job.holds = True
        if not self._held:
            self._collects_garbage = gc.isenabled()
            gc.disable()
        self._held += 1

    def _go_on(self, job: _Job, request: LongRequest) -> bool:
        """Queue a request for its next slice, or for the thread; returns whether it takes turns."""
        job.next_stage = request.next_stage
        if request.beside is None:
            self._take_turns(job)
            return True
        loop = asyncio.get_running_loop()
        if not job.holds:
            self._hold(job)
        self._beside += 1

        def done(_: Future[None]) -> None:
            loop.call_soon_threadsafe(self._come_back, job)

        self._thread().submit(request.beside).add_done_callback(done)
        return False

    def _come_back(self, job: _Job) -> None:
        self._beside -= 1
        self._take_turns(job)

    def _take_turns(self, job: _Job) -> None:
        if len(self._turns) >= MAX_IN_TURN:
            self._later.append(job)
            return
        self._turns.append(job)
        if len(self._turns) == 1:
            asyncio.get_running_loop().call_soon(self._do_slice)

    def _do_slice(self) -> None:
        job = self._turns.popleft()
        if self._turns:
            asyncio.get_running_loop().call_soon(self._do_slice)
        if not self._do_stage(job) and self._later:
            self._take_turns(self._later.popleft())

    def _do_stage(self, job: _Job) -> bool:
        """Do the next step of a request; returns whether it takes turns with others."""
        outcome = job.next_stage() if job.is_wanted() else _ABANDONED
        if isinstance(outcome, LongRequest):
            self._slices += 1
            if self._slices % _SLICES_IN_A_COMMIT == 0:
                self._flush()
            return self._go_on(job, outcome)
        self._finish(job, outcome)
        return False

    def _parsed(self, future: Future[Reply | LongRequest], job: _Job) -> None:
        outcome = future.result()
        if isinstance(outcome, LongRequest):
            self._go_on(job, outcome)
        else:
            self._finish(job, outcome)

    def _finish(self, job: _Job, reply: Reply) -> None:
        if job.has_begun:
            self._begun -= 1
            self._begun_bytes -= job.small_size
        if job.size:
            self._free(job)
        elif job.holds:
            self._freed()
        if reply is _ABANDONED:
            self._flush()
            return
        try:
            job.callback(reply)
        except Exception:
            _log.exception("a response could not be sent")

    def _free(self, job: _Job) -> None:
        """Free the body in the thread, before another is parsed there."""
        loop = asyncio.get_running_loop()
        self._waiting_bytes -= job.size
        self._parsed_bytes -= job.size

        def freed(_: Future[None]) -> None:
            loop.call_soon_threadsafe(self._freed)

        if self._executor is not None and job.free is not None:
            self._executor.submit(job.free).add_done_callback(freed)
        else:
            self._freed()
        self._parse_more()

    def _freed(self) -> None:
        self._held -= 1
        if not self._held and self._collects_garbage:
            gc.enable()

    def close(self) -> None:
        """Stop the thread; work that it has not begun is dropped."""
        self._bodies.clear()
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            if self._held and self._collects_garbage:
                gc.enable()


_ABANDONED: Reply = (b"", None)


def _abandoned() -> Reply:
    return _ABANDONED
