"""The tree of an expression.

One tree serves every form of a condition: the expression strings, PartiQL's WHERE and the legacy parameters (Expected,
QueryFilter, ScanFilter, KeyConditions). That is why an operand can also be a ``Literal``: PartiQL and the legacy
parameters contain their values, while an expression refers to ``:placeholders`` whose values come with each request.

Parentheses are not in the tree: the parser resolves them.

No part of a tree is ever changed. Still, the classes are not frozen: every write of the store creates some, and that
would take three times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from tablewright.dynamo.document_paths import Path as Path
from tablewright.dynamo.document_paths import PathPart as PathPart

# A path is an operand, and so a node of the tree.


class NameRef(str):
    """A ``#placeholder`` as a step of a path whose name is not resolved yet."""

    __slots__ = ()


@dataclass(slots=True, unsafe_hash=True)
class Placeholder:
    """A ``:value`` of ExpressionAttributeValues."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Literal:
    """An attribute value that is part of the condition itself."""

    value: dict[str, Any]


class _Condition:
    """The base of conditions: ``&``, ``|`` and ``~`` combine them."""

    __slots__ = ()

    def __and__(self, other: Condition) -> And:
        return And((cast("Condition", self), other))

    def __or__(self, other: Condition) -> Or:
        return Or((cast("Condition", self), other))

    def __invert__(self) -> Not:
        return Not(cast("Condition", self))


@dataclass(slots=True, unsafe_hash=True)
class Function(_Condition):
    """``size(a)``, ``begins_with(a, :v)``, ``if_not_exists(a, :v)`` and the others."""

    name: str
    arguments: tuple[Operand, ...]


@dataclass(slots=True, unsafe_hash=True)
class Arithmetic:
    """The right side of ``SET a = left + right``; the operator is ``+`` or ``-``."""

    operator: str
    left: Operand
    right: Operand


Operand = Path | Placeholder | Literal | Function | Arithmetic


@dataclass(slots=True, unsafe_hash=True)
class Compare(_Condition):
    """The operator is one of ``= <> < <= > >=``."""

    operator: str
    left: Operand
    right: Operand


@dataclass(slots=True, unsafe_hash=True)
class Between(_Condition):
    operand: Operand
    low: Operand
    high: Operand


@dataclass(slots=True, unsafe_hash=True)
class In(_Condition):
    operand: Operand
    options: tuple[Operand, ...]


@dataclass(slots=True, unsafe_hash=True)
class And(_Condition):
    parts: tuple[Condition, ...]


@dataclass(slots=True, unsafe_hash=True)
class Or(_Condition):
    parts: tuple[Condition, ...]


@dataclass(slots=True, unsafe_hash=True)
class Not(_Condition):
    part: Condition


Leaf = Compare | Between | In | Function
Condition = Leaf | And | Or | Not


@dataclass(slots=True, unsafe_hash=True)
class SetAction:
    path: Path
    value: Operand


@dataclass(slots=True, unsafe_hash=True)
class RemoveAction:
    path: Path


@dataclass(slots=True, unsafe_hash=True)
class AddAction:
    path: Path
    value: Placeholder | Literal


@dataclass(slots=True, unsafe_hash=True)
class DeleteAction:
    path: Path
    value: Placeholder | Literal


Action = SetAction | RemoveAction | AddAction | DeleteAction
