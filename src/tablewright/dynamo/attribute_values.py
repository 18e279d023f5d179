"""Attribute values: what DynamoDB accepts, the canonical form it keeps, and the bytes it counts.

A value is DynamoDB's own JSON (``{"S": "x"}``). ``checked`` walks one once, on its way in: it raises
the service's error for a value that DynamoDB would refuse, and otherwise gives the canonical value (numbers
rewritten, everything else the very same object) together with its size. After that, nothing in the engine
validates a value again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tablewright.dynamo.errors import (
    RequestValidationException,
    SerializationException,
    ValidationException,
)

AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]

MAX_ITEM_SIZE = 400 * 1024
MAX_NESTING = 32
MAX_NAME_BYTES = 65_535
# A depth to begin at where a value is compared with and not stored: nothing in it is too deep.
ANY_DEPTH = -1_000_000
MAX_DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130

_INVALID = "One or more parameter values were invalid: "
# In an item that would be written, and in a value as it was sent.
WRITTEN_TOO_DEEPLY = "Nesting Levels have exceeded supported limits"
NESTED_TOO_DEEPLY = f"{WRITTEN_TOO_DEEPLY}: Attributes in the item have nested levels beyond supported limit"
NUMBER_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
NAME_TOO_LARGE = f"Attribute name is too large, must be less than {MAX_NAME_BYTES + 1} bytes"
_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
# Numbers that are written so already, as nearly all are.
_CANONICAL = re.compile(r"-?[1-9][0-9]{0,18}(?:\.[0-9]{0,17}[1-9])?|-?0\.[0-9]{0,17}[1-9]|0").fullmatch


def text_size(text: str) -> int:
    """Bytes of the UTF-8 form.

    Only a caller in the same process can send what has none: JSON has no other keys than strings, and its
    reader refuses half of a surrogate pair.
    """
    if isinstance(text, str):
        try:
            return len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            pass
    raise SerializationException("Text in the request is not a string of valid Unicode")


def binary_size(base64_text: str) -> int:
    """Bytes behind a canonical base64 text."""
    return len(base64_text) * 3 // 4 - base64_text.count("=", -2)


def canonical_number(text: str) -> str:
    """The one way DynamoDB writes this number: plain decimal, no needless zeros.

    The exponent is bounded before anything of its size is built, so ``1e999999999`` costs nothing.
    """
    if _CANONICAL(text):
        return text
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        if not text_size(text):
            raise ValidationException("The parameter cannot be converted to a numeric value")
        raise ValidationException(f"The parameter cannot be converted to a numeric value: {text}")
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", match[4]
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    # value = 0.digits x 10^point
    point = len(whole) - (len(whole) + len(fraction) - len(digits)) + _bounded(exponent)
    digits = digits.rstrip("0")
    if point - 1 > MAX_EXPONENT:
        raise ValidationException(NUMBER_OVERFLOW)
    if point - 1 < MIN_EXPONENT:
        raise ValidationException(
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
        )
    if len(digits) > MAX_DIGITS:
        raise ValidationException("Attempting to store more than 38 significant digits in a Number")
    return ("-" if sign == "-" else "") + _plain(digits, point)


def _bounded(exponent: str | None) -> int:
    if exponent is None:
        return 0
    # More than a few digits is out of range whatever they are; int() on a megabyte of digits is slow, or refuses.
    significant = exponent.lstrip("+-").lstrip("0")
    magnitude = 10**9 if len(significant) > 9 else int(significant or "0")
    return -magnitude if exponent[0] == "-" else magnitude


def _plain(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return digits[:point] + "." + digits[point:]


def number_size(canonical: str) -> int:
    """A byte, one for a minus sign, half of one per significant digit, rounded up each side of the point."""
    size = 1
    if canonical[0] == "-":
        size = 2
        canonical = canonical[1:]
    whole, _, fraction = canonical.partition(".")
    if not fraction:
        return size + (len(whole.rstrip("0")) + 1) // 2
    if whole == "0":
        return size + (len(fraction.lstrip("0")) + 1) // 2
    return size + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2


def checked(value: AttributeValue, depth: int = 0) -> tuple[AttributeValue, int]:
    """The canonical value and its size, or DynamoDB's error; ``depth`` is that of what holds the value."""
    if len(value) == 1:
        # The common scalars first: this runs for every attribute of every write.
        ((tag, content),) = value.items()
        if tag == "S":
            return value, len(content) if content.isascii() else text_size(content)
        if tag == "N":
            number = canonical_number(content)
            return (value if number == content else {"N": number}), number_size(number)
        if depth >= MAX_NESTING:
            raise RequestValidationException(NESTED_TOO_DEEPLY)
        canonical, size = _checked_content(tag, content, depth)
        return (value if canonical is content else {tag: canonical}), size
    if not value:
        raise ValidationException(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
        )
    for tag, content in value.items():
        _checked_content(tag, content, depth)
    raise ValidationException(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )


