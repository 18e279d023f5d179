"""Consumers of a process: a thread for each, restarted after any failure.

A consumer that waits for something (a mail server that is down) reports for what. One that fails (records lost, a bug)
is restarted after a pause, and is reported as failing until a pass succeeds. Dead letters can be listed and replayed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial

from tablewright.model import Table
from tablewright.runtime.errors import StateConflict
from tablewright.runtime.internal_tables import internal_table
from tablewright.runtime.metrics import Metrics
from tablewright.store import (
    AnyChange,
    ChangeFilter,
    Consumer,
    DeadLetter,
    Effects,
    Handler,
    PassResult,
    RecordsLost,
    Store,
    Unavailable,
)

__all__ = ["ConsumerSpec", "ConsumerThreads"]

_RESTART_AFTER = 2.0
_STOP_WITHIN = 20.0
# How long a shard stays with a process that was killed. A batch may take longer, as long as no other worker comes.
_LEASE = timedelta(seconds=20)
# A consumer that is this far behind, in seconds, is logged so often.
LATE = 60.0
_REPORT_EVERY = 60.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """A consumer that a system needs: what it reads, its handler, and its options.

    Its checkpoint is stored under its name, which must therefore stay the same.
    """

    name: str
    table: Table
    handler: Handler
    batch_size: int = 100
    window: timedelta = timedelta(0)
    bisect: bool = True
    retries: int = 3
    # The consumer of the design whose policy it needs; by default what its name ends with, as in support.metrics.
    role: str = ""
    # Which changes the handler is given; None: all of them.
    change_filter: ChangeFilter | None = None
    # The most changes that the handler is given in one call; None: all of a batch.
    max_changes: int | None = None
    # Called after the stream has lost records that were not read yet.
    on_lost: Callable[[], None] | None = None

    @property
    def role_name(self) -> str:
        return self.role or self.name.rpartition(".")[2]

    def consumer(self, store: Store, handler: Handler, lease: timedelta) -> Consumer:
        """A consumer on a store, which calls a handler."""
        return Consumer(
            store,
            self.table,
            handler,
            name=self.name,
            checkpoints=internal_table,
            batch_size=self.batch_size,
            window=self.window,
            bisect=self.bisect,
            retries=self.retries,
            lease=lease,
            change_filter=self.change_filter,
            max_changes=self.max_changes,
        )


class ConsumerThreads:
    """All consumers of a process, each in a thread of its own."""

    def __init__(self, store: Store, specs: Sequence[ConsumerSpec], metrics: Metrics) -> None:
        self._stop = threading.Event()
        self._running = {each.name: _Running(store, each, metrics, self._stop) for each in specs}
        self._watch = threading.Thread(target=self._report_late, name="late consumers", daemon=True)

    def start(self, *, alone: bool = False) -> None:
        """Start all threads; ``alone``: there is no other process, so its leases are taken over at once."""
        for running in self._running.values():
            consumer = running.consumer
            if alone:
                consumer.take_over()
            running.thread.start()
        if self._running:
            self._watch.start()

    def stop(self) -> None:
        """Let every consumer finish its batch and release its leases."""
        self._stop.set()
        end = time.monotonic() + _STOP_WITHIN
        for name, running in self._running.items():
            if running.thread.ident is None:
                continue
            running.thread.join(max(0.0, end - time.monotonic()))
            if running.thread.is_alive():
                _log.warning("consumer did not stop in time", extra={"consumer": name})

    def failures(self) -> dict[str, str]:
        """The consumers that are failing, and the type of each one's error."""
        return {name: running.failure for name, running in self._running.items() if running.failure is not None}

    def waiting(self) -> dict[str, str]:
        """The consumers that are waiting, and what each waits for."""
        return {name: running.waiting for name, running in self._running.items() if running.waiting is not None}

    def behind(self) -> dict[str, float]:
        """For each consumer, the seconds since it had handled all changes of its shards; 0 for up to one."""
        now = time.monotonic()
        ages = {name: now - running.caught_up for name, running in self._running.items()}
        # The stream is asked several times a second.
        return {name: 0.0 if age <= 1.0 else round(age, 1) for name, age in ages.items()}

    def _report_late(self) -> None:
        """Log who is late, from a thread of its own: a handler may be what takes so long."""
        while not self._stop.wait(_REPORT_EVERY):
            for name, seconds in self.behind().items():
                if seconds > LATE:
                    _log.warning("consumer is late", extra={"consumer": name, "behind_seconds": seconds})

    def elsewhere(self) -> dict[str, int]:
        """For each consumer, the number of shards that other processes read."""
        return {name: running.elsewhere for name, running in self._running.items()}

    @property
    def names(self) -> list[str]:
        return list(self._running)

    def consumer(self, name: str) -> Consumer:
        """A consumer by name; KeyError if there is none."""
        return self._running[name].consumer

    def replay(self, dead_letter: DeadLetter) -> None:
        """Have its consumer retry a dead letter, and delete it; StateConflict if it fails again."""
        try:
            self.consumer(dead_letter.consumer).replay(dead_letter)
        except Exception as error:
            raise StateConflict(f"the dead letter failed again: {type(error).__name__}") from error


