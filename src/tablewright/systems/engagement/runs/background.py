"""Background work: runs in threads of their own, and the schedule.

    schedule   every few seconds: starts what is due, and resumes runs whose process has died

A schedule that was missed, because no process was running, is caught up once, however often it was missed. The
next time is computed from now, in the program's time zone. It is stored in the transaction that starts the run, so a
run is started exactly once, even by several processes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from tablewright.model import attr
from tablewright.runtime import Invalid, ResourceNotFound, StateConflict, TooManyRequests
from tablewright.store import (
    Cancelled,
    ConditionFailed,
    Conflict,
    NotFound,
    Store,
    StoreError,
    TolerantReader,
    Unreadable,
    Update,
)
from tablewright.systems.engagement.delivery.deliveries import Deliveries
from tablewright.systems.engagement.model import Program, Run, Schedule, ScheduleKind, Slot
from tablewright.systems.engagement.runs.batch_run import Runs
from tablewright.systems.engagement.runs.cron_schedule import next_due
from tablewright.systems.engagement.runs.run_records import Held

MAX_CONCURRENT_RUNS = 4
_POLL = 2.0
_LOOK_EVERY = 0.1
_STOP_WITHIN = 20.0
_MAX_DUE = 50

_log = logging.getLogger(__name__)


class Runner:
    """Runs in threads, and the thread of the schedule (``start``, ``stop``)."""

    def __init__(
        self,
        store: Store,
        runs: Runs,
        deliveries: Deliveries,
        clock: Callable[[], datetime],
        *,
        alone: bool = False,
        has_background: bool = True,
    ) -> None:
        """``alone`` says that no other process uses this data: an unfinished run has no owner.

        Without ``has_background`` no work continues after a response, as in a function: a run that a request starts is
        executed by the next turn of the schedule.
        """
        self._can_run = has_background
        self.name = "engagement.schedule"
        # Runs write the same items as requests.
        self.role = "api"
        self.every = timedelta(seconds=_POLL)
        self._alone = alone
        self._store = store
        self._runs = runs
        self._deliveries = deliveries
        self._clock = clock
        self.unreadable_log = runs.unreadable_log
        self._reader = TolerantReader(store, self.unreadable_log.add)
        self._leaving = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._schedule = threading.Thread(target=self._watch, name="engagement.schedule", daemon=True)

    # -- threads ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._alone:
            self._runs.free_slots()
        self._schedule.start()

    def stop(self) -> None:
        """Let every run finish its transaction; it is resumed after the next start."""
        self._leaving.set()
        end = time.monotonic() + _STOP_WITHIN
        with self._lock:
            threads = [*self._threads, self._schedule]
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
                if thread.is_alive():
                    _log.warning("a thread did not stop in time", extra={"system": "engagement"})

    def require_room(self) -> None:
        """Raise TooManyRequests if this process executes its maximum number of runs."""
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) >= MAX_CONCURRENT_RUNS:
                raise TooManyRequests(
                    f"{MAX_CONCURRENT_RUNS} runs are in progress here; try again when one of them has ended", 10
                )

    def launch(self, held: Held) -> Run:
        """Execute a run in a thread, or leave it to the next turn."""
        if not self._can_run:
            self._runs.renewed(held, timedelta(0))
            return held.run
        self._begin(lambda: self._runs.execute(held, leaving=self._leaving), f"engagement.run.{held.run.run_id}")
        return held.run

    def _begin(self, work: Callable[[], object], name: str) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                _log.error("background work failed", exc_info=error, extra={"system": "engagement"})

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """Start what is due and wait for it; a run that does not finish in time is resumed by a later turn."""
        self._leaving.clear()
        could_run, self._can_run = self._can_run, True
        try:
            self.tick()
            while any(thread.is_alive() for thread in self._running()) and not is_stopped():
                self._leaving.wait(_LOOK_EVERY)
        finally:
            self._can_run = could_run
            self._leaving.set()
            for thread in self._running():
                thread.join(_STOP_WITHIN)

    def _running(self) -> list[threading.Thread]:
        with self._lock:
            return list(self._threads)

    # -- the schedule -------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._leaving.wait(_POLL):
            try:
                self.tick()
            except StoreError as error:
                _log.warning("the schedule could not be read", exc_info=error, extra={"system": "engagement"})
            except Exception as error:
                _log.error("the schedule failed", exc_info=error, extra={"system": "engagement"})

    def tick(self) -> None:
        """Start what is due, and resume what was interrupted."""
        now = self._clock()
        for slot in self._reader.page(Slot.held_until(until=now), limit=_MAX_DUE).items:
            try:
                self.require_room()
                self.launch(self._runs.take_over(slot))
            except Unreadable as error:
                self.unreadable_log.add(error)
            except (StateConflict, ResourceNotFound, TooManyRequests):
                continue
            except StoreError:
                raise
            except Exception as error:
                _log.error("a run could not be resumed", exc_info=error, extra={"system": "engagement"})
        for schedule in self._reader.page(Schedule.due_until(until=now), limit=_MAX_DUE).items:
            try:
                self._due(schedule, now)
            except TooManyRequests:
                break
            except (StateConflict, ConditionFailed, NotFound, Conflict, Cancelled):
                # Another process was faster, or the program has just changed.
                continue
            except StoreError:
                raise
            except Exception as error:
                _log.error("a scheduled run or delivery failed", exc_info=error, extra={"system": "engagement"})

    def _due(self, schedule: Schedule, now: datetime) -> None:
        unchanged = attr(Schedule.due) == schedule.due
        following = attr(Schedule.due).set(next_due(schedule.cron, schedule.time_zone, now))
        program = self._reader.one(Program.by_id(schedule.program_id, schedule.marketplace_id), consistent=True)
        # A program that cannot be read does nothing until it is put again; that was logged.
        if not isinstance(program, Program) or not program.is_active:
            self._store.update(schedule, following, expect=unchanged)
            return
        if schedule.kind is ScheduleKind.DELIVERY:
            self.require_room()
            self._store.update(schedule, following, expect=unchanged)
            self._begin(lambda: self._deliver(program), "engagement.deliveries")
            return
        self.require_room()
        try:
            held = self._runs.begin(program, "schedule", Update(schedule, following, expect=unchanged))
        except StateConflict:
            # A run is still in progress: this one is skipped.
            self._store.update(schedule, following, expect=unchanged)
            return
        self.launch(held)

    def _deliver(self, program: Program) -> None:
        try:
            summary = self._deliveries.deliver(program, until=self._leaving)
        except (StateConflict, Invalid) as problem:
            # It was disabled meanwhile, or cannot work as it is stored.
            _log.warning("a program could not deliver", exc_info=problem, extra={"system": "engagement"})
            return
        _log.info("candidates were delivered", extra={"system": "engagement", "count": summary.sent})
        if summary.unreadable:
            _log.warning("items could not be read", extra={"system": "engagement", "count": summary.unreadable})
        if summary.held_up:
            _log.warning("channels were paused", extra={"system": "engagement", "count": len(summary.held_up)})
