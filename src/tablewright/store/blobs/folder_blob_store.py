"""Blobs as files in a folder: written under another name, synced, and then renamed, so that each is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tablewright.durable_files import sync_path
from tablewright.engine.storage.folder_lock import FolderInUse, FolderLock
from tablewright.store.blobs.blob_store import REFUSED, UNFINISHED, BlobEntry, checked_name, is_blob_name
from tablewright.store.errors import ServiceError


class FolderBlobStore:
    """Blobs as files in a folder, readable by their owner only.

    ``Store.open("./data")`` uses the folder ``blobs`` in its data folder; give another as ``blobs="./elsewhere"``.
    """

    concurrency = 1

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()

    def __repr__(self) -> str:
        return f"FolderBlobStore({str(self.folder)!r})"

    def put(self, name: str, data: bytes) -> None:
        path = self._path(name)
        unfinished = path.with_name(path.name + UNFINISHED)
        try:
            _make(path.parent)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            os.replace(unfinished, path)
            sync_path(path.parent)
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink()
            raise _refusal("write", path, error) from error

    def get(self, name: str) -> bytes | None:
        return self._read(name, -1)

    def head(self, name: str, length: int) -> bytes | None:
        return self._read(name, length)

    def _read(self, name: str, length: int) -> bytes | None:
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                return file.read(length)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refusal("read", path, error) from error

    def delete(self, name: str) -> None:
        path = self._path(name)
        try:
            if self._is_being_copied():
                # Items of the copy may refer to it. It is an orphan now, and is collected as such.
                return
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _refusal("delete", path, error) from error

    def _is_being_copied(self) -> bool:
        try:
            FolderLock(self.folder, shared=True).release()
        except FileNotFoundError:
            return False
        except FolderInUse:
            return True
        return False

    def entries(self, prefix: str, after: str | None, limit: int) -> list[BlobEntry]:
        found = self._under(prefix.rstrip("/").split("/"), [] if after is None else after.split("/"))
        return list(islice(found, limit))

    def _under(self, way: list[str], after: list[str]) -> Iterator[BlobEntry]:
        """The blobs in a folder and its subfolders, ordered by path."""
        folder = self.folder.joinpath(*way)
        # Only where ``after`` leads through this folder does it matter here.
        passed = after[len(way)] if len(after) > len(way) and after[: len(way)] == way else None
        try:
            names = sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise _refusal("read", folder, error) from error
        for name in names:
            last = len(way) == 3
            if passed is not None and (name < passed or (last and name == passed)):
                continue
            step = [*way, name]
            if not last:
                yield from self._under(step, after)
            elif is_blob_name("/".join(step)):
                try:
                    yield BlobEntry("/".join(step), (folder / name).stat().st_size)
                except FileNotFoundError:
                    continue

    def _path(self, name: str) -> Path:
        return self.folder.joinpath(*checked_name(name).split("/"))


def _make(folder: Path) -> None:
    """Create a folder and its parents, durably."""
    new = []
    place = folder
    while not place.exists():
        new.append(place)
        place = place.parent
    for made in reversed(new):
        made.mkdir(mode=0o700, exist_ok=True)
        sync_path(made.parent)


def _refusal(verb: str, path: Path, error: OSError) -> ServiceError:
    return ServiceError(REFUSED, f"cannot {verb} {path}: {error.strerror or error}")
