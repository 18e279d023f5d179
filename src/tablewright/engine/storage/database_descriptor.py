"""A descriptor of the database file, for copying it while SQLite has it open.

Closing any descriptor of a file releases the locks that the process has on it, SQLite's own included. So there is one
for all copies, which stays open with the connection; if that is closed during a copy, the last copy closes it.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DatabaseDescriptor"]


class DatabaseDescriptor:
    """Opened on first use. Not thread-safe: callers have the lock of the storage."""

    __slots__ = ("_descriptor", "_is_ended", "_users")

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._users = 0
        self._is_ended = False

    def acquire(self, database: Path) -> int:
        """The descriptor, which stays open until ``release``."""
        if self._descriptor is None:
            self._descriptor = os.open(database, os.O_RDONLY | os.O_CLOEXEC)
        self._users += 1
        return self._descriptor

    def release(self) -> None:
        """A copy has ended."""
        self._users -= 1
        self._close_if_unused()

    def end(self) -> None:
        """The connection is closed."""
        self._is_ended = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_ended and not self._users and self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
