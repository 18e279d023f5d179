"""Declarations for the inputs of operations: ``Input``, and the shapes that most of them use."""

from __future__ import annotations

from typing import NamedTuple

from tablewright.dynamo.limits import MAX_TABLE_NAME_LENGTH, MIN_TABLE_NAME_LENGTH
from tablewright.engine.requests.input_shapes import Boolean, Number, Shape, String, Struct
from tablewright.engine.requests.table_name_shape import NAME_PATTERN, TableName

STRING = String()
BOOLEAN = Boolean()
POSITIVE_INTEGER = Number("Integer", min=1)
TABLE_NAME = TableName()
INDEX_NAME = String(min=MIN_TABLE_NAME_LENGTH, max=MAX_TABLE_NAME_LENGTH, pattern=NAME_PATTERN)


class Input(NamedTuple):
    """The input of an operation, and the checks that come before and after its constraints."""

    shape: Struct
    required_parameter: str | None = None
    """The member whose absence is reported with its own message, before any constraint."""
    required_entries: str | None = None
    """The map that must not be empty, which is reported after all constraints."""
    first: tuple[tuple[str, ...], ...] = ()
    """Groups of members that are checked before the others, each group reported separately."""
    older: Struct | None = None
    """The older words of an operation that has newer ones, for requests that the newer layer of checks cannot read."""


def operation_input(name: str, members: dict[str, Shape], required: tuple[str, ...] = ()) -> Input:
    return Input(Struct(f"{name}Input", members, required))
