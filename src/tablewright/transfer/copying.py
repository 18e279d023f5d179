"""The copy of tables: each in segments that are read in parallel, one page ahead of the one being written.

    source.page ──▶ changes ──▶ blobs ──▶ target.write ──▶ counts, checksums, position in the state ──▶ the next page

Tables are copied one after the other. When all segments of a table have ended, the target is compared with what was
written, and features such as a stream and time to live are enabled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from tablewright.dynamo import Item
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.transfer.blob_copies import BlobCopies
from tablewright.transfer.changes.item_changes import ItemChanges
from tablewright.transfer.comparing import MAX_LISTED, absent_or_different, differences, digests_in
from tablewright.transfer.copy_state import CopyState, SegmentState, TableState
from tablewright.transfer.errors import TransferError
from tablewright.transfer.item_digests import ItemDifference, KeyDigests
from tablewright.transfer.places.place_protocols import Page, Source, Target
from tablewright.transfer.places.table_definition import TableDefinition

__all__ = ["CopyOptions", "CopyProgress", "TableCopy", "copy_tables"]

_SEGMENTS = 4
_KINDS = {"S": "text", "N": "a number", "B": "a binary value"}


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of a copy.

    ``tables`` are those of the source, all if it is empty; ``renamed`` has their other names in the target.
    """

    tables: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    segments: int = _SEGMENTS
    # Whether tables of the target may have items that are not in the source.
    into_existing: bool = False
    # Whether existing tables of the target may have a stream, whose consumers act on every item that is copied.
    with_stream: bool = False
    verify: bool = True
    # The state file; None for one in the current folder, named after the two places.
    state: Path | None = None


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """The progress of a table: items read, and their approximate total (0: unknown)."""

    table: str
    phase: Literal["copy", "verify"]
    items: int
    expected: int


@dataclass(slots=True)
class TableCopy:
    """The result for one table."""

    source: str
    target: str
    # Items read, and those of them that were written; in all runs of the copy together.
    read: int
    written: int
    # Whether the target was compared, and the differences: the first ones only, if there are many.
    verified: bool = False
    differences: list[ItemDifference] = field(default_factory=list)
    # How many of the 256 parts of the keys differ; for differences that cannot be listed by item.
    differing_parts: int = 0
    # What the target does not support.
    lacking: list[str] = field(default_factory=list)
    # Items that refer to values in a blob store, and whether those were copied.
    with_blobs: int = 0
    has_blobs: bool = False

    @property
    def ok(self) -> bool:
        return not self.differences and not self.differing_parts


OnProgress = Callable[[CopyProgress], None]


async def copy_tables(
    source: Source,
    target: Target,
    options: CopyOptions,
    changes: ItemChanges | None = None,
    on_progress: OnProgress = lambda _: None,
    blobs: BlobCopies | None = None,
) -> list[TableCopy]:
    """Copy tables, or continue a stopped copy; the result for each table. TransferError if something must be fixed.

    With ``blobs``, the large values that items refer to are also copied.
    """
    try:
        return await _copied(source, target, options, changes or ItemChanges(), on_progress, blobs)
    except OSError as error:
        raise TransferError(
            f"{error.filename or target.place} cannot be used: {error.strerror or error}; run the same command again "
            "when it can"
        ) from error


async def _copied(
    source: Source,
    target: Target,
    options: CopyOptions,
    changes: ItemChanges,
    on_progress: OnProgress,
    blobs: BlobCopies | None,
) -> list[TableCopy]:
    names = await _chosen(source, target, options)
    identity = {
        "source": source.place,
        "target": target.place,
        "tables": dict(names),
        "blobs": None if blobs is None else blobs.identity,
        **changes.identity,
    }
    path = options.state or default_state(source.place, target.place)
    state = CopyState(path, identity, target.secure)
    finished = False
    try:
        if not options.with_stream:
            await _check_streams(target, [renamed for _, renamed in names], state)
        done = []
        for name, renamed in names:
            copy = _TableCopying(source, target, (name, renamed), options, changes, state, on_progress, blobs)
            done.append(await copy.run())
        finished = all(table.ok for table in done)
        return done
    finally:
        state.close(finished=finished)


