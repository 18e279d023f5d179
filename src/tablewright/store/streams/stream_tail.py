"""The tail of a stream: the changes of a table from now on, for readers without a checkpoint.

    tail = AsyncStreamTail(store, tickets)
    changes = await tail.read()           those since the last read; the first read begins with what comes after it

A consumer handles every change once, whatever happens, and needs a checkpoint and a lease for that. A tail has neither:
nothing is written, any number of processes read side by side, and what happens while it is not read is not seen. It is
for screens that show changes as they come.
"""

from __future__ import annotations

from tablewright.model import Table, schemas_of
from tablewright.store.async_store import AsyncStore
from tablewright.store.context import Context
from tablewright.store.errors import Unreadable
from tablewright.store.flow.driver import Flow
from tablewright.store.streams.change_records import AnyChange, Record, raw_change, schema_in, typed_change
from tablewright.store.streams.shard_reader import ShardReader, describe_stream

# Records of one shard from which on one read returns; the next read goes on behind them.
_MOST = 1000
# New shards come every few hours, and behind a shard that has ended.
_LOOK_AGAIN_AFTER = 60.0


class AsyncStreamTail:
    """Reads what is new in the stream of a table, for asyncio; one task at a time."""

    def __init__(self, store: AsyncStore, table: Table) -> None:
        self._store = store
        self._table = table
        self._readers: dict[str, ShardReader] = {}
        self._seen: set[str] = set()
        self._looked_at: float | None = None

    async def read(self) -> list[AnyChange]:
        """The changes since the last read, in the order of each shard; raw ones where they belong to no entity.

        An item that cannot be read as its entity is in a raw change as well: a tail goes on.
        """
        return [self._change(record) for record in await self._store.run_flow(self._read(self._store.context))]

    def _change(self, record: Record) -> AnyChange:
        raw = raw_change(record)
        schema = schema_in(schemas_of(self._table), raw)
        try:
            return raw if schema is None else typed_change(schema, raw)
        except Unreadable:
            return raw

    def _read(self, context: Context) -> Flow[list[Record]]:
        now = context.clock()
        if self._looked_at is None or now - self._looked_at > _LOOK_AGAIN_AFTER:
            yield from self._look(context)
            self._looked_at = now
        found: list[Record] = []
        for reader in list(self._readers.values()):
            yield from reader.follow(context, _MOST)
            found += reader.pending
            reader.pending.clear()
            if reader.ended:
                # Its children are there now.
                del self._readers[reader.shard.id]
                self._looked_at = None
        return found

    def _look(self, context: Context) -> Flow[None]:
        """Find shards: at first from their end on, later from their beginning, as they are new."""
        stream = yield from describe_stream(context, self._table)
        is_first = not self._seen
        for shard in stream.shards:
            if shard.id not in self._seen:
                self._seen.add(shard.id)
                if not (is_first and shard.closed):
                    reader = ShardReader(stream.arn, shard, None, skip_trimmed=True, from_end=is_first)
                    # An iterator at the end stands where the shard ends now, not where it ends when it is used.
                    yield from reader.read(context)
                    self._readers[shard.id] = reader
        self._seen &= {shard.id for shard in stream.shards}
