"""A package for Lambda: a zip that is the same, byte for byte, whenever it is built from the same files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from tablewright.deploy.package.package_files import Files
from tablewright.deploy.package.wheels import PackageError

__all__ = ["MAX_UNPACKED", "write_zip"]

MAX_UNPACKED = 250 * 1024 * 1024
# A zip knows no time before.
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644


def write_zip(files: Files, path: Path) -> int:
    """Write a package; its size unpacked. PackageError if Lambda would not take it."""
    size = sum(map(len, files.values()))
    if size > MAX_UNPACKED:
        largest = sorted(files, key=lambda name: -len(files[name]))[:3]
        raise PackageError(
            f"the package would have {size:,} bytes, and Lambda takes {MAX_UNPACKED:,}; the largest files are "
            f"{', '.join(largest)}; use an image instead"
        )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = _MODE << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 9)
    path.write_bytes(content.getvalue())
    return size
