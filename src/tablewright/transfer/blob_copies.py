"""Blobs of a copy: the large values that items refer to, from one blob store to another.

    item with references ──▶ each blob: read, compared with its reference, written under its name in the target
                         ──▶ then the item, which refers to blobs that are there

A blob says which table and key it belongs to, so it is made anew: under a name with the target's table in place of the
source's, which is the same however often a copy goes on. What was put is read again when the table is verified. As many
blobs are in memory as the blob stores take calls at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from tablewright.dynamo import Item
from tablewright.engine import resolve_folder
from tablewright.engine.storage.folder_lock import BLOBS
from tablewright.store import BlobStore, FolderBlobStore, blob_store_at
from tablewright.store.blobs.blob_references import Reference, make_blob, references, value_in, with_references
from tablewright.store.blobs.blob_store import blob_prefix
from tablewright.transfer.errors import TransferError
from tablewright.transfer.files.file_formats import format_of
from tablewright.transfer.item_digests import ItemDifference, key_bytes
from tablewright.transfer.places.place_protocols import Source, endpoint_of

__all__ = ["BlobCopies"]


class BlobCopies:
    """The two blob stores of a copy."""

    def __init__(self, source: BlobStore, target: BlobStore) -> None:
        self._source, self._target = source, target
        self._places = [repr(source), repr(target)]
        self._turns = asyncio.Semaphore(max(source.concurrency, target.concurrency))

    @classmethod
    def between(cls, source: str, target: str, source_blobs: str | None, target_blobs: str | None) -> BlobCopies | None:
        """Those of two places: as they are given, or else the folder in a data folder; None if one is not known."""
        first, second = _blobs_of(source, source_blobs), _blobs_of(target, target_blobs)
        return None if first is None or second is None else cls(first, second)

    @property
    def identity(self) -> list[str]:
        """What makes it the same copy."""
        return self._places

    def renamed(self, table: str, items: list[Item]) -> list[Item]:
        """Items as they are written to a table of the target: they refer to the blobs of that table."""
        return [
            with_references(item, {name: _renamed(table, each) for name, each in found.items()})
            if (found := references(item))
            else item
            for item in items
        ]

    async def copy(self, table: str, items: Iterable[Item], key: Sequence[str]) -> None:
        """Copy the blobs of items, for a table of the target; TransferError if the source does not have one."""

        def put(item: Item, attribute: str, reference: Reference) -> None:
            data = self._source.get(reference.blob)
            value = None if data is None else value_in(data, reference)
            if value is None:
                state = "is not in the source's blob store" if data is None else "is not as it was written"
                raise TransferError(
                    f"the large value {attribute} of the item {_text(item, key)} {state} ({reference.blob}); restore "
                    "it, or leave the item out with --where"
                )
            owner = {name: item[name] for name in key if name in item}
            blob = make_blob(_renamed(table, reference).blob, table, owner, attribute, value)
            self._target.put(blob.reference.blob, blob.data)

        await self._each(items, put)

    async def verified(
        self, place: Source, table: str, key: Sequence[str], segments: int, changed: Callable[[list[Item]], list[Item]]
    ) -> list[ItemDifference]:
        """The items of a place whose blobs are not in the target as they should be; ``changed`` is what is written."""
        different: list[ItemDifference] = []

        def check(item: Item, attribute: str, reference: Reference) -> None:
            data = self._target.get(reference.blob)
            if data is None or value_in(data, reference) is None:
                different.append(ItemDifference(_text(item, key), "blob"))

        async def read(segment: int) -> None:
            position = None
            while True:
                page = await place.page(table, segment, number, position)
                await self._each(changed(page.items), check)
                position = page.position
                if position is None:
                    return

        number = await place.segments(table, segments)
        async with asyncio.TaskGroup() as group:
            for segment in range(number):
                group.create_task(read(segment))
        return different

    async def _each(self, items: Iterable[Item], work: Callable[[Item, str, Reference], None]) -> None:
        """Do something with each reference of items, in threads, as calls of blob stores block."""

        async def done(item: Item, attribute: str, reference: Reference) -> None:
            async with self._turns:
                await asyncio.to_thread(work, item, attribute, reference)

        calls: list[Awaitable[None]] = [
            done(item, attribute, reference) for item in items for attribute, reference in references(item).items()
        ]
        if calls:
            await asyncio.gather(*calls)


def _renamed(table: str, reference: Reference) -> Reference:
    """A reference to the same blob as a table of the target has it."""
    return replace(reference, blob=blob_prefix(table) + reference.blob.partition("/")[2])


def _text(item: Item, key: Sequence[str]) -> str:
    return key_bytes(item, key).decode()


def _blobs_of(place: str, given: str | None) -> BlobStore | None:
    if given is not None:
        return blob_store_at(given)
    if endpoint_of(place) is not None or format_of(place) is not None:
        return None
    return FolderBlobStore(resolve_folder(place) / BLOBS)
