"""The face of a store for asyncio: the methods of ``Store``, to be awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from tablewright.model import Collection, CollectionSelection, Entity, Lookup, ModelError, Selection, Table
from tablewright.store.base_store import Face
from tablewright.store.blobs import blob_loading, orphan_blobs
from tablewright.store.blobs.orphan_blobs import Orphans, OrphansHook
from tablewright.store.flow.driver import Flow, run_async
from tablewright.store.maintenance import verify_repair
from tablewright.store.maintenance.ensure_tables import ensure_tables
from tablewright.store.maintenance.findings import Report
from tablewright.store.maintenance.table_differences import Difference
from tablewright.store.maintenance.verify_repair import ProgressHook
from tablewright.store.read import get, query
from tablewright.store.read.query import Page
from tablewright.store.write import batch_write, delete, idempotent_write, put, transaction, update, upsert
from tablewright.store.write.idempotent_write import IdempotencyRecord, Outcome
from tablewright.store.write.planning.operation import Operation

T = TypeVar("T")
E = TypeVar("E", bound=Entity)
C = TypeVar("C", bound=Collection)


class AsyncStore(Face):
    """Reads and writes of a model, without blocking the event loop."""

    async def _run(self, flow: Flow[T]) -> T:
        return await run_async(flow, self._backend)

    def close(self) -> None:
        """Let go of the engine, or of the connections."""
        self._backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- tables -------------------------------------------------------------------------------------------------

    async def ensure_tables(self, *tables: Table, dry_run: bool = False) -> list[Difference]:
        """Make tables what the model says; what differed is returned."""
        return await self._run(ensure_tables(self._context, tables, dry_run=dry_run))

    async def verify(
        self,
        target: Table | type[Entity],
        *,
        cursor: str | None = None,
        limit: int | None = None,
        page_size: int | None = None,
        on_progress: ProgressHook | None = None,
    ) -> Report:
        """Compare what is stored with the model, all of a table or one entity of it; nothing is changed."""
        return await self._run(
            verify_repair.verify(
                self._context,
                target,
                cursor=cursor,
                limit=limit,
                page_size=page_size,
                on_progress=on_progress,
            )
        )

    async def repair(
        self,
        target: Table | type[Entity],
        *,
        dry_run: bool = True,
        cursor: str | None = None,
        limit: int | None = None,
        page_size: int | None = None,
        on_progress: ProgressHook | None = None,
    ) -> Report:
        """Mend what ``verify`` finds; a dry run, unless told otherwise, only tells it."""
        return await self._run(
            verify_repair.repair(
                self._context,
                target,
                dry_run=dry_run,
                cursor=cursor,
                limit=limit,
                page_size=page_size,
                on_progress=on_progress,
            )
        )

    async def collect_orphans(
        self,
        target: Table | type[Entity],
        *,
        dry_run: bool = True,
        grace: timedelta = orphan_blobs.GRACE,
        cursor: str | None = None,
        limit: int | None = None,
        on_progress: OrphansHook | None = None,
    ) -> Orphans:
        """Remove blobs that nothing refers to; a dry run, unless told otherwise, only counts them (see ``orphans``)."""
        return await self._run(
            orphan_blobs.collect_orphans(
                self._context,
                target,
                dry_run=dry_run,
                grace=grace,
                cursor=cursor,
                limit=limit,
                on_progress=on_progress,
            )
        )

    # -- reading ------------------------------------------------------------------------------------------------

    async def get(self, lookup: Lookup[E], *, consistent: bool | None = None) -> E | None:
        """One entity, or None."""
        return await self._run(get.get(self._context, lookup, consistent=consistent))

    async def get_many(self, wanted: Sequence[Lookup[E]], *, consistent: bool | None = None) -> list[E | None]:
        """Any number of entities by primary key, in the order of the lookups."""
        return await self._run(get.get_many(self._context, wanted, consistent=consistent))

    async def query(
        self,
        selection: Selection[E],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        page_size: int | None = None,
        consistent: bool | None = None,
    ) -> Page[E]:
        """A page of a selection: up to ``limit`` items, or without one what a page of the service has."""
        return await self._run(
            query.query(
                self._context, selection, limit=limit, cursor=cursor, page_size=page_size, consistent=consistent
            )
        )

    async def scan(
        self,
        entity: type[E],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        page_size: int | None = None,
        segment: tuple[int, int] | None = None,
        consistent: bool | None = None,
    ) -> Page[E]:
        """A page of all items of an entity; ``segment=(0, 4)`` is the first of four parts that can be read at once."""
        return await self._run(
            query.scan(
                self._context,
                entity,
                limit=limit,
                cursor=cursor,
                page_size=page_size,
                segment=segment,
                consistent=consistent,
            )
        )

    async def count(self, selection: Selection[E], *, consistent: bool | None = None) -> int:
        """How many items a selection has; all of them are read for that."""
        return await self._run(query.count(self._context, selection, consistent=consistent))

    async def collect(self, selection: CollectionSelection[C], *, consistent: bool | None = None) -> C | None:
        """Several kinds of entities that share a partition, by one query; None without those that must be there."""
        return await self._run(query.collect(self._context, selection, consistent=consistent))

    async def pages(
        self,
        source: Selection[E] | type[E],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        page_size: int | None = None,
        consistent: bool | None = None,
    ) -> AsyncIterator[Page[E]]:
        """Page after page of a selection, or of all items of an entity; ``limit`` items in each but the last."""
        reading, entity = self._reading(source, page_size, cursor, consistent)
        while not reading.ended:
            page = await self._run(query.read_page(reading, entity, limit))
            if page.items:
                yield page

    async def iterate(
        self,
        source: Selection[E] | type[E],
        *,
        page_size: int | None = None,
        limit: int | None = None,
        consistent: bool | None = None,
    ) -> AsyncIterator[E]:
        """Item after item of a selection, or of all items of an entity; ``limit`` in all."""
        reading, entity = self._reading(source, page_size, None, consistent)
        while not reading.ended and limit != 0:
            items = await self._run(query.read_some(reading, entity, limit))
            limit = None if limit is None else limit - len(items)
            for item in items:
                yield item

    async def load(self, entity: E) -> E:
        """Give an entity its large values that were not read with it, as in the changes of a stream."""
        await self._run(blob_loading.load(self._context, entity))
        return entity

    # -- writing ------------------------------------------------------------------------------------------------

    async def put(self, entity: E) -> E:
        """Store a whole item, whatever was there; a versioned one only over the version that was read."""
        return await self._run(put.put(self._context, entity))

    async def create(self, entity: E) -> E:
        """Store a new item; AlreadyExists if there is one."""
        return await self._run(put.create(self._context, entity))

    async def upsert(self, entity: E) -> E:
        """Create an item, or set the fields of the one that is there."""
        return await self._run(upsert.upsert(self._context, entity))

    async def update(
        self,
        target: E | Lookup[E],
        /,
        *,
        nested: Mapping[str, Any] | None = None,
        add: Mapping[str, Any] | None = None,
        append: Mapping[str, Iterable[Any]] | None = None,
        discard: Mapping[str, Any] | None = None,
        remove: Iterable[str] = (),
        expect: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> E:
        """Change some fields of an item that is there (see ``Update``); its keys follow, even to another place."""
        return await self._run(
            update.update(
                self._context,
                target,
                nested=nested,
                add=add,
                append=append,
                discard=discard,
                remove=remove,
                expect=expect,
                **fields,
            )
        )

    async def delete(self, target: Entity | Lookup[Any], *, expect: Mapping[str, Any] | None = None) -> bool:
        """Delete an item; says whether there was one."""
        return await self._run(delete.delete(self._context, target, expect=expect))

    async def transact(self, *operations: Operation) -> None:
        """Several writes, all or none: Create, Put, Update, Delete, Check, Absent."""
        return await self._run(transaction.transact(self._context, *operations))

    async def write_many(self, entities: Iterable[Entity] = (), *, delete: Iterable[Entity | Lookup[Any]] = ()) -> None:
        """Put and delete any number of items, each for itself."""
        return await self._run(batch_write.write_many(self._context, entities, delete=delete))

    async def execute_once(
        self,
        record: type[IdempotencyRecord],
        key: str,
        request: Any,
        work: Callable[[], Awaitable[Outcome]],
        *,
        lease: timedelta = idempotent_write.LEASE,
    ) -> Any:
        """Carry a request out once, however often it comes: its answer (see ``idempotency``)."""
        claim = await self._run(idempotent_write.begin(self._context, record, key, request, lease=lease))
        if isinstance(claim, idempotent_write.Answered):
            return claim.response
        try:
            coming = work()
            if not isinstance(coming, Awaitable):
                raise ModelError("execute_once of an AsyncStore awaits its work; make it an async function")
            return await self._run(idempotent_write.complete(self._context, claim, await coming))
        except BaseException:
            await self._run(idempotent_write.abandon(self._context, claim))
            raise
