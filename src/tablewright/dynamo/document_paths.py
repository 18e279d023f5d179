"""Document paths: the place of a value inside of an item.

    address.city            ("address", "city")
    lines[0].quantity       ("lines", 0, "quantity")

A path is written as text by programs and parsed once. The additional rules of expressions (``#names``, reserved words,
overlapping paths) are in ``expressions.path_checks``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tablewright.dynamo.attribute_values import AttributeValue

PathPart = str | int
"""A step of a document path: the name of a map's member, or the position in a list."""

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: ``a.b[0]`` is ``("a", "b", 0)``."""

    parts: tuple[PathPart, ...]


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path:
    """A path as programs write it: ``lines[0].count`` is ``("lines", 0, "count")``."""
    return Path(tuple(name or int(position) for name, position in _STEP.findall(text)))


def lookup(item: Mapping[str, AttributeValue], parts: Sequence[PathPart]) -> AttributeValue | None:
    """The value at a path, or None if the item has none."""
    value = item.get(str(parts[0]))
    for part in parts[1:]:
        if value is None:
            return None
        if isinstance(part, int):
            elements = value.get("L")
            if elements is None or part >= len(elements):
                return None
            value = elements[part]
        else:
            members = value.get("M")
            if members is None:
                return None
            value = members.get(part)
    return value


def value_at(item: Mapping[str, AttributeValue], path: str) -> AttributeValue | None:
    """The value at a path written as text, or None if the item has none."""
    return lookup(item, parse_path(path).parts)


def non_null_at(item: Mapping[str, AttributeValue], path: str) -> AttributeValue | None:
    """The value at a path; None if the item has none, or a NULL, which cannot be in a key."""
    # Most paths are the name of an attribute, with any characters.
    value = value_at(item, path) if "." in path else item.get(path)
    return None if value is None or "NULL" in value else value


def getter(parts: tuple[PathPart, ...]) -> Callable[[Mapping[str, AttributeValue]], AttributeValue | None]:
    """A fast ``lookup`` for one path."""
    if len(parts) == 1:
        name = str(parts[0])
        return lambda item: item.get(name)
    return lambda item: lookup(item, parts)