def _checked_content(tag: str, content: Any, depth: int) -> tuple[Any, int]:
    if tag == "S":
        return content, text_size(content)
    if tag == "N":
        number = canonical_number(content)
        return number, number_size(number)
    if tag == "BOOL":
        return content, 1
    if tag == "NULL":
        if content is not True:
            raise RequestValidationException(_INVALID + "Null attribute value types must have the value of true")
        return content, 1
    if tag == "B":
        return content, binary_size(content)
    if tag == "M":
        return _checked_map(content, depth + 1)
    if tag == "L":
        return _checked_list(content, depth + 1)
    return _checked_set(tag, content)


def _checked_map(content: Item, depth: int) -> tuple[Item, int]:
    size = 3
    result = content
    for name, member in content.items():
        canonical, member_size = checked(member, depth)
        if canonical is not member:
            if result is content:
                result = dict(content)
            result[name] = canonical
        size += 1 + text_size(name) + member_size
    if size > MAX_NAME_BYTES:
        _check_names(content)
    if depth >= MAX_NESTING and content:
        raise RequestValidationException(NESTED_TOO_DEEPLY)
    return result, size


def _checked_list(content: list[AttributeValue], depth: int) -> tuple[list[AttributeValue], int]:
    size = 3
    result = content
    for position, member in enumerate(content):
        canonical, member_size = checked(member, depth)
        if canonical is not member:
            if result is content:
                result = list(content)
            result[position] = canonical
        size += 1 + member_size
    if depth >= MAX_NESTING and content:
        raise RequestValidationException(NESTED_TOO_DEEPLY)
    return result, size


_EMPTY_SET = {
    "SS": "An string set  may not be empty",
    "NS": "An number set  may not be empty",
    "BS": "Binary sets should not be empty",
}


def _checked_set(tag: str, content: list[str]) -> tuple[list[str], int]:
    if not content:
        raise RequestValidationException(_INVALID + _EMPTY_SET[tag])
    if tag == "NS":
        numbers = [canonical_number(number) for number in content]
        if len(set(numbers)) != len(numbers):
            raise RequestValidationException("Input collection contains duplicates")
        return (content if numbers == content else numbers), sum(map(number_size, numbers))
    size = sum(map(text_size if tag == "SS" else binary_size, content))
    if len(set(content)) != len(content):
        listing = f"Input collection [{', '.join(content)}]"
        suffix = " contains duplicates." if tag == "SS" else "of type BS contains duplicates."
        raise RequestValidationException(_INVALID + listing + suffix)
    return content, size


def _check_names(content: Mapping[str, AttributeValue]) -> None:
    """The names in an item or map that is so large that they might be too long."""
    if any(text_size(name) > MAX_NAME_BYTES for name in content):
        raise RequestValidationException(NAME_TOO_LARGE)


