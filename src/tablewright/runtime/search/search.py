"""``Search``: maintains the full-text index of a process's systems, and answers with the rights of the caller.

    a table's stream ──▶ <system>.search ──▶ index            a consumer like any other: checkpoint, lag, dead letters
    a table, read from end to end ──▶ index                   at the first start, when declarations change, on demand
    query ──▶ index, by kinds and owners ──▶ items read again ──▶ results

Rights are applied twice: in the query of the index, so that neither the order nor the number of results reveals other
items, and to the current items, so that an index that is behind shows nothing that was deleted, masked or reassigned.
Results are made from the item that was read, not from the index.

A rebuild writes a new generation of documents in parallel with the stream, and removes what neither has seen: searches
continue meanwhile. It reads items with the rights of maintenance.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from tablewright.dynamo import Item
from tablewright.model import Entity, Table, schema_of
from tablewright.runtime.background.consumer_threads import ConsumerSpec
from tablewright.runtime.background.periodic_thread import PeriodicThread
from tablewright.runtime.errors import StateConflict
from tablewright.runtime.identity.access import Caller
from tablewright.runtime.search.full_text_index import FullTextIndex, IndexInUse
from tablewright.runtime.search.searchable import Document, Excerpt, Searchable, excerpt, terms_of, title_of
from tablewright.runtime.settings import Settings
from tablewright.store import (
    AnyChange,
    AsyncStore,
    AsyncTolerantReader,
    Change,
    Effects,
    RawChange,
    Store,
    StoreError,
    TolerantReader,
    Unreadable,
    entity_filter,
    readable_filter,
)

__all__ = ["Found", "Search", "SearchState"]

_PAGE = 200
# Documents are deleted from the file itself so often, in seconds; from results, at once.
_PURGE_EVERY = 30.0
_RETRY_AFTER = 10.0
# Processes that keep their indexes in one data folder.
_MAX_FILES = 64

_log = logging.getLogger(__name__)

OnIndexed = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Found:
    """A result: its kind, its ids, and the words that were found."""

    kind: str
    ids: dict[str, str]
    title: Excerpt
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class SearchState:
    """How complete the index of a system is."""

    system: str
    documents: int
    is_building: bool
    # Why the last rebuild failed; it is tried again.
    failing: str | None


class Search(PeriodicThread):
    """The index of the systems of one process. It is opened by ``start``, or by the first use."""

    def __init__(
        self,
        settings: Settings,
        store: AsyncStore,
        maintenance_store: Store,
        systems: Mapping[str, Sequence[Searchable]],
    ) -> None:
        """``systems`` declares what can be found in each; results are read in ``store``, rebuilds use the other."""
        super().__init__("search", role="maintenance", every=_PURGE_EVERY, first=0, retry=_RETRY_AFTER)
        self._settings = settings
        self._store = store
        self._maintenance_store = maintenance_store
        self._systems = {system: searchables for system, searchables in systems.items() if searchables}
        self._index: FullTextIndex | None = None
        self._opening = threading.Lock()
        self._wanted: set[str] = set()
        self._building: set[str] = set()
        self._failing: dict[str, str] = {}

    # -- searching ----------------------------------------------------------------------------------------------

    async def find(self, system: str, caller: Caller, query: str, limit: int) -> list[Found]:
        """What a caller may read that has words starting with those of the query, best first."""
        searchables = {each.kind: each for each in self._systems[system]}
        rights = {kind: each.rights_of(caller) for kind, each in searchables.items()}
        terms = terms_of(query)
        index = self._open()
        hits = await asyncio.to_thread(
            index.find,
            system,
            terms,
            kinds=[kind for kind, right in rights.items() if right == "all"],
            own=[kind for kind, right in rights.items() if right == "own"],
            person=caller.user_id,
            limit=limit,
        )
        reader = AsyncTolerantReader(self._store)
        entities = await reader.each([searchables[hit.kind].lookup(hit.ids) for hit in hits]) if hits else []
        found: list[Found] = []
        for hit, entity in zip(hits, entities, strict=True):
            if entity is None or isinstance(entity, Unreadable):
                continue
            document = searchables[hit.kind].document(entity)
            if rights[hit.kind] == "own" and caller.user_id not in document.owners:
                continue
            title, text = excerpt(title_of(document), terms), excerpt(document.text, terms)
            if not title.matches and not text.matches:
                text = excerpt(document.title, terms)
            # The item may have changed since it was indexed.
            if title.matches or text.matches:
                found.append(Found(hit.kind, hit.ids, title, text))
        return found

    # -- how far it is ------------------------------------------------------------------------------------------

    def states(self) -> list[SearchState]:
        index = self._open()
        return [
            SearchState(system, index.count(system), self.is_building(system), self._failing.get(system))
            for system in self._systems
        ]

    def is_building(self, system: str) -> bool:
        """Whether documents may be missing that are older than the process."""
        return system in self._building | self._wanted or self._open().declaration(system) != self._declaration(system)

    def rebuild_soon(self, system: str) -> None:
        """Rebuild the documents of a system, in the background; StateConflict while a rebuild is running."""
        if system in self._building or system in self._wanted:
            raise StateConflict(f"the search index of {system} is being rebuilt")
        self._wanted.add(system)
        self.wake()

    @property
    def is_beside_another(self) -> bool:
        """Whether another process is using the first index of the data folder, so that this one has another."""
        return self._open().path not in (None, _path(self._settings))

    @property
    def systems(self) -> list[str]:
        return list(self._systems)

    # -- the index ----------------------------------------------------------------------------------------------

    def consumers(self) -> list[ConsumerSpec]:
        """A consumer for each table with searchable entities."""
        if not self._systems:
            return []
        # Each index is to have all changes: on an endpoint, other processes have indexes of their own.
        suffix = "" if self._settings.is_embedded else f".{self._open().id}"
        found = []
        for system, searchables in self._systems.items():
            for table in dict.fromkeys(schema_of(each.entity).table for each in searchables):
                handler = _Handler(self._open(), system, table, searchables)
                found.append(
                    ConsumerSpec(
                        f"{system}.search{suffix}",
                        table,
                        handler.handle,
                        change_filter=handler.is_readable,
                        on_lost=partial(self._lost, system),
                    )
                )
        return found

    def rebuild(
        self,
        system: str,
        on_indexed: OnIndexed = lambda number: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> int:
        """Rebuild all documents of a system from its tables; returns how many there are."""
        index, searchables = self._open(), self._systems[system]
        generation = index.begin(system)
        reader = TolerantReader(self._maintenance_store)
        number = 0
        for each in searchables:
            schema, cursor = schema_of(each.entity), None
            while True:
                page = reader.page(each.entity, limit=_PAGE, cursor=cursor)
                documents = {}
                for entity in page.items:
                    document = each.document(entity)
                    if not document.is_empty:
                        documents[_item_key(schema.table, schema.key_of(schema.encode(entity)))] = document
                index.write_scanned(system, documents, generation)
                number += len(page.items)
                on_indexed(number)
                cursor = page.cursor
                if cursor is None:
                    break
                if is_stopped():
                    raise _Stopped
        index.remove_older(system, generation)
        index.complete(system, self._declaration(system))
        index.purge()
        return index.count(system)

    # -- in the background ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Rebuild what is missing or of another version, in a thread that then purges deleted words."""
        if self._systems:
            index = self._open()
            self._wanted |= {each for each in self._systems if index.declaration(each) != self._declaration(each)}
            super().start()

    def close(self) -> None:
        with self._opening:
            if self._index is not None:
                self._index.close()
                self._index = None

    def turn(self, is_stopped: Callable[[], bool]) -> None:
        """Run requested rebuilds, and purge; raises an error if a rebuild failed, which is retried."""
        errors = []
        for system in sorted(self._wanted):
            self._wanted.discard(system)
            self._building.add(system)
            try:
                self.rebuild(system, is_stopped=is_stopped)
                self._failing.pop(system, None)
            except (StoreError, sqlite3.Error, OSError) as error:
                self._failing[system] = type(error).__name__
                self._wanted.add(system)
                errors.append(error)
            finally:
                self._building.discard(system)
        self._open().purge()
        if errors:
            raise errors[0]

    def _lost(self, system: str) -> None:
        """The stream no longer has what the consumer had not read."""
        self._open().incomplete(system)
        self._wanted.add(system)
        self.wake()

    def _open(self) -> FullTextIndex:
        with self._opening:
            if self._index is None:
                self._index = _opened(self._settings)
            return self._index

    def _declaration(self, system: str) -> str:
        return ";".join(each.declaration for each in self._systems[system])


