"""WHERE clauses as conditions of the expression language.

PartiQL has booleans where the expression language has conditions: ``contains(a, 'x') = false`` compares one. Such a
comparison is rewritten with AND, OR and NOT; because that repeats its operands, only a few are accepted.
"""

from __future__ import annotations

from tablewright.dynamo.expressions import And, Between, Compare, Condition, Function, In, Literal, Not, Operand, Or
from tablewright.engine.partiql.operands import is_value, path, refused_call, value
from tablewright.engine.partiql.refusals import refused
from tablewright.engine.partiql.syntax import statement_lexer, syntax_tree

_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_CONNECTIVES = _COMPARATORS | {"and", "or", "not", "between", "not between", "in", "not in", "is", "is not"}
_PREDICATES = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
_TYPES = {
    "null": "NULL",
    "boolean": "BOOL",
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
    if is_value(node) or _is_path(node) or _is_size(node):
        raise refused("WHERE clause must contain an expression that resolves to a boolean")
    return _Translation().condition(node)


class _Translation:
    def __init__(self) -> None:
        self._boolean_comparisons = 0

    def condition(self, node: syntax_tree.Node) -> Condition:
        match node:
            case syntax_tree.Operation(_, "and" | "or" as operator, operands):
                parts = tuple(self._part(operator, operand) for operand in operands)
                return And(parts) if operator == "and" else Or(parts)
            case syntax_tree.Operation(_, "not", (operand,)):
                return Not(self._part("not", operand))
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
            case syntax_tree.Operation(at, "is" | "is not" as operator, (operand, syntax_tree.TypeName() as type_name)):
                has_type = _has_type(operand, type_name, at)
                return has_type if operator == "is" else Not(has_type)
            case syntax_tree.Call() if node.name in _PREDICATES:
                return self._call(node)
        raise self._unusable(node)

    def _part(self, operator: str, node: syntax_tree.Node) -> Condition:
        """The operands of AND, OR and NOT."""
        if is_value(node) or _is_path(node):
            self.operand(node)  # raises what is wrong with it in itself
            raise refused(
                "The argument to NOT must be a Type or Expression"
                if operator == "not"
                else "The arguments to AND/OR must be Expressions"
            )
        if _is_size(node):
            raise _wrong_type(operator.upper(), "N")
        return self.condition(node)

    def operand(self, node: syntax_tree.Node) -> Operand:
        if is_value(node):
            return value(node)
        match node:
            case syntax_tree.Name() | syntax_tree.Path():
                return path(node)
            case syntax_tree.Call() if _is_size(node):
                return self._call(node)
        raise self._unusable(node)

    def _call(self, node: syntax_tree.Call) -> Function:
        return Function(node.name, tuple(map(self.operand, node.arguments)))

    def _unusable(self, node: syntax_tree.Node) -> Exception:
        """Why a node is neither a condition nor an operand."""
        match node:
            case syntax_tree.Call() if not node.is_aggregate:
                self._call(node)
                return refused_call(node, in_update=False)
            case syntax_tree.Operation():
                operator = node.operator.removeprefix("not ")
                return refused(f"Unsupported operator in Condition Expression. Operator: {operator}")
        return refused(f"Unsupported token in expression: {syntax_tree.written(node)}", node.at)

    def _member(self, operand: syntax_tree.Node, options: syntax_tree.Node) -> Condition:
        if not isinstance(options, syntax_tree.Sequence) or not options.members:
            raise refused(
                "IN operator must have a left hand argument of type Variable Reference and right hand argument of "
                "type Seq with at least one member"
            )
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
        """The condition that another one equals the right side, which may also be a condition."""
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
        # "=" by way of "<>", which says nothing about a key.
        true, false = (Not(Compare("<>", operand, truth)) for truth in (_TRUE, _FALSE))
        return Or((And((one, true)), And((Not(one), false))))


def _is_condition(node: syntax_tree.Node) -> bool:
    match node:
        case syntax_tree.Operation(_, operator):
            return operator in _CONNECTIVES
        case syntax_tree.Call():
            return node.name in _PREDICATES
    return False


def _is_path(node: syntax_tree.Node) -> bool:
    return isinstance(node, syntax_tree.Name | syntax_tree.Path)


def _is_size(node: syntax_tree.Node) -> bool:
    return isinstance(node, syntax_tree.Call) and node.name == "size"


def _wrong_type(operator: str, tag: str = "BOOL") -> Exception:
    return refused(
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}"
    )


def _has_type(node: syntax_tree.Node, type_name: syntax_tree.TypeName, at: statement_lexer.Token) -> Condition:
    match node:
        case syntax_tree.Name() | syntax_tree.Path():
            operand: Operand = path(node)
        case syntax_tree.Constant(kind=constant) if constant != "missing":
            operand = value(node)
        case _:
            raise refused("The left hand side argument to IS must be a Variable Reference, Literal, or Path")
    if type_name.text == "missing":
        return Function("attribute_not_exists", (operand,))
    tag = _TYPES.get(type_name.text)
    if tag is None:
        raise refused(
            f"Unsupported data type for IS operator: {type_name.text.replace(' ', '_').upper()}. Supported data "
            "types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]",
            at,
        )
    if isinstance(operand, Literal):
        return Compare("=", _TRUE, _TRUE if tag in operand.value else _FALSE)
    return Function("attribute_type", (operand, Literal({"S": tag})))