class _Running:
    """One consumer and its thread."""

    def __init__(self, store: Store, spec: ConsumerSpec, metrics: Metrics, stop: threading.Event) -> None:
        self.failure: str | None = None
        self.waiting: str | None = None
        self.name = spec.name
        # When the consumer had last handled all that there was.
        self.caught_up = time.monotonic()
        # Shards that other processes have.
        self.elsewhere = 0
        self._handler = spec.handler
        self._on_lost = spec.on_lost
        self._metrics = metrics
        self._stop = stop
        self._make_consumer = partial(spec.consumer, store, self._handle, _LEASE)
        self.thread = threading.Thread(target=self._work, name=spec.name, daemon=True)

    @cached_property
    def consumer(self) -> Consumer:
        """Made where it is used: not in a function that answers requests."""
        return self._make_consumer()

    def _handle(self, changes: Sequence[AnyChange], effects: Effects) -> None:
        if threading.current_thread() is not self.thread:
            # The replay of a dead letter; its caller gets the errors.
            self._handler(changes, effects)
            return
        if self._stop.is_set():
            # However many records are left; the next start goes on with them.
            raise Unavailable("the process is stopping")
        try:
            self._handler(changes, effects)
        except Unavailable as error:
            if self.waiting is None:
                _log.warning("consumer is waiting", exc_info=error, extra={"consumer": self.name})
            self.waiting = str(error)
            raise
        self.waiting = None

    def _work(self) -> None:
        self._metrics.consumers.inc()
        try:
            while not self._stop.is_set():
                try:
                    self.consumer.run(self._stop, on_pass=self._count)
                except Exception as error:
                    self._failed(error)
                    if isinstance(error, RecordsLost):
                        # Logged as an error above; what is left is handled rather than nothing.
                        self._skip_lost()
                    self._stop.wait(_RESTART_AFTER)
        finally:
            self._metrics.consumers.dec()

    def _skip_lost(self) -> None:
        try:
            self.consumer.skip_lost()
            if self._on_lost is not None:
                self._on_lost()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self.failure = type(error).__name__
        self._metrics.consumer_failures.labels(self.name).inc()
        _log.error("consumer failed", exc_info=error, extra={"consumer": self.name})

    def _count(self, done: PassResult) -> None:
        self.failure = None
        self.caught_up = time.monotonic()
        self.elsewhere = done.busy
        if done.records:
            self._metrics.records.labels(self.name).inc(done.records)
        if done.dead_letters:
            self._metrics.dead_letters.labels(self.name).inc(done.dead_letters)
            _log.error("records became dead letters", extra={"consumer": self.name, "dead_letters": done.dead_letters})
