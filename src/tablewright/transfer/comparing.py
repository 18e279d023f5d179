"""Verification: whether the target has what was written, and if not, which items differ.

    counts and checksums of what was written  =  those of what is in the target now?
        │ no
            └─▶ both places are read again, and the items of the differing parts are compared one by one

So a copy that succeeded reads its target once. A table that had items before has more than was written: then the
source is read again, and each of its items is looked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tablewright.dynamo import Item
from tablewright.transfer.item_digests import (
    ItemDifference,
    ItemTable,
    KeyDigests,
    canonical_bytes,
    digest,
    key_bytes,
)
from tablewright.transfer.places.place_protocols import Source, Target

# The maximum number of items that are compared one by one, and of differences that are listed.
_MAX_COMPARED = 200_000
MAX_LISTED = 100

OnPage = Callable[[list[Item]], None]
# The items to write, for items that were read.
Changed = Callable[[list[Item]], list[Item]]


async def digests_in(place: Source, table: str, key: Sequence[str], segments: int, on_page: OnPage) -> KeyDigests:
    """The counts and checksums of the table in its present state."""
    found = KeyDigests()

    def visit(items: list[Item]) -> None:
        found.add(items, key)
        on_page(items)

    await each_page(place, table, segments, visit)
    return found


async def each_page(place: Source, table: str, segments: int, visit: OnPage) -> None:
    """Read a whole table."""
    number = await place.segments(table, segments)

    async def read(segment: int) -> None:
        position = None
        while True:
            page = await place.page(table, segment, number, position)
            visit(page.items)
            position = page.position
            if position is None:
                return

    async with asyncio.TaskGroup() as group:
        for segment in range(number):
            group.create_task(read(segment))


async def differences(
    source: Source,
    target: Source,
    tables: tuple[str, str],
    key: Sequence[str],
    changed: Changed,
    sums: tuple[KeyDigests, KeyDigests],
    segments: int,
) -> list[ItemDifference]:
    """The items that differ, of as many parts as can be compared at once."""
    written, found = sums
    parts: list[int] = []
    room = _MAX_COMPARED
    for part in written.differing(found):
        room -= max(written.counts[part], found.counts[part])
        if parts and room < 0:
            break
        parts.append(part)
    expected, actual = ItemTable(parts, key), ItemTable(parts, key)
    await each_page(source, tables[0], segments, lambda items: expected.add(changed(items)))
    await each_page(target, tables[1], segments, actual.add)
    return expected.differences(actual)


async def absent_or_different(
    source: Source, target: Target, tables: tuple[str, str], key: Sequence[str], changed: Changed, segments: int
) -> list[ItemDifference]:
    """The items of the source that are missing from the target, which may have others; the first ones only."""
    found: list[ItemDifference] = []
    number = await source.segments(tables[0], segments)

    async def read(segment: int) -> None:
        position = None
        while len(found) <= MAX_LISTED:
            page = await source.page(tables[0], segment, number, position)
            expected = {key_bytes(item, key): (item, digest(canonical_bytes(item))) for item in changed(page.items)}
            keys = [{name: item[name] for name in key} for item, _ in expected.values()]
            there = {
                key_bytes(item, key): digest(canonical_bytes(item))
                for item in await target.existing_items(tables[1], keys)
            }
            for name, (_, wanted) in expected.items():
                if there.get(name) != wanted:
                    found.append(ItemDifference(name.decode(), "different" if name in there else "missing"))
            position = page.position
            if position is None:
                return

    async with asyncio.TaskGroup() as group:
        for segment in range(number):
            group.create_task(read(segment))
    return sorted(found)
