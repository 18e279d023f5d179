"""Reads of buckets: partitions that hold a day, an hour, a month or a year of times each.

    GSI1PK="D#{at:date}", GSI1SK="{at}#{id}"

    Visit.of_day(at=date(2026, 3, 1))              one bucket
    Visit.between(since=monday, until=friday)      the buckets of a range, one after the other, in order

A range is read bucket by bucket, so that a page costs what its items cost, however many buckets there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from tablewright.model import ModelError, Selection, schema_of
from tablewright.model.items.field_layout import encode_value
from tablewright.model.keys.key_forms import TIME_PARTS
from tablewright.store.read.planning.read_plan import ReadPlan

__all__ = ["MAX_BUCKETS", "plan_buckets"]

# The buckets that one read may have: three years of days, six weeks of hours.
MAX_BUCKETS = 1100

_STARTS = {"year": "-01-01", "month": "-01"}
_STEPS = {
    "date": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


def plan_buckets(selection: Selection[Any], buckets: Mapping[str, str], plan_for: Callable[..., ReadPlan]) -> ReadPlan:
    """The plan of a selection whose partition key has parts of times: of one bucket, or of a range of them."""
    schema, pattern = schema_of(selection.entity), selection.pattern.place(selection.entity)
    values = dict(selection.values)
    ranged = None if selection.range is None else schema.path(selection.range)
    for path, part in buckets.items():
        name = schema.field_path(path)
        if values.get(name) is not None:
            values[name] = _as_time(schema, name, values[name])
        elif path == ranged:
            return _chain(selection, pattern, name, part, values, plan_for)
    return plan_for(values)


def _as_time(schema: Any, name: str, value: Any) -> Any:
    """A date stands for any time of its day, where the field is a time."""
    location = schema.locate(name, schema.entity.__name__)
    if type(value) is date and datetime in location.coercion.bound_encoders:
        return datetime.combine(value, time.min, UTC)
    return value


def _chain(
    selection: Selection[Any],
    pattern: str,
    name: str,
    part: str,
    values: Mapping[str, Any],
    plan_for: Callable[..., ReadPlan],
) -> ReadPlan:
    schema, bounds = schema_of(selection.entity), selection.bounds
    low, high = bounds.get("since", bounds.get("after")), bounds.get("until", bounds.get("before"))
    if low is None or high is None:
        raise ModelError(
            f"{pattern} needs {name}, or both ends of a range of {name} (since and until), because each of its "
            f"partitions has one {part}"
        )
    location = schema.locate(name, pattern)

    def bucket_of(value: Any) -> str:
        stored = encode_value(location, _as_time(schema, name, value), f"{pattern}, {name}", is_bound=True) or {}
        found = TIME_PARTS[part].match(stored.get("S", ""))
        assert found is not None
        return found[0]

    is_time = datetime in location.coercion.bound_encoders
    found: list[ReadPlan] = []
    for number, start in enumerate(_starts(bucket_of(low), bucket_of(high), part), 1):
        if number > MAX_BUCKETS:
            raise ModelError(
                f"{pattern}: the range has more than {MAX_BUCKETS} partitions with one {part} each; read it in parts"
            )
        found.append(plan_for({**values, name: start if is_time else start.date()}, "bucket"))
    if selection.newest_first:
        found.reverse()
    read = [plan for plan in found if plan.bodies]
    if not read:
        return plan_for({**values, name: _as_time(schema, name, low)}, "bucket") if not found else found[0]
    bodies = [body for plan in read for body in plan.bodies]
    if any(len(plan.bodies) > 1 for plan in read):
        # Shards of a bucket have to be merged.
        return ReadPlan(read[0].target, bodies, read[0].checks, [each for plan in read for each in plan.partitions])
    return ReadPlan(read[0].target, bodies, read[0].checks, is_chain=len(bodies) > 1)


def _starts(first: str, last: str, part: str) -> Iterator[datetime]:
    """The beginnings of the buckets from one to another."""
    begin = _STARTS.get(part, "")
    start = datetime.fromisoformat(first + begin).replace(tzinfo=UTC)
    end = datetime.fromisoformat(last + begin).replace(tzinfo=UTC)
    while start <= end:
        yield start
        if part in _STEPS:
            start += _STEPS[part]
        elif part == "month":
            start = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        else:
            start = start.replace(year=start.year + 1)
