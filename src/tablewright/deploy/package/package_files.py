"""The files of a package, as names and contents: parts of Tablewright, the system's own, and what wheels have.

Left out is what no function reads: tests, headers, and the descriptions of the hundreds of services that botocore knows
and no system calls.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from tablewright.deploy.package.needed_modules import NeededModules
from tablewright.deploy.package.wheels import PackageError

__all__ = ["Files", "source_files", "wheel_files"]

Files = dict[str, bytes]

_SKIPPED = frozenset({"__pycache__", "tests", "test", "testing"})
_SUFFIXES = frozenset({".pyc", ".pyi", ".pyx", ".pxd", ".c", ".h", ".cpp", ".typed"})
# The services that systems call, and the files that are about all of them.
_SERVICES = frozenset({"athena", "dynamodb", "dynamodbstreams", "events", "s3", "secretsmanager", "ses", "sts"})
_BOTOCORE_DATA = PurePosixPath("botocore/data")


def source_files(needed: NeededModules, *, screens: bool = False) -> Files:
    """The sources of a system: whole parts of Tablewright, with or without its screens, and the packages of others."""
    found: Files = {}
    for package in sorted(needed.packages):
        found.update(_of(package, without=frozenset() if screens else frozenset({"app"})))
    outer = {name.partition(".")[0] for name in needed.modules} - {"tablewright"}
    for package in sorted(outer):
        found.update(_of(package))
    for name in ("tablewright", "tablewright.systems"):
        path = _origin(name)
        if path is not None:
            found[f"{name.replace('.', '/')}/__init__.py"] = path.read_bytes()
    return found


def _origin(name: str) -> Path | None:
    spec = find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin)


def _of(name: str, without: frozenset[str] = frozenset()) -> Iterator[tuple[str, bytes]]:
    """The files of a package, or of a module."""
    path = _origin(name)
    if path is None:
        raise PackageError(f"{name} has no files in this environment; install it")
    place = name.replace(".", "/")
    if path.name != "__init__.py":
        yield f"{place}.py", path.read_bytes()
        return
    for file in sorted(path.parent.rglob("*")):
        steps = file.relative_to(path.parent).parts
        if file.is_file() and file.suffix not in _SUFFIXES and not (_SKIPPED | without).intersection(steps):
            yield f"{place}/{'/'.join(steps)}", file.read_bytes()


def wheel_files(wheels: Iterable[Path]) -> Files:
    """The files that wheels would install."""
    found: Files = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                place = _installed(PurePosixPath(name))
                if place is not None and not name.endswith("/"):
                    found[place] = archive.read(name)
    return found


def _installed(path: PurePosixPath) -> str | None:
    """Where a file of a wheel is installed, relative to the packages; None for what is left out."""
    first = path.parts[0]
    if first.endswith(".data"):
        if len(path.parts) < 3 or path.parts[1] not in ("purelib", "platlib"):
            return None
        path = PurePosixPath(*path.parts[2:])
    if first.endswith(".dist-info") and path.name in ("RECORD", "INSTALLER", "direct_url.json"):
        return None
    if _SKIPPED.intersection(path.parts[1:-1]) or path.suffix in _SUFFIXES:
        return None
    if path.is_relative_to(_BOTOCORE_DATA) and len(path.parts) > 3 and path.parts[2] not in _SERVICES:
        return None
    return str(path)
