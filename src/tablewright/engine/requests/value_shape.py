"""The shape of an attribute value, and of items and keys, which are maps of them.

Attribute values are most of what a request holds and the only part of it that nests without bound, so they have their
own code: one loop over an item, recursion only into documents and only to a fixed depth. Only the JSON types of a value
are checked here (numbers are strings, binaries are base64); in particular ``{}`` and values with two types pass, to be
refused with the message of their operation.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from typing import Any
from zlib import crc32

from tablewright.dynamo import SerializationException
from tablewright.engine.requests.input_shapes import JAVA_PACKAGE, Boolean, Check, Map, Scalar, Shape, String

MAX_LEVELS_READ = 62
"""The levels of lists and maps in a value that the service reads with the rest of a request."""

# Documents may nest 32 levels deep. Deeper levels are cut off before they endanger Python's stack: the rest is still
# too deep, and is refused by the operation.
_MAX_DEPTH = MAX_LEVELS_READ + 2

_STRING_TYPES = frozenset({"S", "N"})
_TRUTH_TYPES = frozenset({"BOOL", "NULL"})
_STRING_SET_TYPES = frozenset({"SS", "NS"})

_BASE64_DIGITS = {
    digit: value for value, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}


def is_attribute_map(value: Any, depth: int = 0) -> bool:
    """Whether the value is a map of attribute values in which nothing has to change."""
    if type(value) is not dict or depth > MAX_LEVELS_READ:
        return False
    for attribute in value.values():
        if type(attribute) is not dict or len(attribute) != 1:
            return False
        # Most are text.
        if type(attribute.get("S")) is str:
            continue
        for tag, content in attribute.items():
            if not (type(content) is str if tag in _STRING_TYPES else _is_content(tag, content, depth)):
                return False
    return True


def is_attribute_value(value: Any, depth: int = 0) -> bool:
    """Whether the value is an attribute value in which nothing has to change."""
    if type(value) is not dict or len(value) != 1 or depth > MAX_LEVELS_READ:
        return False
    for tag, content in value.items():
        if not (type(content) is str if tag in _STRING_TYPES else _is_content(tag, content, depth)):
            return False
    return True


def _is_content(tag: str, content: Any, depth: int) -> bool:
    if tag in _TRUTH_TYPES:
        return content is True or content is False
    if tag == "M":
        return is_attribute_map(content, depth + 1)
    if tag == "B":
        return _is_base64(content)
    if type(content) is not list:
        return False
    if tag == "L":
        return all(is_attribute_value(element, depth + 1) for element in content)
    if tag in _STRING_SET_TYPES:
        return all(type(element) is str for element in content)
    return tag == "BS" and all(map(_is_base64, content))


def _is_base64(content: Any) -> bool:
    if type(content) is not str:
        return False
    try:
        return b2a_base64(a2b_base64(content), newline=False) == content.encode("ascii")
    except (Base64Error, ValueError):
        return False


class Blob(Scalar):
    java_type = "java.nio.ByteBuffer"

    def check(self) -> Check:
        return _is_base64

    def convert(self, value: str | bool | float) -> str:
        if not isinstance(value, str):
            raise SerializationException("only base-64-encoded strings are convertible to bytes")
        if len(value) % 4:
            raise SerializationException(
                f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(value)}"
            )
        if not _is_base64(value):
            raise SerializationException(_base64_complaint(value))
        return value


def _base64_complaint(text: str) -> str:
    """The bits that padding cuts off must be zero; this is checked before the other digits."""
    digits = text[:-2] if text.endswith("==") else text.removesuffix("=")
    unused_bits = {1: 0b11, 2: 0b1111}.get(len(text) - len(digits), 0)
    if not (digits and _BASE64_DIGITS.get(digits[-1], 0) & unused_bits):
        for digit in digits:
            if digit not in _BASE64_DIGITS:
                return f"Invalid base 64 character: '{digit}'"
    return "Invalid last non-pad Base64 character dectected"


_BLOB, _BOOLEAN, _STRING = Blob(), Boolean(), String()
_SCALARS: dict[str, Scalar] = {
    "S": _STRING,
    "N": _STRING,
    "B": _BLOB,
    "BOOL": _BOOLEAN,
    "NULL": _BOOLEAN,
}
_SETS: dict[str, Scalar] = {"SS": _STRING, "NS": _STRING, "BS": _BLOB}


class AttributeValue(Shape):
    java_type = f"{JAVA_PACKAGE}.AttributeValue"
    members = (*_SCALARS, *_SETS, "L", "M")

    def check(self) -> Check:
        return is_attribute_value

    def read(self, value: Any, *, element: bool = False) -> dict[str, Any]:
        if is_attribute_value(value):
            return value  # type: ignore[no-any-return]
        return _read(value, element, 0)

    def render(self, value: Any) -> str:
        return f"{self.java_type}@{crc32(repr(value).encode(errors='backslashreplace')):x}"

    def null_element(self) -> Any:
        return {}


class Parameter(AttributeValue):
    """A parameter of a statement.

    Parameters are checked one after the other. A value too deep for Python's stack is cut off here, and the rest is
    deep enough to be refused when its turn comes.
    """

    def read(self, value: Any, *, element: bool = False) -> dict[str, Any]:
        return super().read(_cut(value), element=element)


class AttributeMap(Map):
    """An item or a key."""

    def __init__(self) -> None:
        super().__init__(ATTRIBUTE_VALUE)

    def check(self) -> Check:
        return is_attribute_map


def _cut(value: Any, depth: int = 0) -> Any:
    if depth == _MAX_DEPTH:
        return {}
    if not isinstance(value, dict):
        return value
    return {tag: _cut_content(tag, content, depth + 1) for tag, content in value.items()}


def _cut_content(tag: str, content: Any, depth: int) -> Any:
    if tag == "M" and isinstance(content, dict):
        return {name: _cut(value, depth) for name, value in content.items()}
    if tag == "L" and isinstance(content, list):
        return [_cut(value, depth) for value in content]
    return content


def _read(value: Any, element: bool, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        return {"NULL": True}
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type class {AttributeValue.java_type}")
    if not isinstance(value, dict):
        raise SerializationException("Unexpected value type in payload" if element else "Unexpected field type")
    return {
        tag: _read_content(tag, content, depth)
        for tag, content in value.items()
        if content is not None and tag in AttributeValue.members
    }


def _read_content(tag: str, content: Any, depth: int) -> Any:
    if tag in _SCALARS:
        return _SCALARS[tag].read(content)
    if tag == "M":
        if isinstance(content, list):
            raise SerializationException(
                f"Unrecognized collection type java.util.Map<java.lang.String, {AttributeValue.java_type}>"
            )
        if not isinstance(content, dict):
            raise SerializationException("Unexpected field type")
        return {name: {} if value is None else _read(value, True, depth + 1) for name, value in content.items()}
    if isinstance(content, dict):
        raise SerializationException("Start of structure or map found where not expected")
    if not isinstance(content, list):
        raise SerializationException("Unexpected field type")
    if tag == "L":
        return [{} if value is None else _read(value, True, depth + 1) for value in content]
    return [_SETS[tag].read(member) for member in content if member is not None]


ATTRIBUTE_VALUE = AttributeValue()
PARAMETER = Parameter()
