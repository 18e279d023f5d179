"""The checks of a condition that DynamoDB makes before it reads any item, in its order.

Syntax, parentheses and limits are checked by the parser. Then, over the whole expression:

1. functions that do not exist or belong to another kind of expression,
2. functions used as a condition that cannot be one, or as an operand,
3. reserved words and impossible list indexes.

These depend on the text alone and are raised when the expression is compiled. After them each comparison or
function, in the order written, is checked for

4. names and values that the request does not define,
5. the number of operands,
6. operands that must differ,
7. operand types.

These need the request's values, so each leaf of the tree becomes a ``LeafCheck`` to be run per request.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from tablewright.dynamo.attribute_values import AttributeValue
from tablewright.dynamo.expressions.nodes import (
    And,
    Between,
    Compare,
    Condition,
    Function,
    In,
    Leaf,
    Literal,
    Not,
    Operand,
    Or,
    Path,
    Placeholder,
)
from tablewright.dynamo.expressions.path_checks import name_problem, path_text, resolved, word_problem
from tablewright.dynamo.limits import MAX_IN_OPERANDS

Values = Mapping[str, AttributeValue]
Test = Callable[[Values], str | None]

CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}
OPERAND_COUNTS = {**CONDITION_FUNCTIONS, **UPDATE_FUNCTIONS, "size": 1}

ORDERED_TYPES = frozenset({"S", "N", "B"})
TEXT_TYPES = frozenset({"S", "B"})
SIZED_TYPES = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})
TYPES = frozenset({"S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"})
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
TYPE_NAMES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


@dataclass(frozen=True, slots=True)
class LeafCheck:
    """The checks of one comparison or function, in order."""

    references: tuple[Placeholder | str, ...]
    """A value that must be defined, or the message about an undefined name."""
    fixed: str | None
    """An error that no value can resolve."""
    tests: tuple[Test, ...]

    @property
    def sound(self) -> bool:
        return self.fixed is None and not any(isinstance(reference, str) for reference in self.references)

    def problem(self, values: Values) -> str | None:
        for reference in self.references:
            if isinstance(reference, str):
                return reference
            if reference.name not in values:
                return undefined_value(reference.name)
        if self.fixed is not None:
            return self.fixed
        for test in self.tests:
            if (problem := test(values)) is not None:
                return problem
        return None


def undefined_value(name: str) -> str:
    return f"An expression attribute value used in expression is not defined; attribute value: {name}"


# -- the whole expression ------------------------------------------------------------------------


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons and functions of a condition, as written."""
    pending: list[Condition] = [condition]
    while pending:
        node = pending.pop()
        if isinstance(node, And | Or):
            pending.extend(reversed(node.parts))
        elif isinstance(node, Not):
            pending.append(node.part)
        else:
            yield node


def operands(leaf: Leaf) -> tuple[Operand, ...]:
    match leaf:
        case Compare(_, left, right):
            return (left, right)
        case Between(operand, low, high):
            return (operand, low, high)
        case In(operand, options):
            return (operand, *options)
        case Function(_, arguments):
            return arguments


def functions(operand: Operand) -> Iterator[Function]:
    """The calls in an operand, an outer one before those in its arguments."""
    if isinstance(operand, Function):
        yield operand
        for argument in operand.arguments:
            yield from functions(argument)


def references(operand: Operand) -> Iterator[Path | Placeholder]:
    if isinstance(operand, Path | Placeholder):
        yield operand
    elif isinstance(operand, Function):
        for argument in operand.arguments:
            yield from references(argument)


def function_problem(name: str, in_update: bool) -> str | None:
    if name not in OPERAND_COUNTS:
        return f"Invalid function name; function: {name}"
    if in_update and name not in UPDATE_FUNCTIONS:
        return f"The function is not allowed in an update expression; function: {name}"
    if not in_update and name in UPDATE_FUNCTIONS:
        return f"The function is not allowed in a condition expression; function: {name}"
    return None


def misused_function(name: str) -> str:
    return f"The function is not allowed to be used this way in an expression; function: {name}"


def text_problem(condition: Condition) -> str | None:
    """Steps 1 to 3."""
    all_leaves = list(leaves(condition))
    for leaf in all_leaves:
        calls = [leaf] if isinstance(leaf, Function) else []
        for operand in operands(leaf):
            calls.extend(functions(operand))
        for call in calls:
            if (problem := function_problem(call.name, in_update=False)) is not None:
                return problem
    for leaf in all_leaves:
        if (misused := _misused_function(leaf)) is not None:
            return misused_function(misused)
    for leaf in all_leaves:
        for operand in operands(leaf):
            for reference in references(operand):
                if isinstance(reference, Path) and (problem := word_problem(reference)) is not None:
                    return problem
    return None


def _misused_function(leaf: Leaf) -> str | None:
    """Only ``size`` returns a value, and only the others return a boolean."""
    if isinstance(leaf, Function) and leaf.name == "size":
        return leaf.name
    for operand in operands(leaf):
        for call in functions(operand):
            if call.name != "size":
                return call.name
    return None


# -- one comparison or function ------------------------------------------------------------------


