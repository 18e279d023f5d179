"""Checkpoints wait for readers that copy the files of an open database: no page of it changes meanwhile.

SQLite writes to the database only in a checkpoint; commits go to the log. A reader that holds the gate closed can
therefore copy the database while others write, and then the log up to its last commit: that is what a power cut would
leave, of one instant. The log grows until the gate is open again.

    engine   gate.passing: COMMIT, with a checkpoint because the log is long      a shared lock
    reader   closed(folder): copy the files                                       an exclusive one

The lock is on the data folder itself: there is no file that one user creates and another cannot open.

A reader that does not end must not fill the disk, so a log may become as large as the database, or a gigabyte; then
there is a checkpoint nevertheless. The reader notices, and starts over (``copies.snapshot``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablewright.engine.storage.data_folder import Files, StorageError
from tablewright.engine.storage.folder_lock import FolderInUse, FolderLock

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["CheckpointGate", "closed"]

_LARGEST_LOG = 1024**3
_PATIENCE = 60.0


class CheckpointGate:
    """The engine's side of the gate."""

    __slots__ = ("_descriptor", "_files")

    def __init__(self, files: Files) -> None:
        self._descriptor = os.open(files.folder, os.O_RDONLY | os.O_CLOEXEC)
        self._files = files

    @contextmanager
    def passing(self) -> Iterator[bool]:
        """Whether a checkpoint is allowed inside of the block."""
        try:
            yield self._enter() or self._log_is_too_long()
        finally:
            if fcntl is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _enter(self) -> bool:
        if fcntl is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return False
        return True

    def _log_is_too_long(self) -> bool:
        try:
            return self._files.log.stat().st_size > max(_LARGEST_LOG, self._files.database.stat().st_size)
        except FileNotFoundError:
            return False

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """Hold the gate of a folder closed; StorageError if another reader does so for too long."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            lock = FolderLock(folder)
            break
        except FolderInUse:
            if time.monotonic() > until:
                raise StorageError(
                    f"another program has been copying {folder} for a minute; try again when it has finished"
                ) from None
            # A checkpoint takes some milliseconds.
            time.sleep(0.001)
    try:
        yield
    finally:
        lock.release()
