"""Failures of the disk, until it works again.

    a call failed on it (full, I/O error)        until a commit is durable
    a checkpoint failed                          until one succeeds
    the disk is full                             until there is space for the reserve again (``reserve``)
    a sync failed                                for good: what the disk holds is unknown

SQLite makes checkpoints by itself and does not report those that fail; the log just grows. So when it is twice as long
as it should be, a checkpoint is requested, which returns its error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

_log = logging.getLogger("tablewright.engine")

CHECKPOINT_BYTES: Final = 64 * 1024 * 1024
"""The log size at which SQLite makes a checkpoint, roughly."""


class DiskHealth:
    """The state of one data folder's disk, as writes found it. Read from any thread."""

    def __init__(self) -> None:
        self.failure: str | None = None
        # The log size that is suspicious.
        self.log_limit = 2 * CHECKPOINT_BYTES
        self._refused = self._checkpoint = self._room = ""
        self._callbacks: list[Callable[[str], None]] = []

    def problems(self) -> list[str]:
        """The present problems, as messages."""
        if self.failure is not None:
            return [self.failure]
        return [problem for problem in (self._room, self._refused, self._checkpoint) if problem]

    def refused(self, reason: str) -> None:
        self._refused = f"the database could not be read or written: {reason}"

    def durable(self) -> None:
        self._refused = ""

    def without_room(self) -> None:
        self._refused = ""
        self._room = "the disk is full: deletes are accepted, other writes are refused until there is free space"

    def has_room(self) -> None:
        self._room = ""

    def checkpoint_failed(self, reason: str, log_size: int) -> None:
        self._checkpoint = f"the log of {log_size // 1024 // 1024} MB cannot be checkpointed: {reason}"
        self.log_limit = log_size + CHECKPOINT_BYTES // 4

    def checkpoint_made(self, log_size: int) -> None:
        """The file keeps its size and is written from its beginning again: only if it grows, something is wrong."""
        self._checkpoint = ""
        self.log_limit = max(self.log_limit, log_size + CHECKPOINT_BYTES)

    def failed(self, error: BaseException) -> None:
        self.failure = f"the disk failed to sync: {error}"
        for callback in self._callbacks:
            try:
                callback(self.failure)
            except Exception:
                # Those who wait for the commit still have to be called.
                _log.exception("a callback about the failed disk failed")

    def when_failed(self, callback: Callable[[str], None]) -> None:
        """Call back when a sync fails, from the thread that syncs; at once if one has failed."""
        self._callbacks.append(callback)
        if self.failure is not None:
            callback(self.failure)
