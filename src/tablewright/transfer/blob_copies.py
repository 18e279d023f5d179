"""Blobs of a copy: the large values that items refer to, copied from one blob store to another.

    item with references ──▶ each blob: read, compared with its reference, written under its name in the target
                         ──▶ then the item, which refers to blobs that exist

Blobs belong to their table (``ItemBlobs``), so items of the target refer to the target's blobs. Written blobs are read
again when the table is verified. At most as many blobs are in memory as the blob stores handle calls concurrently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from tablewright.dynamo import Item
from tablewright.engine import resolve_folder
from tablewright.engine.storage.folder_lock import BLOBS
from tablewright.store import BlobStore, FolderBlobStore, ItemBlobs, blob_store_at
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
        """The blob stores of two places: the given ones, or the folder in a data folder; None if one is unknown."""
        first, second = _blobs_of(source, source_blobs), _blobs_of(target, target_blobs)
        return None if first is None or second is None else cls(first, second)

    @property
    def identity(self) -> list[str]:
        """What identifies the copy."""
        return self._places

    def renamed(self, table: str, items: list[Item]) -> list[Item]:
        """Items as they are written to a table of the target: they refer to the blobs of that table."""
        return [blobs.item_in(table) if (blobs := ItemBlobs(item)).attributes else item for item in items]

    async def copy(self, table: str, items: Iterable[Item], key: Sequence[str]) -> None:
        """Copy the blobs of items, for a table of the target; TransferError if the source does not have one."""

        def put(item: Item, blobs: ItemBlobs, attribute: str) -> None:
            owner = {name: item[name] for name in key if name in item}
            done = blobs.copy(attribute, self._source, self._target, table=table, key=owner)
            if done != "copied":
                state = "is missing from the source's blob store" if done == "missing" else "is damaged"
                raise TransferError(
                    f"the large value {attribute} of the item {_text(item, key)} {state}; restore it, or leave the "
                    "item out with --where"
                )

        await self._each(items, put)

    async def verified(
        self, place: Source, table: str, key: Sequence[str], segments: int, changed: Callable[[list[Item]], list[Item]]
    ) -> list[ItemDifference]:
        """The items of a place whose blobs are wrong in the target; ``changed`` is what is written."""
        different: list[ItemDifference] = []

        def check(item: Item, blobs: ItemBlobs, attribute: str) -> None:
            if not blobs.is_in(attribute, self._target):
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

    async def _each(self, items: Iterable[Item], work: Callable[[Item, ItemBlobs, str], None]) -> None:
        """Call a function with each blob of items, in threads, as calls of blob stores block."""

        async def done(item: Item, blobs: ItemBlobs, attribute: str) -> None:
            async with self._turns:
                await asyncio.to_thread(work, item, blobs, attribute)

        calls: list[Awaitable[None]] = [
            done(item, blobs, attribute)
            for item, blobs in ((item, ItemBlobs(item)) for item in items)
            for attribute in blobs.attributes
        ]
        if calls:
            await asyncio.gather(*calls)


def _text(item: Item, key: Sequence[str]) -> str:
    return key_bytes(item, key).decode()


def _blobs_of(place: str, given: str | None) -> BlobStore | None:
    if given is not None:
        return blob_store_at(given)
    if endpoint_of(place) is not None or format_of(place) is not None:
        return None
    return FolderBlobStore(resolve_folder(place) / BLOBS)
