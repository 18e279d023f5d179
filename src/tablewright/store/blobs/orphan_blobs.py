"""Orphans: blobs that no item refers to, found and deleted.

    list of blobs, page by page ──▶ whose is it? (its first bytes) ──▶ the item of that key ──▶ does it refer to it?

They are left by writes that were interrupted, by items that expired, and by other programs that write to the table. A
blob is checked only when it is older than the grace period: a write puts its blobs before it commits the item that
refers to them, and they must not be deleted meanwhile. A blob belongs to one key only, so an item that does not
refer to it by then never will, and the table does not have to be searched.

Only sums are kept between pages, and any page can be the last: the cursor continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import unquote

from tablewright.model import Entity, ModelError, Table, schema_of
from tablewright.store.blobs.blob_references import MAX_HEADER_BYTES, owner_in, references
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
    """A number of blobs, and their size in bytes."""

    blobs: int = 0
    bytes: int = 0

    def __add__(self, other: BlobUsage) -> BlobUsage:
        return BlobUsage(self.blobs + other.blobs, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """What a pass over blobs has found; ``cursor`` continues it, and is None at the end."""

    # All blobs that were read, and those of each entity.
    total: BlobUsage = BlobUsage()
    by_entity: dict[str, BlobUsage] = field(default_factory=dict)
    # Those that no item refers to, and those of them that were deleted: none in a dry run.
    orphans: BlobUsage = BlobUsage()
    removed: BlobUsage = BlobUsage()
    # Blobs without a valid header; a person has to look at them.
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
    """Delete the blobs of a table, or of one entity, that no item refers to; a dry run only counts them.

    A blob younger than the ``grace`` is left alone: it must be longer than any write takes, and than the clocks of the
    writers differ. ``limit`` ends the pass after about so many blobs.
    """
    if context.blobs is None:
        raise ModelError("this store has no blob store: open it with blobs=...")
    if grace < timedelta(0):
        raise ValueError("grace must not be negative: it is the least age of a blob that is deleted")
    table = target if isinstance(target, Table) else schema_of(target).table
    name = context.name_of(table)
    prefix = blob_prefix(name, None if isinstance(target, Table) else schema_of(target).type_name)
    if cursor is not None and not cursor.startswith(prefix):
        raise InvalidCursor(f"this cursor does not belong to {prefix.rstrip('/')}")
    # Fixed at the beginning: what is written during the pass is younger.
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
    """Those that no item refers to, and the number of blobs without a valid header."""
    name = context.name_of(table)
    # A file that was never completed belongs to no item.
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
    """The owners in the headers of blobs; None for one that is gone, empty for one without a valid header."""
    if not names:
        return []
    owners: dict[str, dict[str, Any] | None] = {}
    for length in (_HEAD, MAX_HEADER_BYTES):
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
