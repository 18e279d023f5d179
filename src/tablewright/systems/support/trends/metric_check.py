"""Verification of the metrics: everything is counted again from the table, and compared."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TypeVar

from tablewright.model import Entity
from tablewright.store import Store, TolerantReader
from tablewright.systems.support.maintenance_jobs import ReportProgress, Unfinished
from tablewright.systems.support.metric_counters import Worth, contribution
from tablewright.systems.support.model import Feedback, Metric, Ticket
from tablewright.systems.support.trends.trend_counters import Gain, trends_of
from tablewright.systems.support.trends.trend_entities import OperatorDay, Trend

__all__ = ["verify_metrics"]

E = TypeVar("E", bound=Entity)
Numbers = dict[tuple[str, ...], Decimal]

_PASSES = 5
_PAGE = 1_000


def verify_metrics(store: Store, report: ReportProgress, *, pause: float = 1.0) -> str:
    """Count everything from the table, and compare it with the metrics; Unfinished if they differ.

    Concurrent writes are counted a moment later, so a difference is checked again before it is reported.
    """
    wrong: list[str] = []
    for attempt in range(_PASSES):
        if attempt:
            time.sleep(pause)
        before = _stored(store)
        counted, items = _recounted(store, report)
        stored = _stored(store)
        places = counted.keys() | stored.keys()
        wrong = sorted(" ".join(place) for place in places if counted.get(place) != stored.get(place))
        if not wrong:
            return f"{len(stored)} metric values agree with {items} items"
        if before == stored and attempt:
            # No more changes are pending.
            break
    raise Unfinished(
        f"{len(wrong)} metric values differ from the table, such as {wrong[0]}; "
        "rebuild the metrics, or verify them again when fewer tickets change"
    )


def _recounted(store: Store, report: ReportProgress) -> tuple[Numbers, int]:
    found: Numbers = defaultdict(Decimal)
    items = 0
    for kind in (Ticket, Feedback):
        for item in _all(store, kind):
            items += 1
            if items % _PAGE == 0:
                report(items, None)
            for name, worth in contribution(item).items():
                _add(found, (name,), worth._asdict())
            for place, gain in trends_of(item).items():
                _add(found, tuple(map(str, place)), gain._asdict())
    return {place: number for place, number in found.items() if number}, items


def _stored(store: Store) -> Numbers:
    found: Numbers = defaultdict(Decimal)
    for metric in _all(store, Metric):
        _add(found, (metric.metric_name,), {name: getattr(metric, name) for name in Worth._fields})
    for trend in _all(store, Trend):
        _add(found, (trend.unit.value, trend.period), {name: getattr(trend, name) for name in Gain._fields})
    for day in _all(store, OperatorDay):
        values = {name: getattr(day, name) for name in Gain._fields if name != "opened"}
        _add(found, (str(day.day), day.operator_id), values)
    return {place: number for place, number in found.items() if number}


def _all(store: Store, kind: type[E]) -> Iterator[E]:
    """All readable items of an entity, page by page: a rebuild counts only those."""
    reader, cursor = TolerantReader(store), None
    while True:
        page = reader.page(kind, limit=_PAGE, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _add(found: Numbers, place: tuple[str, ...], values: Mapping[str, int | Decimal]) -> None:
    for name, value in values.items():
        found[*place, name] += value
