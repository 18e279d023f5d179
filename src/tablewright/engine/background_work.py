"""Background work: expiry, index backfills, trimming of streams and histories, deletion of old idempotency tokens and
backups, counting the items of new ones, giving free pages back to the file system.

Each kind of work is a step: a function that does a few milliseconds of it inside a turn of the storage and returns the
seconds until there is more (0: now; None: not until something changes). One thread per engine runs the steps. It is
started when there is work for the first time, so an engine without background work has no thread; after each step it
sleeps for as long as the step took, so that callers are not held up.

    on_schedule ──▶ look: backfill · expiry · streams · ... ──▶ sleep until the earliest time that a step returned

Every look runs all steps, and there is one time for the next of them: a wake-up moves it forward, for any kind of work.
When a look begins, that time is cleared; later changes schedule a look of their own. So a caller that finds a look
scheduled for its time, or earlier, need not do anything. A step that fails waits longer after each attempt, and
``problems`` reports it until it works again.

``run_due`` does the same without the thread: it does everything that is due by the engine's clock, then returns.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tablewright.engine import discarded_tables, free_space
from tablewright.engine.backups import on_demand, point_in_time
from tablewright.engine.database import Database
from tablewright.engine.items.transactions import TOKEN_SECONDS
from tablewright.engine.streams import shards, unread_streams
from tablewright.engine.tables import index_backfill
from tablewright.engine.ttl import time_to_live

_TOKEN_INTERVAL = 60.0
_TOKENS_AT_ONCE = 500
_FIRST_BACK_OFF = 1.0
_MAX_BACK_OFF = 60.0
_NEVER = float("inf")

_log = logging.getLogger("tablewright.engine")

# A step returns the seconds until there is more to do, None when only a change can bring more.
Step = Callable[[Database], float | None]


class _Retry:
    """When a step that has failed may be tried again, and why it failed."""

    __slots__ = ("_failures", "at", "error")

    def __init__(self) -> None:
        self.succeed()

    def succeed(self) -> None:
        self._failures = 0
        self.at = 0.0
        self.error = ""

    def fail(self, error: Exception) -> None:
        pause = min(_FIRST_BACK_OFF * 2.0**self._failures, _MAX_BACK_OFF)
        self._failures = min(self._failures + 1, 10)
        self.at = time.monotonic() + pause
        self.error = repr(error)  # as text: the error itself would keep alive what the step was working on
        _log.error("background work failed; the next attempt is in %.0f s", pause, exc_info=error)


class BackgroundWork:
    """The background work of one engine."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._steps = _STEPS
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        # When the thread has to look next (monotonic time); never, while it looks.
        self._look_at = _NEVER
        self._retries: defaultdict[Step, _Retry] = defaultdict(_Retry)
        self._death = ""
        database.on_schedule = self.wake

    def start(self) -> None:
        """Continue work that an earlier process left unfinished."""
        with self._database.storage.turn():
            self.wake()

    def wake(self, seconds: float = 0.0) -> None:
        """Schedule work in so many seconds. Called inside a turn of the storage.

        Cheap if the thread will look by then anyway, so it can be called for every idempotency token.
        """
        moment = time.monotonic() + seconds
        if self._look_at <= moment or self._stopping.is_set():
            return
        with self._lock:
            if self._thread is None and not _is_needed(self._database):
                return
            self._look_at = min(self._look_at, moment)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tablewright-background", daemon=True)
                self._thread.start()
            self._woken.set()

    def stop(self) -> None:
        """End the thread, after its current step."""
        self._stopping.set()
        self._woken.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def run_due(self) -> None:
        """Do all work that is due, in this thread."""
        for step in self._steps:
            while self._take(step)[0] == 0.0:
                pass

    def problems(self) -> list[str]:
        """The problems at the moment, as messages."""
        if self._death:
            return [f"background work has stopped: {self._death}"]
        return [f"background work is failing: {retry.error}" for retry in list(self._retries.values()) if retry.error]

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._woken.clear()
                wait = self._look_at - time.monotonic()
                if wait > 0:
                    self._woken.wait(min(wait, threading.TIMEOUT_MAX))
                else:
                    self._look()
        except BaseException as error:
            self._death = repr(error)
            _log.critical("background work has stopped", exc_info=True)

    def _look(self) -> None:
        """Run every step that is not waiting to be retried, and set the time of the next look."""
        with self._lock:
            self._look_at = _NEVER
        next_look = _NEVER
        for step in self._steps:
            if self._stopping.is_set():
                return
            next_look = min(next_look, self._attempt(step, self._retries[step]))
        with self._lock:
            self._look_at = min(self._look_at, next_look)

    def _attempt(self, step: Step, retry: _Retry) -> float:
        """Run a step, unless it failed a moment ago; returns the time at which it has to run again."""
        if retry.at > time.monotonic():
            return retry.at
        try:
            pause, busy = self._take(step)
        except Exception as error:
            retry.fail(error)
            return retry.at
        retry.succeed()
        self._stopping.wait(busy)
        return _NEVER if pause is None else time.monotonic() + pause

    def _take(self, step: Step) -> tuple[float | None, float]:
        """Run a step and make its writes durable; returns the step's result, and how long others had to wait."""
        storage = self._database.storage
        with storage.turn():
            began = time.monotonic()
            pause = step(self._database)
            commit = storage.open_commit
        if commit is not None:
            storage.wait_durable(commit)
        return pause, time.monotonic() - began


def _is_needed(db: Database) -> bool:
    with db.storage.turn():
        if any(
            table.time_to_live is not None
            or table.recovery_days is not None
            or table.is_being_restored
            or _has_unfinished_index(table.description)
            for table in db.tables.values()
        ):
            return True
        found = db.storage.execute(
            "SELECT 1 FROM streams UNION ALL SELECT 1 FROM tokens "
            "UNION ALL SELECT 1 FROM backups WHERE expires IS NOT NULL LIMIT 1"
        ).fetchone()
        return found is not None or db.storage.lacks_room or discarded_tables.are_there(db) or free_space.are_there(db)


def _has_unfinished_index(description: dict[str, Any]) -> bool:
    return any(
        index.get("IndexStatus", "ACTIVE") != "ACTIVE" for index in description.get("GlobalSecondaryIndexes", ())
    )


def _backfill(db: Database) -> float | None:
    if db.storage.lacks_room:
        return free_space.LATER
    return 0.0 if index_backfill.step(db) else None


def _purge_tokens(db: Database) -> float | None:
    """Delete idempotency tokens that have expired."""
    execute = db.storage.execute
    forgotten = execute(
        "SELECT token FROM tokens WHERE at <= ? LIMIT ?", (db.clock() - TOKEN_SECONDS, _TOKENS_AT_ONCE)
    ).fetchall()
    if forgotten:
        db.storage.write()
        for token in forgotten:
            execute("DELETE FROM tokens WHERE token = ?", token)
    if len(forgotten) == _TOKENS_AT_ONCE:
        return 0.0
    return None if execute("SELECT 1 FROM tokens LIMIT 1").fetchone() is None else _TOKEN_INTERVAL


_STEPS: tuple[Step, ...] = (
    _backfill,
    time_to_live.sweep,
    shards.maintain,
    unread_streams.warn,
    point_in_time.trim,
    on_demand.forget_expired,
    on_demand.count_items,
    discarded_tables.step,
    free_space.step,
    _purge_tokens,
)
