"""The server: starts, commits once per iteration of the event loop, stops.

The engine is called on the event loop itself: a call takes tens of microseconds, less than passing it to a thread.
Writes become durable together: every request that arrived in the same iteration has been executed when the flush that
the first of them scheduled runs, and one fsync covers them all. Longer operations are interleaved with others
(``long_requests``). If the disk takes long to sync, a thread flushes.

    run_server      serve until SIGTERM or SIGINT (the command line)
    serve_in_thread a server in a background thread, for tests and embedding programs
    Server          the same on an existing event loop

Stopping loses nothing: the server stops listening, closes idle connections, completes requests in progress,
and flushes. The caller that opened the engine closes it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from ipaddress import ip_address

from tablewright.engine import Commit
from tablewright.event_loops import new_event_loop, server_process_loop
from tablewright.listening import url_of
from tablewright.wire.arrivals import Arrivals
from tablewright.wire.browser_access import BrowserAccess
from tablewright.wire.endpoint import Endpoint, EngineLike
from tablewright.wire.engine_connection import DurableCallback, EngineConnection, MeasuredConnection
from tablewright.wire.http.connection import Connection
from tablewright.wire.http.connection_limits import Limits
from tablewright.wire.http.connection_registry import ConnectionRegistry
from tablewright.wire.http.listener import Listener
from tablewright.wire.http.memory_budget import resident_bytes
from tablewright.wire.http.messages import Request
from tablewright.wire.long_requests import LongRequests
from tablewright.wire.metrics_server import MetricsAddressError, MetricsServer
from tablewright.wire.regional_engines import RegionalEngines
from tablewright.wire.request_metrics import RequestMetrics, Sample, family

# Seconds until the next check whether the disk has finished.
_WHILE_FLUSHING = 0.001
# Memory of long requests.
_WORTH_RELEASING = 16 * 1024 * 1024
# Descriptors for files that are opened later, and for connections that get a 503.
_RESERVED_DESCRIPTORS = 32

_log = logging.getLogger("tablewright.wire")


class EngineFailedError(Exception):
    """The engine cannot answer anything any more, because its disk failed; the message says how."""


class Server(ConnectionRegistry):
    """Serves ``engine`` on the running event loop, between ``start`` and ``stop``."""

    def __init__(
        self,
        engine: EngineLike | RegionalEngines,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        authenticate: Callable[[Request], None] | None = None,
        cors: Iterable[str] = (),
        metrics: tuple[str, int] | None = None,
        limits: Limits | None = None,
    ) -> None:
        """``metrics`` is the address and port to serve metrics on."""
        super().__init__(limits or Limits())
        self.metrics = None if metrics is None else RequestMetrics()
        self.metrics_server = None
        if metrics is not None and self.metrics is not None:
            engine.meter(self.metrics.metered)
            self.metrics_server = MetricsServer(*metrics, self.metrics_text, engine.problems)
        self._engine = engine
        self._browser_access = BrowserAccess(cors)
        self.long_requests = LongRequests(self._flush_later)
        endpoint = Endpoint(engine, authenticate, self._browser_access, self.long_requests.may_begin)
        self.respond = endpoint.respond
        arrivals = Arrivals(endpoint, self._connections, self.unsent, lambda callback: self._loop.call_soon(callback))
        self.arrive, self.answer_arrivals = arrivals.add, arrivals.answer_all
        self.failure_response = endpoint.failure_response
        self.host = host
        self.port = port
        self._flush_engine = engine.flush
        self.when_failed = engine.when_failed
        self._all_left = asyncio.Event()
        self._flush_scheduled = False
        # A thread is flushing, since the disk is slow; requests are processed meanwhile.
        self._flushing = False
        self._arrivals = self._arrivals_seen = 0
        self._open_commit: Commit | None = None
        self._waiting: list[DurableCallback] = []

    @property
    def url(self) -> str:
        return url_of(self.host, self.port)

    async def start(self) -> None:
        """Listens; raises OSError if it cannot use an address (``MetricsAddressError`` for that of the metrics).

        Port 0 is replaced by the port that was chosen.
        """
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        connection: Callable[[], EngineConnection] = partial(EngineConnection, self)
        if self.metrics is not None:
            connection = partial(MeasuredConnection, self, self.metrics)
        if self.metrics_server is not None:
            try:
                await self.metrics_server.start()
            except OSError as error:
                raise MetricsAddressError(error.errno, error.strerror) from None
        self._listener = Listener(connection)
        try:
            addresses = await self._listener.listen(self.host, self.port)
        except BaseException:
            if self.metrics_server is not None:
                self.metrics_server.stop()
            raise
        self.limits = replace(self.limits, connections=_connections_at_most(self.limits.connections))
        self.port = self._listener.port
        if all(ip_address(address).is_loopback for address in addresses):
            self._browser_access.on_loopback(self.host)

    async def stop(self, seconds: float | None = None) -> None:
        """Stops listening, lets requests in progress finish (for ``seconds`` at most), flushes."""
        self.stopping = True
        self._listener.close()
        for connection in list(self._connections):
            connection.stop()
        if self._connections:
            try:
                await asyncio.wait_for(self._all_left.wait(), self.limits.stop_seconds if seconds is None else seconds)
            except TimeoutError:
                self.abort_all()
        self._flush()
        self.long_requests.close()
        if self._timer is not None:
            self._timer.cancel()
        for connection in list(self._rejected):
            connection.abort()
        if self.metrics_server is not None:
            self.metrics_server.stop()
        await asyncio.sleep(0)  # for the transports to notice that they were closed

    def metrics_text(self) -> str:
        """The metrics in Prometheus' text format."""
        figures = self._engine.storage_figures()
        gauges: list[tuple[str, str, float]] = [
            ("tablewright_healthy", "1, or 0 while there is a problem", not self._engine.problems()),
            ("tablewright_connections", "Open connections", len(self._connections)),
            ("tablewright_responses_waiting", "Responses that are waiting for a commit", len(self._waiting)),
            ("tablewright_long_requests", "Requests that are waiting for their next slice", len(self.long_requests)),
            ("tablewright_received_bytes", "Requests that are unfinished or waiting", self.received.used),
            ("tablewright_unsent_bytes", "Responses that are waiting or not read", self.unsent.used),
            ("tablewright_database_bytes", "The size of the database", figures.database_bytes),
            ("tablewright_log_bytes", "The size of its log", figures.log_bytes),
            ("process_resident_memory_bytes", "Resident memory of the process", resident_bytes()),
        ]
        checkpoints: list[Sample] = [("", {}, figures.checkpoints)]
        return "".join(
            [
                *([] if self.metrics is None else self.metrics.families()),
                *(family(name, "gauge", text, [("", {}, value)]) for name, text, value in gauges),
                family("tablewright_checkpoints_total", "counter", "Checkpoints of the log", checkpoints),
            ]
        )

    # -- for connections ---------------------------------------------------------------------------------

    def _will_free_much(self) -> bool:
        return self.long_requests.most > _WORTH_RELEASING

    def _has_freed_much(self) -> bool:
        of_long_requests = self.long_requests.forget_most() > _WORTH_RELEASING
        return super()._has_freed_much() or of_long_requests

    def connection_closed(self, connection: Connection) -> None:
        super().connection_closed(connection)
        if not self._connections and self.stopping:
            self._all_left.set()

    def when_durable(self, commit: Commit, callback: DurableCallback) -> None:
        """Calls back on the event loop when ``commit`` is on disk, with the error if it failed."""
        if commit is self._open_commit:
            self._waiting.append(callback)
        else:
            self._open_commit = commit
            self._waiting = [callback]
            commit.when_durable(partial(self._committed, commit, self._waiting))
        self._arrivals += 1
        self._flush_later()

    def _flush_later(self) -> None:
        """Flushes after this iteration; also writes of a request that no client waits for any more."""
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush_soon)

    def _flush_soon(self) -> None:
        """Flushes once no more requests arrive: a commit costs about the same however many share it.

        As long as each iteration of the loop brings another request, and there is a client that is not waiting yet,
        another iteration is worth it; it is short.
        """
        # Those that have arrived and are not executed yet can share it as well.
        self.answer_arrivals()
        if self._arrivals != self._arrivals_seen and len(self._waiting) < len(self._connections):
            self._arrivals_seen = self._arrivals
            self._loop.call_soon(self._flush_soon)
        elif self._flushing:
            # Another commit has to wait until the disk has finished the one before it.
            self._loop.call_later(_WHILE_FLUSHING, self._flush_soon)
        else:
            self._flush_scheduled = False
            if self._engine.flush_takes_long:
                self._flushing = True
                self._loop.run_in_executor(None, self._flush).add_done_callback(self._flushed)
            else:
                self._flush()

    def _flushed(self, _: object) -> None:
        self._flushing = False

    def _flush(self) -> None:
        try:
            self._flush_engine()
        except Exception:
            # Those who wait for this commit get the error through their callbacks.
            _log.exception("a commit failed")

    def _committed(self, commit: Commit, waiting: list[DurableCallback], error: BaseException | None) -> None:
        if threading.get_ident() != self._thread_id:
            # Another thread of this process uses the engine as well, and its flush included ours.
            self._loop.call_soon_threadsafe(self._committed, commit, waiting, error)
            return
        if commit is self._open_commit:
            self._open_commit = None
        for callback in waiting:
            try:
                callback(error)
            except Exception:
                _log.exception("a response could not be sent")
        waiting.clear()  # they hold on to responses


