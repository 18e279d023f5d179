"""Access patterns: the reads that a design is made for, declared with a name.

    by_id    = Get()                                             the item itself, by its primary key
    by_call  = Get("byCallId")                                   one item, by an index
    upcoming = Query("byUserStatus", fixed={"status": SCHEDULED}, range="scheduled_for")

A pattern is called with field values (``Call.upcoming(user_id="u-1", since=now)``) and gives a description of the read,
which a store runs, a document lists, and a lint checks. Every partition key field must be given or fixed. Sort key
fields may be given from the left; the one named by ``range`` may be bounded by ``since`` and ``until`` (inclusive) or
``after`` and ``before`` (exclusive). A date as a bound of a time means the whole day. None is the same as not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from tablewright.model.errors import ModelError

E = TypeVar("E", bound=BaseModel)
E_co = TypeVar("E_co", bound=BaseModel, covariant=True)

BOUNDS = ("since", "until", "after", "before")
_BOUNDS = frozenset(BOUNDS)


# Neither is ever changed. They are not frozen, because one is made for every read, and would take four times as long.
@dataclass(slots=True)
class Lookup(Generic[E_co]):
    """One item to read: by primary key, or by the key of an index."""

    entity: type[E_co]
    name: str
    index: str | None
    values: Mapping[str, Any]
    consistent: bool = False
    load_large: bool = True


@dataclass(slots=True)
class Selection(Generic[E_co]):
    """Items to read in order: a partition, or a range of it."""

    entity: type[E_co]
    pattern: Query
    values: Mapping[str, Any]
    bounds: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.pattern.name

    @property
    def index(self) -> str | None:
        return self.pattern.index

    @property
    def range(self) -> str | None:
        return self.pattern.range

    @property
    def newest_first(self) -> bool:
        return self.pattern.newest_first

    @property
    def where(self) -> Mapping[str, Any]:
        return self.pattern.where

    @property
    def project(self) -> tuple[str, ...]:
        return tuple(self.pattern.project)

    @property
    def consistent(self) -> bool:
        return self.pattern.consistent


@dataclass(frozen=True, slots=True)
class Get:
    """A pattern that reads one item."""

    index: str | None = None
    # Read what was written before, whatever it costs; the caller of the store may decide otherwise.
    consistent: bool = False
    # Whether any number of them are read at once as well, by ``get_many``.
    many: bool = False
    # Whether large values that are outside of the item are read along; otherwise ``store.load`` fetches them.
    load_large: bool = True
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __get__(self, instance: object, owner: type[E]) -> Callable[..., Lookup[E]]:
        def lookup(**values: Any) -> Lookup[E]:
            return Lookup(owner, self.name, self.index, values, self.consistent, self.load_large)

        return lookup


@dataclass(frozen=True, slots=True)
class Query:
    """A pattern that reads items in order.

    ``fixed`` are field values that belong to the pattern; ``where`` are conditions on fields outside the key, applied
    by DynamoDB after it has read an item. ``project`` names the fields that are read, when it is not all of them: such
    an entity lacks the others, and cannot be written. Without ``whole`` it lacks the large values that are outside of
    its item, which ``store.load`` fetches. ``expected`` is the number of items that a read usually gives, for those who
    estimate.
    """

    index: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    range: str | None = None
    newest_first: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)
    project: Sequence[str] = ()
    consistent: bool = False
    load_large: bool = True
    expected: int | None = None
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __get__(self, instance: object, owner: type[E]) -> Callable[..., Selection[E]]:
        def select(**values: Any) -> Selection[E]:
            bounds = {} if _BOUNDS.isdisjoint(values) else _bounds(owner, self, values)
            return Selection(owner, self, {**self.fixed, **values} if self.fixed else values, bounds)

        return select


def _bounds(owner: type, pattern: Query, values: dict[str, Any]) -> dict[str, Any]:
    """Take the bounds out of the values that a pattern is called with."""
    bounds = {name: bound for name in BOUNDS if (bound := values.pop(name, None)) is not None}
    if bounds and pattern.range is None:
        raise ModelError(
            f"{owner.__name__}.{pattern.name} has no range, so it does not take {', '.join(bounds)}; declare range=..."
        )
    for first, second in (("since", "after"), ("until", "before")):
        if first in bounds and second in bounds:
            raise ModelError(f"{owner.__name__}.{pattern.name}: give {first} or {second}, not both")
    return bounds
