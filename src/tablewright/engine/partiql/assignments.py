"""The SET and REMOVE of an UPDATE as actions of an update expression.

``SET a = set_add(a, ...)`` and ``set_delete`` are what ADD and DELETE are there, so they may only name the
attribute that they assign to.
"""

from __future__ import annotations

from tablewright.dynamo import Path
from tablewright.dynamo.expressions import (
    Action,
    AddAction,
    Arithmetic,
    DeleteAction,
    Function,
    Literal,
    Operand,
    Placeholder,
    RemoveAction,
    SetAction,
)
from tablewright.engine.partiql.operands import is_value, path, value
from tablewright.engine.partiql.refusals import refused
from tablewright.engine.partiql.syntax import syntax_tree

_SETS = frozenset({"SS", "NS", "BS"})
_FUNCTIONS = frozenset({"list_append", "if_not_exists"})


class Assignments:
    """Collects the actions, and the parameters that have to be sets."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.sets: list[tuple[Placeholder, str]] = []

    def add(self, operation: syntax_tree.Assignment | syntax_tree.Removal) -> None:
        target = _path(operation.target)
        if isinstance(operation, syntax_tree.Removal):
            self.actions.append(RemoveAction(target))
            return
        node = operation.value
        if isinstance(node, syntax_tree.Call) and node.name.lower() in ("set_add", "set_delete"):
            self._add_to_set(target, node)
        elif isinstance(node, syntax_tree.Operation) and node.operator in ("+", "-") and len(node.operands) == 2:
            left, right = map(_operand, node.operands)
            self.actions.append(SetAction(target, Arithmetic(node.operator, left, right)))
        else:
            self.actions.append(SetAction(target, _operand(node)))

    def _add_to_set(self, target: Path, call: syntax_tree.Call) -> None:
        name = call.name.upper()
        if len(call.arguments) != 2:
            raise refused(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {name}, number of operands: {len(call.arguments)}"
            )
        first, second = call.arguments
        if not isinstance(first, syntax_tree.Name | syntax_tree.Path) or path(first) != target:
            raise refused(f"The first argument to {name} must equal the assignment value", call.at)
        message = f"The second argument to {name} must be a value with type SET at {first.at.place}"
        if not is_value(second):
            raise refused(message)
        operand = value(second)
        if isinstance(operand, Placeholder):
            self.sets.append((operand, message))
        elif next(iter(operand.value)) not in _SETS:
            raise refused(message)
        self.actions.append(AddAction(target, operand) if name == "SET_ADD" else DeleteAction(target, operand))


def _path(node: syntax_tree.Node) -> Path:
    if not isinstance(node, syntax_tree.Name | syntax_tree.Path):
        raise refused("Unexpected path component", node.at)
    return path(node)


def _operand(node: syntax_tree.Node) -> Operand:
    if is_value(node):
        operand: Literal | Placeholder = value(node)
        return operand
    match node:
        case syntax_tree.Name() | syntax_tree.Path():
            return path(node)
        case syntax_tree.Call(_, name, arguments) if name.lower() in _FUNCTIONS:
            return Function(name.lower(), tuple(map(_operand, arguments)))
        case syntax_tree.Call(at, name):
            raise refused(f"Unrecognized function: {name}", at)
        case syntax_tree.Operation(_, operator):
            raise refused(f"Unsupported operator in Update Expression. Operator: {operator}")
    raise refused("Unexpected operand", node.at)
