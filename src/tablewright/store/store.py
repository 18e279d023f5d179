# Generated from async_store.py by tools/generate_sync.py. Do not edit it; run `make generate`.
"""Reads and writes of a model: ``Store``.

    store = Store.open("./data")                the embedded engine, durable; in memory without a path
    store = Store.on(engine)                    an engine that is already open
    store = Store.connect(region="eu-west-1")   Amazon DynamoDB, or any endpoint that speaks its protocol

    store.get(Call.by_id(call_id="c-9"))       Call | None
    store.query(Call.upcoming(user_id="u-1"))  Page[Call]

A method only runs one flow; the flow does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from pydantic import BaseModel

from tablewright.model import (
    Collection,
    CollectionSelection,
    Entity,
    FieldChange,
    FieldCondition,
    Lookup,
    Selection,
    Table,
)
from tablewright.store.base_store import BaseStore
from tablewright.store.batch_writer import BatchWriter
from tablewright.store.blobs import blob_loading
from tablewright.store.blobs.blob_store import GRACE
from tablewright.store.flow.driver import Flow, call, run
from tablewright.store.read import collection_read, fetch_related, get, query, transact_get
from tablewright.store.read.planning.scan import Scan
from tablewright.store.read.query import Page, ReadProgressHook
from tablewright.store.write import (
    batch_write,
    create_or,
    delete,
    delete_all,
    idempotent_write,
    put,
    transaction,
    update,
    upsert,
    write_each,
)
from tablewright.store.write.delete_all import DeletionHook
from tablewright.store.write.fields.expectations import Expected
from tablewright.store.write.idempotent_write import IdempotencyRecord, Outcome
from tablewright.store.write.planning.operation import Operation
from tablewright.store.write.update import ReturnValues
from tablewright.store.write.write_each import CONCURRENCY, WriteResult

# Imported on use: most processes never do this.
if TYPE_CHECKING:
    from tablewright.store.blobs.orphan_blobs import OrphanHook, OrphanReport
    from tablewright.store.maintenance.findings import Report
    from tablewright.store.maintenance.table_differences import Difference
    from tablewright.store.maintenance.verify_repair import ProgressHook

T = TypeVar("T")
E = TypeVar("E", bound=Entity)
# What is read: entities, or projections of them.
R = TypeVar("R", bound=BaseModel)
R2 = TypeVar("R2", bound=BaseModel)
R3 = TypeVar("R3", bound=BaseModel)
C = TypeVar("C", bound=Collection)


class Store(BaseStore):
    """Reads and writes of the entities of a model, from any number of threads.

    Create one with ``open``, ``on`` or ``connect``, and close it when it is no longer needed::

        with Store.open("./data") as store:
            store.ensure_tables(calls)
            store.put(Call(call_id="c-9"))
            call = store.get(Call.by_id(call_id="c-9"))
    """

    def run_flow(self, flow: Flow[T]) -> T:
        """Run a flow to its end on the backend of this store; consumers and tolerant readers are built on it."""
        return run(flow, self.backend, self.context.deadline)

    def close(self) -> None:
        """Close the engine if the store opened it, or the connections."""
        self.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- tables -------------------------------------------------------------------------------------------------

    def ensure_tables(self, *tables: Table, dry_run: bool = False) -> list[Difference]:
        """Create tables, and add what they lack compared with the model; returns the differences found.

        ``TableMismatch`` if a difference cannot be resolved safely; then nothing is changed. A dry run only reports.
        """
        from tablewright.store.maintenance.ensure_tables import ensure_tables

        return self.run_flow(ensure_tables(self.context, tables, dry_run=dry_run))

    def verify(
        self,
        target: Table | type[Entity],
        *,
        cursor: str | None = None,
        limit: int | None = None,
        page_size: int | None = None,
        on_progress: ProgressHook | None = None,
    ) -> Report:
        """Compare the stored items with the model: all of a table, or one entity of it. Nothing is changed.

        ``limit`` ends the pass after about so many items; the cursor of the report continues it.
        """
        from tablewright.store.maintenance import verify_repair

        return self.run_flow(
            verify_repair.verify(
                self.context,
                target,
                cursor=cursor,
                limit=limit,
                page_size=page_size,
                on_progress=on_progress,
            )
        )

    def repair(
        self,
        target: Table | type[Entity],
        *,
        dry_run: bool = True,
        cursor: str | None = None,
        limit: int | None = None,
        page_size: int | None = None,
        on_progress: ProgressHook | None = None,
    ) -> Report:
        """Repair what ``verify`` finds; a dry run, unless ``dry_run=False`` is given, only reports it."""
        from tablewright.store.maintenance import verify_repair

        return self.run_flow(
            verify_repair.repair(
                self.context,
                target,
                dry_run=dry_run,
                cursor=cursor,
                limit=limit,
                page_size=page_size,
                on_progress=on_progress,
            )
        )

    def collect_orphans(
        self,
        target: Table | type[Entity],
        *,
        dry_run: bool = True,
        grace: timedelta = GRACE,
        cursor: str | None = None,
        limit: int | None = None,
        on_progress: OrphanHook | None = None,
    ) -> OrphanReport:
        """Delete blobs that no item refers to; a dry run, unless ``dry_run=False`` is given, only counts them."""
        from tablewright.store.blobs import orphan_blobs

        return self.run_flow(
            orphan_blobs.collect_orphans(
                self.context,
                target,
                dry_run=dry_run,
                grace=grace,
                cursor=cursor,
                limit=limit,
                on_progress=on_progress,
            )
        )

    # -- reading ------------------------------------------------------------------------------------------------

    def get(self, lookup: Lookup[R], *, consistent: bool | None = None) -> R | None:
        """One entity, or None if there is none."""
        return self.run_flow(get.get(self.context, lookup, consistent=consistent))

    def get_or_raise(self, lookup: Lookup[R], *, consistent: bool | None = None) -> R:
        """One entity; ``NotFound`` if there is none."""
        return self.run_flow(get.get_or_raise(self.context, lookup, consistent=consistent))

    def exists(self, lookup: Lookup[Any], *, consistent: bool | None = None) -> bool:
        """Whether an entity exists."""
        return self.run_flow(get.exists(self.context, lookup, consistent=consistent))

    @overload
    def transact_get(self, first: Lookup[R], /) -> tuple[R | None]: ...
    @overload
    def transact_get(self, first: Lookup[R], second: Lookup[R2], /) -> tuple[R | None, R2 | None]: ...
    @overload
    def transact_get(
        self, first: Lookup[R], second: Lookup[R2], third: Lookup[R3], /
    ) -> tuple[R | None, R2 | None, R3 | None]: ...
    @overload
    def transact_get(self, *lookups: Lookup[R]) -> tuple[R | None, ...]: ...
    def transact_get(self, *lookups: Lookup[Any]) -> tuple[Any, ...]:
        """Up to 100 entities by primary key, as they were at one moment; None for those that do not exist."""
        return self.run_flow(transact_get.transact_get(self.context, lookups))

    @overload
    def get_many(self, wanted: Sequence[Lookup[R]], /, *, consistent: bool | None = None) -> list[R | None]: ...
    @overload
    def get_many(
        self, first: Sequence[Lookup[R]], second: Sequence[Lookup[R2]], /, *, consistent: bool | None = None
    ) -> tuple[list[R | None], list[R2 | None]]: ...
    @overload
    def get_many(
        self,
        first: Sequence[Lookup[R]],
        second: Sequence[Lookup[R2]],
        third: Sequence[Lookup[R3]],
        /,
        *,
        consistent: bool | None = None,
    ) -> tuple[list[R | None], list[R2 | None], list[R3 | None]]: ...
    def get_many(self, *wanted: Sequence[Lookup[Any]], consistent: bool | None = None) -> Any:
        """Any number of entities by primary key, in the order of the lookups; None for those that do not exist.

        Several lists of lookups, of other entities and tables, are read in the same requests, and return a list each.
        """
        found = self.run_flow(get.get_many(self.context, *wanted, consistent=consistent))
        return found[0] if len(found) == 1 else tuple(found)

    @overload
    def fetch_related(
        self, entities: Iterable[E], one: Callable[[E], Lookup[R] | None], /, *, consistent: bool | None = None
    ) -> list[tuple[E, R | None]]: ...
    @overload
    def fetch_related(
        self, entities: Iterable[E], many: Callable[[E], Sequence[Lookup[R]]], /, *, consistent: bool | None = None
    ) -> list[tuple[E, list[R | None]]]: ...
    @overload
    def fetch_related(
        self,
        entities: Iterable[E],
        one: Callable[[E], Lookup[R] | None],
        other: Callable[[E], Lookup[R2] | None],
        /,
        *,
        consistent: bool | None = None,
    ) -> list[tuple[E, R | None, R2 | None]]: ...
    @overload
    def fetch_related(
        self,
        entities: Iterable[E],
        one: Callable[[E], Lookup[R] | None],
        many: Callable[[E], Sequence[Lookup[R2]]],
        /,
        *,
        consistent: bool | None = None,
    ) -> list[tuple[E, R | None, list[R2 | None]]]: ...
    @overload
    def fetch_related(
        self,
        entities: Iterable[E],
        one: Callable[[E], Lookup[R] | None],
        second: Callable[[E], Lookup[R2] | None],
        third: Callable[[E], Lookup[R3] | None],
        /,
        *,
        consistent: bool | None = None,
    ) -> list[tuple[E, R | None, R2 | None, R3 | None]]: ...
    def fetch_related(
        self, entities: Iterable[Any], /, *relations: Callable[[Any], Any], consistent: bool | None = None
    ) -> Any:
        """Each of some entities, with the entities that it refers to: all of them are read together, each once.

        A relation is a function from an entity to a lookup, to a list of lookups, or to None.
        """
        flow = fetch_related.fetch_related(self.context, entities, relations, consistent=consistent)
        return self.run_flow(flow)

    def query(
        self,
        selection: Selection[R],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        page_size: int | None = None,
        consistent: bool | None = None,
        where: FieldCondition | None = None,
    ) -> Page[R]:
        """A page of a selection: up to ``limit`` items, or a page of the service if no limit is given.

        ``where`` is a further condition on fields, which the service applies after it has read an item.
        """
        return self.run_flow(
            query.query(
                self.context,
                selection,
                limit=limit,
                cursor=cursor,
                page_size=page_size,
                consistent=consistent,
                where=where,
            )
        )

    def query_each(
        self,
        selections: Iterable[Selection[R]],
        *,
        limit: int | None = None,
        consistent: bool | None = None,
        where: FieldCondition | None = None,
        concurrency: int = CONCURRENCY,
    ) -> list[Page[R]]:
        """The first page of each of some selections, read concurrently: the last five orders of each customer."""
        flow = query.query_each(
            self.context, selections, limit=limit, consistent=consistent, where=where, concurrency=concurrency
        )
        return self.run_flow(flow)

    def first(
        self, selection: Selection[R], *, consistent: bool | None = None, where: FieldCondition | None = None
    ) -> R | None:
        """The first item of a selection, or None if it has none."""
        return self.run_flow(query.first(self.context, selection, consistent=consistent, where=where))

    def scan(
        self,
        source: Scan[R] | type[R],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        page_size: int | None = None,
        segment: tuple[int, int] | None = None,
        consistent: bool | None = None,
        where: FieldCondition | None = None,
    ) -> Page[R]:
        """A page of all items of an entity; ``segment=(0, 4)`` is the first of four, for parallel processes."""
        return self.run_flow(
            query.scan(
                self.context,
                source,
                limit=limit,
                cursor=cursor,
                page_size=page_size,
                segment=segment,
                consistent=consistent,
                where=where,
            )
        )

    def count(
        self,
        source: Selection[R] | Scan[R] | type[R],
        *,
        consistent: bool | None = None,
        where: FieldCondition | None = None,
    ) -> int:
        """The number of items of a selection, or of an entity; it reads all of them."""
        return self.run_flow(query.count(self.context, source, consistent=consistent, where=where))

    def collect(self, selection: CollectionSelection[C], *, consistent: bool | None = None) -> C | None:
        """Several entities that share a partition, by one query; None if a required one is missing."""
        return self.run_flow(collection_read.collect(self.context, selection, consistent=consistent))

    def pages(
        self,
        source: Selection[R] | Scan[R] | type[R],
        *,
        limit: int | None = None,
        cursor: str | None = None,
        page_size: int | None = None,
        consistent: bool | None = None,
        where: FieldCondition | None = None,
        on_progress: ReadProgressHook | None = None,
    ) -> Iterator[Page[R]]:
        """Page after page of a selection, or of all items of an entity; ``limit`` items in each but the last.

        ``on_progress`` is called after each page, even if none of its items is returned.
        """
        reading, entity = query.begin_read(self.context, source, page_size, cursor, consistent, where)
        returned = 0
        while not reading.ended:
            page = self.run_flow(query.read_page(reading, entity, limit))
            returned += len(page.items)
            if on_progress is not None:
                on_progress(query.progress_of(reading, returned))
            if page.items:
                yield page

    def iterate(
        self,
        source: Selection[R] | Scan[R] | type[R],
        *,
        page_size: int | None = None,
        limit: int | None = None,
        consistent: bool | None = None,
        where: FieldCondition | None = None,
        on_progress: ReadProgressHook | None = None,
    ) -> Iterator[R]:
        """Item after item of a selection, or of all items of an entity; ``limit`` in all."""
        reading, entity = query.begin_read(self.context, source, page_size, None, consistent, where)
        returned = 0
        while not reading.ended and limit != returned:
            left = None if limit is None else limit - returned
            items = self.run_flow(query.read_some(reading, entity, left))
            returned += len(items)
            if on_progress is not None:
                on_progress(query.progress_of(reading, returned))
            for item in items:
                yield item

    def load(self, entity: E) -> E:
        """Load the large values that were not read with an entity, as in the changes of a stream."""
        self.run_flow(blob_loading.load(self.context, entity))
        return entity

    # -- writing ------------------------------------------------------------------------------------------------

    def put(self, entity: E, *, expect: Expected | None = None) -> E:
        """Store an item, whether or not one exists; a versioned one only over the version that was read.

        ``expect`` has conditions on the item that is replaced, which must then exist.
        """
        return self.run_flow(put.put(self.context, entity, expect=expect))

    def create(self, entity: E, *, replacing: FieldCondition | None = None) -> E:
        """Store a new item; ``AlreadyExists`` if there is one, unless ``replacing`` holds for it."""
        return self.run_flow(put.create(self.context, entity, replacing=replacing))

    def create_or_get(self, entity: E) -> tuple[E, bool]:
        """The new item, or the existing one; and whether it was created."""
        return self.run_flow(create_or.create_or_get(self.context, entity))

    def update_or_create(self, entity: E, *changes: FieldChange) -> E:
        """Change the existing item, or store the entity if there is none."""
        return self.run_flow(create_or.update_or_create(self.context, entity, *changes))

    def delete_all(
        self,
        selection: Selection[E],
        *,
        where: FieldCondition | None = None,
        on_progress: DeletionHook | None = None,
    ) -> int:
        """Delete all items of a selection, page by page; returns their number."""
        return self.run_flow(delete_all.delete_all(self.context, selection, where=where, on_progress=on_progress))

    def upsert(self, entity: E) -> E:
        """Create an item, or set the fields of the existing one."""
        return self.run_flow(upsert.upsert(self.context, entity))

    def update(
        self,
        target: E | Lookup[E],
        *changes: FieldChange,
        expect: Expected | None = None,
        return_values: ReturnValues = "ALL_NEW",
    ) -> E:
        """Change some fields of an existing item (see ``Update``); its keys follow, even to another primary key.

        With ``return_values="ALL_OLD"`` it returns the entity as it was before.
        """
        return self.run_flow(
            update.update(
                self.context,
                target,
                *changes,
                expect=expect,
                return_values=return_values,
            )
        )

    def delete(self, target: Entity | Lookup[Any], *, expect: Expected | None = None) -> bool:
        """Delete an item; returns whether there was one."""
        return self.run_flow(delete.delete(self.context, target, expect=expect))

    def transact(self, *operations: Operation) -> None:
        """Several writes, all of them or none: Create, Put, Update, Delete, Check, Absent."""
        return self.run_flow(transaction.transact(self.context, *operations))

    def write_many(self, entities: Iterable[Entity] = (), *, delete: Iterable[Entity | Lookup[Any]] = ()) -> None:
        """Put and delete any number of items, each on its own."""
        return self.run_flow(batch_write.write_many(self.context, entities, delete=delete))

    def batch_writer(self) -> BatchWriter:
        """A context manager that collects puts and deletes, and writes them in requests of 25, like ``write_many``."""
        return BatchWriter(self.context, self.run_flow)

    def write_each(self, operations: Iterable[Operation], *, concurrency: int = CONCURRENCY) -> list[WriteResult]:
        """Any number of writes, each on its own and under its own conditions; returns their results in order.

        An error of one, such as ``ConditionFailed``, is in its result, and does not stop the others.
        """
        return self.run_flow(write_each.write_each(self.context, operations, concurrency=concurrency))

    def execute_once(self, record: type[IdempotencyRecord], key: str, request: Any, work: Callable[[], Outcome]) -> Any:
        """Execute a request once, however often it is sent; a repeated one gets the response of the first.

        ``record`` is the entity that stores the response under the idempotency key ``key``; ``work`` is called to
        execute the request, and returns an ``Outcome``.
        """
        attempt = idempotent_write.IdempotentRequest(record, key, request)
        found = self.run_flow(attempt.find(self.context))
        if found is not None:
            return found.response
        try:
            outcome = call(work)
            return self.run_flow(attempt.commit(self.context, outcome))
        except Exception:
            # A duplicate may have been faster, and the reason why this one failed.
            found = self.run_flow(attempt.find(self.context))
            if found is None:
                raise
            return found.response