def checked_item(item: Mapping[str, AttributeValue]) -> tuple[Item, int]:
    """A canonical copy of the item and its size; the 400 KB bound is the caller's to apply."""
    result: Item = {}
    size = 0
    if "" in item:
        raise RequestValidationException("Empty attribute name")
    for name, value in item.items():
        size += len(name) if type(name) is str and name.isascii() else text_size(name)
        # Most attributes are text, which stays as it is; the loop is not worth a call for each of them.
        text = value.get("S") if len(value) == 1 else None
        if text is not None and text.isascii():
            result[name] = value
            size += len(text)
        else:
            result[name], value_size = checked(value)
            size += value_size
    if size > MAX_NAME_BYTES:
        _check_names(item)
    return result, size


def value_size(value: AttributeValue) -> int:
    """Size of a value that is canonical already."""
    ((tag, content),) = value.items()
    if tag == "S":
        return len(content) if content.isascii() else len(content.encode())
    if tag == "N":
        return number_size(content)
    if tag == "M":
        return 3 + sum(1 + text_size(name) + value_size(member) for name, member in content.items())
    if tag == "L":
        return 3 + sum(1 + value_size(member) for member in content)
    if tag == "B":
        return binary_size(content)
    if tag == "SS":
        return sum(map(text_size, content))
    if tag == "NS":
        return sum(map(number_size, content))
    if tag == "BS":
        return sum(map(binary_size, content))
    return 1


def item_size(item: Mapping[str, AttributeValue]) -> int:
    """Size of an item whose values are canonical already."""
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else text_size(name)
        # Most attributes are text, as above.
        text = value.get("S")
        size += value_size(value) if text is None else len(text) if text.isascii() else len(text.encode())
    return size


# -- the size of a page --------------------------------------------------------------------------------------


def page_size(item: Mapping[str, AttributeValue], sort_key: str | None) -> int:
    """What an item counts for towards the 1 MB of a page.

    That is not its size but the room it takes in DynamoDB's storage: a byte for each name, whatever its
    length, a length before each value, and for every started 3 KB a header that repeats the table's sort key.
    """
    attributes = header = 0
    for name, value in item.items():
        if name == sort_key:
            header = value_size(value)
            continue
        ((tag, content),) = value.items()
        # The most frequent values without a call: this runs for every item of a large page.
        if tag == "S" and len(content) < 32:
            attributes += 2 + (len(content) if content.isascii() else text_size(content))
        elif tag == "N":
            attributes += 2 + number_size(content)
        else:
            attributes += 1 + _stored_size(tag, content)
    return 2 + attributes + (1 + (1 + attributes) // 3072) * (18 + header)


def page_size_bound(size: int, count: int = 1) -> int:
    """What the page sizes of so many items, which have this size together, cannot exceed."""
    return 4 * size + 32 * count


def _stored_size(tag: str, content: Any) -> int:
    if tag == "S":
        size = len(content) if content.isascii() else text_size(content)
        return size + (1 if size < 128 else 2 if size < 16384 else 3)
    if tag == "M":
        return 3 + sum(2 + _stored_size(*next(iter(member.items()))) for member in content.values())
    if tag == "L":
        return 3 + sum(1 + _stored_size(*next(iter(member.items()))) for member in content)
    if tag == "BOOL":
        return 1
    if tag == "NULL":
        return 0
    # A length before the value, and in a set one before each member as well.
    return value_size({tag: content}) + 1 + (len(content) if tag in ("SS", "NS", "BS") else 0)


# -- equality ------------------------------------------------------------------------------------------------


def same_value(one: AttributeValue, other: AttributeValue) -> bool:
    """Equal as DynamoDB compares: sets without regard to order, at any depth."""
    if one == other:
        return True
    ((tag, left),) = one.items()
    ((other_tag, right),) = other.items()
    if tag != other_tag:
        return False
    if tag in ("SS", "NS", "BS"):
        return len(left) == len(right) and set(left) == set(right)
    if tag == "L":
        return len(left) == len(right) and all(map(same_value, left, right))
    if tag == "M":
        return left.keys() == right.keys() and all(same_value(left[name], right[name]) for name in left)
    return False


def same_item(one: Item, other: Item) -> bool:
    """Whether a write from one to the other would change nothing."""
    return one == other or (one.keys() == other.keys() and all(same_value(one[name], other[name]) for name in one))
