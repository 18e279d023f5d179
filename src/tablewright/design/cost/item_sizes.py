"""How large items are, by DynamoDB's rules, and how many units that makes.

A name and a text count by their UTF-8 bytes, a number by pairs of digits and a byte, a list or map three bytes and one
for each member. A read is charged per started 4 KB, half of that where it is eventually consistent and twice in a
transaction; a write per started 1 KB, twice in a transaction. What there is none of is charged as the least.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tablewright.dynamo import AttributeValue

__all__ = ["READ_UNIT", "WRITE_UNIT", "item_size", "read_units", "write_units"]

WRITE_UNIT = 1024
READ_UNIT = 4096


def write_units(size: int) -> int:
    """The units of one write of that many bytes."""
    return max(1, -(-size // WRITE_UNIT))


def read_units(size: int, *, consistent: bool = False) -> Decimal:
    """The units of one read of that many bytes."""
    units = max(1, -(-size // READ_UNIT))
    return Decimal(units) if consistent else Decimal(units) / 2


def item_size(item: Mapping[str, AttributeValue]) -> int:
    """The bytes of an item."""
    return sum(_text(name) + _value(value) for name, value in item.items())


def _value(value: AttributeValue) -> int:
    ((tag, content),) = value.items()
    match tag:
        case "S":
            return _text(content)
        case "N":
            return _number(content)
        case "B":
            return len(b64decode(content))
        case "M":
            return 3 + sum(1 + _text(name) + _value(member) for name, member in content.items())
        case "L":
            return 3 + sum(1 + _value(member) for member in content)
        case "SS":
            return sum(map(_text, content))
        case "NS":
            return sum(map(_number, content))
        case "BS":
            return sum(len(b64decode(member)) for member in content)
    return 1


def _text(text: Any) -> int:
    return len(text.encode())


def _number(text: str) -> int:
    """A byte, one more for a minus, and one for each two significant digits on either side of the point."""
    sign = text.startswith("-")
    whole, _, fraction = text.lstrip("-").partition(".")
    if not fraction:
        digits = (len(whole.rstrip("0")) + 1) // 2
    elif whole == "0":
        digits = (len(fraction.lstrip("0")) + 1) // 2
    else:
        digits = (len(whole) + 1) // 2 + (len(fraction) + 1) // 2
    return 1 + sign + digits
