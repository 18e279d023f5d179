"""A statement as DynamoDB runs it.

Conditions and updates are the expression language's own trees, in which the statement's ``?`` are
placeholders; one evaluator serves both languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import AttributeValue, Item, Path, ValidationException, checked, lookup
from tablewright.dynamo.expressions import (
    TYPE_NAMES,
    ConditionProgram,
    InvalidExpression,
    Literal,
    Placeholder,
    ProjectionProgram,
    UpdateProgram,
    nested_names,
    top_level_names,
)

Values = Mapping[str, AttributeValue]

_UPDATE_PREFIX = "Invalid UpdateExpression: "
# PartiQL lists the types in an order of its own.
_TYPE_NAMES = "{N,BS,L,B,NULL,M,S,SS,NS,BOOL}"


def placeholder(number: int) -> Placeholder:
    return Placeholder(f"?{number}")


class Columns(ProjectionProgram):
    """A SELECT list: each path is returned under its last name, with the list positions after it."""

    __slots__ = ("_columns", "roots")

    def __init__(self, paths: Sequence[Path]) -> None:
        self.used_names = frozenset()
        self.top_level_attributes = top_level_names(paths)
        self.nested_attributes = nested_names(paths)
        self.roots = tuple(str(path.parts[0]) for path in paths)
        self._columns = tuple((label(path), path.parts) for path in paths)

    def apply(self, item: Item) -> Item:
        found = ((name, lookup(item, parts)) for name, parts in self._columns)
        return {name: value for name, value in found if value is not None}


def label(path: Path) -> str:
    """``a.b[0][1]`` is returned as ``b[0][1]``."""
    last = max(position for position, part in enumerate(path.parts) if isinstance(part, str))
    return str(path.parts[last]) + "".join(f"[{position}]" for position in path.parts[last + 1 :])


@dataclass(frozen=True, slots=True)
class Select:
    table: str
    index: str | None
    columns: Columns | None
    where: ConditionProgram | None
    order: tuple[tuple[str, bool], ...]
    parameters: int
    # The error in the SELECT list. The service checks an index before it.
    flaw: str | None = None


@dataclass(frozen=True, slots=True)
class Exists:
    """``EXISTS(SELECT ...)``: a condition check, in transactions only."""

    select: Select

    @property
    def table(self) -> str:
        return self.select.table

    @property
    def where(self) -> ConditionProgram | None:
        return self.select.where

    @property
    def parameters(self) -> int:
        return self.select.parameters


@dataclass(frozen=True, slots=True)
class Insert:
    table: str
    attributes: Mapping[str, Literal | Placeholder] | Placeholder
    parameters: int

    def item(self, values: Values) -> Item:
        if isinstance(self.attributes, Placeholder):
            whole = values[self.attributes.name]
            if "M" not in whole:
                raise ValidationException("Item to insert must be a map")
            return dict(whole["M"])
        return {
            name: value.value if isinstance(value, Literal) else values[value.name]
            for name, value in self.attributes.items()
        }


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    table: str
    index: str | None
    update: UpdateProgram
    # Placeholders that must be sets, with the message when they are not.
    sets: tuple[tuple[Placeholder, str], ...]
    where: ConditionProgram | None
    returning: str | None
    parameters: int

    def check(self, values: Values) -> None:
        for operand, message in self.sets:
            if next(iter(values[operand.name])) not in ("SS", "NS", "BS"):
                raise ValidationException(message)
        try:
            self.update.check(values)
        except InvalidExpression as error:
            raise ValidationException((error.message or "").removeprefix(_UPDATE_PREFIX)) from None


@dataclass(frozen=True, slots=True)
class Delete:
    table: str
    index: str | None
    where: ConditionProgram | None
    returning: str | None
    parameters: int


Statement = Select | Exists | Insert | UpdateStatement | Delete


def parameter_values(request: Mapping[str, Any]) -> Values:
    """A request's parameters as the values of placeholders; they are checked before the statement."""
    # A parameter may be a whole item, which is one level more than a value.
    return {f"?{number}": checked(value, -1)[0] for number, value in enumerate(request.get("Parameters", ()), 1)}


def check_values(statement: Statement, values: Values) -> None:
    """Raise unless the values fit the statement."""
    if statement.parameters > len(values):
        raise ValidationException("Number of parameters in request and statement don't match.")
    if isinstance(statement, UpdateStatement):
        statement.check(values)
    if not isinstance(statement, Insert) and statement.where is not None:
        try:
            statement.where.check(values)
        except InvalidExpression as error:
            raise ValidationException((error.message or "").replace(TYPE_NAMES, _TYPE_NAMES)) from None
    if isinstance(statement, UpdateStatement | Delete) and statement.index is not None:
        raise ValidationException("This operation is not supported on an index")
