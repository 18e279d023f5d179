"""Fields as they are stored: the attribute of each, and where a path of fields leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tablewright.model.values.attribute_codec import Encoder
from tablewright.model.values.coercion import Coercion

__all__ = ["FieldLocation", "FieldSpec"]


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field and the attribute it is stored in."""

    name: str
    attribute: str
    encode: Encoder
    markers: tuple[Any, ...]
    annotation: Any = Any
    # The types that values are stored as: S, N, B, BOOL, M, L, SET, NULL for None, and None where that is not known.
    types: frozenset[str | None] = frozenset([None])

    def marker(self, kind: type) -> Any:
        """The marker of a class; where there are several, the outermost."""
        return next((marker for marker in reversed(self.markers) if isinstance(marker, kind)), None)


@dataclass(frozen=True, slots=True)
class FieldLocation:
    """Where a field path leads: the parts of its document path, and how values there are stored and coerced."""

    parts: tuple[str, ...]
    encode: Encoder
    types: frozenset[str | None]
    coercion: Coercion = field(compare=False)
