"""Object stores: where the values are that are too large for an item.

    Blobs           what an object store does: put, get, head, delete, entries
    FolderBlobs     a folder of files; a put returns when the file is on disk, whole and under its name
    S3Blobs         a bucket of S3, or of anything that speaks its protocol (see ``s3_blobs``)
    MemoryBlobs     for databases in memory

A blob has a name of its own and is never changed:

    Tickets/Ticket/3f/1763000000000-3f9c…        table, entity, shard, milliseconds since 1970 and 128 random bits

The time in the name tells how old a blob is, whoever copied it and when. Names that have another form are refused, so
that a reference which somebody tampered with leads nowhere. What else there is to encryption at rest is the business of
the store: of the file system, or of the bucket.

A refusal is a ServiceError, as from the service; one that may pass has a code that is tried again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakKeyDictionary

from tablewright.engine import Engine
from tablewright.store.errors import ServiceError
from tablewright.store.flow.driver import Work

T = TypeVar("T")

# The code of what an object store cannot do, and will not be able to do a moment later.
REFUSED = "BlobsUnavailable"

# A file that is being written, or was when the process ended.
UNFINISHED = ".part"

_NAME = re.compile(r"[\w.%~-]{1,255}/[\w%~-]{1,255}/[0-9a-f]{2}/(\d{13})-[0-9a-f]{32}(\.part)?", re.ASCII)
_FOLDER_NAME = "blobs"


@dataclass(frozen=True, slots=True)
class Entry:
    """A blob in a listing; the size is that of all its bytes."""

    name: str
    size: int


class Blobs(Protocol):
    """An object store. Calls block, and are made from any number of threads."""

    # How many calls may be made at a time; more than one where each waits for a network.
    at_once: int

    def put(self, name: str, data: bytes) -> None:
        """Keep a blob; durable when it returns."""

    def get(self, name: str) -> bytes | None:
        """A blob, None if it is not there."""

    def head(self, name: str, length: int) -> bytes | None:
        """The first bytes of a blob."""

    def delete(self, name: str) -> None:
        """Delete a blob, or leave it at that if it is not there."""

    def entries(self, prefix: str, after: str | None, limit: int) -> list[Entry]:
        """The blobs under a prefix (``Tickets/``, ``Tickets/Ticket/``) in an order of its own, behind one of them."""


# -- names ----------------------------------------------------------------------------------------------------------


def new_name(table: str, entity: str, now: float) -> str:
    """A name that no other blob has, ever."""
    chance = uuid4().hex
    return f"{blob_prefix(table, entity)}{chance[-2:]}/{int(now * 1000):013d}-{chance}"


@lru_cache(maxsize=1024)
def name_length(table: str, entity: str) -> int:
    """How long the names of an entity's blobs are."""
    return len(blob_prefix(table, entity)) + len("00/0000000000000-") + 32


def blob_prefix(table: str, entity: str | None = None) -> str:
    """What the names of the blobs of a table begin with, or of one entity of it."""
    return f"{table}/" if entity is None else f"{table}/{quote(entity, safe='').replace('.', '%2E')}/"


def made_at(name: str) -> float:
    """When a blob was made, by the clock of the store that made it."""
    return int(_parsed(name)[1]) / 1000


def entity_in(name: str) -> str:
    """The entity that a name has, as it is written there."""
    return name.split("/")[1]


def is_name(text: str) -> bool:
    """Whether something has the name of a blob."""
    return _NAME.fullmatch(text) is not None


def checked(name: str) -> str:
    """The name, if it is one of a blob."""
    _parsed(name)
    return name


def _parsed(name: str) -> re.Match[str]:
    match = _NAME.fullmatch(name)
    if match is None or name.startswith(("./", "../")):
        raise ServiceError(REFUSED, f"{name!r} is no name of a blob")
    return match


# -- a folder -------------------------------------------------------------------------------------------------------


class FolderBlobs:
    """Files in a folder, each readable by their owner only."""

    at_once = 1

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()

    def __repr__(self) -> str:
        return f"FolderBlobs({str(self.folder)!r})"

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
            _sync_folder(path.parent)
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
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _refusal("delete", path, error) from error

    def entries(self, prefix: str, after: str | None, limit: int) -> list[Entry]:
        found = self._under(prefix.rstrip("/").split("/"), [] if after is None else after.split("/"))
        return list(islice(found, limit))

    def _under(self, way: list[str], after: list[str]) -> Iterator[Entry]:
        """The blobs in a folder and in those below it, in order of the steps that lead to them."""
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
            elif _NAME.fullmatch("/".join(step)):
                try:
                    yield Entry("/".join(step), (folder / name).stat().st_size)
                except FileNotFoundError:
                    continue

    def _path(self, name: str) -> Path:
        return self.folder.joinpath(*checked(name).split("/"))


