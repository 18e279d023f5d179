"""The metrics of a server, for Prometheus: counted during requests, rendered as text on demand.

The text format is small enough to be implemented here; a client library would be one more dependency.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Final

_BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

Labels = Mapping[str, str]
Sample = tuple[str, Labels, float]


class RequestMetrics:
    """Requests by operation and status, their latency, the units they consumed, and those that were refused."""

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._seconds: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * (len(_BOUNDS) + 2))
        self._units: defaultdict[tuple[str, str, str], float] = defaultdict(float)
        self._refusals: defaultdict[int, int] = defaultdict(int)

    def responded(self, operation: str, status: int, seconds: float) -> None:
        """A request got its response, so long after it was read."""
        self._requests[operation, status] += 1
        histogram = self._seconds[operation]
        histogram[bisect_left(_BOUNDS, seconds)] += 1
        histogram[-1] += seconds

    def refused(self, status: int) -> None:
        """A connection or a request was refused before the engine saw it."""
        self._refusals[status] += 1

    def metered(self, record: Mapping[str, Any]) -> None:
        """What a request consumed (``Engine.meter``)."""
        for table, index, kind, _, units in record["charges"]:
            self._units[table, index or "", kind] += units

    def families(self) -> Iterable[str]:
        yield family(
            "tablewright_requests_total",
            "counter",
            "Requests that were answered, by operation and HTTP status",
            [
                ("", {"operation": operation, "status": str(status)}, count)
                for (operation, status), count in self._requests.items()
            ],
        )
        yield family(
            "tablewright_request_seconds",
            "histogram",
            "Time from a request's last byte to its response, durable if it wrote",
            [sample for operation, histogram in self._seconds.items() for sample in _histogram(operation, histogram)],
        )
        yield family(
            "tablewright_consumed_capacity_units_total",
            "counter",
            "Read and write units that requests consumed, by table and index",
            [
                ("", {"table": table, "index": index, "kind": kind}, units)
                for (table, index, kind), units in self._units.items()
            ],
        )
        yield family(
            "tablewright_refusals_total",
            "counter",
            "Connections and requests that were refused before the engine saw them, by HTTP status",
            [("", {"status": str(status)}, count) for status, count in self._refusals.items()],
        )


def _histogram(operation: str, histogram: list[float]) -> Iterable[Sample]:
    *counts, seconds = histogram
    totals = list(accumulate(counts))
    for bound, total in zip((*map(str, _BOUNDS), "+Inf"), totals, strict=True):
        yield "_bucket", {"operation": operation, "le": bound}, total
    yield "_sum", {"operation": operation}, seconds
    yield "_count", {"operation": operation}, totals[-1]


def family(name: str, kind: str, description: str, samples: Iterable[Sample]) -> str:
    """The lines of one metric: a suffix of its name, labels and a value for each sample."""
    lines = [f"# HELP {name} {description}", f"# TYPE {name} {kind}"]
    for suffix, labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        number = str(int(value)) if value == int(value) else repr(float(value))
        lines.append(f"{name}{suffix}{{{pairs}}} {number}" if pairs else f"{name}{suffix} {number}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
