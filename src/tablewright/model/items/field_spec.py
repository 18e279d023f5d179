"""Fields as they are stored: the attribute that each has, and where a path of fields leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tablewright.model.values.attribute_codec import Encoder
from tablewright.model.values.coercion import Given

__all__ = ["FieldSpec", "Place"]


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
    """Where a field path leads: the steps to it in an item, and how values there are stored and given."""

    steps: tuple[str, ...]
    encode: Encoder
    types: frozenset[str | None]
    given: Given = field(compare=False)
