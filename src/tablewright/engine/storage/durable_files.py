"""Files that are there after a power cut: a name in a folder is on disk once the folder is synced."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync_path"]


def sync_path(path: Path) -> None:
    """Return when a file, or what a folder lists, is on disk; OSError when it may not be."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
