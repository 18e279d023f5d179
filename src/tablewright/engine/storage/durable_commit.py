"""A commit: the writes that become durable together; every response that could have seen them waits for it.

    commit.when_durable(callback)       called when they are on disk, or were refused

``group_commit`` opens commits and finishes them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from tablewright.dynamo import InternalServerError

_log = logging.getLogger("tablewright.engine")


class Commit:
    """Writes of any number of operations that become durable together, or not at all.

    ``done`` is true once they are durable, or were refused; ``error`` says why they were refused.
    """

    __slots__ = ("_callbacks", "_lock", "can_be_seen", "done", "error", "touched")

    def __init__(self, *, notes_rows: bool = False) -> None:
        # The rows that it changes, by table and key; None: it may have changed anything.
        self.touched: set[tuple[int, bytes]] | None = set() if notes_rows else None
        # Whether any operation could see what was written; nobody has to wait for a copy that is not complete.
        self.can_be_seen = False
        self.done = False
        self.error: InternalServerError | None = None
        self._callbacks: list[Callable[[InternalServerError | None], None]] = []
        self._lock = threading.Lock()

    def may_change(self, rows: Sequence[tuple[int, bytes]], ranges: bool) -> bool:
        """Whether it changes any of these rows, by table and key; with ``ranges``, of those whose keys begin so."""
        touched = self.touched
        if touched is None or not self.can_be_seen:
            return self.can_be_seen
        if ranges:
            return any(number == table and key.startswith(begin) for number, begin in rows for table, key in touched)
        return not touched.isdisjoint(rows)

    def when_durable(self, callback: Callable[[InternalServerError | None], None]) -> None:
        """Call back when the commit is on disk, or was refused; from the thread that commits it."""
        with self._lock:
            if not self.done:
                self._callbacks.append(callback)
                return
        callback(self.error)

    def finish(self, error: InternalServerError | None) -> None:
        """Mark the commit as durable, or as refused, and call everyone back who waits for it."""
        with self._lock:
            self.done = True
            self.error = error
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback(error)
            except Exception:
                _log.exception("a callback of a commit failed")
