"""Which texts are values of a type, for parameters of a path, a query or a header.

Pydantic accepts more than intended: ``1_000`` and ``5.0`` as an integer, ``yes`` as true, ``0`` as a day in 1970.
``exact`` accepts only the usual notation of the type.

A pattern is for programs; ``matching`` adds a message for people, which errors show instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter

__all__ = ["NotWritten", "exact", "matching", "message_of"]

_WORDS: dict[str, str] = {}

# The first that a type is, or is derived from.
_WRITTEN: tuple[tuple[type, str, str], ...] = (
    (bool, "[Tt]rue|[Ff]alse", "true or false"),
    (int, "-?[0-9]+", "a valid integer"),
    (float, r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", "a valid number"),
    (datetime, "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].+", "a valid time, as in 2026-01-31T09:00:00Z"),
    (date, "[0-9]{4}-[0-9]{2}-[0-9]{2}", "a valid date, as in 2026-01-31"),
)


def matching(pattern: str, words: str) -> str:
    """The same pattern, with a message for a text that does not match it: what to write instead."""
    assert _WORDS.setdefault(pattern, words) == words
    return pattern


def message_of(error: Mapping[str, Any]) -> str:
    """The message of a Pydantic error, for people."""
    if error.get("type") == "string_pattern_mismatch":
        return _WORDS.get(error["ctx"]["pattern"], str(error["msg"]))
    if error.get("type") == "too_long" and isinstance(error.get("input"), str):
        # Pydantic counts items where a text is checked by a function as well.
        return f"String should have at most {error['ctx']['max_length']} characters"
    return str(error["msg"]).removeprefix("Value error, ")


class NotWritten(Exception):
    """A text is not in the notation of its type."""


def exact(annotation: Any, adapter: TypeAdapter[Any]) -> Callable[[str], Any]:
    """A function that parses a text; raises ValidationError or NotWritten if it is not a value."""
    kinds = [kind for kind in _kinds(annotation) if kind is not NoneType]
    if len(kinds) == 1 and not issubclass(kinds[0], Enum):
        for known, pattern, what in _WRITTEN:
            if issubclass(kinds[0], known):
                return _checked(adapter, re.compile(pattern).fullmatch, f"Input should be {what}")
    return adapter.validate_python


def _checked(adapter: TypeAdapter[Any], is_written: Callable[[str], Any], message: str) -> Callable[[str], Any]:
    def validate(text: str) -> Any:
        # First, as its errors say more.
        value = adapter.validate_python(text)
        if not is_written(text):
            raise NotWritten(message)
        return value

    return validate


def _kinds(annotation: Any) -> list[type]:
    """The classes that a scalar may be of."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [kind for choice in get_args(annotation) for kind in _kinds(choice)]
    return [] if origin is Literal else [annotation]
