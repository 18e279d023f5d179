"""Consumers: a handler that is given every change of a table, in order, and a checkpoint of how far it has read.

    def count(changes: Sequence[AnyChange], effects: Effects) -> None: ...

    consumer = AsyncConsumer(store, tickets, count, name="metrics", checkpoints=metrics)
    await consumer.run_once()                     the changes that are there now
    await consumer.run(until=stop)                and those that follow
    await consumer.on_lambda(event)               the same handler, called by Lambda
    await consumer.rebuild(clear=[Counter])       everything again, from the table

Effects are committed together with the checkpoint, in one transaction: a crash, a replay or a second consumer of the
same name cannot make them happen twice. What a handler does by other means, such as sending mail, may happen again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from tablewright.model import Entity, Table
from tablewright.store.async_store import AsyncStore
from tablewright.store.errors import StoreError
from tablewright.store.flow.driver import wait_async
from tablewright.store.flow.retry import backoff
from tablewright.store.streams.batch_handler import is_temporary
from tablewright.store.streams.checkpoint import CheckpointTable, DeadLetter
from tablewright.store.streams.consumer_settings import BUSY_PAUSE, IDLE_PAUSE, ConsumerSettings, Handler, PassResult
from tablewright.store.streams.lambda_events import on_lambda
from tablewright.store.streams.rebuild import RebuildProgress, rebuild
from tablewright.store.streams.stream_worker import StreamWorker


class AsyncConsumer:
    """A consumer of a table's stream, for asyncio.

    ``handler`` is called with a batch of changes and an ``Effects``, to which it adds the writes that follow from them.
    It is a plain function, which is not awaited. ``name`` identifies the consumer; several with the same name share the
    table's shards. ``checkpoints`` is the table that checkpoints and dead letters are stored in, another than
    ``table``. ``settings`` are those of ``ConsumerSettings``.
    """

    def __init__(
        self,
        store: AsyncStore,
        table: Table,
        handler: Handler,
        *,
        name: str,
        checkpoints: Table | CheckpointTable,
        **settings: Unpack[ConsumerSettings],
    ) -> None:
        self._store = store
        self._worker = StreamWorker(store.context, table, handler, name, CheckpointTable.of(checkpoints), **settings)

    async def run_once(self) -> PassResult:
        """Process all changes that are in the stream now."""
        return await self._store.run_flow(self._worker.run_pass(flush=True))

    async def run(
        self,
        until: asyncio.Event,
        *,
        pause: float = IDLE_PAUSE,
        on_pass: Callable[[PassResult], None] | None = None,
    ) -> None:
        """Process the changes in the stream, and those that follow, until ``until`` is set; then release the leases.

        ``on_pass`` is called with the result of each pass. When the service cannot be reached, the consumer waits and
        tries again; any other error ends it.
        """
        failures = 0
        while not until.is_set():
            try:
                result = await self._store.run_flow(self._worker.run_pass(flush=False, is_stopped=until.is_set))
                if on_pass is not None:
                    on_pass(result)
                failures = 0
                seconds = min(BUSY_PAUSE, pause) if result.records else pause
            except StoreError as error:
                if not is_temporary(error):
                    raise
                self._worker.reset()
                failures += 1
                seconds = backoff(self._worker.context, failures).seconds
            await wait_async(until, seconds)
        await self.release()

    async def take_over(self) -> None:
        """End the leases of other consumers of the same name that are known to be dead, instead of waiting for them.

        A program that has just locked the data folder knows that, for example.
        """
        await self._store.run_flow(self._worker.take_over())

    async def release(self) -> None:
        """Release the leases, so that another consumer can continue at once."""
        await self._store.run_flow(self._worker.release())

    async def rebuild(
        self,
        clear: Sequence[type[Entity]],
        *,
        on_progress: Callable[[RebuildProgress], None] | None = None,
        settle: float = 0,
    ) -> RebuildProgress:
        """Delete the entities in ``clear`` and write them again from the table, while it is being written to.

        ``settle`` is how many seconds the stream may be behind the table: none on the engine, a few on Amazon DynamoDB.
        """
        return await self._store.run_flow(rebuild(self._worker, clear, on_progress, settle))

    async def skip_lost(self) -> int:
        """After ``RecordsLost``: continue with the oldest records there are; returns in how many shards that was so."""
        return await self._store.run_flow(self._worker.skip_lost())

    async def dead_letters(self) -> list[DeadLetter]:
        """The records that the handler failed on."""
        return await self._store.run_flow(self._worker.batches.dead_letters())

    async def replay(self, dead_letter: DeadLetter) -> None:
        """Retry a dead letter, and delete it; if that fails, the handler's error is raised and it stays."""
        await self._store.run_flow(self._worker.batches.replay(dead_letter))

    async def on_lambda(
        self, event: Mapping[str, Any], context: object = None, *, dead_letters: bool = False
    ) -> dict[str, Any]:
        """Handle an event of AWS Lambda; the response reports the records that failed, the others count once.

        With ``dead_letters``, a record that fails is retried and then stored as a dead letter, as ``run`` does it.
        """
        return await self._store.run_flow(on_lambda(self._worker, event, dead_letters=dead_letters))
