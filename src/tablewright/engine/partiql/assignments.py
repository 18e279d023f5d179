"""The SET and REMOVE of an UPDATE as actions of an update expression.

``SET a = set_add(a, ...)`` and ``set_delete`` correspond to ADD and DELETE there, so they may only name the
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
from tablewright.engine.partiql.operands import is_value, path, refused_call, value
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
        if isinstance(node, syntax_tree.Call) and node.name in ("set_add", "set_delete"):
            self._add_to_set(target, node)
        else:
            self.actions.append(SetAction(target, _operand(node)))

    def _add_to_set(self, target: Path, call: syntax_tree.Call) -> None:
        name = call.name.upper()
        if len(call.arguments) != 2:
            raise refused(f"{name} must have exactly two arguments", call.at)
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
        case syntax_tree.Operation(_, "+" | "-" as operator, operands):
            if len(operands) == 1:
                raise refused(
                    "Incorrect number of operands for operator or function; "
                    f"operator or function: {operator}, number of operands: 1"
                )
            return Arithmetic(operator, *map(_operand, operands))
        case syntax_tree.Operation(_, "is" | "is not"):
            raise refused("IS operator is not supported in update expressions")
        case syntax_tree.Operation(_, operator):
            raise refused(f"Unsupported operator in Update Expression. Operator: {operator.removeprefix('not ')}")
        case syntax_tree.Call() if not node.is_aggregate:
            arguments = tuple(map(_operand, node.arguments))
            if node.name in _FUNCTIONS:
                return Function(node.name, arguments)
            raise refused_call(node, in_update=True)
    raise refused(f"Unsupported token in expression: {syntax_tree.written(node)}", node.at)
