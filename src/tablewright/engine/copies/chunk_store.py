"""A folder of chunks: pieces of files, named by their SHA-256, so that what two copies share is stored once.

    chunks/3f/3f9c…        up to 256 KB; written under another name, and renamed when it is complete

A chunk is never changed. Its name says what it must contain, so damage is found whenever it is read. Nothing refers to
a new chunk until the copy that it belongs to is complete, and ``sync`` comes before that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from tablewright.engine.storage.data_folder import DamagedError
from tablewright.engine.storage.durable_files import sync_path

CHUNK_BYTES = 256 * 1024
_UNFINISHED = ".part"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as its chunks, in order."""

    size: int
    chunks: list[str]


class ChunkStore:
    """The chunks of all copies in a folder. ``written`` counts the bytes that were new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._new: list[Path] = []
        self.written = 0

    def put_file(self, file: BinaryIO) -> Iterator[str]:
        """Store a file, chunk by chunk."""
        while data := file.read(CHUNK_BYTES):
            yield self.put(data)

    def put(self, data: bytes) -> str:
        """Store a chunk, unless it is there as it should be."""
        name = sha256(data).hexdigest()
        path = self._path(name)
        try:
            if path.read_bytes() == data:
                return name
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.with_name(name + _UNFINISHED)
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
        self._new.append(path)
        self.written += len(data)
        return name

    def has(self, stored: StoredFile) -> bool:
        """Whether all chunks of a file are there; they are not read."""
        left = stored.size
        for name in stored.chunks:
            try:
                if self._path(name).stat().st_size != min(CHUNK_BYTES, left):
                    return False
            except FileNotFoundError:
                return False
            left -= CHUNK_BYTES
        return True

    def sync(self) -> None:
        """Return when all new chunks are on disk, and as they should be."""
        for path in self._new:
            sync_path(path)
            self.get(path.name)
        for folder in {path.parent for path in self._new}:
            sync_path(folder)
        with suppress(FileNotFoundError):
            sync_path(self._folder)
        self._new.clear()

    def get(self, name: str) -> bytes:
        """A chunk; DamagedError when it is not what its name says."""
        try:
            data = self._path(name).read_bytes()
        except FileNotFoundError:
            raise DamagedError(f"chunk {name} of the copy is missing") from None
        except OSError as error:
            raise DamagedError(f"chunk {name} of the copy cannot be read: {error.strerror}") from error
        if sha256(data).hexdigest() != name:
            raise DamagedError(f"chunk {name} of the copy is damaged: {self._path(name)}")
        return data

    def write_to(self, stored: StoredFile, path: Path) -> Iterator[int]:
        """Make the file again, durably; yields the bytes of each chunk."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            for name in stored.chunks:
                yield file.write(self.get(name))
            file.flush()
            os.fsync(file.fileno())

    def names(self) -> Iterator[str]:
        """All chunks, and what a process that was killed has left of some."""
        with suppress(FileNotFoundError):
            for folder in self._folder.iterdir():
                yield from os.listdir(folder)

    def keep_only(self, kept: set[str]) -> None:
        """Delete all other chunks."""
        for name in list(self.names()):
            if name not in kept:
                self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name
