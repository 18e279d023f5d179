"""A snapshot: the database of a data folder as it is at one instant, in separate files, while others write.

The files are copied as a power cut would leave them, and SQLite recovers the database from them as after one:

    gate closed, so that no checkpoint changes the database       (``checkpoint_gate``)
      1  the database, page by page
      2  the log, up to the last commit in it
    gate open
      3  SQLite reads the log, verify compares everything

Every write acknowledged before is in the log or in the database by then, and a transaction is in the log completely or
not at all; a log that lacks one of them, by the mark of its end, is damaged. The log starts over after a checkpoint,
even while the gate is closed if that checkpoint came before: then all of the old log is in the database, and the new
one is copied. An engine that is closed, or whose log has become too long, makes a checkpoint despite readers; the
database has changed by then, and the snapshot starts over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from tablewright.engine.storage import checkpoint_gate
from tablewright.engine.storage.data_folder import DamagedError, Files, StorageError, log_state
from tablewright.engine.storage.group_commit import Storage
from tablewright.engine.storage.log_check import HEADER_BYTES, log_frames, read_end_mark

_ATTEMPTS = 5
_BLOCK = 1024 * 1024
# Longer than a tick of the clock for file timestamps.
_TICK = 0.02

# Called with the bytes that were read, and the total.
Progress = Callable[[int, int], None]


def take_snapshot(
    source: Files, folder: Path, database: int, progress: Progress, instant: Callable[[], AbstractContextManager[None]]
) -> None:
    """Copy the database, with its log, into a folder. It is of one instant inside of ``instant``.

    ``database`` is an open descriptor of the database. The caller closes it: in a process that has the database open,
    closing it would release SQLite's own locks.
    """
    target = Files.of(folder)
    for _ in range(_ATTEMPTS):
        with checkpoint_gate.closed(source.folder):
            before = _settled(database)
            _copy(database, target.database, before.st_size, progress)
            with instant(), _with_end(source, target):
                _copy_log(source.log, target.log)
            after = os.fstat(database)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            _merge(source, target)
            return
    raise StorageError(f"the database in {source.folder} changes faster than it can be copied; try again later")


def _merge(source: Files, target: Files) -> None:
    """Let SQLite write the log into the database."""
    if (damage := log_state(target).damage) is not None:
        raise DamagedError(f"the log {source.log} is damaged: {damage}; `tablewright verify` shows more")
    try:
        Storage(target.folder).close()
    except StorageError as error:
        # It is about the snapshot, which is as the source is.
        raise type(error)(str(error).replace(str(target.folder), str(source.folder))) from error


@contextmanager
def _with_end(source: Files, target: Files) -> Iterator[None]:
    """Also copy what the folder says of its log, which is copied meanwhile: a commit that is missing there is damage.

    The log goes on while it is copied, and an engine that is closed takes the mark back and then removes the log. So
    the mark of before counts, if there is still one that may follow it.
    """
    was_used, mark = source.end.exists(), read_end_mark(source.end)
    yield
    now = read_end_mark(source.end)
    if was_used:
        target.end.write_bytes(mark.packed() if mark is not None and now is not None and now.may_follow(mark) else b"")


@contextmanager
def opened(file: Path) -> Iterator[int]:
    """A descriptor of a database that this process has not opened otherwise."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _settled(database: int) -> os.stat_result:
    """The state of the file, once a later change would have another timestamp."""
    while True:
        state = os.fstat(database)
        age = time.time() - state.st_mtime
        if not 0 <= age < _TICK:
            return state
        time.sleep(_TICK - age)


def _copy(source: int, target: Path, size: int, progress: Progress) -> None:
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        done = 0
        while done < size and (block := os.pread(source, min(_BLOCK, size - done), done)):
            file.write(block)
            done += len(block)
            progress(done, size)


def _copy_log(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError), opened(source) as log:
        while True:
            end = log_frames(log, None)
            # One that is about to start over has its new header, and no commit yet.
            _copy(log, target, HEADER_BYTES if end is None else end.size, lambda done, size: None)
            # Otherwise it has started over, and the data read may be of both.
            now = log_frames(log, end)
            if (None if end is None else end.salts) == (None if now is None else now.salts):
                return
