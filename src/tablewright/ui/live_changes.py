"""Live changes: one reader of each table's stream per process, for all open browsers.

    stream ──▶ tail, one for each table with open views ──▶ subscriptions, one for each open view ──▶ view

Nothing is read while no view is open. A change only says where to look: a view reads what it shows through the API,
with the rights of its user. Changes that come faster than a view draws are passed to it together; if there are too
many, it is asked to read everything again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from tablewright.model import Entity, Table
from tablewright.store import AnyChange, AsyncStore, AsyncStreamTail, Change

__all__ = ["LiveChanges", "OnChange", "TooManyViews", "changed_entities"]

OnChange = Callable[[Sequence[AnyChange] | None], Awaitable[None]]
"""Called with changes, or with None when there were too many, or the stream was unavailable: read everything again."""

# Between two looks into the stream; a change is seen within a second.
_EVERY = 0.1
# How long changes are gathered for a view, and how many at most.
_GATHER = 0.05
_MOST = 500
# After a failure, until it is tried again.
_PAUSE = 2.0
_POSITIONED_WITHIN = 3.0
# A browser has one for each table of the applications that its user may use, for the bell, and those of its view.
_MAX_SUBSCRIPTIONS = 20_000

_log = logging.getLogger(__name__)


def changed_entities(changes: Sequence[AnyChange], *kinds: type[Entity]) -> list[Any]:
    """The latest states of the changed entities, of some classes."""
    found = (each.before if each.after is None else each.after for each in changes if isinstance(each, Change))
    return [each for each in found if isinstance(each, kinds)]


class TooManyViews(Exception):
    """There are more open views than one process serves."""


class _Subscription:
    """One view: the changes that it has not received yet, and the task that hands them over."""

    def __init__(self, on_change: OnChange, on_state: Callable[[bool], None]) -> None:
        self._on_change = on_change
        # Called when following changes begins or stops to work.
        self.on_state = on_state
        self._waiting: list[AnyChange] | None = []
        self._is_there = asyncio.Event()
        self.task = asyncio.create_task(self._notify())

    def add(self, changes: Sequence[AnyChange] | None) -> None:
        if changes is None or self._waiting is None or len(self._waiting) + len(changes) > _MOST:
            self._waiting = None
        else:
            self._waiting += changes
        self._is_there.set()

    async def _notify(self) -> None:
        while True:
            await self._is_there.wait()
            await asyncio.sleep(_GATHER)
            changes, self._waiting = self._waiting, []
            self._is_there.clear()
            try:
                await self._on_change(changes)
            except Exception as error:
                _log.warning("a view could not be updated", exc_info=error)


class _Reader:
    """The tail of one table, read as long as there are subscriptions."""

    def __init__(self, store: AsyncStore, table: Table) -> None:
        self._store = store
        self._table = table
        self.subscriptions: set[_Subscription] = set()
        self.is_positioned = asyncio.Event()
        self.is_failing = False
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self.task is None:
            self.task = asyncio.create_task(self._read())

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
            self.task = None
            self.is_positioned.clear()

    async def _read(self) -> None:
        tail = AsyncStreamTail(self._store, self._table)
        while True:
            try:
                changes: Sequence[AnyChange] | None = await tail.read()
                if self.is_failing:
                    # What happened meanwhile is not known.
                    changes = None
                    self._say(is_failing=False)
                self.is_positioned.set()
            except Exception as error:
                if not self.is_failing:
                    _log.warning(
                        "the stream of a table cannot be read", exc_info=error, extra={"table": self._table.name}
                    )
                    self._say(is_failing=True)
                tail = AsyncStreamTail(self._store, self._table)
                await asyncio.sleep(_PAUSE)
                continue
            if changes is None or changes:
                for subscription in tuple(self.subscriptions):
                    subscription.add(changes)
            await asyncio.sleep(_EVERY)

    def _say(self, *, is_failing: bool) -> None:
        self.is_failing = is_failing
        for subscription in tuple(self.subscriptions):
            subscription.on_state(not is_failing)


class LiveChanges:
    """The changes of the tables of a process, for its open views."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._readers: dict[str, _Reader] = {}
        self._number = 0

    async def subscribe(
        self, table: Table, on_change: OnChange, on_state: Callable[[bool], None] = lambda is_following: None
    ) -> Callable[[], None]:
        """Call a function with the changes of a table from now on; the returned function ends that.

        ``on_state`` is called when the stream can no longer be read, and when it can again.

        It returns once no change can be missed: a view that subscribes and then reads shows the latest state.
        """
        if self._number >= _MAX_SUBSCRIPTIONS:
            raise TooManyViews("this process already has its maximum number of open views")
        self._number += 1
        reader = self._readers.setdefault(table.name, _Reader(self._store, table))
        subscription = _Subscription(on_change, on_state)
        reader.subscriptions.add(subscription)
        reader.start()
        with suppress(TimeoutError):
            async with asyncio.timeout(_POSITIONED_WITHIN):
                await reader.is_positioned.wait()

        def end() -> None:
            if subscription in reader.subscriptions:
                reader.subscriptions.discard(subscription)
                self._number -= 1
                subscription.task.cancel()
                if not reader.subscriptions and reader.task is not None:
                    reader.task.cancel()
                    reader.task = None
                    reader.is_positioned.clear()

        return end

    def is_following(self, table: Table) -> bool:
        """Whether the changes of a table are being received."""
        reader = self._readers.get(table.name)
        return reader is not None and reader.is_positioned.is_set() and not reader.is_failing

    async def stop(self) -> None:
        for reader in self._readers.values():
            for subscription in tuple(reader.subscriptions):
                subscription.task.cancel()
            await reader.stop()
