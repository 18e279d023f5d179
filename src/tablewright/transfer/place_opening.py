"""The two places of a copy, opened and closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tablewright.transfer.patient_calls import PatientCalls
from tablewright.transfer.places import Source, Target
from tablewright.transfer.table_place import TablePlace, backend_at

__all__ = ["open_places"]


@contextmanager
def open_places(
    source: str, target: str, *, read_rate: float | None = None, write_rate: float | None = None
) -> Iterator[tuple[Source, Target]]:
    """The two places of a copy, which are closed at the end; rates are in units a second."""
    rates = {"read_rate": read_rate, "write_rate": write_rate}
    first = TablePlace(source, PatientCalls(backend_at(source, exists=True), **rates))
    try:
        if source == target:
            yield first, first
            return
        second = TablePlace(target, PatientCalls(backend_at(target, exists=False), **rates))
        try:
            yield first, second
        finally:
            second.close()
    finally:
        first.close()
