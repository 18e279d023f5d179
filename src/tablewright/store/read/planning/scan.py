"""Scans, as values: all items of an entity, of its table or of one of its indexes, in one piece or in several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from tablewright.model import Entity, ModelError, Projection

__all__ = ["Scan"]

R_co = TypeVar("R_co", bound=BaseModel, covariant=True)

# The most that the service takes.
_MAX_SEGMENTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Scan(Generic[R_co]):
    """All items of an entity, or a projection of them: what ``scan``, ``pages``, ``iterate`` and ``count`` read.

        store.pages(Scan(Order, segments=8))            eight segments at a time, in no order
        store.iterate(Scan(Order, index="byStatus"))    only the items that an index has

    An entity class by itself is a scan of its table, in one segment.
    """

    source: type[R_co]
    index: str | None = None
    segments: int = 1

    def __post_init__(self) -> None:
        source: Any = self.source
        if not isinstance(source, type) or not issubclass(source, Entity | Projection):
            raise ModelError(f"Scan takes the class of an entity, or of a projection of one, not {source!r}")
        if not 1 <= self.segments <= _MAX_SEGMENTS:
            raise ValueError(f"segments must be from 1 to {_MAX_SEGMENTS:,}")

    @property
    def of(self) -> type[Entity]:
        """The entity whose items are read."""
        source: Any = self.source
        entity: type[Entity] = source.entity_ if self.projection is not None else source
        return entity

    @property
    def projection(self) -> type[BaseModel] | None:
        return self.source if issubclass(self.source, Projection) else None
