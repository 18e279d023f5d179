"""A disk of a few megabytes that can really be full: a tmpfs, where this user may mount one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEGABYTE = 1024 * 1024


class SmallDisk:
    """A file system of its own, and another program that fills it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"
        self._filler = path / "filler"

    @property
    def free(self) -> int:
        state = os.statvfs(self.path)
        return state.f_bavail * state.f_frsize

    @property
    def reserve(self) -> int:
        """How much the reserve occupies."""
        file = self.data / "tablewright.reserve"
        return file.stat().st_blocks * 512 if file.exists() else 0

    def fill(self, *, but: int = 0) -> None:
        """Leave no room on it, or only so many bytes."""
        with open(self._filler, "ab", buffering=0) as filler:
            while (free := self.free - but) > 0:
                filler.write(bytes(min(free, MEGABYTE)))

    def clear(self) -> None:
        """The other program has deleted its file."""
        self._filler.unlink(missing_ok=True)


@contextmanager
def mounted(path: Path, megabytes: int = 12) -> Iterator[SmallDisk]:
    """Mount one; the test is skipped where that is not allowed."""
    path.mkdir()
    try:
        mount = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no mount here, so no disk can be made small enough to be full")
    if mount.returncode:
        pytest.skip(f"this user cannot mount a small disk to fill: {mount.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
