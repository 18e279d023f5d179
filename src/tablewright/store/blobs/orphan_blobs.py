"""Orphans: blobs that no item refers to, found, and deleted once no restore of their table can need them.

    list of blobs, page by page ──▶ whose is it? (its first bytes) ──▶ the item of that key ──▶ does it refer to it?
                                     no ──▶ marked since when? ──▶ a restore may need it: kept      ┐ recovery_reach
                                                               └─▶ no backup, no point in time: deleted ┘

They are left by writes that replace or delete a value, by writes that were interrupted, by items that expired, and by
other programs that write to the table. A blob is checked only when it is older than the grace period: a write puts its
blobs before it commits the item that refers to them, and they must not be deleted meanwhile. A blob belongs to one key
only, so an item that does not refer to it by then never will, unless the table is restored; so the table need not be
searched.

A table can be restored to a time at which an item referred to a blob that is an orphan now. So an orphan has a mark
beside it, with the time since when it is one: made by the write that left it, or else by the first pass that finds it.
It is kept while there is a backup of a time before that, or recovery reaches back to it. A mark of a blob that is
referred to again, after a restore, is deleted; so is one whose blob is gone. Where nothing can be restored, orphans are
deleted at once.

Only sums are kept between pages, and any page can be the last: the cursor continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from tablewright.model import Entity, ModelError, Table, schema_of
from tablewright.store.blobs.blob_references import MAX_HEADER_BYTES, owner_in, references
from tablewright.store.blobs.blob_requests import delete_blobs, head_blobs, list_blobs, put_blobs
from tablewright.store.blobs.blob_store import (
    GRACE,
    UNFINISHED,
    BlobEntry,
    BlobStore,
    blob_prefix,
    created_at,
    entity_in,
    is_blob_name,
    marked_blob,
    orphan_mark,
    orphaned_since,
    time_in,
)
from tablewright.store.blobs.recovery_reach import recovery_reach
from tablewright.store.context import Context
from tablewright.store.errors import InvalidCursor
from tablewright.store.flow.driver import Flow
from tablewright.store.flow.retry import retrying
from tablewright.store.read.batch_get import batch_get

_PAGE = 100
# The beginning of a blob that most headers fit into.
_HEAD = 4 * 1024
# More than what a mark holds.
_TIME = 32
# How much the clocks of writers and of the service may differ.
_SLACK = timedelta(hours=1)


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
    # Those that no item refers to; of them, those that a restore may need, and those that were deleted: none in a dry
    # run.
    orphans: BlobUsage = BlobUsage()
    kept: BlobUsage = BlobUsage()
    removed: BlobUsage = BlobUsage()
    # Blobs without a valid header, for a person to check.
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
    """Delete the blobs of a table, or of one entity, that no item refers to and no restore may need.

    A dry run only counts them. A blob younger than the ``grace`` is left alone: it must be longer than any write takes,
    and than the clocks of the writers differ. ``limit`` ends the pass after about so many blobs.
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
        found: list[BlobEntry] = [entry for entry in response["Blobs"] if is_blob_name(entry.name)]
        page = _Page(context, context.blobs, table, found)
        yield from page.look_up([entry for entry in page.entries if created_at(entry.name) <= oldest_kept])
        kept = yield from page.needed(min(grace, _SLACK).total_seconds(), mark=not dry_run)
        gone = [entry for entry in page.orphans if entry not in kept]
        if not dry_run:
            yield from page.delete(gone)
        report = replace(
            report,
            total=report.total + _usage(page.entries),
            by_entity=_by_entity(report.by_entity, page.entries),
            orphans=report.orphans + _usage(page.orphans),
            kept=report.kept + _usage(kept),
            removed=report.removed + _usage([] if dry_run else gone),
            unreadable=report.unreadable + page.unreadable,
            cursor=response["Blobs"][-1].name if response["Blobs"] else None,
        )
        if on_progress is not None:
            on_progress(report)
        if report.cursor is None or (limit is not None and report.total.blobs >= limit):
            return report


class _Page:
    """A page of blobs and of marks: which of the blobs are orphans, and which of the marks are out of date."""

    def __init__(self, context: Context, blobs: BlobStore, table: Table, found: Sequence[BlobEntry]) -> None:
        self._context = context
        self._blobs = blobs
        self._table = table
        self._marks = {blob: entry.name for entry in found if (blob := marked_blob(entry.name)) is not None}
        self.entries = [entry for entry in found if marked_blob(entry.name) is None]
        self.orphans: list[BlobEntry] = []
        # The number of blobs without a valid header.
        self.unreadable = 0
        self._outdated: list[str] = []

    def look_up(self, entries: Sequence[BlobEntry]) -> Flow[None]:
        """Find the blobs that no item refers to, and the marks whose blob an item refers to, or is gone."""
        context, name = self._context, self._context.name_of(self._table)
        # A file that was never completed belongs to no item.
        self.orphans = [entry for entry in entries if entry.name.endswith(UNFINISHED)]
        finished = [entry for entry in entries if not entry.name.endswith(UNFINISHED)]
        here = {entry.name for entry in self.entries}
        # The blob of the first mark may be the last of the page before.
        elsewhere = [BlobEntry(blob, 0) for blob in self._marks if blob not in here]
        asked = [*finished, *elsewhere]
        owners = yield from _owners(context, self._blobs, [entry.name for entry in asked])
        owned = []
        for entry, owner in zip(asked, owners, strict=True):
            if owner is None:
                if entry.name in self._marks:
                    self._outdated.append(self._marks[entry.name])
            elif not _is_key(self._table, owner.get("key")):
                self.unreadable += entry.name in here
            elif owner["table"] == name:
                owned.append((entry, owner["key"]))
        pattern = f"{self._table.name}.orphans"
        items = yield from batch_get(context, [(name, key) for _, key in owned], pattern, consistent=True)
        for (entry, _), item in zip(owned, items, strict=True):
            if item is None or all(found.blob != entry.name for found in references(item).values()):
                if entry.name in here:
                    self.orphans.append(entry)
            elif entry.name in self._marks:
                self._outdated.append(self._marks[entry.name])

    def needed(self, slack: float, *, mark: bool) -> Flow[list[BlobEntry]]:
        """The orphans that a restore may need; those without a mark get one."""
        finished = [entry for entry in self.orphans if not entry.name.endswith(UNFINISHED)]
        if not finished:
            return []
        context = self._context
        # Asked after the items were read: what is backed up from now on does not refer to an orphan.
        reach = yield from recovery_reach(context, context.name_of(self._table))
        if not reach:
            return []
        marks = [orphan_mark(entry.name) for entry in finished]
        response = yield from retrying(context, head_blobs(self._blobs, marks, _TIME))
        since = [None if found is None else time_in(found) for found in response["Blobs"]]
        unmarked = [name for name, time in zip(marks, since, strict=True) if time is None]
        if unmarked and mark:
            now = orphaned_since(context.clock())
            yield from retrying(context, put_blobs(self._blobs, [(name, now) for name in unmarked]))
        return [
            entry
            for entry, time in zip(finished, since, strict=True)
            if time is None or reach.may_need(created_at(entry.name), time, slack)
        ]

    def delete(self, gone: Sequence[BlobEntry]) -> Flow[None]:
        """Delete orphans, and then marks: those of the orphans, and those that are out of date."""
        marks = [orphan_mark(entry.name) for entry in gone if not entry.name.endswith(UNFINISHED)]
        for names in ([entry.name for entry in gone], [*marks, *self._outdated]):
            if names:
                yield from retrying(self._context, delete_blobs(self._blobs, names))


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
