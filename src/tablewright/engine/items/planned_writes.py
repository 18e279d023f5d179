"""Writes of large items: planned outside of the storage's turn, and made if nothing has changed meanwhile.

Parsing an item of 400 KB, evaluating a condition on it, changing and measuring it can take longer than others should
have to wait, and so can a transaction with many items. A plan is all of that, made from the rows as they were read:

    read rows, watch them ──▶ plan, outside or in slices ──▶ still the same? ──▶ write, in one slice
             ▲                                                     │ no
             └────────── those that were changed ◀─────────────────┘

A plan, including its refusals, holds at the instant of the write, since all rows are then as they were read. Rows that
others keep changing are planned in the slice of the write in the end, so that no request waits forever.

A plan keeps JSON, and of the items themselves only the attributes that entries are made from: parsed items take many
times their size in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from tablewright.dynamo import DynamoError, Item, same_item
from tablewright.engine.database import Database, Images, Row
from tablewright.engine.items.consumed_capacity import Meter
from tablewright.engine.items.write import Write
from tablewright.engine.slices import LARGE_ITEM, SLICE_BYTES, Sliced, beside
from tablewright.engine.storage.checksums import sealed
from tablewright.engine.tables.table_schema import Table

# How often changed rows are planned again before that is done in the slice of the write.
_ROUNDS = 4

Answer = Callable[[Row | None, Item | None], Any]


@dataclass(slots=True)
class Plan:
    """The result for one row: a new item (None for none), or a refusal."""

    old: Row | None
    new: Item | None = None
    size: int = 0
    refusal: DynamoError | None = None
    # For large items, of which ``new`` has only some attributes.
    images: Images | None = None
    metered: Meter | None = None
    answer: Any = None


def plan(write: Write, old: Row | None) -> Plan:
    """What a write does to a row, with the whole items."""
    try:
        write.check(old)
        new, size = write.new(old)
    except DynamoError as error:
        # Its traceback would lead back to the plan, and all others: only garbage collection would free them.
        return Plan(old, refusal=error.with_traceback(None))
    return Plan(old, new, size)


def plan_large(
    write: Write, old: Row | None, meter: Meter | None = None, factor: int = 1, answer: Answer | None = None
) -> Plan:
    """The same without the items, with the part of them for the response. Does not need the storage."""
    # The items go with it.
    row = None if old is None else Row(old.id, old.size, old.data)
    planned = plan(write, row)
    planned.old = old
    if planned.refusal is not None:
        return planned
    new = planned.new
    if meter is not None:
        planned.metered = meter.apart()
        planned.metered.change(write.table, row, new, planned.size, factor)
    if answer is not None and (answered := answer(row, new)) is not None:
        planned.answer = orjson.Fragment(orjson.dumps(answered))
    planned.images = _images(write.table, row, new, planned.size)
    planned.new = planned.images.after
    return planned


def _images(table: Table, old: Row | None, new: Item | None, size: int) -> Images:
    stored = bytearray() if new is None else bytearray(sealed(table.seed, size, orjson.dumps(new)))
    if not table.needs_old_image:
        return Images(stored, None, None if new is None else {})
    names = {*table.key.names, *table.index_key_names, *([] if table.time_to_live is None else [table.time_to_live])}
    before = None if old is None else old.item
    return Images(
        stored,
        None if before is None else {name: value for name, value in before.items() if name in names},
        None if new is None else {name: value for name, value in new.items() if name in names},
        before is not None and new is not None and same_item(before, new),
    )


def planned_in_slices(
    db: Database,
    writes: Sequence[Write],
    sizes: Sequence[int],
    plan_one: Callable[[int, Row | None], Plan],
) -> Sliced[list[Plan] | None]:
    """Plans that hold in the slice in which they are returned; None if a table was changed meanwhile, and the writes
    have to be made again. ``sizes`` are those of new items.
    """
    plans: dict[int, Plan] = {}
    missing: Sequence[int] = range(len(writes))
    with db.watching() as watch:
        for number in range(_ROUNDS):
            done = 0
            for position in missing:
                write = writes[position]
                if db.table_again(write.table) is not write.table:
                    return None
                watch.keys[write.table.number, write.key] = position
                row = db.fetch(write.table, write.key)
                length = sizes[position] + (0 if row is None else len(row.data))
                if number == _ROUNDS - 1 or length <= LARGE_ITEM:
                    plans[position] = plan_one(position, row)
                    done += length
                else:
                    plans[position] = yield from beside(partial(plan_one, position, row))
                    done = 0
                if done > SLICE_BYTES and number < _ROUNDS - 1:
                    yield
                    done = 0
            if any(db.table_again(write.table) is not write.table for write in writes):
                return None
            if not watch.changed:
                break
            missing = sorted(watch.changed)
            watch.changed.clear()
    return [plans[position] for position in range(len(writes))]


def run_in_slices(
    db: Database, write: Write, size: int, meter: Meter | None, answer: Answer | None = None
) -> Sliced[Plan | None]:
    """Check and apply one write; None if its table was changed meanwhile, and it has to be made again."""
    plans = yield from planned_in_slices(
        db, [write], [size], lambda _, row: plan_large(write, row, meter, answer=answer)
    )
    if plans is None:
        return None
    (planned,) = plans
    if planned.refusal is not None:
        raise planned.refusal
    db.change(write.table, write.key, planned.old, planned.new, planned.size, images=planned.images)
    if meter is not None and planned.metered is not None:
        meter.add(planned.metered)
    return planned
