"""Fields as they are stored: the attribute that each has, and where a path of fields leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tablewright.model.attributes import Encoder

__all__ = ["KINDS", "FieldSpec", "Place"]

_SETS = ("SS", "NS", "BS")
# What is stored, in words.
KINDS = {
    "S": "text",
    "N": "a number",
    "B": "bytes",
    "BOOL": "true or false",
    "M": "a map",
    "L": "a list",
    "SET": "a set",
    "NULL": "nothing",
}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field and the attribute it is stored in."""

    name: str
    attribute: str
    encode: Encoder
    markers: tuple[Any, ...]
    annotation: Any = Any
    # What its values are stored as: S, N, B, BOOL, M, L, SET, NULL for None, and None for what is not known.
    types: frozenset[str | None] = frozenset([None])

    def marker(self, kind: type) -> Any:
        """The marker of a kind; where there are several, the outermost."""
        return next((marker for marker in reversed(self.markers) if isinstance(marker, kind)), None)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field path leads: the steps to it in an item, and how values there are stored."""

    steps: tuple[str, ...]
    encode: Encoder
    types: frozenset[str | None]
    # Those types as the service tags them; all where one is not known.
    tags: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        types = frozenset(KINDS) if None in self.types else self.types
        tags = {tag for kind in types if kind is not None for tag in (_SETS if kind == "SET" else (kind,))}
        object.__setattr__(self, "tags", frozenset(tags))
