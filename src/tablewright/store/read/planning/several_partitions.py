"""Reads of several partitions: a field of the partition key that is given more than once.

    @Query("byStatus")
    def by_status(self, status: Sequence[Status]) -> None: ...

    store.query(Order.by_status([Status.OPEN, Status.PAID]), limit=20)

Each combination of values is a partition, read once, however often it is named; the items of all are merged in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import orjson

from tablewright.dynamo import Item
from tablewright.model import ModelError, Selection
from tablewright.store.read.planning.read_plan import ReadPlan, ReadTarget

__all__ = ["MAX_PARTITIONS", "plan_partitions"]

# The partitions that one read may merge: its first page takes a request for each.
MAX_PARTITIONS = 100


def plan_partitions(
    selection: Selection[Any],
    several: Iterable[str],
    plan_for: Callable[[Mapping[str, Any]], ReadPlan],
    empty_target: Callable[[], ReadTarget],
) -> ReadPlan:
    """The plan of a selection whose partition key has several values for some fields."""
    pattern = selection.pattern.place(selection.entity)
    given = {name: _values(pattern, name, selection.values[name]) for name in several if name in selection.values}
    plans: dict[bytes, ReadPlan] = {}
    for number, values in enumerate(product(*given.values()), 1):
        if number > MAX_PARTITIONS:
            raise ModelError(f"{pattern} merges {MAX_PARTITIONS} partitions at most; read them in several calls")
        plan = plan_for({**selection.values, **dict(zip(given, values, strict=True))})
        plans.setdefault(orjson.dumps(plan.bodies), plan)
    read = [plan for plan in plans.values() if plan.bodies]
    if len(read) == 1:
        return read[0]
    if not read:
        return next(iter(plans.values())) if plans else ReadPlan(empty_target(), ())
    bodies = [body for plan in read for body in plan.bodies]
    checks = [partial(_is_accepted, read)] if any(plan.checks for plan in read) else []
    return ReadPlan(read[0].target, bodies, checks, [each for plan in read for each in plan.partitions])


def _is_accepted(plans: Sequence[ReadPlan], item: Item) -> bool:
    """Whether an item passes the checks of its partition; where they differ, no other partition has its sort key."""
    return any(all(check(item) for check in plan.checks) for plan in plans)


def _values(pattern: str, name: str, value: Any) -> Collection[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ModelError(f"{pattern} takes several values of {name}: {name}=[{value!r}]")
    return list(value)