def _make(folder: Path) -> None:
    """Make a folder and those above it, to stay."""
    new = []
    place = folder
    while not place.exists():
        new.append(place)
        place = place.parent
    for made in reversed(new):
        made.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(made.parent)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refusal(verb: str, path: Path, error: OSError) -> ServiceError:
    return ServiceError(REFUSED, f"cannot {verb} {path}: {error.strerror or error}")


# -- memory ---------------------------------------------------------------------------------------------------------


class MemoryBlobs:
    """Blobs that are gone when the process is, as the database is that they belong to."""

    at_once = 1

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> None:
        self._blobs[checked(name)] = data

    def get(self, name: str) -> bytes | None:
        return self._blobs.get(checked(name))

    def head(self, name: str, length: int) -> bytes | None:
        data = self.get(name)
        return None if data is None else data[:length]

    def delete(self, name: str) -> None:
        self._blobs.pop(checked(name), None)

    def entries(self, prefix: str, after: str | None, limit: int) -> list[Entry]:
        # A copy first: others may write meanwhile.
        known = self._blobs.copy()
        names = sorted(name for name in known if name.startswith(prefix) and (after is None or name > after))
        return [Entry(name, len(known[name])) for name in names[:limit]]


_in_memory: WeakKeyDictionary[Engine, MemoryBlobs] = WeakKeyDictionary()


# -- which one ------------------------------------------------------------------------------------------------------


def blobs_of(engine: Engine) -> Blobs:
    """Where an engine's blobs are unless told otherwise: in its data folder; in memory if it is there itself."""
    if engine.folder is not None:
        return FolderBlobs(engine.folder / _FOLDER_NAME)
    return _in_memory.setdefault(engine, MemoryBlobs())


def blobs_at(place: str | os.PathLike[str]) -> Blobs:
    """The object store at a place: ``s3://bucket/prefix``, or a folder."""
    if isinstance(place, str) and place.startswith("s3://"):
        from tablewright.store.blobs.s3_blob_store import S3Blobs

        bucket, _, prefix = place.removeprefix("s3://").partition("/")
        return S3Blobs(bucket, prefix)
    return FolderBlobs(place)


# -- steps of a flow ------------------------------------------------------------------------------------------------


def put_blobs(blobs: Blobs, contents: Sequence[tuple[str, bytes]]) -> Work:
    """Keep blobs, by name."""
    names = [name for name, _ in contents]
    return _step("PutBlobs", names, lambda: _each(blobs, lambda each: blobs.put(*each), contents))


def get_blobs(blobs: Blobs, names: Sequence[str]) -> Work:
    """Blobs in the order of their names, as ``response["Blobs"]``; None for those that are not there."""
    return _step("GetBlobs", names, lambda: _each(blobs, blobs.get, names))


def head_blobs(blobs: Blobs, names: Sequence[str], length: int) -> Work:
    """The first bytes of blobs."""
    return _step("HeadBlobs", names, lambda: _each(blobs, lambda name: blobs.head(name, length), names))


def delete_blobs(blobs: Blobs, names: Sequence[str]) -> Work:
    return _step("DeleteBlobs", names, lambda: _each(blobs, blobs.delete, names))


def list_blobs(blobs: Blobs, prefix: str, after: str | None, limit: int) -> Work:
    return _step("ListBlobs", [prefix], lambda: blobs.entries(prefix, after, limit))


def _step(operation: str, names: Sequence[str], perform: Callable[[], list[Any]]) -> Work:
    return Work(operation, {"Names": list(names)}, perform=lambda: {"Blobs": perform()})


def _each(blobs: Blobs, call: Callable[[Any], T], members: Sequence[Any]) -> list[T]:
    if blobs.at_once == 1 or len(members) < 2:
        return [call(member) for member in members]
    with ThreadPoolExecutor(min(blobs.at_once, len(members))) as threads:
        return list(threads.map(call, members))
