"""A folder of blobs whose process dies in the middle of its work."""

from __future__ import annotations

from pathlib import Path

from tablewright.store import FolderBlobStore
from tests.systems.dying_backend import Died


class MortalBlobs(FolderBlobStore):
    """A folder whose owner dies when it has kept so many."""

    def __init__(self, folder: Path, left: int | None = None) -> None:
        super().__init__(folder)
        self._left = left

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Died
