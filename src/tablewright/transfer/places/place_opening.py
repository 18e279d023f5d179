"""The two places of a copy, opened and closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tablewright.model import Table
from tablewright.transfer.files.file_formats import format_of
from tablewright.transfer.files.file_place import FilePlace, exported_files
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.place_protocols import Source, Target, endpoint_of
from tablewright.transfer.places.table_place import TablePlace, backend_at

__all__ = ["open_places"]


@contextmanager
def open_places(
    source: str,
    target: str,
    *,
    read_rate: float | None = None,
    write_rate: float | None = None,
    tables: Sequence[Table] = (),
) -> Iterator[tuple[Source, Target]]:
    """The two places of a copy, which are closed at the end.

    Rates are in units per second. ``tables`` are those of a design, which declare the types of attributes in files.
    """

    def calls_of(place: str, exists: bool) -> PatientCalls:
        return PatientCalls(backend_at(place, exists=exists), read_rate=read_rate, write_rate=write_rate)

    def opened(place: str, *, exists: bool) -> TablePlace | FilePlace:
        is_file = endpoint_of(place) is None and (format_of(place) or (exists and _is_export(place)))
        return FilePlace(place, tables) if is_file else TablePlace(place, calls_of(place, exists))

    first = opened(source, exists=True)
    try:
        if source == target:
            yield first, first
            return
        second = opened(target, exists=False)
        try:
            yield first, second
        finally:
            second.close()
    finally:
        first.close()


def _is_export(place: str) -> bool:
    return bool(exported_files(Path(place).expanduser()))
