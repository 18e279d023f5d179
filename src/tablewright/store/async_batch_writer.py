"""Many puts and deletes, one at a time: collected, and written in requests of 25.

    async with store.batch_writer() as batch:
        async for row in rows:
            await batch.put(Order.from_row(row))

The rest is written at the end of the block. If the block raises, it is not; what was written before stays.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from tablewright.dynamo.limits import MAX_BATCH_WRITES
from tablewright.model import Entity, Lookup
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow
from tablewright.store.write.batch_write import BatchWrite, check_batch_write, write_batch


class AsyncBatchWriter:
    """Collects puts and deletes, and writes them in batches; created by ``store.batch_writer()``.

    Of several writes of one item, the last one counts. ``written`` is the number of writes made so far.
    """

    def __init__(self, context: Context, run: Callable[[Flow[None]], Awaitable[None]]) -> None:
        self._context = context
        self._run = run
        self._waiting: list[BatchWrite] = []
        self.written = 0

    async def put(self, *entities: Entity) -> None:
        """Put items, whether or not they exist."""
        for entity in entities:
            await self._add(BatchWrite(entity))

    async def delete(self, *targets: Entity | Lookup[Any]) -> None:
        """Delete items."""
        for target in targets:
            await self._add(BatchWrite(target, deletes=True))

    async def flush(self) -> None:
        """Write what has been collected; what cannot be written stays collected."""
        if self._waiting:
            await self._run(write_batch(self._context, self._waiting))
            self.written += len(self._waiting)
            self._waiting = []

    async def _add(self, write: BatchWrite) -> None:
        check_batch_write(write)
        self._waiting.append(write)
        if len(self._waiting) >= MAX_BATCH_WRITES:
            await self.flush()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.flush()
