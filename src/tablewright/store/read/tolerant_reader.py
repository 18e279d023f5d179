# Generated from async_tolerant_reader.py by tools/generate_sync.py. Do not edit it; run `make generate`.
"""Tolerant reads: an item that cannot be read is left out and reported, where a store fails the whole read.

A store skips nothing: one item that is not valid as its entity fails the read that it is part of. In a list, or in a
job over many items, one such item would hide all the others. A tolerant reader returns its error instead:

    reader.page(selection, limit=50)      items, the errors of unreadable items, and a cursor
    reader.one(lookup)                    an entity, None, or the error
    reader.each(lookups)                  the same for each of them
    reader.collect(selection)             a collection, and the errors of members that were left out
    reader.all(selection)                 all items of a short list, and the errors
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from tablewright.model import Collection, CollectionSelection, Lookup, Selection
from tablewright.store.errors import Unreadable
from tablewright.store.read import tolerant
from tablewright.store.read.planning.scan import Scan
from tablewright.store.read.tolerant import Predicate, TolerantPage
from tablewright.store.store import Store

E = TypeVar("E", bound=BaseModel)
C = TypeVar("C", bound=Collection)


class TolerantReader:
    """Reads that leave out unreadable items and report them.

    ``on_unreadable`` is called with the error of each such item, in addition to its being returned, for example to log
    it::

        reader = TolerantReader(store, on_unreadable=log.warning)
        page = reader.page(Call.upcoming(user_id="u-1"), limit=50)
        page.items, page.unreadable, page.cursor
    """

    def __init__(self, store: Store, on_unreadable: Callable[[Unreadable], None] | None = None) -> None:
        self._store = store
        self._on_unreadable = on_unreadable

    def page(
        self,
        source: Selection[E] | Scan[E] | type[E],
        *,
        limit: int,
        cursor: str | None = None,
        include: Predicate = tolerant.everything,
    ) -> TolerantPage[E]:
        """A page of a selection, or of all items of an entity; of the entities that ``include`` is true of.

        It has ``limit`` items unless the list ends, or more than 1,000 items had to be read for it.
        """
        context = self._store.context
        found = self._store.run_flow(tolerant.read_page(context, source, limit, cursor, include))
        self._report(found.unreadable)
        return found

    def one(self, lookup: Lookup[E], *, consistent: bool | None = None) -> E | Unreadable | None:
        """An entity, None if there is none, or the error that says why it cannot be read."""
        found = self._store.run_flow(tolerant.read_one(self._store.context, lookup, consistent))
        self._report([found])
        return found

    def each(self, lookups: Sequence[Lookup[E]], *, consistent: bool | None = None) -> list[E | Unreadable | None]:
        """For each lookup an entity, None, or the error, in their order."""
        found = self._store.run_flow(tolerant.read_each(self._store.context, lookups, consistent))
        self._report(found)
        return found

    def collect(
        self, selection: CollectionSelection[C], *, consistent: bool | None = None
    ) -> tuple[C | None, list[Unreadable]]:
        """A collection, and the errors of members that were left out; ``LimitExceeded`` past 16 MB.

        None if a required member is missing; ``Unreadable`` is raised if a required member cannot be read.
        """
        found = self._store.run_flow(tolerant.read_collection(self._store.context, selection, consistent))
        self._report(found[1])
        return found

    def all(self, selection: Selection[E]) -> TolerantPage[E]:
        """All items of a list that is known to be short, such as what belongs to one item."""
        found = self._store.run_flow(tolerant.read_all(self._store.context, selection))
        self._report(found.unreadable)
        return found

    def version(self, lookup: Lookup[E]) -> int:
        """The version of an item, even if it is unreadable otherwise; 0 if it has none."""
        return self._store.run_flow(tolerant.read_version(self._store.context, lookup))

    def _report(self, found: Iterable[object]) -> None:
        if self._on_unreadable is not None:
            for each in found:
                if isinstance(each, Unreadable):
                    self._on_unreadable(each)
