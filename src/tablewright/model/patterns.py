"""Access patterns: the reads that a design is made for, declared with a name.

    @Get()
    def by_id(self, user_id: str, call_id: str) -> None: ...

    @Query("byUserStatus")
    def upcoming(self, user_id: str, *, since: datetime | None = None) -> FieldCondition:
        return attr(self.status) == SCHEDULED

A pattern is a function that declares its parameters: fields of the key that is read, and bounds. It has no body, or
returns a condition. A field of the key that is equal to a value belongs to the key that is read, as if it were given
(``fixed``); everything else is a filter, which may use further parameters.

A pattern is called with values (``Call.upcoming("u-1", since=now)``) and returns a description of the
read, which a store runs, a document lists, and lint checks. Every field of the partition key must be given or fixed.
Fields of the sort key may be given from the left; the first one that the pattern does not take may be bounded by
``since`` and ``until`` (inclusive) or ``after`` and ``before`` (exclusive), or, if it is text, by ``begins_with``. A
date as a bound of a time means the whole day. None is the same as not given.

A field of the partition key may be given several times, if it is declared so: ``def by_status(self, status:
Sequence[Status])`` reads the partitions of all these values, merged in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from pydantic import BaseModel

from tablewright.model.errors import ModelError
from tablewright.model.field_conditions import FieldCondition, KeyCondition
from tablewright.model.pattern_signature import PatternSignature

# What other packages use.
__all__ = ["BOUNDS"]

P = ParamSpec("P")
E = TypeVar("E", bound=BaseModel)
E_co = TypeVar("E_co", bound=BaseModel, covariant=True)
T = TypeVar("T")

BOUNDS = ("since", "until", "after", "before", "begins_with")
_BOUNDS = frozenset(BOUNDS)


# These are never modified. They are not frozen, as one is made for every read, and that would take four times as long.
@dataclass(slots=True)
class Lookup(Generic[E_co]):
    """One item to read, by the primary key or by the key of an index: ``Call.by_id("c-9")``."""

    entity: type[E_co]
    name: str
    index: str | None
    values: Mapping[str, Any]
    consistent: bool = False
    load_large: bool = True
    # The projection that is read instead of the whole entity.
    projection: type[BaseModel] | None = None


@dataclass(slots=True)
class Selection(Generic[E_co]):
    """Items to read in order, of a partition or a range of it: ``Call.upcoming("u-1", since=now)``."""

    entity: type[E_co]
    pattern: Query
    values: Mapping[str, Any]
    bounds: Mapping[str, Any]
    # The filter that a declared pattern returns.
    filter: FieldCondition | None = None
    # The projection that is read instead of the whole entity.
    projection: type[BaseModel] | None = None

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
    def consistent(self) -> bool:
        return self.pattern.consistent


@dataclass(frozen=True, slots=True)
class Pattern:
    """What access patterns have in common: the name that they are declared with, and their parameters."""

    name: str = field(default="", init=False)
    # None: it is not declared with a function yet.
    signature: PatternSignature | None = field(default=None, init=False, compare=False)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    def place(self, owner: type) -> str:
        """What a pattern is called: ``Call.upcoming``; the name of one of a projection has its class already."""
        return self.name if "." in self.name else f"{owner.__name__}.{self.name}"

    def for_owner(self) -> Self:
        """The same pattern with what follows from the keys of one class: several may inherit it."""
        pattern = copy(self)
        object.__setattr__(pattern, "signature", copy(self.signature))
        return pattern

    def settle(self, **known: Any) -> None:
        """Set what follows from the keys of the entity."""
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def _declared(self, pattern: T, declaration: Callable[..., Any]) -> T:
        """The pattern that a function declares, with the settings of this one."""
        for each in fields(self):
            if each.init:
                object.__setattr__(pattern, each.name, getattr(self, each.name))
        object.__setattr__(pattern, "signature", PatternSignature(declaration))
        return pattern


@dataclass(frozen=True, slots=True)
class Get(Pattern):
    """An access pattern that reads one item, by the primary key or by an index.

        @Get("byCallId")
        def by_id(self, call_id: str) -> None: ...          store.get(Call.by_id("c-9"))

    Called with the fields of the key, it returns a ``Lookup``.
    """

    index: str | None = None
    # Whether reads are strongly consistent by default; a call of the store can decide otherwise.
    consistent: bool = False
    # Whether items are also read in batches, by ``get_many``.
    many: bool = False
    # Whether large values that are in blobs are read as well; otherwise ``store.load`` fetches them.
    load_large: bool = True

    def __call__(self, declaration: Callable[Concatenate[Any, P], None]) -> DeclaredGet[P]:
        """Declare the pattern with a function, whose parameters are the fields of the key."""
        return self._declared(DeclaredGet(), declaration)


@dataclass(frozen=True, slots=True)
class Query(Pattern):
    """An access pattern that reads items in the order of the sort key.

        @Query("byUserStatus")
        def upcoming(self, user_id: str, *, since: datetime | None = None) -> FieldCondition:
            return attr(self.status) == SCHEDULED

        store.query(Call.upcoming("u-1", since=now), limit=20)

    Declared in a ``Projection`` it reads only the fields of that. Without ``load_large`` large values that are in blobs
    are left out, until ``store.load`` fetches them. ``expected`` is the usual number of items of a read, for estimates
    of cost.
    """

    index: str | None = None
    newest_first: bool = False
    consistent: bool = False
    load_large: bool = True
    expected: int | None = None
    # The field of the sort key that the bounds are of, if the pattern takes some; known once the keys are.
    range: str | None = field(default=None, init=False)
    # The values of fields of the key that its function compares them with, and what is its ``self`` then.
    fixed: Mapping[str, Any] = field(default_factory=dict, init=False)
    key_fields: Any = field(default=None, init=False, compare=False)
    # The projection that it is declared in, and its fields; without one, all fields of the entity are read.
    projection: type[BaseModel] | None = field(default=None, init=False)
    project: tuple[str, ...] = field(default=(), init=False)

    def __call__(self, declaration: Callable[Concatenate[Any, P], FieldCondition | None]) -> DeclaredQuery[P]:
        """Declare the pattern with a function, whose parameters are fields of the key, and bounds."""
        return self._declared(DeclaredQuery(), declaration)


@dataclass(frozen=True, slots=True)
class DeclaredGet(Get, Generic[P]):
    """A ``Get`` with declared parameters."""

    def __get__(self, instance: object, owner: type[E]) -> Callable[P, Lookup[E]]:
        assert self.signature is not None
        return self.signature.bound(owner, Lookup, self._bound)

    def _bound(self, owner: type[E], _: PatternSignature) -> Callable[[dict[str, Any]], Lookup[E]]:
        name, index, consistent, load_large = self.name, self.index, self.consistent, self.load_large
        return lambda values: Lookup(owner, name, index, values, consistent, load_large)


@dataclass(frozen=True, slots=True)
class DeclaredQuery(Query, Generic[P]):
    """A ``Query`` with declared parameters."""

    def __get__(self, instance: object, owner: type[E]) -> Callable[P, Selection[E]]:
        assert self.signature is not None
        return self.signature.bound(owner, Selection, self._bound)

    def _bound(self, owner: type[E], signature: PatternSignature) -> Callable[[dict[str, Any]], Selection[E]]:
        entity: Any = owner
        schema = getattr(owner, "schema_", None)
        if schema is None and (projected := getattr(owner, "entity_", None)) is not None:
            # Of a projection, it is a pattern of the entity.
            entity, schema = projected, projected.schema_
        name = self.name if entity is owner else self.place(owner)
        own: DeclaredQuery[P] = self if schema is None else schema.patterns.get(name, self)
        if own is not self:
            assert own.signature is not None
            return own._bound(owner, own.signature)
        projection = self.projection
        key_fields: Any
        fixed, key_fields = self.fixed, entity if self.key_fields is None else self.key_fields
        bounding = frozenset[str]() if self.range is None else _BOUNDS.intersection(signature.names)

        def select(values: dict[str, Any]) -> Selection[E]:
            condition = None
            if signature.returns_filter:
                condition = signature.declaration(key_fields, **values)
                if fixed and projection is not None:
                    condition = key_fields.split(condition)
                if fixed:
                    condition = _filter(owner, self, condition)
                values = {name: value for name, value in values.items() if name not in signature.filtered_by}
            bounds = {} if bounding.isdisjoint(values) else _bounds(owner, self, values)
            return Selection(entity, self, {**fixed, **values} if fixed else values, bounds, condition, projection)

        return select


def _filter(owner: type, pattern: Query, condition: FieldCondition | None) -> FieldCondition | None:
    """What a condition has besides the values of the key, which are those that the pattern is declared with."""
    fixed = condition.fixed if isinstance(condition, KeyCondition) else {}
    if fixed != pattern.fixed:
        raise ModelError(
            f"{pattern.place(owner)} reads the key of {dict(pattern.fixed)}, and its function has returned "
            f"{dict(fixed)}; compare the fields of the key with values that do not depend on the parameters"
        )
    return condition.filter if isinstance(condition, KeyCondition) else condition


def _bounds(owner: type, pattern: Query, values: dict[str, Any]) -> dict[str, Any]:
    """Remove the bounds from the values that a pattern is called with, and return them."""
    bounds = {name: bound for name in BOUNDS if (bound := values.pop(name, None)) is not None}
    if "begins_with" in bounds:
        if len(bounds) > 1:
            raise ModelError(f"{pattern.place(owner)}: give begins_with or other bounds, not both")
        if bounds["begins_with"] == "":
            # So does every text.
            return {}
    for first, second in (("since", "after"), ("until", "before")):
        if first in bounds and second in bounds:
            raise ModelError(f"{pattern.place(owner)}: give {first} or {second}, not both")
    return bounds
