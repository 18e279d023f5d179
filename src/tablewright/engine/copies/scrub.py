"""Scrub: read everything that is stored, at a bounded rate, to find damage before the data is needed.

    the database, with its log      a snapshot of it is verified (``snapshot``, ``closed_folder``)
    copies                          every chunk is compared with its name

It only reads, and can run in any process while another one uses the folder.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tablewright.engine.copies.chunk_store import CHUNK_BYTES
from tablewright.engine.copies.copy_folder import CopyFolder, FolderCopy
from tablewright.engine.copies.snapshot import opened, take_snapshot
from tablewright.engine.storage.data_folder import DamagedError, Files, StorageError, require_database

__all__ = ["Pace", "copy_problems", "snapshot_of"]


class Pace:
    """Limits the bytes per second: after reading some, wait until they are due."""

    def __init__(
        self, rate: float, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None]
    ) -> None:
        self.read = 0
        self._rate = rate
        self._clock, self._sleep = clock, sleep
        self._began = clock()

    def __call__(self, count: int) -> None:
        self.read += count
        ahead = self.read / self._rate - (self._clock() - self._began)
        if ahead > 0:
            self._sleep(ahead)


@contextmanager
def snapshot_of(data: Path, pace: Pace, progress: Callable[[int, int], None]) -> Iterator[Path]:
    """The database of a folder in its present state, in a folder of its own, below the system's temporary folder."""
    read = 0

    def reading(done: int, total: int) -> None:
        nonlocal read
        # A snapshot that starts over begins at 0 again.
        pace(done - read if done > read else done)
        read = done
        progress(done, total)

    source = Files.of(data)
    require_database(source)
    with tempfile.TemporaryDirectory(prefix="tablewright-scrub-") as folder:
        try:
            with opened(source.database) as descriptor:
                take_snapshot(source, Path(folder), descriptor, reading, nullcontext)
        except OSError as error:
            raise StorageError(
                f"cannot read {data} into {tempfile.gettempdir()}: {error}; set TMPDIR to another folder"
            ) from error
        yield Path(folder)


def copy_problems(copies: CopyFolder, pace: Pace, progress: Callable[[int, int], None]) -> Iterator[str]:
    """The problems of the copies in a folder. Copies that are deleted meanwhile are left out."""
    checked: dict[str, str] = {}
    names = copies.names()
    for number, name in enumerate(names):
        progress(number, len(names))
        try:
            damaged = _damaged_files(copies, copies.read(name), checked, pace)
        except DamagedError as error:
            damaged = [str(error)]
        if damaged and name in copies.names():
            more = f", and {len(damaged) - 1} more" if len(damaged) > 1 else ""
            yield f"the copy {name}: {damaged[0]}{more}"


def _damaged_files(copies: CopyFolder, copy: FolderCopy, checked: dict[str, str], pace: Pace) -> list[str]:
    """The problems of a copy, by chunk; a chunk that several copies share is read once."""
    for chunk in copy.chunks():
        if chunk not in checked:
            pace(CHUNK_BYTES)
            try:
                copies.chunks.get(chunk)
                checked[chunk] = ""
            except DamagedError as error:
                checked[chunk] = str(error)
    return [checked[chunk] for chunk in dict.fromkeys(copy.chunks()) if checked[chunk]]
