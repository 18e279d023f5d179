"""Conditions on the fields of an entity, and changes of them, as values, which ``attr`` makes.

    (attr(Ticket.status) == "open") & ~(attr(Ticket.count) >= 5)      a FieldCondition
    attr(Ticket.count).add(1)                                         a FieldChange

Both know the entity that they are about, so that a condition on another one is refused before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from tablewright.dynamo.expressions import And, Condition, Not, Operand, Or
from tablewright.model.errors import ModelError

__all__ = [
    "ChangeKind",
    "FieldChange",
    "FieldCondition",
    "FieldGroup",
    "FieldPath",
    "FilterParameter",
    "KeyAlternative",
    "KeyCondition",
    "NoValue",
    "UnknownValue",
    "path_of",
]

T_co = TypeVar("T_co", covariant=True)

# What paths are written with.
_IN_PATHS = frozenset(".[]")


class NoValue(TypeError):
    """A field of the class is used as if it were that of an entity."""


class FieldPath(Generic[T_co]):
    """What ``Ticket.status`` is at run time, and ``Ticket.lines[0].count``; ``attr`` makes expressions of it."""

    __slots__ = ("_attr", "_entity", "_path")

    def __init__(self, entity: type[BaseModel], path: str) -> None:
        self._entity = entity
        self._path = path
        # The expression of it, once it has been asked for.
        self._attr: Any = None

    def __getattr__(self, name: str) -> FieldPath[Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return FieldPath(self._entity, f"{self._path}.{name}")

    def __getitem__(self, position: int | str) -> FieldPath[Any]:
        if isinstance(position, int):
            return FieldPath(self._entity, f"{self._path}[{position}]")
        if not position or not _IN_PATHS.isdisjoint(position):
            raise ModelError(
                f"{self!r}[{position!r}]: a path cannot name a key that is empty, or has a dot or a bracket"
            )
        return FieldPath(self._entity, f"{self._path}.{position}")

    def __repr__(self) -> str:
        return f"{self._entity.__name__}.{self._path}"

    def _needs_attr(self, *_: Any) -> Any:
        raise NoValue(f"{self!r} is a field of the class, without a value; for an expression write attr({self!r})")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __contains__ = _needs_attr
    __bool__ = __iter__ = _needs_attr
    __hash__ = None  # type: ignore[assignment]


def path_of(field: object, entity: type[BaseModel], place: str) -> str:
    """The path of a field of an entity, where a declaration names it: ``Ticket.status``.

    To a type checker a field is a value of its own type, so that anything is accepted there, and checked here.
    """
    name = entity.__name__
    if not isinstance(field, FieldPath):
        shown = f"{name}.{field}" if isinstance(field, str) and field.isidentifier() else f"{name}.some_field"
        raise ModelError(f"{place} takes fields of {name}, such as {shown}, not {field!r}")
    if not issubclass(entity, field._entity):
        raise ModelError(f"{place} takes fields of {name}, and {field!r} is not one")
    # An element of a list is a part of the list.
    return field._path.partition("[")[0]


@dataclass(frozen=True, slots=True)
class FieldGroup(Generic[T_co]):
    """A field, and those that the items are grouped by in which it is unique or numbered: made by ``Attr.per``."""

    entity: type[BaseModel]
    field: str
    per: tuple[str, ...]


class UnknownValue(Exception):
    """A filter does something with a parameter that takes its value."""


class FilterParameter:
    """A parameter of a pattern, where its filter is looked at before there are values (see ``pattern_filters``)."""

    __slots__ = ("is_true", "name")

    def __init__(self, name: str, is_true: bool = True) -> None:
        self.name = name
        self.is_true = is_true

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __bool__(self) -> bool:
        return self.is_true

    def __iter__(self) -> Iterator[FilterParameter]:
        yield self

    def _takes_value(self, *_: Any) -> Any:
        raise UnknownValue(self.name)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _takes_value
    __getattr__ = __getitem__ = __contains__ = __call__ = _takes_value
    __hash__ = None  # type: ignore[assignment]


# Never modified. They are not frozen, as some are made for every write, and that would take three times as long.
@dataclass(slots=True)
class FieldCondition:
    """What must hold of an item: made by ``attr``, combined with ``&``, ``|`` and ``~``."""

    entity: type[BaseModel]
    node: Condition
    # For messages: what it says, and the paths that it is on, as fields and as they are stored.
    text: str
    paths: tuple[tuple[str, str], ...]
    # The word that joins its parts, if it has parts; of "and", the parts.
    joint: str = ""
    parts: tuple[FieldCondition, ...] = ()

    def __and__(self, other: FieldCondition) -> FieldCondition:
        return self._joined(other, And, "and")

    def __or__(self, other: FieldCondition) -> FieldCondition:
        return self._joined(other, Or, "or")

    def __invert__(self) -> FieldCondition:
        return FieldCondition(self.entity, Not(self.node), f"not ({self.text})", self.paths)

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.text} is a condition on a stored item, and neither true nor false here; combine "
            "conditions with &, | and ~, not with and, or, not"
        )

    def _joined(self, other: FieldCondition, kind: type[And | Or], word: str) -> FieldCondition:
        if not isinstance(other, FieldCondition):
            raise ModelError(f"{self.text} {word} {other!r}: both sides must be conditions")
        if other.entity is not self.entity:
            names = self.entity.__name__, other.entity.__name__
            raise ModelError(f"{self.text} {word} {other.text}: one is about {names[0]}, the other about {names[1]}")
        mine = self.node.parts if isinstance(self.node, kind) else (self.node,)
        theirs = other.node.parts if isinstance(other.node, kind) else (other.node,)
        texts = [f"({each.text})" if each.joint not in ("", word) else each.text for each in (self, other)]
        paths = (*self.paths, *other.paths)
        parts = (self, other) if kind is And else ()
        return FieldCondition(self.entity, kind((*mine, *theirs)), f" {word} ".join(texts), paths, word, parts)


class KeyAlternative(ModelError):
    """A value of a key that a pattern reads is one of several possibilities."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__(
            f"a key is read by one value of {' and '.join(names)}; combine it with other conditions with & only"
        )
        self.names = frozenset(names)


