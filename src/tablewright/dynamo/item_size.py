"""The size of an item as DynamoDB counts it, for its 400 KB limit and for capacity.

A name and a text count by their UTF-8 bytes, binary by its bytes, a number by pairs of digits and a byte; a list or a
map three bytes and one for each member. Values are canonical already: see ``value_checks``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from tablewright.dynamo.attribute_values import AttributeValue
from tablewright.dynamo.errors import SerializationException


def item_size(item: Mapping[str, AttributeValue]) -> int:
    """The bytes of an item."""
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else text_size(name)
        # Most attributes are text: no call for each of them.
        text = value.get("S")
        size += value_size(value) if text is None else len(text) if text.isascii() else len(text.encode())
    return size


def value_size(value: AttributeValue) -> int:
    """The bytes of a value."""
    ((tag, content),) = value.items()
    if tag == "S":
        return len(content) if content.isascii() else len(content.encode())
    if tag == "N":
        return _SMALL_NUMBERS.get(content) or number_size(content)
    if tag == "M":
        return 3 + sum(1 + text_size(name) + value_size(member) for name, member in content.items())
    if tag == "L":
        size = None if len(content) < LONG_LIST else uniform_size(content)
        return 3 + len(content) + (sum(map(value_size, content)) if size is None else size)
    if tag == "B":
        return binary_size(content)
    if tag == "SS":
        return sum(map(text_size, content))
    if tag == "NS":
        return sum(map(number_size, content))
    if tag == "BS":
        return sum(map(binary_size, content))
    return 1


def uniform_size(members: Sequence[AttributeValue]) -> int | None:
    """The bytes of members that are all small numbers, or all strings; None for any others.

    The longest lists consist of these, since others do not fit into an item, and this takes a fifth of the time.
    """
    try:
        return sum(map(_SMALL_NUMBERS.__getitem__, map(_number, members)))
    except KeyError:
        pass
    try:
        return text_size("".join(map(_text, members)))
    except KeyError:
        return None


def text_size(text: str) -> int:
    """Bytes of the UTF-8 form.  Only a caller in the same process can send a value without one: JSON has only strings
    as keys, and its reader refuses half of a surrogate pair.
    """
    if isinstance(text, str):
        try:
            return len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            pass
    raise SerializationException("Text in the request is not a string of valid Unicode")


def binary_size(base64_text: str) -> int:
    """The number of bytes in a canonical base64 text."""
    return len(base64_text) * 3 // 4 - base64_text.count("=", -2)


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


LONG_LIST = 64
"""The number of members from which a list is checked as a whole."""

_number, _text = itemgetter("N"), itemgetter("S")
# The types in the longest lists: others do not fit into an item.
_SMALL_NUMBERS = {str(number): number_size(str(number)) for number in range(-9, 100)}
