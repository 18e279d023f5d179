"""Checksums of stored records: a record that has changed on the disk is refused, never returned.

SQLite has no checksum over the contents of its pages, so every record has one of its own (CRC-32, which notices every
change of up to 32 adjacent bits), written with it and compared whenever it is read:

    item           its bytes (which include its key) and size, and the seed of its table, so another table's is noticed
    stream record  all of its columns
    history        the item with its checksum, its key, and when it was replaced
    the rest       all of its columns: tables, streams, backups, settings, idempotency tokens

The seed of a table is its number. A restored table keeps that of its source, so backups and restores copy rows together
with their checksums, without reading them: damaged data stays damaged, and is found.

An index entry has none: it only says where an item is, and one that points to no item is noticed when it is read. An
item that a read missed, because a key in a B-tree has changed, is found by ``verify``.

A column may have any type once the byte of its type has changed, so comparisons expect ``NOT_COMPARABLE``. If it is the
length of a record that has changed, SQLite may ask for more memory than there is (``SQLITE_ERRORS``).
"""

from __future__ import annotations

import logging
import sqlite3
import struct
from typing import Any
from zlib import crc32

from tablewright.dynamo import InternalServerError

# What computing a checksum raises if a column no longer has its type.
NOT_COMPARABLE = (TypeError, ValueError, OverflowError, AttributeError, struct.error)

# What SQLite raises for a damaged record, or page. It has no memory for a record that seems to be huge.
SQLITE_ERRORS = (sqlite3.Error, MemoryError)
# SQLITE_CORRUPT: a page is not as SQLite wrote it.
_CORRUPT = 11

_pack_end = struct.Struct("<I").pack
_pack_change = struct.Struct("<dqq").pack
_pack_record = struct.Struct("<dqqqq").pack

_log = logging.getLogger("tablewright.engine")


class DamagedRecord(InternalServerError):
    """A stored record that differs from what was written. ``what`` names it, in the log and for ``verify``."""

    def __init__(self, what: str) -> None:
        super().__init__("Internal server error: a stored record is damaged; the log of the server names it")
        self.what = what

    @property
    def code(self) -> str:
        return "InternalServerError"


def sqlite_message(error: BaseException) -> str:
    """What SQLite says; its lack of memory comes without a message."""
    if isinstance(error, MemoryError):
        return "no memory for a record: its length is damaged, or the memory is used up"
    return str(error)


def is_damage(error: BaseException) -> bool:
    """Whether SQLite has met something damaged, as far as it says so."""
    return isinstance(error, MemoryError) or getattr(error, "sqlite_errorcode", 0) == _CORRUPT


def damaged(what: str) -> DamagedRecord:
    """The error to raise for a damaged record; this logs it."""
    _log.error("damaged: %s does not match its checksum; restore a copy of the data folder", what)
    return DamagedRecord(what)


SEAL_BYTES = 4


def sealed(seed: int, size: int, data: bytes) -> bytes:
    """An item as it is stored: followed by four bytes that make its CRC ``whole_crc``."""
    return data + _pack_end(crc32(data, size) ^ seed)


def whole_crc(seed: int) -> int:
    """The CRC of every undamaged sealed item, started with its size.

    A check is one call of ``crc32``, without a second column to read and compare: a CRC over a message and its own CRC
    is the same for all messages, and here for all of one seed.
    """
    return crc32(seed.to_bytes(4, "little"))


def record_checksum(*columns: Any) -> int:
    """The checksum of a small or rarely written record."""
    return crc32(repr(columns).encode())


def check_record(what: str, checksum: int, *columns: Any) -> None:
    if record_checksum(*columns) != checksum:
        raise damaged(what)


def history_checksum(at: float, row_id: int, key: bytes, size: int, item: bytes) -> int:
    """Of a change: the end of the sealed item that it replaced, which is empty if there was none, covers the rest."""
    return crc32(key + item[-4:], crc32(_pack_change(at, row_id, size)))


def log_checksum(stream: int, at: float, kind: str, principal: str, item_key: bytes, old: bytes, new: bytes) -> int:
    """Of a stream record; a missing image counts as empty."""
    head = _pack_record(at, stream, len(item_key), len(old), len(new))
    return crc32(b"".join((head, item_key, old, new, kind.encode(), principal.encode())))
