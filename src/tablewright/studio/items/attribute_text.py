"""Attribute values as text for people, and text as attribute values.

    short_text({"M": {...}})          what fits into a cell
    value_of("3.5", "N")              {"N": "3.5"}; ValueError says what is wrong
    guessed_value("true")             {"BOOL": True}: the type is guessed from the text
    exact_text({"S": "1"})            "1" in quotes: what to type for exactly this key

Numbers stay text throughout: they may have 38 digits, more than a float.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

import orjson

from tablewright.dynamo import AttributeValue, Item, ValidationException, canonical_number

__all__ = [
    "TYPES",
    "exact_text",
    "guessed_value",
    "key_token",
    "quoted",
    "short_text",
    "token_key",
    "type_of",
    "unquoted",
    "value_of",
]

TYPES = {
    "S": "String",
    "N": "Number",
    "B": "Binary",
    "BOOL": "Boolean",
    "NULL": "Null",
    "M": "Map",
    "L": "List",
    "SS": "String set",
    "NS": "Number set",
    "BS": "Binary set",
}
"""The types of attribute values, as DynamoDB calls them."""

_SHOWN = 80
_SHORT_BYTES = 16
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def type_of(value: AttributeValue) -> str:
    """The type of a value: ``S``, ``N``, ``M``, ..."""
    return str(next(iter(value)))


def short_text(value: AttributeValue, most: int = _SHOWN) -> str:
    """A value in one line of limited length; only the part that is shown is processed."""
    kind, content = next(iter(value.items()))
    text: str
    if kind in ("S", "N"):
        text = content[: most + 1].replace("\n", " ")
    elif kind == "BOOL":
        text = str(content).lower()
    elif kind == "NULL":
        text = "null"
    elif kind == "B":
        # A third less than its base64; what is short may be a key, which tells items apart.
        size = len(content) * 3 // 4 - content[-2:].count("=")
        text = content if 0 < size <= _SHORT_BYTES else f"{size} bytes"
    elif kind == "M":
        text = _joined("{", ((f"{name}: ", each) for name, each in content.items()), "}", most)
    elif kind == "L":
        text = _joined("[", (("", each) for each in content), "]", most)
    else:
        text = _joined("{", (("", {kind[0]: each}) for each in content), "}", most)
    return text if len(text) <= most else text[: most - 1] + "…"


def _joined(begin: str, parts: Iterable[tuple[str, AttributeValue]], end: str, most: int) -> str:
    text = begin
    for number, (label, value) in enumerate(parts):
        text += (", " if number else "") + label + short_text(value, 24)
        if len(text) > most:
            return text
    return text + end


def value_of(text: str, kind: str) -> AttributeValue:
    """A value of a scalar type, from its text; ValueError if it is not valid."""
    if kind == "S":
        return {"S": text}
    if kind == "N":
        try:
            return {"N": canonical_number(text.strip())}
        except ValidationException as error:
            raise ValueError(str(error.message)) from None
    if kind == "B":
        try:
            return {"B": base64.b64encode(base64.b64decode(text.strip(), validate=True)).decode()}
        except binascii.Error:
            raise ValueError("binary values are entered as base64") from None
    if kind == "BOOL":
        if text.strip().lower() not in ("true", "false"):
            raise ValueError("a boolean is true or false")
        return {"BOOL": text.strip().lower() == "true"}
    if kind == "NULL":
        return {"NULL": True}
    raise ValueError(f"a {TYPES.get(kind, kind)} is not a single text")


def guessed_value(text: str) -> AttributeValue:
    """The value that a text stands for: a number, true, false, null, or text; quotes force text."""
    text = text.strip()
    if is_quoted(text):
        return {"S": unquoted(text)}
    if _NUMBER.fullmatch(text):
        return value_of(text, "N")
    if text in ("true", "false"):
        return {"BOOL": text == "true"}
    return {"NULL": True} if text == "null" else {"S": text}


def is_quoted(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"


def unquoted(text: str) -> str:
    """Text without the quotes around it; inside of them, a quote is written twice."""
    text = text.strip()
    return text[1:-1].replace(text[0] * 2, text[0]) if is_quoted(text) else text


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def exact_text(value: AttributeValue) -> str:
    """The value of a key attribute as it is typed, in full."""
    kind, content = next(iter(value.items()))
    return quoted(content) if kind == "S" else str(content)


def key_token(key: Item) -> str:
    """A key as a part of an address."""
    return base64.urlsafe_b64encode(orjson.dumps(key)).decode().rstrip("=")


def token_key(token: str) -> Item:
    """The key in an address; ValueError if it is not valid."""
    try:
        found = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, binascii.Error):
        raise ValueError("this address has no key") from None
    is_key = isinstance(found, dict) and all(
        isinstance(each, dict) and len(each) == 1 and set(each) <= {"S", "N", "B"} for each in found.values()
    )
    if not is_key or not found:
        raise ValueError("this address has no key")
    return dict(found)