class KeyCondition(FieldCondition):
    """What the function of a pattern returns: the values of fields of the key, apart from the filter."""

    __slots__ = ("filter", "fixed")

    def __init__(self, entity: type[BaseModel], fixed: Mapping[str, Any], filter: FieldCondition | None = None) -> None:
        self.entity = entity
        self.fixed = fixed
        self.filter = filter
        self.parts = ()

    def __and__(self, other: FieldCondition) -> FieldCondition:
        if not isinstance(other, KeyCondition):
            if not isinstance(other, FieldCondition):
                raise ModelError(f"{self.fixed} and {other!r}: both sides must be conditions")
            return KeyCondition(self.entity, self.fixed, other if self.filter is None else self.filter & other)
        for name, value in other.fixed.items():
            if name in self.fixed and self.fixed[name] != value:
                raise ModelError(f"{name} is compared with {self.fixed[name]!r} and {value!r}, and cannot have both")
        both = self if other.filter is None else self & other.filter
        assert isinstance(both, KeyCondition)
        return KeyCondition(self.entity, {**self.fixed, **other.fixed}, both.filter)

    def __rand__(self, other: FieldCondition) -> FieldCondition:
        return KeyCondition(self.entity, self.fixed, other if self.filter is None else other & self.filter)

    def __or__(self, _: FieldCondition) -> FieldCondition:
        raise KeyAlternative(self.fixed)

    __ror__ = __or__

    def __invert__(self) -> FieldCondition:
        raise KeyAlternative(self.fixed)


class ChangeKind(StrEnum):
    SET = "set"
    COMPUTE = "compute"
    ADD = "add"
    APPEND = "append"
    DISCARD = "discard"
    REMOVE = "remove"


@dataclass(slots=True)
class FieldChange:
    """One change of an update, made by ``attr``: ``attr(Ticket.count).add(1)``."""

    entity: type[BaseModel]
    kind: ChangeKind
    path: str
    # The value as the field takes it; for what is computed, an operand.
    value: Any | Operand = None
