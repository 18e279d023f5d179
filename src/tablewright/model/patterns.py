"""Access patterns: the reads that a design is made for, declared with a name.

    by_id    = Get()                                             the item itself, by its primary key
    by_call  = Get("byCallId")                                   one item, by an index
    upcoming = Query("byUserStatus", fixed={"status": SCHEDULED}, range="scheduled_for")

A pattern is called with field values (``Call.upcoming(user_id="u-1", since=now)``) and returns a description of the
read, which a store runs, a document lists, and lint checks. Every field of the partition key must be given or fixed.
Fields of the sort key may be given from the left; the one named by ``range`` may be bounded by ``since`` and ``until``
(inclusive) or ``after`` and ``before`` (exclusive). A date as a bound of a time means the whole day. None is the same
as not given.
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


# These are never modified. They are not frozen, as one is made for every read, and that would take four times as long.
@dataclass(slots=True)
class Lookup(Generic[E_co]):
    """One item to read, by the primary key or by the key of an index: ``Call.by_id(call_id="c-9")``."""

    entity: type[E_co]
    name: str
    index: str | None
    values: Mapping[str, Any]
    consistent: bool = False
    load_large: bool = True


@dataclass(slots=True)
class Selection(Generic[E_co]):
    """Items to read in order, of a partition or a range of it: ``Call.upcoming(user_id="u-1", since=now)``."""

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
class Pattern:
    """What access patterns have in common: the name that they are declared with."""

    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)


@dataclass(frozen=True, slots=True)
class Get(Pattern):
    """An access pattern that reads one item, by the primary key or by an index.

        by_id = Get()                    store.get(Ticket.by_id(ticket_id="t-1"))
        by_call = Get("byCallId")        store.get(Call.by_call(call_id="c-9"))

    Called with the fields of the key, it returns a ``Lookup``.
    """

    index: str | None = None
    # Whether reads are strongly consistent by default; a call of the store can decide otherwise.
    consistent: bool = False
    # Whether items are also read in batches, by ``get_many``.
    many: bool = False
    # Whether large values that are in blobs are read as well; otherwise ``store.load`` fetches them.
    load_large: bool = True

    def __get__(self, instance: object, owner: type[E]) -> Callable[..., Lookup[E]]:
        def lookup(**values: Any) -> Lookup[E]:
            return Lookup(owner, self.name, self.index, values, self.consistent, self.load_large)

        return lookup


@dataclass(frozen=True, slots=True)
class Query(Pattern):
    """An access pattern that reads items in the order of the sort key.

        upcoming = Query("byUserStatus", fixed={"status": SCHEDULED}, range="scheduled_for")
        store.query(Call.upcoming(user_id="u-1", since=now), limit=20)

    ``fixed`` are field values that belong to the pattern, ``range`` is the field of the sort key that may be bounded.
    ``where`` are conditions on fields outside of the key, applied by DynamoDB after it has read an item. ``project``
    lists the fields to read: such an entity lacks the others, and cannot be written. Without ``load_large`` it lacks
    large values that are in blobs, which ``store.load`` fetches. ``expected`` is the usual number of items of a read,
    for estimates of cost.
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

    def __get__(self, instance: object, owner: type[E]) -> Callable[..., Selection[E]]:
        def select(**values: Any) -> Selection[E]:
            bounds = {} if _BOUNDS.isdisjoint(values) else _bounds(owner, self, values)
            return Selection(owner, self, {**self.fixed, **values} if self.fixed else values, bounds)

        return select


def _bounds(owner: type, pattern: Query, values: dict[str, Any]) -> dict[str, Any]:
    """Remove the bounds from the values that a pattern is called with, and return them."""
    bounds = {name: bound for name in BOUNDS if (bound := values.pop(name, None)) is not None}
    if bounds and pattern.range is None:
        raise ModelError(
            f"{owner.__name__}.{pattern.name} has no range, so it does not take {', '.join(bounds)}; declare range=..."
        )
    for first, second in (("since", "after"), ("until", "before")):
        if first in bounds and second in bounds:
            raise ModelError(f"{owner.__name__}.{pattern.name}: give {first} or {second}, not both")
    return bounds
