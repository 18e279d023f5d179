"""The SQL sessions of a studio, shared by all of its windows: for the present, and for requested moments.

    with sessions.use(at) as session:        at: epoch seconds, or None for the present
        session.estimate(...)
    with sessions.turn(at, stopped) as session:
        session.query(...)                   long calls, one after the other; can be stopped while waiting

Tables of the present stay loaded while the studio runs. Tables of a moment never change; a few moments stay loaded, and
one that is in use is not closed.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tablewright.sql import SqlError, SqlSession
from tablewright.studio.studio_database import StudioDatabase

__all__ = ["SqlSessions"]

_MOMENTS = 4
_LOOK_EVERY = 0.1
_SEGMENTS = 4


@dataclass(slots=True)
class _Kept:
    session: SqlSession
    users: int = 0
    # Whoever has it runs a query.
    turn: threading.Lock = field(default_factory=threading.Lock)


class SqlSessions:
    """The sessions of one studio; its calls block, so run them in a thread."""

    def __init__(self, database: StudioDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        # The least recently used first.
        self._kept: OrderedDict[float | None, _Kept] = OrderedDict()

    @contextmanager
    def use(self, at: float | None) -> Iterator[SqlSession]:
        """The session of a moment, which stays open while this is in use."""
        with self._used(at) as kept:
            yield kept.session

    @contextmanager
    def turn(self, at: float | None, stopped: threading.Event) -> Iterator[SqlSession]:
        """The same, once no other window's query is running in it; SqlError if this one is stopped before that."""
        with self._used(at) as kept:
            while not kept.turn.acquire(timeout=_LOOK_EVERY):
                if stopped.is_set():
                    raise SqlError("the query was stopped")
            try:
                if stopped.is_set():
                    raise SqlError("the query was stopped")
                yield kept.session
            finally:
                kept.turn.release()

    @contextmanager
    def _used(self, at: float | None) -> Iterator[_Kept]:
        with self._lock:
            kept = self._kept.get(at)
            if kept is None:
                kept = self._kept[at] = _Kept(self._opened(at))
            self._kept.move_to_end(at)
            kept.users += 1
            moments = [each for each in self._kept if each is not None]
            idle = [each for each in moments if not self._kept[each].users]
            surplus = [self._kept.pop(each) for each in idle[: max(0, len(moments) - _MOMENTS)]]
        try:
            for each in surplus:
                each.session.close()
            yield kept
        finally:
            with self._lock:
                kept.users -= 1

    def close(self) -> None:
        """Stop running queries, and delete what was read."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), OrderedDict()
        for each in kept:
            each.session.close()

    def _opened(self, at: float | None) -> SqlSession:
        source = self._database if at is None else self._database.at(at)
        return SqlSession(
            source.as_backend(),
            source.designs,
            table_names=source.table_names,
            # In this process, threads would only take turns.
            segments=1 if source.engine is not None else _SEGMENTS,
            # Items that had expired by then are left out.
            clock=time.time if at is None else lambda: at,
        )