def default_state(source: str, target: str) -> Path:
    """The state file of a copy from one place to another, in the current folder."""
    places = sha256("\n".join([source, target]).encode()).hexdigest()
    return Path(f".tablewright-copy-{places[:12]}.json").absolute()


async def _chosen(source: Source, target: Target, options: CopyOptions) -> list[tuple[str, str]]:
    """The tables to copy, with their names in the target."""
    known = await source.table_names()
    names = list(dict.fromkeys(options.tables)) or known
    for name in [*names, *options.renamed]:
        if name not in known:
            raise TransferError(f"{source.place} has no table {name}; it has {', '.join(known) or 'none'}")
    if not names:
        raise TransferError(f"{source.place} has no tables")
    pairs = [(name, options.renamed.get(name, name)) for name in names]
    if len(pairs) > 1 and not target.holds_tables:
        raise TransferError(
            f"{target.place} is one file, and {source.place} has {len(pairs)} tables; choose one with --table, or "
            "write a file for each, such as export/{table}.json"
        )
    targets = [renamed for _, renamed in pairs]
    for renamed in targets:
        target.check_name(renamed)
        if targets.count(renamed) > 1:
            raise TransferError(f"two tables would have the name {renamed} in the target; rename one with --rename")
    if source.place == target.place and any(renamed in names for renamed in targets):
        raise TransferError("source and target are the same place; rename every table with --rename OLD=NEW")
    return pairs


async def _check_streams(target: Target, names: Sequence[str], state: CopyState) -> None:
    """TransferError if tables have a stream, unless the copy itself has created them."""
    streamed = []
    for name in names:
        table = state.tables.get(name)
        there = None if table is not None and table.created else await target.existing(name)
        if there is not None and there.stream is not None:
            streamed.append(name)
    if streamed:
        has = "has a stream, whose" if len(streamed) == 1 else "have streams, whose"
        raise TransferError(
            f"{' and '.join(streamed)} of {target.place} {has} consumers would act on every item that is copied, for "
            "example send mail about it; add --with-stream if that is wanted, or choose another name with --rename "
            "OLD=NEW"
        )


