"""Orphans: blobs that nothing refers to, found and removed.

    list of blobs, page by page ──▶ whose is it? (its first bytes) ──▶ the item under that key ──▶ does it refer to it?

They come from writes that ended half-way, from items that expired, and from tables that others write to. A blob is
looked at only when it is older than the grace: a write puts its blobs before it commits what refers to them, and must
not be robbed of them meanwhile. As a blob belongs to one key for good, an item that does not refer to it by then never
will, and the table does not have to be searched.

Nothing is kept between the pages but sums, and any page can be the last: the cursor goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import unquote

from tablewright.model import Entity, ModelError, Table, schema_of
from tablewright.store.blobs.blob_references import MOST_OF_HEADER, owner_in, references
from tablewright.store.blobs.blob_requests import delete_blobs, head_blobs, list_blobs
from tablewright.store.blobs.blob_store import (
    UNFINISHED,
    BlobEntry,
    BlobStore,
    blob_prefix,
    created_at,
    entity_in,
    is_blob_name,
)
from tablewright.store.context import Context
from tablewright.store.errors import InvalidCursor
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import retrying
from tablewright.store.read.batch_get import batch_get

GRACE: Final = timedelta(days=1)
_PAGE = 100
# The beginning of a blob that most headers fit into.
_HEAD = 4 * 1024


@dataclass(frozen=True, slots=True)
class BlobUsage:
    """So many blobs, and the bytes that they take up."""

    blobs: int = 0
    bytes: int = 0

    def __add__(self, other: BlobUsage) -> BlobUsage:
        return BlobUsage(self.blobs + other.blobs, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """What a collection has come to, so far or in all; ``cursor`` goes on from here, None at the end."""

    # All blobs that were looked at, and those of each entity.
    total: BlobUsage = BlobUsage()
    by_entity: dict[str, BlobUsage] = field(default_factory=dict)
    # Those that nothing refers to, and those of them that were removed: none in a dry run.
    orphans: BlobUsage = BlobUsage()
    removed: BlobUsage = BlobUsage()
    # Blobs that do not say whose they are; somebody has to look at them.
    unreadable: int = 0
    cursor: str | None = None


OrphanHook = Callable[[OrphanReport], None]


def collect_orphans(
    context: Context,
    target: Table | type[Entity],
    *,
    dry_run: bool = True,
    grace: timedelta = GRACE,
    cursor: str | None = None,
    limit: int | None = None,
    on_progress: OrphanHook | None = None,
) -> Flow[OrphanReport]:
    """Remove the blobs of a table, or of one entity, that nothing refers to; a dry run only counts them.

    A blob that is younger than the ``grace`` is left alone: it has to be longer than any write takes, and than the
    clocks of those who write are apart. ``limit`` ends the pass after about so many blobs.
    """
    if context.blobs is None:
        raise ModelError("this store keeps nothing outside of its tables; give it blobs=...")
    if grace < timedelta(0):
        raise ValueError("the grace is how old a blob has to be, so it is not negative")
    table = target if isinstance(target, Table) else schema_of(target).table
    name = context.name_of(table)
    prefix = blob_prefix(name, None if isinstance(target, Table) else schema_of(target).type_name)
    if cursor is not None and not cursor.startswith(prefix):
        raise InvalidCursor(f"this cursor is not of a collection of {prefix.rstrip('/')}")
    # Fixed at the beginning: what is written while this runs is young.
    oldest_kept = context.clock() - grace.total_seconds()
    report = OrphanReport(cursor=cursor)
    while True:
        response = yield from retrying(context, list_blobs(context.blobs, prefix, report.cursor, _PAGE))
        entries: list[BlobEntry] = [entry for entry in response["Blobs"] if is_blob_name(entry.name)]
        old = [entry for entry in entries if created_at(entry.name) <= oldest_kept]
        orphans, unreadable = yield from _orphans(context, context.blobs, table, old)
        removed: Sequence[BlobEntry] = ()
        if orphans and not dry_run:
            yield from retrying(context, delete_blobs(context.blobs, [entry.name for entry in orphans]))
            removed = orphans
        report = replace(
            report,
            total=report.total + _usage(entries),
            by_entity=_by_entity(report.by_entity, entries),
            orphans=report.orphans + _usage(orphans),
            removed=report.removed + _usage(removed),
            unreadable=report.unreadable + unreadable,
            cursor=response["Blobs"][-1].name if response["Blobs"] else None,
        )
        if on_progress is not None:
            on_progress(report)
        if report.cursor is None or (limit is not None and report.total.blobs >= limit):
            return report


def _orphans(
    context: Context, blobs: BlobStore, table: Table, entries: Sequence[BlobEntry]
) -> Flow[tuple[list[BlobEntry], int]]:
    """Those that nothing refers to, and how many do not say whose they are."""
    name = context.name_of(table)
    # A file that was never finished is nobody's.
    orphans = [entry for entry in entries if entry.name.endswith(UNFINISHED)]
    finished = [entry for entry in entries if not entry.name.endswith(UNFINISHED)]
    owners = yield from _owners(context, blobs, [entry.name for entry in finished])
    owned = []
    unreadable = 0
    for entry, owner in zip(finished, owners, strict=True):
        if owner is None:
            continue
        if not _is_key(table, owner.get("key")):
            unreadable += 1
        elif owner["table"] == name:
            owned.append((entry, owner["key"]))
    items = yield from batch_get(context, [(name, key) for _, key in owned], f"{table.name}.orphans", consistent=True)
    for (entry, _), item in zip(owned, items, strict=True):
        if item is None or all(found.blob != entry.name for found in references(item).values()):
            orphans.append(entry)
    return orphans, unreadable


def _owners(context: Context, blobs: BlobStore, names: Sequence[str]) -> Flow[list[dict[str, Any] | None]]:
    """Whose blobs are, as they say; None for one that is gone, nothing for one that does not say."""
    if not names:
        return []
    owners: dict[str, dict[str, Any] | None] = {}
    for length in (_HEAD, MOST_OF_HEADER):
        wanted = [name for name in names if owners.get(name, {}) == {}]
        if wanted:
            response = yield from retrying(context, head_blobs(blobs, wanted, length))
            for name, head in zip(wanted, response["Blobs"], strict=True):
                owners[name] = None if head is None else owner_in(head) or {}
    return [owners[name] for name in names]


def _is_key(table: Table, key: Any) -> bool:
    return isinstance(key, dict) and key.keys() == set(table.key) and all(isinstance(v, dict) for v in key.values())


def _usage(entries: Sequence[BlobEntry]) -> BlobUsage:
    return BlobUsage(len(entries), sum(entry.size for entry in entries))


def _by_entity(known: dict[str, BlobUsage], entries: Sequence[BlobEntry]) -> dict[str, BlobUsage]:
    sums = dict(known)
    for entry in entries:
        entity = unquote(entity_in(entry.name))
        sums[entity] = sums.get(entity, BlobUsage()) + BlobUsage(1, entry.size)
    return sums
