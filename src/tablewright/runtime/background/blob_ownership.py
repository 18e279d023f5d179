"""Which database the blobs of a folder or a bucket belong to.

A blob says which table and which item it belongs to, but tables of the same name are in every environment and on every
endpoint: to another database than its own, each blob looks like an orphan. So a database has an id, in an item of the
internal table, and the place of its blobs has the same id, in the name of an empty blob. A place without any belongs to
the database whose items refer to blobs in it, or to the first one if it has no blobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

from tablewright.model import Entity, Get, Keys, Table
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AlreadyExists, BlobStore, Store

__all__ = ["BlobOwner", "owns_blobs"]

# No table has this name. The rest of a blob's name is a time, and the id.
_PLACE = "~owner/Database/00/0000000000000-"
_PREFIX = "~owner/"
# How many blobs are checked for one that an item refers to.
_SAMPLE = 1000


class BlobOwner(Entity, table=internal_table):
    """The id of a database, as the owner of blobs."""

    id: str

    keys = Keys(PK="BLOBS", SK="OWNER")

    @Get(consistent=True)
    def of_database(self) -> None:
        """The id of this database."""


def owns_blobs(store: Store, tables: Sequence[Table]) -> bool:
    """Whether the blobs of a store belong to its database, which takes over a place without an owner.

    ``tables`` are those with large values.
    """
    blobs = store.context.blobs
    assert blobs is not None
    owner = store.get(BlobOwner.of_database())
    found = _owner_in(blobs)
    if owner is not None and found == owner.id:
        return True
    has_blobs = any(blobs.entries(f"{store.context.name_of(table)}/", None, 1) for table in tables)
    if has_blobs and (found is not None or not _refers_to_some(store, tables)):
        return False
    if owner is None:
        owner = BlobOwner(id=uuid4().hex)
        try:
            store.create(owner)
        except AlreadyExists:
            # Another process of this database was faster.
            owner = store.get(BlobOwner.of_database())
            assert owner is not None
    if found is not None:
        # Of a database that has no blobs here, such as one in memory that is gone.
        blobs.delete(_PLACE + found)
    blobs.put(_PLACE + owner.id, b"")
    return _owner_in(blobs) == owner.id


def _owner_in(blobs: BlobStore) -> str | None:
    """The id in a place; of two databases that took it at once, it belongs to the first by name."""
    found = [entry.name for entry in blobs.entries(_PREFIX, None, 2)]
    return found[0].removeprefix(_PLACE) if found else None


def _refers_to_some(store: Store, tables: Sequence[Table]) -> bool:
    """Whether items of the database refer to any of the first blobs."""
    for table in tables:
        seen = store.collect_orphans(table, dry_run=True, grace=timedelta(0), limit=_SAMPLE)
        if seen.total.blobs > seen.orphans.blobs + seen.unreadable:
            return True
    return False
