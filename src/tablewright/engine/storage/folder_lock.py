"""One owner for a data folder: a lock on a file that has no other purpose.

SQLite's own lock on the database is a POSIX lock, which the system releases as soon as the process closes any
descriptor of that file: a program that only reads the file would release the folder. A ``flock`` belongs to the
descriptor that it was taken with, and no other code opens the file. It is released when the process ends, in any way.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows; SQLite's own lock remains
    fcntl = None  # type: ignore[assignment]

__all__ = ["BLOBS", "FolderInUse", "FolderLock"]


# The folder for a store's large values, in the data folder.
BLOBS = "blobs"


class FolderInUse(Exception):
    """Another process owns the folder."""


class FolderLock:
    """The lock, from its creation until it is released."""

    __slots__ = ("_descriptor",)

    def __init__(self, file: Path, *, shared: bool = False) -> None:
        """Take the lock; raises FolderInUse. A shared one, for readers, needs an existing file or folder."""
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
        """Release the folder. In the child of a fork, which has a copy, the lock stays with the parent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
