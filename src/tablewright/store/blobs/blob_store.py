"""Blob stores: storage for values that are too large for their items.

    BlobStore           the protocol: put, get, head, delete, entries
    FolderBlobStore     a folder of files; a put returns when the file is on disk, complete and under its name
    S3BlobStore         a bucket of S3, or of anything that speaks its protocol
    MemoryBlobStore     for databases in memory

A blob has a name of its own and is never changed:

    Tickets/Ticket/3f/1763000000000-3f9c…          table, entity, shard, milliseconds since 1970 and 128 random bits
    Tickets/Ticket/3f/1763000000000-3f9c….orphan   a mark beside it: the time since when no item refers to it

The time in the name says how old a blob is, even after it was copied. Names of any other form are refused, so that a
manipulated reference leads nowhere. Encryption at rest is left to the file system or the bucket.

A failure is raised as ServiceError, as for requests to the service; a temporary one has a code that is retried.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Final, Protocol
from urllib.parse import quote
from uuid import uuid4

from tablewright.store.errors import ServiceError

# The code of a permanent failure of a blob store.
REFUSED = "BlobsUnavailable"

# A file that is being written, or was when the process ended.
UNFINISHED = ".part"
# The mark of a blob that no item refers to any more.
_ORPHAN = ".orphan"
# How long a blob that no item refers to is left alone by default: a write may be about to store its item.
GRACE: Final = timedelta(days=1)

_NAME = re.compile(r"[\w.%~-]{1,255}/[\w%~-]{1,255}/[0-9a-f]{2}/(\d{13})-[0-9a-f]{32}(\.part|\.orphan)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class BlobEntry:
    """A blob in a listing; ``size`` counts all its bytes."""

    name: str
    size: int


class BlobStore(Protocol):
    """A store for large values. Its methods block, and are called from any number of threads."""

    # How many calls may be made concurrently; more than one if each waits for a network.
    concurrency: int

    def put(self, name: str, data: bytes) -> None:
        """Store a blob; it is durable when this returns."""

    def get(self, name: str) -> bytes | None:
        """The bytes of a blob; None if there is none."""

    def head(self, name: str, length: int) -> bytes | None:
        """The first bytes of a blob; None if there is none."""

    def delete(self, name: str) -> None:
        """Delete a blob; does nothing if there is none."""

    def entries(self, prefix: str, after: str | None, limit: int) -> list[BlobEntry]:
        """The blobs under a prefix (``Tickets/``, ``Tickets/Ticket/``), after one of them, in the store's own order."""


# -- names ----------------------------------------------------------------------------------------------------------


def new_name(table: str, entity: str, now: float) -> str:
    """A name that no other blob will ever have."""
    unique = uuid4().hex
    return f"{blob_prefix(table, entity)}{unique[-2:]}/{int(now * 1000):013d}-{unique}"


@lru_cache(maxsize=1024)
def name_length(table: str, entity: str) -> int:
    """The length of the blob names of an entity."""
    return len(blob_prefix(table, entity)) + len("00/0000000000000-") + 32


def blob_prefix(table: str, entity: str | None = None) -> str:
    """The prefix of all blob names of a table, or of one of its entities."""
    return f"{table}/" if entity is None else f"{table}/{quote(entity, safe='').replace('.', '%2E')}/"


def orphan_mark(name: str) -> str:
    """The name of the mark of a blob."""
    return name + _ORPHAN


def marked_blob(name: str) -> str | None:
    """The blob that a mark is of; None for the name of a blob itself."""
    return name.removesuffix(_ORPHAN) if name.endswith(_ORPHAN) else None


def orphaned_since(now: float) -> bytes:
    """What a mark holds: a time, in milliseconds since 1970."""
    return str(int(now * 1000)).encode()


def time_in(mark: bytes) -> float | None:
    """The time in a mark; None if there is none, so that it is to be made again."""
    return int(mark) / 1000 if mark.isdigit() else None


def created_at(name: str) -> float:
    """When a blob was created, by the clock of the store that wrote it."""
    return int(_parsed(name)[1]) / 1000


def entity_in(name: str) -> str:
    """The type name of the entity that a blob name contains, quoted as it is there."""
    return name.split("/")[1]


def is_blob_name(text: str) -> bool:
    """Whether a text has the form of a blob name."""
    return _NAME.fullmatch(text) is not None


def checked_name(name: str) -> str:
    """The name itself, if it is a blob name; ServiceError otherwise."""
    _parsed(name)
    return name


def _parsed(name: str) -> re.Match[str]:
    match = _NAME.fullmatch(name)
    if match is None or name.startswith(("./", "../")):
        raise ServiceError(REFUSED, f"{name!r} is not a blob name")
    return match