def leaf_check(leaf: Leaf, names: Mapping[str, str]) -> LeafCheck:
    """Steps 4 to 7 for a leaf whose ``#names`` have not been replaced yet."""
    wanted: list[Placeholder | str] = []
    for operand in operands(leaf):
        for reference in references(operand):
            if isinstance(reference, Placeholder):
                wanted.append(reference)
            elif (problem := name_problem(reference, names)) is not None:
                wanted.append(problem)
    fixed = _operand_count(leaf) or same_operands(leaf, names)
    if fixed is not None:
        return LeafCheck(tuple(wanted), fixed, ())
    tests: list[Test] = []
    for operand in operands(leaf):
        for call in functions(operand):
            tests.extend(_function_tests(call))
    if isinstance(leaf, Function):
        tests.extend(_function_tests(leaf))
    elif isinstance(leaf, Compare) and leaf.operator not in ("=", "<>"):
        tests.extend(type_tests(leaf.operator, operands(leaf), ORDERED_TYPES))
    elif isinstance(leaf, Between):
        tests.extend(type_tests("BETWEEN", operands(leaf), ORDERED_TYPES))
        tests.append(_bounds_test(leaf.low, leaf.high))
    return LeafCheck(tuple(wanted), None, tuple(tests))


def operand_count_problem(call: Function) -> str | None:
    if len(call.arguments) == OPERAND_COUNTS[call.name]:
        return None
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {call.name}, number of operands: {len(call.arguments)}"
    )


def _operand_count(leaf: Leaf) -> str | None:
    for operand in operands(leaf):
        for call in functions(operand):
            if (problem := operand_count_problem(call)) is not None:
                return problem
    if isinstance(leaf, Function):
        return operand_count_problem(leaf)
    if isinstance(leaf, In) and len(leaf.options) > MAX_IN_OPERANDS:
        return f"The IN operator is provided with too many operands; number of operands: {len(leaf.options)}"
    return None


def same_operands(leaf: Leaf, names: Mapping[str, str]) -> str | None:
    """The first operand differs from all others."""
    first, *rest = operands(leaf)
    if not isinstance(first, Path):
        return None
    path = resolved(first, names)
    for other in rest:
        if isinstance(other, Path) and resolved(other, names) == path:
            match leaf:
                case Compare(operator=name) | Function(name=name):
                    pass
                case Between():
                    name = "BETWEEN"
                case In():
                    name = "IN"
            return (
                "The first operand must be distinct from the remaining operands for this operator or "
                f"function; operator: {name}, first operand: {path_text(path.parts)}"
            )
    return None


def _function_tests(call: Function) -> Iterator[Test]:
    if call.name == "size":
        yield from type_tests("size", call.arguments, SIZED_TYPES)
    elif call.name == "begins_with":
        yield from type_tests("begins_with", call.arguments, TEXT_TYPES)
    elif call.name == "attribute_type":
        yield _type_name_test(call.arguments[1])
    if call.name in ("attribute_exists", "attribute_not_exists") and not isinstance(call.arguments[0], Path):
        yield always(path_required(call.name))


def always(problem: str) -> Test:
    return lambda values: problem


def path_required(function: str) -> str:
    return f"Operator or function requires a document path; operator or function: {function}"


def incorrect_type(operator: str, tag: str) -> str:
    return f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {tag}"


def type_tests(operator: str, candidates: tuple[Operand, ...], allowed: frozenset[str]) -> Iterator[Test]:
    """A test for each operand whose type is known before the item is read."""
    for operand in candidates:
        if isinstance(operand, Placeholder):
            yield _type_test(operator, operand.name, allowed)
        elif (tag := static_type(operand, {})) is not None and tag not in allowed:
            yield always(incorrect_type(operator, tag))


def _type_test(operator: str, name: str, allowed: frozenset[str]) -> Test:
    def test(values: Values) -> str | None:
        (tag,) = values[name]
        return None if tag in allowed else incorrect_type(operator, tag)

    return test


def static_type(operand: Operand, values: Values) -> str | None:
    """An operand's type as far as the request determines it; that of a path depends on the item."""
    match operand:
        case Placeholder(name):
            return next(iter(values[name]), None) if name in values else None
        case Literal(value):
            return next(iter(value), None)
        case Function(name="size"):
            return "N"
        case _:
            return None


def constant(operand: Operand, values: Values) -> AttributeValue | None:
    if isinstance(operand, Placeholder):
        return values[operand.name]
    return operand.value if isinstance(operand, Literal) else None


def _type_name_test(operand: Operand) -> Test:
    def test(values: Values) -> str | None:
        tag = static_type(operand, values)
        if tag != "S":
            return incorrect_type("attribute_type", tag or _ANY_TYPE)
        value = constant(operand, values)
        if value is not None and value["S"] not in TYPES:
            return f"Invalid attribute type name found; type: {value['S']}, valid types: {TYPE_NAMES}"
        return None

    return test


def _bounds_test(low: Operand, high: Operand) -> Test:
    def test(values: Values) -> str | None:
        lower, upper = constant(low, values), constant(high, values)
        if lower is None or upper is None:
            return None
        if lower.keys() != upper.keys():
            rule = "same data type for lower and upper bounds"
        elif compare(lower, upper) == 1:
            rule = "upper bound to be greater than or equal to lower bound"
        else:
            return None
        return (
            f"The BETWEEN operator requires {rule}; "
            f"lower bound operand: AttributeValue: {_bound_text(lower)}, "
            f"upper bound operand: AttributeValue: {_bound_text(upper)}"
        )

    return test


def _bound_text(value: AttributeValue) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"


def compare(one: AttributeValue, other: AttributeValue) -> int | None:
    """-1, 0 or 1 for two values of the same ordered type; otherwise None.

    Code points of Python strings order as their UTF-8 bytes do, which is DynamoDB's order.
    """
    ((tag, left),) = one.items()
    right = other.get(tag)
    if right is None:
        return None
    if tag == "N":
        left, right = Decimal(left), Decimal(right)
    elif tag == "B":
        left, right = base64.b64decode(left), base64.b64decode(right)
    elif tag != "S":
        return None
    return int(left > right) - int(left < right)
