"""How long the log may become before a checkpoint: as long as what a checkpoint of it takes may keep others waiting.

A checkpoint writes every page of the log to the database and syncs that, and nobody can do anything meanwhile. How many
pages that are in some milliseconds depends on the disk and on the machine, so it is measured: each checkpoint says
how long the log may be for the next.

Shorter logs are not free: a page that changes again and again is written once for each of them, and each has its syncs.
So where a sync takes long, a checkpoint may take some times as long as a sync does.
"""

from __future__ import annotations

from typing import Final

from tablewright.engine.storage.data_folder import CHECKPOINT_PAGES

__all__ = ["CheckpointPace"]

_FEWEST: Final = 2_000
# For a machine that is not known yet.
_FIRST: Final = 4_000
_SECONDS: Final = 0.020
_SYNCS: Final = 8.0
# One checkpoint says little: another program may have had the processor, or the disk, and a log of a few pages that
# changed again and again is written in no time. It is shortened at once, and becomes longer slowly.
_SHORTER: Final = 2.0
_LONGER: Final = 1.25


class CheckpointPace:
    """The pages in the log from which on there is a checkpoint."""

    __slots__ = ("pages",)

    def __init__(self) -> None:
        self.pages = _FIRST

    def made(self, pages: int, seconds: float, sync_seconds: float) -> None:
        """A checkpoint of a log with so many pages took so long; of late, a sync takes ``sync_seconds``."""
        in_time = pages * max(_SECONDS, _SYNCS * sync_seconds) / max(seconds, 1e-6)
        near = min(max(in_time, self.pages / _SHORTER), self.pages * _LONGER)
        self.pages = round(min(max(near, _FEWEST), CHECKPOINT_PAGES))
