"""Deletes the blobs of a system that nothing refers to: of values that were replaced or deleted, of items that have
expired, of processes that died.

Every system with large values has one (``System.background_work``). A turn is a pass over all blobs; one that has to
stop early goes on in the next turn of the process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tablewright.model import Table
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.store import Store

__all__ = ["OrphanCollector"]

# Seconds until the first pass, and between passes.
_FIRST = 60.0
_EVERY = 6 * 3600.0
# Blobs, between looks at whether to stop.
_AT_ONCE = 1000

_log = logging.getLogger(__name__)


class OrphanCollector(PeriodicThread):
    def __init__(
        self, system: str, store: Store, tables: Sequence[Table], *, first: float = _FIRST, every: float = _EVERY
    ) -> None:
        """``tables`` are those with large values."""
        super().__init__(f"{system}.orphans", role="maintenance", every=every, first=first)
        self._store = store
        self._tables = tables
        self._place = 0
        self._cursor: str | None = None

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """One pass, or the rest of one."""
        while not is_stopped():
            table = self._tables[self._place]
            found = self._store.collect_orphans(table, dry_run=False, cursor=self._cursor, limit=_AT_ONCE)
            self._cursor = found.cursor
            if found.removed.blobs:
                removed = {"blobs": found.removed.blobs, "bytes": found.removed.bytes}
                _log.info("orphans were deleted", extra={"table": table.name, **removed})
            if found.cursor is None:
                self._place = (self._place + 1) % len(self._tables)
                if self._place == 0:
                    return
