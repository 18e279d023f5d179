"""The size of an update expression, which counts against the 400 KB of an item, before any item is read.

DynamoDB limits not only the size of the resulting item. It also counts the expression: three bytes, and for each action

    SET target = operand     19, the target and the operand
    ADD target :v            19, the target and the value
    REMOVE, DELETE target    1 and the target

    a target                 its first name, and 4 and the element for each element after it
    :v                       its size, wherever it is used
    a path as operand        1, and 14 and the element for each element; what is there is free
    x + y, x - y             34 or 37, and both operands
    if_not_exists(x, y)      39, and both operands
    list_append(x, y)        37, and both operands

An element is the bytes of a name or the digits of a position. The figures were measured on the service, to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tablewright.dynamo.attribute_values import AttributeValue
from tablewright.dynamo.expressions.nodes import (
    Action,
    Arithmetic,
    DeleteAction,
    Function,
    Literal,
    Operand,
    Path,
    PathPart,
    Placeholder,
    RemoveAction,
)
from tablewright.dynamo.expressions.path_checks import resolved
from tablewright.dynamo.item_size import text_size, value_size

_UPDATE = 3
_ASSIGNMENT = 19
_REMOVAL = 1
_TARGET_ELEMENT = 4
_OPERAND_ELEMENT = 14
_CALLS = {"+": 34, "-": 37, "if_not_exists": 39, "list_append": 37}


class StatementSize:
    """The size of an update expression: a constant, and those of the values that it uses."""

    __slots__ = ("_constant", "_used")

    def __init__(self, actions: Sequence[Action], names: Mapping[str, str]) -> None:
        self._used: list[str] = []
        self._constant = _UPDATE + sum(self._action(action, names) for action in actions)

    def of(self, values: Mapping[str, AttributeValue]) -> int:
        size = self._constant
        for name in self._used:
            value = values[name]
            text = value.get("S")
            # Most values are text: no call for each of them.
            size += len(text) if text is not None and text.isascii() else value_size(value)
        return size

    def _action(self, action: Action, names: Mapping[str, str]) -> int:
        first, *rest = resolved(action.path, names).parts
        target = _element(first) + sum(_TARGET_ELEMENT + _element(part) for part in rest)
        if isinstance(action, RemoveAction | DeleteAction):
            return _REMOVAL + target
        return _ASSIGNMENT + target + self._operand(action.value, names)

    def _operand(self, operand: Operand, names: Mapping[str, str]) -> int:
        match operand:
            case Placeholder(name):
                self._used.append(name)
                return 0
            case Literal(value):
                return value_size(value)
            case Path():
                return 1 + sum(_OPERAND_ELEMENT + _element(part) for part in resolved(operand, names).parts)
            case Arithmetic(operator, left, right):
                return _CALLS[operator] + self._operand(left, names) + self._operand(right, names)
            case Function(name, arguments):
                return _CALLS[name] + sum(self._operand(argument, names) for argument in arguments)


def _element(part: PathPart) -> int:
    return len(str(part)) if isinstance(part, int) else text_size(part)
