"""Deletes the blobs of a system that nothing refers to: of values that were replaced or deleted, of items that have
expired, of processes that died.

Every system with large values has one (``System.background_work``). A pass reads all blobs, in one process at a time:
an item of the internal table says how far it is, so that another turn continues it, in this process or the next, and
when the next pass is due. Nothing is deleted from a place that belongs to another database (``blob_ownership``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from tablewright.model import Entity, Get, Keys, Table, Version, attr
from tablewright.runtime.background.blob_ownership import owns_blobs
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AlreadyExists, Conflict, Store

__all__ = ["BlobPass", "OrphanCollector"]

# Seconds until the first turn, and between turns; and turns from the end of a pass to the next one.
_FIRST = 60.0
_EVERY = 6 * 3600.0
_TURNS = 4
# How many blobs are checked before the next look at whether to stop.
_AT_ONCE = 1000
# Seconds after which the process that makes a pass is taken for dead.
_LEASE = 900.0

_log = logging.getLogger(__name__)


class BlobPass(Entity, table=internal_table):
    """How far a pass over the blobs of a system is."""

    system: str
    # Where it continues: the position of the table, and the blob in it.
    place: int = 0
    cursor: str | None = None
    # The time from which on a process may continue it, or begin the next one.
    due_at: float
    version: Version = 0

    keys = Keys(PK="BLOBS", SK="PASS#{system}")

    @Get(consistent=True)
    def of_system(self, system: str) -> None:
        """The pass of a system."""


class OrphanCollector(PeriodicThread):
    def __init__(
        self, system: str, store: Store, tables: Sequence[Table], *, first: float = _FIRST, every: float = _EVERY
    ) -> None:
        """``tables`` are those with large values."""
        super().__init__(f"{system}.orphans", role="maintenance", every=every, first=first)
        self._system = system
        self._store = store
        self._tables = tables

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """Make a pass, or the rest of one, unless it is not due or another process is making it."""
        if not owns_blobs(self._store, self._tables):
            _log.error("blobs are not collected: they seem to belong to another database", extra={"work": self.name})
            return
        current = self._claim()
        while current is not None:
            table = self._tables[current.place]
            found = self._store.collect_orphans(table, dry_run=False, cursor=current.cursor, limit=_AT_ONCE)
            if found.removed.blobs:
                _log.info("orphans were deleted", extra={"table": table.name, "count": found.removed.blobs})
            place = current.place if found.cursor is not None else (current.place + 1) % len(self._tables)
            is_done = found.cursor is None and place == 0
            # A little less, as turns are not on the second.
            wait = (_TURNS - 0.1) * self.every.total_seconds() if is_done else 0.0 if is_stopped() else _LEASE
            current = self._note(current, place, found.cursor, self._store.context.clock() + wait)
            if is_done or wait == 0.0:
                return

    def _claim(self) -> BlobPass | None:
        """The pass that this process is to continue; None if there is nothing to do now."""
        now = self._store.context.clock()
        current = self._store.get(BlobPass.of_system(system=self._system))
        if current is None:
            begun = BlobPass(system=self._system, due_at=now + _LEASE)
            try:
                return self._store.create(begun)
            except AlreadyExists:
                return None
        if current.due_at > now:
            return None
        # There may be fewer tables than there were.
        place = current.place if current.place < len(self._tables) else 0
        return self._note(current, place, current.cursor if place == current.place else None, now + _LEASE)

    def _note(self, current: BlobPass, place: int, cursor: str | None, due_at: float) -> BlobPass | None:
        """Store how far the pass is; None if another process has continued it."""
        try:
            return self._store.update(
                current,
                attr(BlobPass.place).set(place),
                attr(BlobPass.cursor).set(cursor),
                attr(BlobPass.due_at).set(due_at),
            )
        except Conflict:
            return None
