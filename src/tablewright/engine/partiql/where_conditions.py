"""WHERE clauses as conditions of the expression language.

PartiQL has booleans where the expression language has conditions: ``contains(a, 'x') = false`` compares
one. Such a comparison is rewritten with AND, OR and NOT; because that repeats its operands, only a few are
taken.
"""

from __future__ import annotations

from tablewright.dynamo import Path
from tablewright.dynamo.expressions import And, Between, Compare, Condition, Function, In, Literal, Not, Operand, Or
from tablewright.engine.partiql.operands import is_value, path, value
from tablewright.engine.partiql.refusals import refused
from tablewright.engine.partiql.syntax import statement_lexer, syntax_tree

_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_CONNECTIVES = _COMPARATORS | {"and", "or", "not", "between", "not between", "in", "not in", "is", "is not"}
_PREDICATES = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
_TYPES = {
    "null": "NULL",
    "boolean": "BOOL",
    "bool": "BOOL",
    "blob": "B",
    "string": "S",
    "numeric": "N",
    "struct": "M",
    "tuple": "M",
    "list": "L",
}
_TRUE = Literal({"BOOL": True})
_FALSE = Literal({"BOOL": False})
_MAX_BOOLEAN_COMPARISONS = 8


def condition(node: syntax_tree.Node) -> Condition:
    """The condition that a WHERE clause states."""
    return _Translation().condition(node)


class _Translation:
    def __init__(self) -> None:
        self._boolean_comparisons = 0

    def condition(self, node: syntax_tree.Node) -> Condition:
        match node:
            case syntax_tree.Operation(_, "and", operands):
                return And(tuple(map(self.condition, operands)))
            case syntax_tree.Operation(_, "or", operands):
                return Or(tuple(map(self.condition, operands)))
            case syntax_tree.Operation(_, "not", (operand,)):
                return Not(self.condition(operand))
            case syntax_tree.Operation(_, operator, (left, right)) if operator in _COMPARATORS:
                return self._comparison(operator, left, right)
            case syntax_tree.Operation(_, "between" | "not between" as operator, (operand, low, high)):
                if _is_condition(operand):
                    raise _wrong_type("BETWEEN")
                between = Between(self.operand(operand), self.operand(low), self.operand(high))
                return between if operator == "between" else Not(between)
            case syntax_tree.Operation(_, "in" | "not in" as operator, (operand, options)):
                member = self._member(operand, options)
                return member if operator == "in" else Not(member)
            case syntax_tree.Operation(_, "is" | "is not" as operator, (operand, syntax_tree.TypeName(at))):
                has_type = _has_type(self._path(operand), at)
                return has_type if operator == "is" else Not(has_type)
            case syntax_tree.Call(_, name, arguments) if name.lower() in _PREDICATES:
                return Function(name.lower(), tuple(map(self.operand, arguments)))
            case syntax_tree.Call(at, name):
                raise refused(f"Unrecognized function: {name}", at)
            case syntax_tree.Operation(_, operator):
                raise refused(f"Unsupported operator in Condition Expression. Operator: {operator}")
        raise refused("Unexpected condition", node.at)

    def operand(self, node: syntax_tree.Node) -> Operand:
        if is_value(node):
            return value(node)
        match node:
            case syntax_tree.Name() | syntax_tree.Path():
                return path(node)
            case syntax_tree.Call(_, name, arguments) if name.lower() == "size":
                return Function("size", tuple(map(self.operand, arguments)))
            case syntax_tree.Call(at, name) if name.lower() not in _PREDICATES:
                raise refused(f"Unrecognized function: {name}", at)
            case syntax_tree.Operation(_, operator):
                raise refused(f"Unsupported operator in Condition Expression. Operator: {operator}")
        raise refused("Unexpected operand", node.at)

    def _path(self, node: syntax_tree.Node) -> Path:
        if not isinstance(node, syntax_tree.Name | syntax_tree.Path):
            raise refused("Unexpected path component", node.at)
        return path(node)

    def _member(self, operand: syntax_tree.Node, options: syntax_tree.Node) -> Condition:
        if not isinstance(options, syntax_tree.Sequence) or options.is_bag:
            raise refused("The IN operator must be followed by a list", options.at)
        if _is_condition(operand):
            return Or(tuple(self._equality(operand, option) for option in options.members))
        return In(self.operand(operand), tuple(map(self.operand, options.members)))

    # -- comparisons -------------------------------------------------------------------------------

    def _comparison(self, operator: str, left: syntax_tree.Node, right: syntax_tree.Node) -> Condition:
        if not _is_condition(left):
            if not _is_condition(right):
                return Compare(operator, self.operand(left), self.operand(right))
            left, right = right, left
        if operator not in ("=", "<>"):
            raise _wrong_type(operator)
        equal = self._equality(left, right)
        return equal if operator == "=" else Not(equal)

    def _equality(self, left: syntax_tree.Node, right: syntax_tree.Node) -> Condition:
        """That a condition is as true as the right side, which may be a condition too."""
        self._boolean_comparisons += 1
        if self._boolean_comparisons > _MAX_BOOLEAN_COMPARISONS:
            raise refused("The expression contains too many operators")
        one = self.condition(left)
        if _is_condition(right):
            other = self.condition(right)
            return Or((And((one, other)), And((Not(one), Not(other)))))
        operand = self.operand(right)
        if isinstance(operand, Literal):
            if "BOOL" in operand.value:
                return one if operand.value["BOOL"] else Not(one)
            return And((one, Not(one)))
        return Or((And((one, Compare("=", operand, _TRUE))), And((Not(one), Compare("=", operand, _FALSE)))))


def _is_condition(node: syntax_tree.Node) -> bool:
    match node:
        case syntax_tree.Operation(_, operator):
            return operator in _CONNECTIVES
        case syntax_tree.Call(_, name):
            return name.lower() in _PREDICATES
    return False


def _wrong_type(operator: str) -> Exception:
    return refused(
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: BOOL"
    )


def _has_type(operand: Path, at: statement_lexer.Token) -> Condition:
    if at.text == "missing":
        return Function("attribute_not_exists", (operand,))
    tag = _TYPES.get(at.text)
    if tag is None:
        raise refused(
            f"Unsupported data type for IS operator: {at.text.upper()}. Supported data types are "
            "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
        )
    return Function("attribute_type", (operand, Literal({"S": tag})))
