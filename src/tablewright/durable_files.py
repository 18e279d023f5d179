"""Files that survive a power cut: a name in a folder is on disk once the folder is synced."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["sync_path"]


def sync_path(path: Path) -> None:
    """Return when a file, or the list of a folder, is on disk; OSError if it may not be."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
