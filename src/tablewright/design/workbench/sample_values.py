"""Values of sample items, as people publish them: typed, typed twice, or plain JSON.

    {"S": "x"}     {"S": {"S": "x"}}     "x"                       text
    {"N": 5}       5                                               a number
    {"M": {"city": "Rome"}}     {"M": {"M": {"city": {"S": "Rome"}}}}     a map
    {"L": "[1, 2]"}                                                a list, as JSON in a text

What can be read in one way only is read; what cannot is an error that names the place.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tablewright.dynamo import AttributeValue, Item

__all__ = ["readable_item"]

_TAGS = frozenset(["S", "N", "B", "SS", "NS", "BS", "M", "L", "BOOL", "NULL"])
_MAX_DEPTH = 40
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False}


def readable_item(item: Any) -> Item:
    """An item with typed values; raises ValueError if a value cannot be read."""
    if not isinstance(item, dict):
        raise ValueError("an item must be an object of attributes")
    return {str(name): _value(str(name), value, 0) for name, value in item.items()}


def _value(name: str, value: Any, depth: int) -> AttributeValue:
    if depth > _MAX_DEPTH:
        raise ValueError(f"{name} is nested too deeply")
    if isinstance(value, dict) and len(value) == 1:
        ((tag, content),) = value.items()
        if tag in _TAGS:
            return _typed(name, tag, content, depth)
    return _plain(name, value, depth)


def _plain(name: str, value: Any, depth: int) -> AttributeValue:
    """A value of JSON."""
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": _number(name, value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, list):
        return {"L": [_value(name, each, depth + 1) for each in value]}
    return {"M": {str(key): _value(name, each, depth + 1) for key, each in value.items()}}


def _typed(name: str, tag: str, content: Any, depth: int) -> AttributeValue:
    if isinstance(content, dict) and content.keys() == {tag} and not (tag == "M" and _is_typed(content["M"])):
        # The type was written twice.
        return _value(name, content, depth + 1)
    if tag in ("M", "L", "SS", "NS", "BS") and isinstance(content, str):
        content = _json(content)
    if tag == "M" and isinstance(content, dict):
        return {"M": {str(key): _value(name, each, depth + 1) for key, each in content.items()}}
    if tag == "L" and isinstance(content, list):
        return {"L": [_value(name, each, depth + 1) for each in content]}
    if tag in ("SS", "NS", "BS"):
        members = content if isinstance(content, list) else [content]
        texts = [_number(name, each) if tag == "NS" else _text(name, tag, each) for each in members]
        if not texts:
            raise ValueError(f"{name} is an empty set, which DynamoDB does not store")
        return {tag: list(dict.fromkeys(texts))}
    if tag in ("BOOL", "NULL"):
        read = _WORDS.get(content.lower()) if isinstance(content, str) else content
        if not isinstance(read, bool):
            raise ValueError(f"{name} has the type {tag}, and must be true or false")
        return {tag: read}
    if tag == "N":
        return {"N": _number(name, content)}
    return {tag: _text(name, tag, content)}


def _is_typed(value: Any) -> bool:
    """Whether a member that is called M is a value by itself, and not a second type."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _TAGS - {"M"}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _number(name: str, value: Any) -> str:
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{name} has the type N, and {value!r} is not a number")
    return text


def _text(name: str, tag: str, value: Any) -> str:
    if isinstance(value, str) and tag not in ("M", "L"):
        return value
    if tag in ("S", "SS") and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"{name} has the type {tag}, and its value does not match")
