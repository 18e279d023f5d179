"""One owner for a data folder: a lock on a file that is there for nothing else.

SQLite's own lock on the database is one of POSIX, which the system takes away as soon as the process closes any
descriptor of that file, whoever opened it: a program that only reads the file would give the folder away. A ``flock``
belongs to the descriptor that it was taken with, and nobody else opens the file. It is free once the process is gone,
however that ended.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows; SQLite's own lock is what is left
    fcntl = None  # type: ignore[assignment]

__all__ = ["BLOBS", "FolderInUse", "FolderLock"]


# Where a store keeps large values, in the data folder.
BLOBS = "blobs"


class FolderInUse(Exception):
    """Somebody else owns the folder."""


class FolderLock:
    """The lock, from when it is made until it is released."""

    __slots__ = ("_descriptor",)

    def __init__(self, file: Path, *, shared: bool = False) -> None:
        """Take the lock; raises FolderInUse. A shared one, for readers, needs a file or folder that is there."""
        flags = os.O_RDONLY if shared or file.is_dir() else os.O_RDWR | os.O_CREAT
        self._descriptor: int | None = os.open(file, flags | os.O_CLOEXEC, 0o600)
        if fcntl is None:
            return
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise FolderInUse from error
            raise

    def release(self) -> None:
        """Let others have the folder. In the child of a fork, which has a copy, that leaves it to the parent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
