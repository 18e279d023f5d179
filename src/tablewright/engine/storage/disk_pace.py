"""How fast the disk is, as measured: by syncs of the log and by checkpoints.

``SyncPace`` says whether a sync takes so long that others should not wait for it unnecessarily.

``CheckpointPace`` says how long the log may become. A checkpoint writes every page of the log to the database and syncs
that, and everything else waits. How many pages fit into some milliseconds depends on the disk and on the machine, so
each checkpoint determines how long the log may be for the next. Shorter logs are not free: a page that changes again
and again is written once for each of them, and each has its syncs. So if a sync takes long, a checkpoint may take a few
times as long as a sync does.
"""

from __future__ import annotations

from typing import Final

from tablewright.engine.storage.data_folder import CHECKPOINT_PAGES, PAGE_BYTES

__all__ = ["CheckpointPace", "SyncPace"]

# Seconds. Leaving a sync to a separate thread makes batches small and passes the interpreter lock around: on a fast
# disk that costs more than it gains.
_SLOW_SYNC: Final = 0.010
_FAST_SYNC: Final = 0.004
# Bytes that take long to sync at once.
_MUCH: Final = 2 * 1024 * 1024

_FEWEST: Final = 2_000
# For a machine that is not measured yet.
_FIRST: Final = 4_000
_SECONDS: Final = 0.020
_SYNCS: Final = 8.0
# One checkpoint says little: another program may have used the processor, or the disk, and a log of a few pages that
# changed again and again is written in no time. The limit is lowered at once, and raised slowly.
_SHORTER: Final = 2.0
_LONGER: Final = 1.25
# Pages of large items, each of which a checkpoint has to write.
_OF_LARGE_ITEMS: Final = 1_500


class SyncPace:
    """Whether syncs are slow: on average, or the next one because it has much to write."""

    __slots__ = ("_expects_much", "_on_average", "are_slow", "mean")

    def __init__(self) -> None:
        self.are_slow = self._on_average = self._expects_much = False
        self.mean = 0.0

    def expect(self, size: int) -> None:
        """The next sync writes at least so many bytes."""
        if size >= _MUCH:
            self.are_slow = self._expects_much = True

    def took(self, seconds: float) -> None:
        """A sync took so long; one that was expected to be slow says nothing about others."""
        if not self._expects_much:
            self.mean += (seconds - self.mean) / 4
            self._on_average = self.mean > (_FAST_SYNC if self._on_average else _SLOW_SYNC)
        self.are_slow, self._expects_much = self._on_average, False


class CheckpointPace:
    """The number of pages in the log from which a checkpoint is made."""

    __slots__ = ("_of_large_items", "pages")

    def __init__(self) -> None:
        self.pages = _FIRST
        self._of_large_items = 0

    def wrote_large(self, size: int) -> None:
        """A large item of so many bytes was written."""
        self._of_large_items += size // PAGE_BYTES

    def is_due(self, expected: int = 0) -> bool:
        """Whether the log has many pages of large items, or would with so many bytes more."""
        pages = self._of_large_items
        return pages > 0 and pages + expected // PAGE_BYTES >= _OF_LARGE_ITEMS

    def starts_over(self) -> None:
        """There was a checkpoint: the log has no pages that another one would write."""
        self._of_large_items = 0

    def made(self, pages: int, seconds: float, sync_seconds: float) -> None:
        """A checkpoint of a log with so many pages took so long; recently, a sync took ``sync_seconds``."""
        self.starts_over()
        in_time = pages * max(_SECONDS, _SYNCS * sync_seconds) / max(seconds, 1e-6)
        near = min(max(in_time, self.pages / _SHORTER), self.pages * _LONGER)
        self.pages = round(min(max(near, _FEWEST), CHECKPOINT_PAGES))