def _connections_at_most(wanted: int) -> int:
    """As many connections as the process has descriptors for: those beyond them could not even be refused."""
    try:
        import resource
    except ImportError:  # not on Windows
        return wanted
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    try:
        used = len(os.listdir("/dev/fd"))
    except OSError:  # in a sandbox
        used = 0
    return max(1, min(wanted, soft - used - _RESERVED_DESCRIPTORS))


def run_server(server_for: Callable[[], Server], started: Callable[[Server], None]) -> None:
    """Serves until SIGTERM or SIGINT; a second signal does not wait for requests in progress.

    ``started`` is called when the server listens. Raises OSError if it cannot, and EngineFailedError if the disk fails
    so that nothing can be answered any more.
    """
    failures: list[str] = []

    async def serve() -> None:
        server = server_for()
        await server.start()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def on_signal() -> None:
            if stop.is_set():
                server.abort_all()
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, on_signal)

        def on_failure(reason: str) -> None:
            failures.append(reason)
            loop.call_soon_threadsafe(stop.set)

        server.when_failed(on_failure)
        # Existing objects stay: traversing them again and again would block everything for 20 ms each time.
        gc.collect()
        gc.freeze()
        started(server)
        await stop.wait()
        await server.stop()

    with server_process_loop() as runner:
        runner.run(serve())
    if failures:
        raise EngineFailedError(failures[0])


@contextmanager
def serve_in_thread(
    engine: EngineLike | RegionalEngines,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    authenticate: Callable[[Request], None] | None = None,
    cors: Iterable[str] = (),
    limits: Limits | None = None,
) -> Iterator[str]:
    """A server in a background thread; yields its URL. The engine stays open afterwards."""
    listening = threading.Event()
    failure: list[BaseException] = []
    handles: list[tuple[Server, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        server = Server(engine, host=host, port=port, authenticate=authenticate, cors=cors, limits=limits)
        stop = asyncio.Event()
        await server.start()
        handles.append((server, asyncio.get_running_loop(), stop))
        listening.set()
        await stop.wait()
        await server.stop()

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(serve())
        except BaseException as error:
            failure.append(error)
        finally:
            listening.set()

    thread = threading.Thread(target=work, name="tablewright-server", daemon=True)
    thread.start()
    listening.wait()
    if failure:
        raise failure[0]
    server, loop, stop = handles[0]
    try:
        yield server.url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failure:
        raise failure[0]
