"""The bulk of a relocation: the items of each table, segment by segment, before any change is applied.

A page is written by some transactions, the last of which records where the next page begins. After a kill, at most one
page is written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

import orjson

from tablewright.dynamo import Item
from tablewright.transfer.places.table_place import TablePlace
from tablewright.transfer.relocation.control_table import Action, ControlTable, Lane

_MAX_ACTIONS = 90
_MAX_BYTES = 3_500_000

OnItems = Callable[[str, int], None]


class BulkCopy:
    """Copies tables into the other place."""

    def __init__(self, source: TablePlace, target: ControlTable, segments: int, on_items: OnItems) -> None:
        self._source, self._target = source, target
        self._segments = segments
        self._on_items = on_items
        self.items = 0

    async def run(self, tables: Sequence[str]) -> None:
        """Copy everything that is not copied yet."""
        lanes = {lane.name: lane for lane in await self._target.lanes()}
        for table in tables:
            known = sorted(name for name in lanes if name.startswith(f"segment#{table}#"))
            if not known:
                # All of them before the first page, so that their number is the same when the copy continues.
                for number in reversed(range(self._segments)):
                    name = f"segment#{table}#{self._segments}#{number}"
                    lanes[name] = await self._target.set_lane(name, {"at": None, "ended": False, "items": 0})
                    known.append(name)
            total = int(known[0].split("#")[-2])
            for number in range(total):
                name = f"segment#{table}#{total}#{number}"
                if name not in lanes:
                    lanes[name] = await self._target.set_lane(name, {"at": None, "ended": False, "items": 0})
            mine = [lanes[f"segment#{table}#{total}#{number}"] for number in range(total)]
            self.items += sum(lane.position["items"] for lane in mine)
            async with asyncio.TaskGroup() as group:
                for number, lane in enumerate(mine):
                    if not lane.position["ended"]:
                        group.create_task(self._segment(table, number, total, lane))

    async def _segment(self, table: str, number: int, total: int, lane: Lane) -> None:
        while not lane.position["ended"]:
            page = await self._source.page(table, number, total, lane.position["at"])
            position = {
                "at": page.position,
                "ended": page.position is None,
                "items": lane.position["items"] + len(page.items),
            }
            batches = list(_batches(table, page.items)) or [[]]
            for batch in batches[:-1]:
                await self._target.advance(lane, lane.position, batch, 2.0 * len(batch))
            await self._target.advance(lane, position, batches[-1], 2.0 * len(batches[-1]))
            self.items += len(page.items)
            self._on_items(table, self.items)


def _batches(table: str, items: Sequence[Item]) -> Iterator[list[Action]]:
    batch: list[Action] = []
    size = 0
    for item in items:
        length = len(orjson.dumps(item))
        if batch and (len(batch) == _MAX_ACTIONS or size + length > _MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append({"Put": {"TableName": table, "Item": item}})
        size += length
    if batch:
        yield batch
