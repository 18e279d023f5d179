"""NextToken: the position at which the next page of a SELECT begins.

A token has the number of the statement's next range and the key to continue after, together with a digest of statement
and parameters, because a position is meaningless in another read. It is opaque, and begins with a checksum; a token
invented by a client, checksum included, is checked like any other input. In either case a client gets "Invalid
NextToken" for a token that was not made here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson

from tablewright.dynamo import AttributeValue, DynamoError, Item, ValidationException, checked_item
from tablewright.engine.items.page_reader import Source
from tablewright.engine.requests.value_shape import is_attribute_map

_CHECKSUM_BYTES = 8
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Position:
    """The next range to read, and the key in it to continue after."""

    range: int = 0
    after: Item | None = None


def fingerprint(statement: str, parameters: Sequence[AttributeValue]) -> bytes:
    """What makes two requests the same read; Limit and ConsistentRead may differ from page to page."""
    return sha256(orjson.dumps([statement, parameters], option=orjson.OPT_SORT_KEYS)).digest()[:_DIGEST_BYTES]


def encode(position: Position, request: bytes) -> str:
    payload = request + orjson.dumps([position.range, position.after])
    return base64.urlsafe_b64encode(sha256(payload).digest()[:_CHECKSUM_BYTES] + payload).decode()


def decode(token: str, request: bytes) -> Position:
    try:
        data = base64.b64decode(token.encode(), b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise _invalid() from None
    checksum, payload = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
    if sha256(payload).digest()[:_CHECKSUM_BYTES] != checksum:
        raise _invalid()
    if payload[:_DIGEST_BYTES] != request:
        raise ValidationException("NextToken does not match request")
    try:
        number, after = orjson.loads(payload[_DIGEST_BYTES:])
    except (ValueError, TypeError):
        raise _invalid() from None
    if type(number) is not int:
        raise _invalid()
    if after is None:
        return Position(number)
    try:
        if not is_attribute_map(after):
            raise _invalid()
        return Position(number, checked_item(after)[0])
    except DynamoError:
        raise _invalid() from None


def check_position(position: Position, source: Source, count: int) -> None:
    """A table may have been replaced by one with other keys since the token was made."""
    after = position.after
    if not 0 <= position.range < count:
        raise _invalid()
    if after is None:
        return
    if after.keys() != set(source.start_names):
        raise _invalid()
    try:
        for key in (source.table.key, source.key):
            for name in key.names:
                source.table.check_key_element(key, after, name)
    except ValidationException:
        raise _invalid() from None


def _invalid() -> ValidationException:
    return ValidationException("Invalid NextToken")
