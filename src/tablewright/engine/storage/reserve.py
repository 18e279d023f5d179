"""The reserve: a file that occupies the space which deletes need on a full disk.

A delete needs space before it frees any: the pages that it changes go to the log, and a checkpoint writes pages to the
database that only the log has. So the reserve grows with the database:

    an eighth of its pages, from 0.4 to 4 megabytes                                for the log
    as many                                                for stream records and recovery images of deleted items
    the pages that only the log has so far                                           for the checkpoint

When the disk is full (a write was refused, or the reserve cannot grow any more), the file is emptied, and its space is
used at once, before another program takes it: there is a checkpoint, and the log file gets its part. From then on
deletes need no more than these files have, and operations that do are refused (``Storage.check_room``). As soon as the
disk has space for the reserve again, and some more, it is created again.

    kept ── a write fails, or there is no space to grow ──▶ released ── there is space again ──▶ kept

The log takes at most half of the free space (``log_pages``): on a small disk there are more checkpoints.

An empty file says that the reserve is released, so a process that starts then knows. It is not synced: a power cut may
lose the file, and it is created again with the next commit.
"""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress
from typing import Final

from tablewright.engine.storage.data_folder import PAGE_BYTES, Files

__all__ = ["Reserve", "pages_for_log"]

_LEAST: Final = 96
_MOST: Final = 1024
_ONE_IN: Final = 8
# It grows by so many more pages than necessary, so that few commits make it grow.
_AHEAD: Final = 256
_AHEAD_ONE_IN: Final = 16
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """The reserve of one data folder. For use from any thread."""

    def __init__(self, files: Files) -> None:
        self._file = files.reserve
        self._database, self._log = files.database, files.log
        self._lock = threading.Lock()
        # In pages: its size, and the size of the database and length of the log up to which that is enough.
        self._kept = 0
        self._enough_for = 0
        self._frames = 0
        # Not every file system can allocate space.
        self._is_possible = True
        self.is_released = False
        # How many pages the log may have before a checkpoint.
        self.log_pages = self._half_of_room()
        with suppress(FileNotFoundError):
            found = self._file.stat()
            self.is_released = found.st_size == 0
            self._kept = min(found.st_size, found.st_blocks * 512) // PAGE_BYTES

    @property
    def bytes(self) -> int:
        return self._kept * PAGE_BYTES

    def follow(self, pages: int, frames: int) -> bool:
        """Make it as large as a database of so many pages needs, with so many frames in the log.

        False if the disk has no space for that.
        """
        if frames >= self._frames and pages <= self._enough_for:
            self._frames = frames
            return True
        with self._lock:
            self._frames = frames
            return self.is_released or not self._is_possible or self._fit(pages)

    def release(self) -> None:
        """Release its space."""
        with self._lock:
            self._kept = self._enough_for = 0
            self.is_released = True
            # If there is no space for its name, there was no reserve.
            with suppress(OSError):
                os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))

    def regain(self, pages: int) -> bool:
        """Create it again, for a database of so many pages, if the disk has space for it and half as much again."""
        with self._lock:
            needed = self._needed(pages + _ahead(pages))
            if self.is_released and self.free_bytes() >= (needed + needed // 2) * PAGE_BYTES and self._fit(pages):
                self.is_released = False
            return not self.is_released

    def remake(self) -> None:
        """Make it as large again as the free space allows: the folder is being closed."""
        with self._lock, suppress(OSError):
            pages = self._needed(self._database.stat().st_size // PAGE_BYTES)
            while pages > 0 and not self._resize(pages):
                pages //= 2

    def free_bytes(self) -> int:
        """The free space of the disk."""
        try:
            disk = os.statvfs(self._file.parent)
        except OSError:
            return 0
        return disk.f_bavail * disk.f_frsize

    def _half_of_room(self) -> int:
        log_size = 0
        with suppress(OSError):
            log_size = self._log.stat().st_size
        return max((self.free_bytes() + log_size) // 2 // PAGE_BYTES, _LEAST)

    def _fit(self, pages: int) -> bool:
        enough_for = pages + _ahead(pages)
        needed = self._needed(enough_for)
        # Not for small amounts: a log that starts over soon needs the same again.
        if (needed > self._kept or needed < self._kept // 2) and not self._resize(needed):
            return False
        self.log_pages = self._half_of_room()
        self._enough_for = enough_for
        return True

    def _needed(self, pages: int) -> int:
        return 2 * pages_for_log(pages) + max(pages - self._database.stat().st_size // PAGE_BYTES, 0)

    def _resize(self, pages: int) -> bool:
        try:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if pages < self._kept:
                    os.ftruncate(descriptor, pages * PAGE_BYTES)
                else:
                    self._grow(descriptor, pages)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _NO_ROOM:
                return False
            # The file system does not support it, or a limit on the size of files is lower: there is no reserve.
            self._is_possible = False
            return True
        self._kept = pages
        return True

    def _grow(self, descriptor: int, pages: int) -> None:
        """Allocate space. If it runs out, what was allocated until then is released."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, self._kept * PAGE_BYTES, (pages - self._kept) * PAGE_BYTES)
            else:
                for page in range(self._kept, pages):
                    os.pwrite(descriptor, bytes(PAGE_BYTES), page * PAGE_BYTES)
        except OSError:
            os.ftruncate(descriptor, self._kept * PAGE_BYTES)
            raise


def pages_for_log(pages: int) -> int:
    """How many pages deletes may need in the log at a time, with a database of so many pages."""
    return min(max(pages // _ONE_IN, _LEAST), _MOST)


def _ahead(pages: int) -> int:
    return min(pages // _AHEAD_ONE_IN, _AHEAD)
