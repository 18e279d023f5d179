"""Consumers: a handler that is given every change of a table, in order, and a place where it is noted how far it is.

    def count(changes: Sequence[AnyChange], effects: Effects) -> None: ...

    consumer = Consumer(store, tickets, count, name="metrics", notes=metrics)
    consumer.run_once()                     what is there now
    consumer.run(until=stop)                and what comes
    consumer.on_lambda(event)               the same handler, called by Lambda
    consumer.rebuild(clear=[Counter])       everything anew, from the table

Effects are committed together with the checkpoint, in one transaction: a crash, a replay or a second consumer of the
same name cannot make them happen twice. What a handler does by other means (sending a mail) may happen again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from tablewright.model import Entity, Table
from tablewright.store.async_store import AsyncStore
from tablewright.store.errors import StoreError
from tablewright.store.flow.retry import backoff
from tablewright.store.store import Store
from tablewright.store.streams.change_records import ChangeFilter
from tablewright.store.streams.checkpoint import Bookkeeping, DeadLetter
from tablewright.store.streams.lambda_events import on_lambda
from tablewright.store.streams.rebuild import RebuildProgress, rebuild
from tablewright.store.streams.stream_worker import Handler, Pass, Worker, is_passing

_IDLE_PAUSE = 0.2
# After a pass that found something: who goes on at once finds little, and commits for each little.
_BUSY_PAUSE = 0.1


class ConsumerSettings(TypedDict, total=False):
    """What a consumer can be told."""

    # Records in a batch, and how long a smaller one waits for more (``run`` only).
    batch_size: int
    window: timedelta
    # Whether a batch that fails is cut in halves, to find the record that is to blame.
    bisect: bool
    # How often a record is tried again before it becomes a dead letter.
    retries: int
    # How long a shard stays with a consumer that is not heard of.
    lease: timedelta
    # Whether the handler is also given changes of items that are of no entity, raw.
    foreign: bool
    # Which changes the handler is given, by what is stored; the others are passed over, and not read as entities.
    wanted: ChangeFilter | None


class Consumer:
    """A consumer of a table's stream, run by threads."""

    def __init__(
        self,
        store: Store,
        table: Table,
        handler: Handler,
        *,
        name: str,
        notes: Table | Bookkeeping,
        **settings: Unpack[ConsumerSettings],
    ) -> None:
        """``notes`` is the table for checkpoints and dead letters; the rest is explained there."""
        self._store = store
        self._worker = Worker(store._context, table, handler, name, _bookkeeping(notes), **settings)

    def run_once(self) -> Pass:
        """Deal with everything that is there now."""
        return self._store._run(self._worker.one_pass(flush=True))

    def run(
        self, until: threading.Event, *, pause: float = _IDLE_PAUSE, on_pass: Callable[[Pass], None] | None = None
    ) -> None:
        """Deal with everything that is there and that comes, until told to stop; then give the leases back.

        ``on_pass`` is told what each pass came to. When the service cannot be reached it waits and goes on; any other
        error ends it.
        """
        failures = 0
        while not until.is_set():
            try:
                done = self._store._run(self._worker.one_pass(flush=False, is_stopped=until.is_set))
                if on_pass is not None:
                    on_pass(done)
                failures = 0
                wait = min(_BUSY_PAUSE, pause) if done.records else pause
            except StoreError as error:
                if not is_passing(error):
                    raise
                self._worker.drop()
                failures += 1
                wait = backoff(self._worker.context, failures).seconds
            until.wait(wait)
        self.release()

    def take_over(self) -> None:
        """Go on at once where others of the name were, who are known to be dead: they owned the data folder, say."""
        self._store._run(self._worker.take_over())

    def release(self) -> None:
        """Give the leases back, so that another consumer can go on at once."""
        self._store._run(self._worker.release())

    def rebuild(
        self,
        clear: Sequence[type[Entity]],
        *,
        on_progress: Callable[[RebuildProgress], None] | None = None,
        settle: float = 0,
    ) -> RebuildProgress:
        """Make everything anew from the table: see ``rebuilds``."""
        return self._store._run(rebuild(self._worker, clear, on_progress, settle))

    def skip_lost(self) -> int:
        """After ``RecordsLost``: go on with the oldest records there are. In how many shards some were lost."""
        return self._store._run(self._worker.skip_lost())

    def dead_letters(self) -> list[DeadLetter]:
        """What could not be dealt with."""
        return self._store._run(self._worker.dead_letters())

    def replay(self, letter: DeadLetter) -> None:
        """Have a dead letter handled after all; the handler's error is raised, and the letter stays, if it fails."""
        self._store._run(self._worker.replay(letter))

    def on_lambda(self, event: dict[str, Any], context: object = None) -> dict[str, Any]:
        """The handler for Lambda: the records that failed are reported, the others count once."""
        return self._store._run(on_lambda(self._worker, event))


class AsyncConsumer:
    """A consumer of a table's stream, for asyncio. The handler is not awaited: it only says what is to be done."""

    def __init__(
        self,
        store: AsyncStore,
        table: Table,
        handler: Handler,
        *,
        name: str,
        notes: Table | Bookkeeping,
        **settings: Unpack[ConsumerSettings],
    ) -> None:
        self._store = store
        self._worker = Worker(store._context, table, handler, name, _bookkeeping(notes), **settings)

    async def run_once(self) -> Pass:
        """Deal with everything that is there now."""
        return await self._store._run(self._worker.one_pass(flush=True))

    async def run(
        self, until: asyncio.Event, *, pause: float = _IDLE_PAUSE, on_pass: Callable[[Pass], None] | None = None
    ) -> None:
        """Deal with everything that is there and that comes, until told to stop; then give the leases back."""
        failures = 0
        while not until.is_set():
            try:
                done = await self._store._run(self._worker.one_pass(flush=False, is_stopped=until.is_set))
                if on_pass is not None:
                    on_pass(done)
                failures = 0
                wait = min(_BUSY_PAUSE, pause) if done.records else pause
            except StoreError as error:
                if not is_passing(error):
                    raise
                self._worker.drop()
                failures += 1
                wait = backoff(self._worker.context, failures).seconds
            try:
                await asyncio.wait_for(until.wait(), wait)
            except TimeoutError:
                continue
        await self.release()

    async def take_over(self) -> None:
        """Go on at once where others of the name were, who are known to be dead: they owned the data folder, say."""
        await self._store._run(self._worker.take_over())

    async def release(self) -> None:
        """Give the leases back, so that another consumer can go on at once."""
        await self._store._run(self._worker.release())

    async def rebuild(
        self,
        clear: Sequence[type[Entity]],
        *,
        on_progress: Callable[[RebuildProgress], None] | None = None,
        settle: float = 0,
    ) -> RebuildProgress:
        """Make everything anew from the table: see ``rebuilds``."""
        return await self._store._run(rebuild(self._worker, clear, on_progress, settle))

    async def skip_lost(self) -> int:
        """After ``RecordsLost``: go on with the oldest records there are. In how many shards some were lost."""
        return await self._store._run(self._worker.skip_lost())

    async def dead_letters(self) -> list[DeadLetter]:
        """What could not be dealt with."""
        return await self._store._run(self._worker.dead_letters())

    async def replay(self, letter: DeadLetter) -> None:
        """Have a dead letter handled after all; the handler's error is raised, and the letter stays, if it fails."""
        await self._store._run(self._worker.replay(letter))


def _bookkeeping(notes: Table | Bookkeeping) -> Bookkeeping:
    return notes if isinstance(notes, Bookkeeping) else Bookkeeping.of(notes)
