"""``PeriodicThread``: background work in turns, in a thread of its own.

    class Reminders(PeriodicThread):
        def turn(self, is_stopped): ...          what is due

    start ── wait ── turn ── wait ── turn ── … ── stop        the wait ends early by ``wake``, and by ``stop``

A turn that fails is logged and followed by another, after ``retry`` seconds if that is sooner than the next one would
be. ``has_ended`` says that the thread has ended without being stopped, so no turn will follow; readiness shows it.
Waits are shorter than ``every`` by a small random amount, so that processes that were started together do not keep
querying the database at the same moment.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from random import uniform

from tablewright.store import Unavailable

__all__ = ["PeriodicThread"]

_STOP_WITHIN = 20.0
# The part of a wait that differs from one to the next.
_JITTER = 0.1

_log = logging.getLogger(__name__)


class PeriodicThread(ABC):
    """A ``runtime.system.Periodic``: subclasses define what a turn does."""

    def __init__(
        self, name: str, *, role: str, every: float, first: float | None = None, retry: float | None = None
    ) -> None:
        """All in seconds: ``first`` until the first turn, if that differs, ``retry`` after one that failed."""
        self.name = name
        self.role = role
        self.every = timedelta(seconds=every)
        self._first = every if first is None else first
        self._retry = every if retry is None else min(retry, every)
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @abstractmethod
    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """Do the work that is due; return, or raise any exception, soon after ``is_stopped`` returns True."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let the current turn end, within a time limit."""
        self._stop.set()
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join(_STOP_WITHIN)
            if self._thread.is_alive():
                _log.warning("background work did not stop in time", extra={"work": self.name})

    def wake(self) -> None:
        """Start a turn now; if one is running, another follows, as the first may have missed the new work."""
        self._woken.set()

    @property
    def has_ended(self) -> bool:
        """Whether the thread was started, and has ended without being stopped."""
        return self._thread.ident is not None and not self._thread.is_alive() and not self._stop.is_set()

    def _work(self) -> None:
        wait = self._first
        while True:
            self._woken.wait(wait * uniform(1 - _JITTER, 1))
            if self._stop.is_set():
                return
            # Before the turn: waking it from now on results in another turn.
            self._woken.clear()
            wait = self.every.total_seconds()
            try:
                self.turn(self._stop.is_set)
            except Exception as error:
                if self._stop.is_set():
                    return
                wait = self._retry
                if isinstance(error, Unavailable):
                    _log.info("background work is waiting", extra={"work": self.name, "code": type(error).__name__})
                else:
                    _log.error("background work failed", exc_info=error, extra={"work": self.name})
