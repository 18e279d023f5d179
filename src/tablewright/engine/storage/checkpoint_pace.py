"""How long the log may become before a checkpoint: its checkpoint must not keep others waiting for too long.

A checkpoint writes every page of the log to the database and syncs that, and everything else waits. How many pages fit
into some milliseconds depends on the disk and on the machine, so it is measured: each checkpoint determines how long
the log may be for the next.

Shorter logs are not free: a page that changes again and again is written once for each of them, and each has its syncs.
So if a sync takes long, a checkpoint may take a few times as long as a sync does.
"""

from __future__ import annotations

from typing import Final

from tablewright.engine.storage.data_folder import CHECKPOINT_PAGES

__all__ = ["CheckpointPace"]

_FEWEST: Final = 2_000
# For a machine that is not measured yet.
_FIRST: Final = 4_000
_SECONDS: Final = 0.020
_SYNCS: Final = 8.0
# One checkpoint says little: another program may have used the processor, or the disk, and a log of a few pages that
# changed again and again is written in no time. The limit is lowered at once, and raised slowly.
_SHORTER: Final = 2.0
_LONGER: Final = 1.25


class CheckpointPace:
    """The number of pages in the log from which a checkpoint is made."""

    __slots__ = ("pages",)

    def __init__(self) -> None:
        self.pages = _FIRST

    def made(self, pages: int, seconds: float, sync_seconds: float) -> None:
        """A checkpoint of a log with so many pages took so long; recently, a sync took ``sync_seconds``."""
        in_time = pages * max(_SECONDS, _SYNCS * sync_seconds) / max(seconds, 1e-6)
        near = min(max(in_time, self.pages / _SHORTER), self.pages * _LONGER)
        self.pages = round(min(max(near, _FEWEST), CHECKPOINT_PAGES))
