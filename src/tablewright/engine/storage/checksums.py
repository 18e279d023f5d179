"""Checksums of what is stored: a record that has changed on the disk is refused, never shown.

SQLite has no checksum over the contents of its pages, so every record has one of its own (CRC-32, which notices every
change of up to 32 adjacent bits), written with it and compared whenever it is read:

    item           its bytes (which have its key) and size, and the seed of its table: it is not one of another table
    stream record  all of its columns
    history        the item with its checksum, its key, and when it was replaced
    the rest       all of its columns: tables, streams, backups, settings, idempotency tokens

The seed of a table is its number. A restored table keeps that of its source, so that backups and restores copy rows
together with their checksums, unread: what was damaged stays damaged, and is found.

An index entry has none: it only says where an item is, and one that points to no item is found out as it is read. An
item that a read should have found and did not, because a key in a B-tree has changed, is found by ``verify``.

A column may have any type once a byte has changed that says which, so whoever compares expects ``NOT_COMPARABLE``.
"""

from __future__ import annotations

import logging
import struct
from typing import Any
from zlib import crc32

from tablewright.dynamo import InternalServerError

# What computing a checksum raises when a column does not have its type any more.
NOT_COMPARABLE = (TypeError, ValueError, OverflowError, AttributeError, struct.error)

_pack_end = struct.Struct("<I").pack
_pack_change = struct.Struct("<dqq").pack
_pack_record = struct.Struct("<dqqqq").pack

_log = logging.getLogger("tablewright.engine")


class DamagedRecord(InternalServerError):
    """A stored record that is not as it was written. ``what`` names it, in the log and for ``verify``."""

    def __init__(self, what: str) -> None:
        super().__init__("Internal server error: a stored record is damaged; the log of the server names it")
        self.what = what

    @property
    def code(self) -> str:
        return "InternalServerError"


def damaged(what: str) -> DamagedRecord:
    """The error to raise for a damaged record; it is in the log from here on."""
    _log.error("damaged: %s does not match its checksum; restore a copy of the data folder", what)
    return DamagedRecord(what)


SEAL_BYTES = 4


def sealed(seed: int, size: int, data: bytes) -> bytes:
    """An item as it is stored: with four bytes behind it that make its CRC ``whole_crc``."""
    return data + _pack_end(crc32(data, size) ^ seed)


def whole_crc(seed: int) -> int:
    """The CRC of every sealed item that is whole, begun with its size.

    A check is one call of ``crc32``, with no second column to read and compare: a CRC over a message and its own CRC is
    the same for all messages, and here for all of one seed.
    """
    return crc32(seed.to_bytes(4, "little"))


def record_checksum(*columns: Any) -> int:
    """The checksum of a record that is small, or rarely written."""
    return crc32(repr(columns).encode())


def check_record(what: str, checksum: int, *columns: Any) -> None:
    if record_checksum(*columns) != checksum:
        raise damaged(what)


def history_checksum(at: float, row_id: int, key: bytes, size: int, item: bytes) -> int:
    """Of a change: the end of the sealed item that it replaced, which is empty where there was none, says the rest."""
    return crc32(key + item[-4:], crc32(_pack_change(at, row_id, size)))


def log_checksum(stream: int, at: float, kind: str, principal: str, item_key: bytes, old: bytes, new: bytes) -> int:
    """Of a stream record; an image that it does not have is empty."""
    head = _pack_record(at, stream, len(item_key), len(old), len(new))
    return crc32(b"".join((head, item_key, old, new, kind.encode(), principal.encode())))