class _Stopped(Exception):
    """The process is stopping; the next start begins again."""


class _Handler:
    """Writes what the stream says of one system to the index."""

    def __init__(self, index: FullTextIndex, system: str, table: Table, searchables: Sequence[Searchable]) -> None:
        self._index = index
        self._system = system
        self._table = table
        self._searchables = {each.entity: each for each in searchables if schema_of(each.entity).table is table}
        self._is_ours = entity_filter(*self._searchables)
        self._is_readable = readable_filter(*self._searchables)
        # The items whose last change in the batch could not be read: what the index has is newer than those before it.
        self._unreadable: set[str] = set()

    def is_readable(self, change: RawChange) -> bool:
        """The change filter: what cannot be read is no document, and no dead letter either."""
        if not self._is_ours(change):
            return False
        item = _item_key(self._table, change.key)
        if self._is_readable(change):
            self._unreadable.discard(item)
            return True
        entity = None if change.after is None else self._entity_of(change.after)
        self._index.write(self._system, {item: self._document(entity)})
        self._unreadable.add(item)
        return False

    def handle(self, changes: Sequence[AnyChange], effects: Effects) -> None:
        # Of several changes of an item, the last one counts.
        latest = {_item_key(self._table, change.key): change for change in changes if isinstance(change, Change)}
        documents = {
            item: self._document(change.after) for item, change in latest.items() if item not in self._unreadable
        }
        self._index.write(self._system, documents)
        self._unreadable.clear()

    def _document(self, entity: Entity | None) -> Document | None:
        document = None if entity is None else self._searchables[type(entity)].document(entity)
        return None if document is None or document.is_empty else document

    def _entity_of(self, item: Item) -> Entity | None:
        """What a change made of an item, if only what was before it cannot be read."""
        for entity in self._searchables:
            if schema_of(entity).matches(item):
                try:
                    return entity.of(item)
                except (Unreadable, ValueError):
                    return None
        return None


