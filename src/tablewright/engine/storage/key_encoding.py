"""Keys as order-preserving bytes.

A row's key is

    hash(6)  length(2) partition-key  ...   sort-key 00 00  ...

The hash of the partition key comes first, so that a scan runs in DynamoDB's (hash) order and a parallel
segment is a range of it; each partition key attribute is preceded by its length; each sort key attribute is
escaped (00 becomes 00 FF) and ended by 00 00, so that a key sorts before longer ones that begin with it.
A key has one attribute of each kind, an index may have up to four. In an index the row's own key follows,
after a hash of it that orders entries with equal index keys.

Text is its UTF-8, binary its bytes; numbers are a digit-pair format whose byte order is their numeric order,
and which is also what DynamoDB hashes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from decimal import Decimal
from hashlib import md5
from zlib import crc32

from tablewright.dynamo import AttributeValue

HASH_BYTES = 6
_MAX_LENGTH = 0xFFFF
_END = b"\x00\x00"
_SALTED = md5(b"Outliers", usedforsecurity=False)
# A hash of all ones, and a length that no partition key has.
_ABOVE_ALL = b"\xff" * (HASH_BYTES + 1)


def number_bytes(canonical: str) -> bytes:
    """A canonical number as bytes that sort numerically."""
    if canonical == "0":
        return b"\x80"
    negative = canonical[0] == "-"
    whole, _, fraction = (canonical[1:] if negative else canonical).partition(".")
    if whole == "0":
        digits = fraction.lstrip("0")
        exponent = len(digits) - len(fraction)
    else:
        digits = whole + fraction
        exponent = len(whole)
    digits = digits.rstrip("0")
    if exponent % 2:
        digits = "0" + digits
        exponent += 1
    if len(digits) % 2:
        digits += "0"
    pairs = [int(digits[i : i + 2]) for i in range(0, len(digits), 2)]
    head = exponent // 2 + 0xC0
    if not negative:
        return bytes([head, *(pair + 1 for pair in pairs)])
    tail = [102] if len(pairs) < 20 else []
    return bytes([0xFF - head, *(101 - pair for pair in pairs), *tail])


def scalar_bytes(value: AttributeValue) -> bytes:
    """The sortable bytes of a key attribute (S, N or B)."""
    ((tag, content),) = value.items()
    if tag == "S":
        return content.encode()  # type: ignore[no-any-return]
    if tag == "N":
        return number_bytes(content)
    return b64decode(content)


def _hash(content: bytes) -> bytes:
    # Copying a hash takes half the time of making a new one.
    hashed = _SALTED.copy()
    hashed.update(content)
    return hashed.digest()[:HASH_BYTES]


def simple_key(partition: bytes, sort: bytes | None = None) -> bytes:
    """The key of one partition attribute and at most one sort attribute, as most are; the partition key is valid."""
    hashed = _SALTED.copy()
    hashed.update(partition)
    key = hashed.digest()[:HASH_BYTES] + len(partition).to_bytes(2) + partition
    return key if sort is None else key + sort.replace(b"\x00", b"\x00\xff") + _END


def partition_bytes(parts: list[bytes]) -> bytes:
    """The prefix that all keys of one partition share; for a key that is too long, one that no item has."""
    if len(parts) == 1:
        return _hash(parts[0]) + _with_length(parts[0])
    return _hash(b"".join(parts)) + b"".join(map(_with_length, parts))


def _with_length(part: bytes) -> bytes:
    """One partition key attribute, after its length."""
    length = len(part)
    return (length if length < _MAX_LENGTH else _MAX_LENGTH).to_bytes(2) + part


def sort_bytes(part: bytes) -> bytes:
    """One sort key attribute, with its terminator."""
    return part.replace(b"\x00", b"\x00\xff") + _END


def sort_prefix(part: bytes) -> bytes:
    """The prefix of the sort keys that begin with ``part``."""
    return part.replace(b"\x00", b"\x00\xff")


def tie_breaker_bytes(row_key: bytes, parts: Iterable[bytes]) -> bytes:
    """The part after an index key: an order among equal ones, and the key of the row that the entry points to."""
    return _hash(b"".join(parts)) + row_key


def key_values(key: bytes, partition: int, sort: int) -> list[bytes]:
    """The attributes at the start of a key: so many of the partition key, and so many of the sort key."""
    values, place = [], HASH_BYTES
    for _ in range(partition):
        begin = place + 2
        place = begin + int.from_bytes(key[place:begin])
        values.append(key[begin:place])
    for _ in range(sort):
        end = key.index(_END, place)
        values.append(key[place:end].replace(b"\x00\xff", b"\x00"))
        place = end + len(_END)
    return values


def number_text(encoded: bytes) -> str:
    """The number that ``number_bytes`` has encoded, in scientific notation if it is not an integer."""
    if encoded == b"\x80":
        return "0"
    negative = encoded[0] < 0x80
    head = 0xFF - encoded[0] if negative else encoded[0]
    pairs = [101 - byte for byte in encoded[1:] if byte != 102] if negative else [byte - 1 for byte in encoded[1:]]
    digits = "".join(f"{pair:02}" for pair in pairs)
    number = Decimal(f"{'-' if negative else ''}{digits}E{(head - 0xC0) * 2 - len(digits)}")
    return str(int(number) if number == number.to_integral_value() and abs(number) < 10**20 else number)


def row_id(key: bytes) -> int:
    """The rowid derived from a key: near those of its partition, and known without a lookup."""
    return (int.from_bytes(key[:4]) << 31 | crc32(key) & 0x7FFF_FFFF) or 1


def row_id_range(prefix: bytes) -> tuple[int, int]:
    """The rowids derived from the keys of a partition, as a half-open range. They are spread evenly."""
    first = int.from_bytes(prefix[:4]) << 31
    return first, first + (1 << 31)


def after(prefix: bytes) -> bytes | None:
    """The least bytes above everything that begins with ``prefix``; None if there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """The range of hashes that a parallel scan's segment covers, half-open.

    DynamoDB divides the hash space into 4096 slices and gives each segment whole ones.
    """

    def bound(part: int) -> bytes | None:
        slice_number = -(-4096 * part // total)
        return (slice_number << 4).to_bytes(2) if slice_number < 4096 else None

    # With more segments than slices the last ones have none: nothing is above all hashes.
    low = bound(segment) if segment else b""
    return (_ABOVE_ALL if low is None else low), bound(segment + 1)
