"""The expressions of one request, taken in the order in which DynamoDB checks them.

An operation calls ``check_parameters`` and, after checks of its own, makes one ``Parameters``, takes what it
needs from it (``condition``, ``update``, ``projection``, ``key_condition``) and calls ``finish``; the rules
themselves are those of ``expressions``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from tablewright.dynamo import BESIDE_ITEM, AttributeValue, checked
from tablewright.dynamo.expressions import (
    ConditionProgram,
    KeyConditionProgram,
    ProjectionProgram,
    UpdateProgram,
    check_expression_attributes,
    check_placeholders,
    compile_condition,
    compile_key_condition,
    compile_projection,
    compile_update,
)

_NONE: Mapping[str, Any] = {}
_NO_NAMES: frozenset[str] = frozenset()
_T = TypeVar("_T", ConditionProgram, KeyConditionProgram, UpdateProgram)


class Parameters:
    """Names, canonical values and compiled expressions of a request, or of a member of a transaction."""

    __slots__ = ("_request", "_used_names", "_used_values", "names", "values")

    def __init__(self, request: Mapping[str, Any], *, beside_item: bool = False) -> None:
        self._request = request
        self._used_names = self._used_values = _NO_NAMES
        self.names: Mapping[str, str] = request.get("ExpressionAttributeNames", _NONE)
        self.values: Mapping[str, AttributeValue] = _NONE
        if "ExpressionAttributeNames" in request or "ExpressionAttributeValues" in request:
            self.values = check_placeholders(request, _canonical_beside_item if beside_item else _canonical) or _NONE

    def condition(
        self, parameter: str = "ConditionExpression", *, report_size: bool = False
    ) -> ConditionProgram | None:
        text = self._request.get(parameter)
        if text is None:
            return None
        return self._checked(compile_condition(text, self.names, parameter, report_size=report_size))

    def update(self) -> UpdateProgram | None:
        text = self._request.get("UpdateExpression")
        return None if text is None else self._checked(compile_update(text, self.names))

    def key_condition(self) -> KeyConditionProgram | None:
        text = self._request.get("KeyConditionExpression")
        return None if text is None else self._checked(compile_key_condition(text, self.names))

    def projection(self) -> ProjectionProgram | None:
        text = self._request.get("ProjectionExpression")
        if text is None:
            return None
        projection = compile_projection(text, self.names)
        self._used_names |= projection.used_names
        return projection

    def finish(self) -> None:
        """Every placeholder must have been used."""
        if self.names or self.values:
            check_expression_attributes(self._request, self._used_names, self._used_values)

    def _checked(self, program: _T) -> _T:
        """A program that is good with the values of the request, and uses some of its names and values."""
        program.check(self.values)
        self._used_names |= program.used_names
        self._used_values |= program.used_values
        return program


def _canonical(value: AttributeValue, depth: int = 0) -> AttributeValue:
    text = value.get("S")
    # Most values are text, which stays as it is.
    return value if text is not None and len(value) == 1 and text.isascii() else checked(value, depth)[0]


_canonical_beside_item = partial(_canonical, depth=BESIDE_ITEM)