def _item_key(table: Table, key: Any) -> str:
    return json.dumps([table.name, *(key[name] for name in table.key)])


def _opened(settings: Settings) -> FullTextIndex:
    first = _path(settings)
    try:
        for number in range(1, _MAX_FILES + 1):
            # Processes on one endpoint may share a data folder, and never an index: each reads the stream for its own.
            path = first if first is None or number == 1 else first.with_stem(f"{first.stem}-{number}")
            try:
                return FullTextIndex(path)
            except IndexInUse:
                continue
        _log.warning("search index is kept in memory: its files are all in use")
    except (sqlite3.Error, OSError) as error:
        # A machine that gives a process no disk; the index is made again at each start.
        _log.warning("search index is kept in memory: its file cannot be used", exc_info=error)
    return FullTextIndex(None)


def _path(settings: Settings) -> Path | None:
    """The file of the index; each endpoint, and each environment and prefix of names there, has its own."""
    if settings.memory:
        return None
    settings.data.mkdir(parents=True, exist_ok=True)
    if settings.is_embedded:
        return settings.data / "search.sqlite"
    place = f"{settings.endpoint} {settings.region} {settings.environment} {settings.table_prefix}"
    return settings.data / f"search-{sha256(place.encode()).hexdigest()[:12]}.sqlite"
