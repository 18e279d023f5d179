"""Verification while both places change: every item of each place is compared with the other one.

    pages of one place ─▶ the same keys in the other ─▶ what differs, many at once: again, when the stream was applied
                                                        └─▶ still different: written again, as the open place has it

A recently changed item differs although nothing is wrong with it: the stream is about to apply the change, and a change
has the whole item. So items that differ are compared again after the stream was applied, and only one that has not
changed in the open place since is a difference. The cause is another program that has written to the other place.

A repair is made while nothing is applied: the item is read from the open place, and written to the other. Changes that
are applied after that are later ones, or bring the item to the same state again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from tablewright.dynamo import Item
from tablewright.transfer.item_digests import canonical_bytes, key_bytes
from tablewright.transfer.places.table_place import TablePlace
from tablewright.transfer.relocation.control_table import ControlTable
from tablewright.transfer.relocation.stream_following import StreamFollower

# How often an item that differs is compared before it counts as a difference.
_LOOKS = 3
# Items that may differ are compared again together: each time the stream has to be applied, which takes a moment.
_MANY = 1_000


class LiveComparison:
    """Compares the tables of an open place with those of the place that follows it."""

    def __init__(self, open_place: TablePlace, other: ControlTable, follower: StreamFollower) -> None:
        self._open, self._other = open_place, other
        self._follower = follower
        self.compared = 0
        # The keys of items that were written again.
        self.repaired: list[str] = []

    async def run(self, tables: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Compare tables, which are given with their keys."""
        for table, key in tables:
            for here, there in ((self._open, self._other.place), (self._other.place, self._open)):
                unlike: list[Item] = []
                position = None
                while True:
                    page = await here.page(table, 0, 1, position)
                    self.compared += len(page.items)
                    unlike += await _unlike(page.items, there, table, key)
                    position = page.position
                    if position is None or len(unlike) >= _MANY:
                        await self._settle(table, key, unlike)
                        unlike = []
                    if position is None:
                        break

    async def differing(self, table: str, key: Sequence[str], keys: Sequence[Item]) -> dict[bytes, bytes | None]:
        """The keys whose items differ in the two places now, with the items of the open place."""
        open_items, others = await asyncio.gather(
            self._open.existing_items(table, keys), self._other.place.existing_items(table, keys)
        )
        first = {key_bytes(item, key): canonical_bytes(item) for item in open_items}
        second = {key_bytes(item, key): canonical_bytes(item) for item in others}
        names = [key_bytes(each, key) for each in keys]
        return {name: first.get(name) for name in names if first.get(name) != second.get(name)}

    async def _settle(self, table: str, key: Sequence[str], keys: Sequence[Item]) -> None:
        by_name = {key_bytes(each, key): each for each in keys}
        waiting = await self.differing(table, key, keys)
        for _ in range(_LOOKS):
            if not waiting:
                return
            await self._applied()
            found = await self.differing(table, key, [by_name[name] for name in waiting])
            waiting = {name: image for name, image in found.items() if waiting[name] == image}
        for name in waiting:
            await self._repair(table, key, by_name[name])

    async def _applied(self) -> None:
        """Wait until everything written before now is applied."""
        passes = self._follower.passes
        while self._follower.passes < passes + 2 or self._follower.lag > 1:
            await asyncio.sleep(0.02)

    async def _repair(self, table: str, key: Sequence[str], keys: Item) -> None:
        async with self._follower.applying:
            if not await self.differing(table, key, [keys]):
                return
            found = await self._open.existing_items(table, [keys])
            await self._other.write(
                [
                    {"Put": {"TableName": table, "Item": found[0]}}
                    if found
                    else {"Delete": {"TableName": table, "Key": keys}}
                ]
            )
        self.repaired.append(key_bytes(keys, key).decode())


async def _unlike(items: Sequence[Item], other: TablePlace, table: str, key: Sequence[str]) -> list[Item]:
    """The keys of the items that another place lacks, or has differently."""
    keys = [_key_of(item, key) for item in items]
    others = {key_bytes(each, key): canonical_bytes(each) for each in await other.existing_items(table, keys)}
    return [
        each
        for item, each in zip(items, keys, strict=True)
        if others.get(key_bytes(each, key)) != canonical_bytes(item)
    ]


def _key_of(item: Item, key: Sequence[str]) -> Item:
    return {name: item[name] for name in key}
