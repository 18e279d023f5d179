"""The two places of a copy, opened and closed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tablewright.model import Table
from tablewright.transfer.errors import TransferError
from tablewright.transfer.files.file_formats import format_of
from tablewright.transfer.files.file_place import TABLE, FilePlace, exported_files
from tablewright.transfer.places.patient_calls import PatientCalls
from tablewright.transfer.places.place_protocols import Source, Target, endpoint_of
from tablewright.transfer.places.table_place import TablePlace, backend_at

__all__ = ["open_places"]

# What looks like the suffix of a file; a number after a dot is more likely a version or a date.
_SUFFIX = re.compile(r"[^/.][^/]*?(?P<suffix>\.[A-Za-z][A-Za-z0-9]*(?:\.gz)?)")


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
        if endpoint_of(place) is None:
            if format_of(place) or (exists and _is_export(place)):
                return FilePlace(place, tables)
            _check_folder_name(place)
        return TablePlace(place, calls_of(place, exists))

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


def _check_folder_name(place: str) -> None:
    """TransferError if a place looks like a file of an unknown format, of which no data folder should be made."""
    use = "use .json, .jsonl or .csv, also with .gz, or .parquet"
    found = _SUFFIX.fullmatch(place.rpartition("/")[2])
    if found is not None and not Path(place).expanduser().is_dir():
        folder = "" if TABLE in place else f"; for a data folder with this name, write {place}/"
        raise TransferError(
            f"{place} has the suffix of a file, {found['suffix']}, and no such format is known; {use}{folder}"
        )
    if TABLE in place:
        raise TransferError(f"{place} stands for files, and has no suffix; {use}")


def _is_export(place: str) -> bool:
    return bool(exported_files(Path(place).expanduser()))