class _TableCopying:
    """One table of a copy."""

    def __init__(
        self,
        source: Source,
        target: Target,
        names: tuple[str, str],
        options: CopyOptions,
        changes: ItemChanges,
        state: CopyState,
        on_progress: OnProgress,
        blobs: BlobCopies | None,
    ) -> None:
        self._source, self._target = source, target
        self._blobs = blobs
        self._names = names
        self._options, self._changes, self._state = options, changes, state
        self._on_progress = on_progress
        self._expected = 0
        # The name by which the design knows the table.
        self._modelled = names[0]
        # The definition to create the table from, and that of the table which is written to.
        self._definition: TableDefinition | None = None
        self._known: TableDefinition | None = None
        self._preparing = asyncio.Lock()
        self._prepared = False
        self._refused: Exception | None = None

    async def run(self) -> TableCopy:
        name, renamed = self._names
        self._source.known_as(name, renamed)
        self._target.known_as(renamed, name)
        definition = self._definition = await self._found_definition()
        self._modelled = name if self._changes.modelled(name) is not None else renamed
        table = self._state.tables.get(renamed)
        if table is not None and table.done:
            self._target.tidy(renamed, len(table.segments))
            return TableCopy(
                name,
                renamed,
                table.read,
                table.digests.count,
                verified=self._options.verify,
                with_blobs=table.with_blobs,
                has_blobs=self._blobs is not None,
            )
        self._expected = await self._source.expected_items(name)
        there = await self._target.existing(renamed)
        self._known = there or definition
        if table is None:
            table = await self._begun(there, definition)
        else:
            await self._prepare(table)
        key = () if self._known is None else self._known.key
        await self._copy(table, key)
        await self._target.assemble(renamed, len(table.segments), definition)
        result = TableCopy(
            name,
            renamed,
            table.read,
            table.digests.count,
            with_blobs=table.with_blobs,
            has_blobs=self._blobs is not None,
        )
        if self._options.verify:
            await self._verify(result, table, key)
        if result.ok:
            model = self._changes.modelled(self._modelled)
            if self._changes.drops_internal and model is not None:
                await self._target.restore_internal(renamed, model)
            if table.created:
                result.lacking = await self._target.finish(renamed, definition)
            table.done = True
        else:
            # The same command copies the table again.
            table.segments = [SegmentState() for _ in table.segments]
            table.digests = KeyDigests()
            table.with_blobs = 0
        await self._state.save()
        if table.done:
            self._target.tidy(renamed, len(table.segments))
        return result

    def _changed(self, items: list[Item]) -> list[Item]:
        """The items to write, for items that were read."""
        return self._with_own_blobs(self._changes.apply(self._modelled, items))

    def _with_own_blobs(self, items: list[Item]) -> list[Item]:
        return items if self._blobs is None else self._blobs.renamed(self._names[1], items)

    async def _found_definition(self) -> TableDefinition | None:
        """The definition to create the table from: the source's, or else the design's."""
        name, renamed = self._names
        found = await self._source.definition(name)
        modelled = self._changes.modelled(name) or self._changes.modelled(renamed)
        return found if found is not None or modelled is None else TableDefinition.modelled(modelled)

    async def _begun(self, there: TableDefinition | None, definition: TableDefinition | None) -> TableState:
        name, renamed = self._names
        if there is not None and definition is not None and there.typed_key != definition.typed_key:
            raise TransferError(
                f"table {renamed} of {self._target.place} has the key {_key_text(there)}, and {name} has "
                f"{_key_text(definition)}; choose another name with --rename {name}=NEW"
            )
        reason = await self._target.occupied(renamed, definition, into_existing=self._options.into_existing)
        if reason is not None:
            raise TransferError(reason)
        segments = await self._source.segments(name, self._options.segments)
        table = TableState([SegmentState() for _ in range(segments)], created=there is None)
        self._state.tables[renamed] = table
        return table

    async def _prepare(self, table: TableState) -> None:
        """Create the table, when the first page of it has been read and changed: until then, nothing is left behind.

        The state is saved before, so that the next run knows that the copy has created it.
        """
        async with self._preparing:
            if self._prepared:
                return
            if self._refused is not None:
                raise self._refused
            was = table.begun
            table.begun = True
            try:
                await self._state.save()
            except BaseException:
                table.begun = was
                raise
            if table.created:
                try:
                    await self._target.create(self._names[1], self._definition)
                except Exception as error:
                    self._refused = error
                    # It may exist nevertheless: its creation was only not confirmed.
                    with suppress(Exception):
                        table.begun = was or await self._target.existing(self._names[1]) is not None
                    raise
            self._prepared = True

    # -- copying --------------------------------------------------------------------------------------------------

    async def _copy(self, table: TableState, key: Sequence[str]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for number, segment in enumerate(table.segments):
                    if not segment.ended:
                        group.create_task(self._segment(table, number, segment, key))
        except BaseExceptionGroup as failed:
            raise _first(failed) from None
        finally:
            # Also after an interruption: what was written need not be written again.
            if table.begun:
                await self._state.save()

    async def _segment(self, table: TableState, number: int, segment: SegmentState, key: Sequence[str]) -> None:
        name, renamed = self._names
        total = len(table.segments)
        is_open = False
        pending: asyncio.Task[Page] | None = asyncio.ensure_future(
            self._source.page(name, number, total, segment.position)
        )
        try:
            while pending is not None:
                page = await pending
                pending = None
                if page.position is not None:
                    pending = asyncio.ensure_future(self._source.page(name, number, total, page.position))
                changed = self._changes.apply(self._modelled, page.items)
                self._check_types(changed)
                if not is_open:
                    await self._prepare(table)
                    await self._target.open_segment(renamed, number, segment.mark)
                    is_open = True
                if self._blobs is not None:
                    await self._blobs.copy(renamed, changed, key)
                items = self._with_own_blobs(changed)
                mark = await self._target.write(renamed, number, items)
                # Without an await in between, so that a saved state has all of it or nothing.
                table.digests.add(self._target.comparable(renamed, items), key)
                table.with_blobs += sum(BLOB_REFERENCES in item for item in items)
                segment.read += len(page.items)
                segment.position, segment.mark, segment.ended = page.position, mark, page.position is None
                self._report_progress("copy", table.read)
                await self._state.noted()
        finally:
            if pending is not None:
                pending.cancel()

    def _check_types(self, items: list[Item]) -> None:
        """TransferError if an item has a key of another type because the source does not have types."""
        known, advice = self._known, self._source.typing_advice(self._names[0])
        if advice is None or known is None:
            return
        types = known.attribute_types
        for item in items:
            for name, needed in types.items():
                if name in item and needed not in item[name]:
                    key = json.dumps({each: item.get(each) for each in known.key})
                    kind = next(iter(item[name]))
                    place = "the key" if name in known.key else "an index"
                    raise TransferError(
                        f"{name} of the item {key} is {_KINDS.get(kind, 'a value')} ({kind}), and {place} of table "
                        f"{self._names[1]} needs {_KINDS[needed]} ({needed}); {advice}"
                    )

    # -- verification -----------------------------------------------------------------------------------------------

    async def _verify(self, result: TableCopy, table: TableState, key: Sequence[str]) -> None:
        options, names = self._options, self._names
        result.verified = True
        try:
            if not table.created and options.into_existing:
                await self._look_up(result, table, key)
                return
            seen = 0

            def on_page(items: list[Item]) -> None:
                nonlocal seen
                seen += len(items)
                self._report_progress("verify", seen)

            target = self._target.reading()
            there = await digests_in(target, names[1], key, options.segments, on_page)
            if parts := table.digests.differing(there):
                result.differing_parts = len(parts)

                def written(items: list[Item]) -> list[Item]:
                    return self._target.comparable(names[1], self._changed(items))

                sums = table.digests, there
                listed = await differences(self._source, target, names, key, written, sums, options.segments)
                if options.into_existing and any(each.kind == "extra" for each in listed):
                    result.differing_parts = 0
                    await self._look_up(result, table, key)
                    return
                result.differences = listed[:MAX_LISTED]
            if self._blobs is not None and table.with_blobs:
                lost = await self._blobs.verified(target, names[1], key, options.segments, list)
                result.differences = [*result.differences, *lost][:MAX_LISTED]
        except BaseExceptionGroup as failed:
            raise _first(failed) from None

    async def _look_up(self, result: TableCopy, table: TableState, key: Sequence[str]) -> None:
        """Compare the items of the source only, as the target has others."""
        source, segments = self._source, self._options.segments
        found = await absent_or_different(source, self._target, self._names, key, self._changed, segments)
        if self._blobs is not None and table.with_blobs:
            found += await self._blobs.verified(source, self._names[0], key, segments, self._changed)
        result.differences = found[:MAX_LISTED]

    def _report_progress(self, phase: Literal["copy", "verify"], items: int) -> None:
        self._on_progress(CopyProgress(self._names[0], phase, items, max(self._expected, items)))


def _first(failed: BaseExceptionGroup[Any]) -> BaseException:
    """The error of a task group whose tasks were cancelled because of it."""
    error: BaseException = failed
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _key_text(definition: TableDefinition) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in definition.typed_key)
