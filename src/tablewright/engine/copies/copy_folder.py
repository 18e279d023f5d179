"""A folder of copies: each is a data folder as it was at one instant, and is complete in itself.

    copies/20261116T091233.512000Z      a copy: its files, as lists of chunks, and its own checksum in the first line
    packs/                              what the files consist of (``chunk_store``); shared by all copies
    work/                               the snapshot that is being verified
    lock                                locked by the process that writes here

All copies are of one data folder, which they name. A copy is added by one rename, when everything that it refers to is
on disk: if the process is stopped, earlier copies stay, and a new one exists completely or not at all. A chunk is
deleted with the last copy that refers to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import orjson

from tablewright.durable_files import sync_path
from tablewright.engine.copies.chunk_store import ChunkStore, StoredFile
from tablewright.engine.storage.data_folder import DamagedError, StorageError
from tablewright.engine.storage.folder_lock import FolderInUse, FolderLock

__all__ = ["WORK", "CopyFolder", "FolderCopy"]

_FORMAT = 1
# The folder of a snapshot while it is verified.
WORK = "work"
_OWN = {"packs", "copies", "lock", WORK}
_NAME = "%Y%m%dT%H%M%S.%fZ"


@dataclass(slots=True)
class FolderCopy:
    """One copy. ``problems``: what was damaged in the data folder when the copy was taken, its blobs included."""

    taken_at: float
    database: StoredFile
    # All other files of the data folder, by path: blobs above all.
    files: dict[str, StoredFile]
    problems: list[str] = field(default_factory=list)
    # The number of bytes that were new when it was taken.
    written: int = 0
    # The data folder that it is a copy of; empty if unknown.
    folder_id: str = ""

    @property
    def name(self) -> str:
        return datetime.fromtimestamp(self.taken_at, UTC).strftime(_NAME)

    @property
    def size(self) -> int:
        return self.database.size + sum(file.size for file in self.files.values())

    def chunks(self) -> Iterator[str]:
        for file in (self.database, *self.files.values()):
            yield from file.chunks


class CopyFolder:
    """Reads and writes a folder of copies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunks = ChunkStore(folder / "packs")
        self._copies = folder / "copies"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Create the folder if it does not exist, for its owner only, and lock it against other writers."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._copies.mkdir(mode=0o700, exist_ok=True)
            if not os.listdir(self._copies) and (others := set(os.listdir(self.folder)) - _OWN):
                self._copies.rmdir()
                raise StorageError(f"{self.folder} is not a folder of copies: {min(others)} is in it; choose another")
            lock = FolderLock(self.folder / "lock")
        except FolderInUse:
            raise StorageError(f"another backup is writing to {self.folder}; wait until it ends") from None
        except OSError as error:
            raise StorageError(f"cannot write copies to {self.folder}: {error.strerror or error}") from error
        try:
            yield
        finally:
            self.chunks.close()
            lock.release()

    def names(self) -> list[str]:
        """The existing copies, oldest first."""
        try:
            return sorted(name for name in os.listdir(self._copies) if name.endswith("Z"))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, name: str) -> FolderCopy:
        """A copy; DamagedError if its description was not read as it was written."""
        try:
            checksum, _, content = (self._copies / name).read_bytes().partition(b"\n")
        except OSError as error:
            raise DamagedError(f"the copy {name} cannot be read: {error.strerror}") from error
        if sha256(content).hexdigest().encode() != checksum:
            raise DamagedError(f"the description of the copy {name} is damaged")
        described = orjson.loads(content)
        if described.pop("format") != _FORMAT:
            raise StorageError(f"{self.folder} was written by a newer version of Tablewright; upgrade to read it")
        described["database"] = StoredFile(**described["database"])
        described["files"] = {path: StoredFile(**file) for path, file in described["files"].items()}
        return FolderCopy(**described)

    def choose(self, at: float | None) -> FolderCopy:
        """The newest copy, or the newest of those taken by a time."""
        names = self.names()
        if not names:
            raise StorageError(f"there is no copy in {self.folder}; create one with `tablewright backup --to`")
        if at is not None:
            wanted = datetime.fromtimestamp(at, UTC).strftime(_NAME)
            earlier = [name for name in names if name <= wanted]
            if not earlier:
                raise StorageError(f"the oldest copy in {self.folder} is {names[0]}; choose that time or a later one")
            names = earlier
        return self.read(names[-1])

    def newest(self) -> FolderCopy | None:
        """The newest copy that can be read, as the base for another."""
        for name in reversed(self.names()):
            try:
                return self.read(name)
            except DamagedError:
                continue
        return None

    def file_names(self) -> set[str]:
        """The files that the existing copies have beside their databases, as far as the copies can be read."""
        found: set[str] = set()
        for name in self.names():
            with suppress(DamagedError):
                found.update(self.read(name).files)
        return found

    def _is_intact(self, name: str) -> bool:
        try:
            return not self.read(name).problems
        except DamagedError:
            return False

    def check_own(self, newest: FolderCopy | None, data: Path, folder_id: str) -> None:
        """Refuse a copy of a data folder other than that of the existing copies."""
        if newest is not None and newest.folder_id and folder_id and newest.folder_id != folder_id:
            raise StorageError(
                f"the copies in {self.folder} are of another data folder, not of {data}; choose another "
                "folder for copies of this one"
            )

    def add(self, copy: FolderCopy) -> None:
        """Add a copy, durably; its chunks are already stored."""
        self.chunks.sync()
        content = orjson.dumps({"format": _FORMAT, **asdict(copy)})
        path = self._copies / copy.name
        unfinished = path.with_name(copy.name + ".part")
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(sha256(content).hexdigest().encode() + b"\n" + content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        for place in (self._copies, self.folder, self.folder.parent):
            sync_path(place)

    def keep_newest(self, count: int) -> list[str]:
        """Delete the copies older than the newest intact ones, and the chunks that only they had; returns the deleted.

        A damaged copy does not count: while a data folder is damaged, its backups must not replace the copies that it
        can be restored from. If one of the remaining copies cannot be read, its chunks are unknown, so all are kept.
        """
        names = self.names()
        old, intact = names, 0
        while old and intact < count:
            intact += self._is_intact(old[-1])
            old = old[:-1]
        for name in old:
            (self._copies / name).unlink()
        sync_path(self._copies)
        with suppress(DamagedError):
            self.chunks.keep_only({chunk for name in names[len(old) :] for chunk in self.read(name).chunks()})
        return old
