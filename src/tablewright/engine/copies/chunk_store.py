"""Chunks: pieces of files under their SHA-256, so that data shared by two copies is stored once.

    packs/00000007         the chunks added by one backup, one after the other, of at most 16 KB
    packs/00000007.index   their digests and lengths, in that order, and a checksum

A pack becomes visible with its index, which is written last; it is never changed. A chunk is compared with its name
whenever it is read, so damage is found. If one is found damaged when it is needed again, it is added again, and a later
pack takes precedence. Chunks are small because items are stored in the order of a hash: a few thousand writes touch
pages all over the database.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from tablewright.durable_files import sync_path
from tablewright.engine.storage.data_folder import DamagedError

CHUNK_BYTES = 16 * 1024
_INDEX = ".index"
_ENTRY = struct.Struct("<32sI")
# A pack with less than this still in use is rewritten without the rest.
_WORTH_KEEPING = 0.5


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as its chunks, in order."""

    size: int
    chunks: list[str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk is."""

    pack: str
    offset: int
    length: int


class ChunkStore:
    """The chunks of all copies in a folder. ``written`` counts the bytes that were new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[bytes, Place] | None = None
        # The pack that is being written.
        self._new: BinaryIO | None = None
        self._new_name = ""
        self._added: list[tuple[bytes, int]] = []
        self.written = 0

    # -- reading ------------------------------------------------------------------------------------------------

    def get(self, name: str) -> bytes:
        """A chunk; DamagedError if it is missing, or does not match its name."""
        try:
            data = self._read(name)
        except (KeyError, FileNotFoundError):
            data = self._read_again(name)
        except OSError as error:
            raise DamagedError(f"chunk {name} of the copy cannot be read: {error.strerror}") from error
        if sha256(data).hexdigest() != name:
            raise DamagedError(f"chunk {name} of the copy is damaged, in {self._folder / self.place(name).pack}")
        return data

    def _read_again(self, name: str) -> bytes:
        """The pack of a chunk may have been rewritten since the indexes were read."""
        try:
            if self._new is None:
                self._places = None
                return self._read(name)
        except (KeyError, FileNotFoundError):
            pass
        raise DamagedError(f"chunk {name} of the copy is missing")

    def place(self, name: str) -> Place:
        """The location of a chunk; KeyError if there is none."""
        return self._known()[bytes.fromhex(name)]

    def names(self) -> Iterator[str]:
        """All chunks."""
        return (digest.hex() for digest in self._known())

    def write_to(self, stored: StoredFile, path: Path) -> Iterator[int]:
        """Write the file again, durably; yields the bytes of each chunk."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            for name in stored.chunks:
                yield file.write(self.get(name))
            file.flush()
            os.fsync(file.fileno())

    def _read(self, name: str) -> bytes:
        place = self.place(name)
        with open(self._folder / place.pack, "rb", buffering=0) as file:
            return os.pread(file.fileno(), place.length, place.offset)

    def _known(self) -> dict[bytes, Place]:
        if self._places is None:
            self._places = {}
            for pack in self._packs():
                offset = 0
                for digest, length in self._index(pack):
                    self._places[digest] = Place(pack, offset, length)
                    offset += length
        return self._places

    def _packs(self) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(name.removesuffix(_INDEX) for name in os.listdir(self._folder) if name.endswith(_INDEX))
        return []

    def _index(self, pack: str) -> list[tuple[bytes, int]]:
        """The digests and lengths of a pack; none if its index is damaged: its chunks are missing then."""
        with suppress(FileNotFoundError):
            content = (self._folder / (pack + _INDEX)).read_bytes()
            if sha256(content[:-32]).digest() == content[-32:]:
                return list(_ENTRY.iter_unpack(content[:-32]))
        return []

    # -- writing ------------------------------------------------------------------------------------------------

    def put_file(self, file: BinaryIO) -> Iterator[str]:
        """Store a file, chunk by chunk."""
        while data := file.read(CHUNK_BYTES):
            yield self.put(data)

    def put(self, data: bytes) -> str:
        """Store a chunk, unless it is already stored undamaged. Others can see it after ``sync``."""
        digest = sha256(data)
        place = self._known().get(digest.digest())
        if place is None or not (place.pack == self._new_name or self._is_stored(digest.hexdigest(), data)):
            self._append(digest.digest(), data)
        return digest.hexdigest()

    def _is_stored(self, name: str, data: bytes) -> bool:
        try:
            return self._read(name) == data
        except OSError:
            return False

    def _append(self, digest: bytes, data: bytes) -> None:
        file = self._new or self._begin()
        self._known()[digest] = Place(self._new_name, file.tell(), len(data))
        file.write(data)
        self._added.append((digest, len(data)))
        self.written += len(data)

    def _begin(self) -> BinaryIO:
        """Begin a pack. Leftovers of a killed backup are deleted."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        packs = self._packs()
        for name in set(os.listdir(self._folder)) - {name + end for name in packs for end in ("", _INDEX)}:
            (self._folder / name).unlink()
        self._new_name = f"{int(packs[-1]) + 1 if packs else 1:08d}"
        path = self._folder / self._new_name
        self._new = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")  # noqa: SIM115
        return self._new

    def sync(self) -> None:
        """Return when all new chunks are on disk, visible to all, and have been verified by reading them."""
        if self._new is None:
            return
        self._new.flush()
        os.fsync(self._new.fileno())
        for digest, _ in self._added:
            self.get(digest.hex())
        content = b"".join(_ENTRY.pack(*entry) for entry in self._added)
        index = self._folder / (self._new_name + _INDEX)
        unfinished = index.with_suffix(".part")
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content + sha256(content).digest())
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, index)
        sync_path(self._folder)
        sync_path(self._folder.parent)
        self.close()

    def close(self) -> None:
        """End the current pack; without ``sync`` it does not count."""
        if self._new is not None:
            self._new.close()
            self._new, self._new_name, self._added, self._places = None, "", [], None

    def keep_only(self, names: set[str]) -> None:
        """Delete packs with only these chunks; the rest of a pack that has become sparse moves to a new pack."""
        places = self._known()
        wanted = {digest: places[digest] for digest in map(bytes.fromhex, names) if digest in places}
        used: Counter[str] = Counter()
        for place in wanted.values():
            used[place.pack] += place.length
        sparse = {pack for pack in self._packs() if used[pack] < _WORTH_KEEPING * self._size(pack)}
        for digest, place in wanted.items():
            if place.pack in sparse:
                try:
                    self._append(digest, self.get(digest.hex()))
                except DamagedError:
                    # It stays where it is, in case it can still be recovered by hand.
                    sparse.discard(place.pack)
        self.sync()
        for pack in sparse:
            for name in (pack + _INDEX, pack):
                (self._folder / name).unlink(missing_ok=True)
        self._places = None

    def _size(self, pack: str) -> int:
        with suppress(FileNotFoundError):
            return (self._folder / pack).stat().st_size
        return 1
