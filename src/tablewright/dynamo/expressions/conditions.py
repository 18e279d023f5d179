"""Conditions as programs: a tree becomes nested Python closures once, and they run for every item.

The compiled program depends on the text and the ``#names`` only; the ``:values`` are passed in every call. So a program
is cached by text and names, and an application that sends the same expression with other values parses it only once.

A condition may search one long list hundreds of times. If it has many comparisons, each list is searched and each pair
of long values compared once for an item (``_Evaluation``), so that the cost for an item is bounded by its size and that
of the values, not by their product with the length of the expression.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from tablewright.dynamo.attribute_values import AttributeValue, Item, same_value
from tablewright.dynamo.document_paths import getter
from tablewright.dynamo.expressions import condition_checks
from tablewright.dynamo.expressions.compile_cache import cached_program
from tablewright.dynamo.expressions.condition_checks import LeafCheck, Values, compare
from tablewright.dynamo.expressions.nodes import (
    And,
    Arithmetic,
    Between,
    Compare,
    Condition,
    Function,
    In,
    Leaf,
    Literal,
    NameRef,
    Not,
    Operand,
    Or,
    Path,
    Placeholder,
)
from tablewright.dynamo.expressions.parser import InvalidExpression, Parser, check_size
from tablewright.dynamo.expressions.path_checks import nested_names, resolved, top_level_names

Names = tuple[tuple[str, str], ...]
Predicate = Callable[[Item, Values], bool]
Getter = Callable[[Item, Values], AttributeValue | None]

# The number of comparisons from which caching their results for an item is worthwhile.
_MANY_LEAVES = 8


class ConditionProgram:
    """A compiled condition. ``check`` a request's values first; then ``evaluate`` any number of items."""

    __slots__ = (
        "_checks",
        "_sound",
        "_tests",
        "evaluate",
        "kind",
        "nested_attributes",
        "node",
        "top_level_attributes",
        "used_names",
        "used_values",
        "weight",
    )

    def __init__(
        self, node: Condition, names: Mapping[str, str], kind: str = "", *, is_expression: bool = True
    ) -> None:
        self.kind = kind
        paths: list[Path] = []
        used_values: set[str] = set()
        used_names: set[str] = set()
        self._checks: list[LeafCheck] = []
        leaves = list(condition_checks.leaves(node))
        self.weight = len(leaves)
        """The maximum number of comparisons for an item."""
        for leaf in leaves:
            if is_expression:
                self._checks.append(condition_checks.leaf_check(leaf, names))
            for operand in condition_checks.operands(leaf):
                for reference in condition_checks.references(operand):
                    if isinstance(reference, Placeholder):
                        used_values.add(reference.name)
                    else:
                        paths.append(resolved(reference, names))
                        used_names.update(part for part in reference.parts if isinstance(part, NameRef))
        self._sound = all(check.sound for check in self._checks)
        self._tests = tuple(test for check in self._checks for test in check.tests)
        self.used_values: frozenset[str] = frozenset(used_values)
        self.used_names: frozenset[str] = frozenset(used_names)
        self.top_level_attributes = top_level_names(paths)
        self.nested_attributes = nested_names(paths)
        self.node = node
        """The tree as parsed, its ``#names`` not replaced."""
        self.evaluate: Predicate = _evaluator(node, leaves, names) if self._sound else _never

    def check(self, values: Values | None) -> None:
        """Raises DynamoDB's error if the values do not fit the expression."""
        values = values or {}
        if self._sound and self.used_values <= values.keys():
            for test in self._tests:
                if test(values) is not None:
                    break
            else:
                return
        for check in self._checks:
            if (problem := check.problem(values)) is not None:
                raise InvalidExpression(self.kind, problem)


def compile_condition(
    text: str, names: Mapping[str, str] | None = None, kind: str = "ConditionExpression", *, report_size: bool = False
) -> ConditionProgram:
    """The program of a condition or filter expression; raises the errors in its text."""
    check_size(kind, text, report_size=report_size)
    return _compiled(kind, text, tuple(names.items()) if names else ())


def condition_from_node(node: Condition) -> ConditionProgram:
    """A condition that was not written as an expression.

    The rules of expressions, such as the maximum of operands for IN, do not apply: ``check`` raises nothing.
    """
    return ConditionProgram(node, {}, is_expression=False)


def holds(condition: Condition, item: Item) -> bool:
    """Whether a condition that contains its values holds for an item; without checks or caching."""
    return _predicate(condition, {})(item, {})


@cached_program
def _compiled(kind: str, text: str, names: Names) -> ConditionProgram:
    node = Parser(kind, text).condition()
    if (problem := condition_checks.text_problem(node)) is not None:
        raise InvalidExpression(kind, problem)
    return ConditionProgram(node, dict(names), kind)


def _never(item: Item, values: Values) -> bool:
    raise AssertionError("the values of this condition have not been checked")


# -- trees to closures ---------------------------------------------------------------------------


def _evaluator(node: Condition, leaves: Sequence[Leaf], names: Mapping[str, str]) -> Predicate:
    """A condition, which has these leaves, as a function of item and values."""
    if len(leaves) < _MANY_LEAVES:
        return _predicate(node, names)
    inner = _predicate(node, names, _repeated(leaves, names))
    return lambda item, values: inner(item, _Evaluation(values))


def _repeated(leaves: Sequence[Leaf], names: Mapping[str, str]) -> dict[Leaf, Predicate]:
    """The comparisons that a long condition has several times, each to be evaluated once for an item."""
    times: Counter[Leaf] = Counter()
    for leaf in leaves:
        # Not those that contain a value, which cannot be hashed.
        with suppress(TypeError):
            times[leaf] += 1
    return {leaf: _once(number, _leaf(leaf, names)) for number, leaf in enumerate(times) if times[leaf] > 1}


class _Evaluation(dict[str, AttributeValue]):
    """The values of a long condition, with cached results of its evaluation on one item."""

    __slots__ = ("_members", "results")

    def __init__(self, values: Values) -> None:
        super().__init__(values)
        self.results: dict[int, bool] = {}
        # By identity: the item stays unchanged and alive as long as this object.
        self._members: dict[int, frozenset[str | tuple[str, Any]]] = {}

    def scalars(self, content: list[Any]) -> frozenset[str | tuple[str, Any]]:
        """The elements of a set, or those of a list that are not lists, maps or sets themselves, with their types."""
        members = self._members.get(id(content))
        if members is None and not content:
            return frozenset()
        if members is None:
            try:
                members = frozenset(
                    content if type(content[0]) is str else chain.from_iterable(map(dict.items, content))
                )
            except TypeError:
                # A list that has lists, maps or sets among its elements.
                pairs = (next(iter(element.items())) for element in content)
                members = frozenset(pair for pair in pairs if pair[0] not in _COMPOSITE_TYPES)
            self._members[id(content)] = members
        return members


def _once(number: int, inner: Predicate) -> Predicate:
    """A comparison that is evaluated once for an item, and cached by its number."""

    def holds(item: Item, values: Values) -> bool:
        assert isinstance(values, _Evaluation)
        if (result := values.results.get(number)) is None:
            result = values.results[number] = inner(item, values)
        return result

    return holds


def _predicate(node: Condition, names: Mapping[str, str], shared: Mapping[Leaf, Predicate] | None = None) -> Predicate:
    match node:
        case And(parts):
            return _all([_predicate(part, names, shared) for part in parts])
        case Or(parts):
            return _any([_predicate(part, names, shared) for part in parts])
        case Not(part):
            inner = _predicate(part, names, shared)
            return lambda item, values: not inner(item, values)
        case _:
            if shared:
                with suppress(TypeError):
                    return shared.get(node) or _leaf(node, names)
            return _leaf(node, names)


def _leaf(node: Leaf, names: Mapping[str, str]) -> Predicate:
    match node:
        case Compare(operator, left, right):
            return _COMPARISONS[operator](operand_getter(left, names), operand_getter(right, names))
        case Between(operand, low, high):
            return _between(operand_getter(operand, names), operand_getter(low, names), operand_getter(high, names))
        case In(operand, options):
            literals = [option.value for option in options if isinstance(option, Literal)]
            if len(literals) == len(options):
                return _in_literals(operand_getter(operand, names), literals)
            # By their text, because the values in literals cannot be hashed.
            different = {repr(option): option for option in options}.values()
            return _in(operand_getter(operand, names), [operand_getter(option, names) for option in different])
        case Function(name, arguments):
            return _FUNCTIONS[name](*(operand_getter(argument, names) for argument in arguments))


def operand_getter(node: Operand, names: Mapping[str, str]) -> Getter:
    match node:
        case Path():
            at = getter(resolved(node, names).parts)
            return lambda item, values: at(item)
        case Placeholder(name):
            return lambda item, values: values[name]
        case Literal(value):
            return lambda item, values: value
        case Function(_, arguments):
            return _size(operand_getter(arguments[0], names))
        case Arithmetic():
            raise TypeError("arithmetic belongs to updates")


def _all(parts: list[Predicate]) -> Predicate:
    if len(parts) == 2:
        first, second = parts
        return lambda item, values: first(item, values) and second(item, values)

    def holds(item: Item, values: Values) -> bool:
        for part in parts:  # noqa: SIM110  a generator here would double the cost of every item
            if not part(item, values):
                return False
        return True

    return holds


def _any(parts: list[Predicate]) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        for part in parts:  # noqa: SIM110
            if part(item, values):
                return True
        return False

    return holds


def _equal(left: Getter, right: Getter) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        one = left(item, values)
        if one is None:
            return False
        other = right(item, values)
        return other is not None and same_value(one, other)

    return holds


def _not_equal(left: Getter, right: Getter) -> Predicate:
    """A missing value is not equal to anything."""
    equal = _equal(left, right)
    return lambda item, values: not equal(item, values)


def _ordered(*accepted: int) -> Callable[[Getter, Getter], Predicate]:
    def comparison(left: Getter, right: Getter) -> Predicate:
        def holds(item: Item, values: Values) -> bool:
            one, other = left(item, values), right(item, values)
            return one is not None and other is not None and compare(one, other) in accepted

        return holds

    return comparison


_COMPARISONS: dict[str, Callable[[Getter, Getter], Predicate]] = {
    "=": _equal,
    "<>": _not_equal,
    "<": _ordered(-1),
    "<=": _ordered(-1, 0),
    ">": _ordered(1),
    ">=": _ordered(1, 0),
}


def _between(operand: Getter, low: Getter, high: Getter) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        value, lower, upper = operand(item, values), low(item, values), high(item, values)
        if value is None or lower is None or upper is None:
            return False
        return compare(lower, value) in (-1, 0) and compare(value, upper) in (-1, 0)

    return holds


def _in(operand: Getter, options: list[Getter]) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        for option in options:
            candidate = option(item, values)
            if candidate is not None and same_value(value, candidate):
                return True
        return False

    return holds


def _in_literals(operand: Getter, options: list[AttributeValue]) -> Predicate:
    """``_in`` for values known when the condition is made; the legacy parameters do not limit their number."""
    scalars, others = set(), []
    for option in options:
        ((tag, content),) = option.items()
        if isinstance(content, (list, dict)):
            others.append(option)
        else:
            scalars.add((tag, content))

    def holds(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        ((tag, content),) = value.items()
        if isinstance(content, (list, dict)):
            return any(same_value(value, option) for option in others)
        return (tag, content) in scalars

    return holds


def _exists(operand: Getter) -> Predicate:
    return lambda item, values: operand(item, values) is not None


def _not_exists(operand: Getter) -> Predicate:
    return lambda item, values: operand(item, values) is None


def _has_type(operand: Getter, name: Getter) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        value, wanted = operand(item, values), name(item, values)
        return value is not None and wanted is not None and wanted.get("S") in value

    return holds


def _begins_with(operand: Getter, prefix: Getter) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        value, start = operand(item, values), prefix(item, values)
        if value is None or start is None:
            return False
        if "S" in value:
            return "S" in start and value["S"].startswith(start["S"])
        if "B" in value and "B" in start:
            return base64.b64decode(value["B"]).startswith(base64.b64decode(start["B"]))
        return False

    return holds


_COMPOSITE_TYPES = frozenset({"SS", "NS", "BS", "L", "M"})
_ELEMENT_OF_SET = {"SS": "S", "NS": "N", "BS": "B"}


def _contains(operand: Getter, element: Getter) -> Predicate:
    def holds(item: Item, values: Values) -> bool:
        value, wanted = operand(item, values), element(item, values)
        if value is None or wanted is None:
            return False
        ((tag, content),) = value.items()
        if tag == "L":
            ((kind, part),) = wanted.items()
            if kind not in _COMPOSITE_TYPES:
                return (kind, part) in values.scalars(content) if type(values) is _Evaluation else wanted in content
            return any(kind in member and same_value(member, wanted) for member in content)
        if tag in ("S", "B"):
            part = wanted.get(tag)
            if part is None:
                return False
            return part in content if tag == "S" else base64.b64decode(part) in base64.b64decode(content)
        if tag not in _ELEMENT_OF_SET:
            return False
        return wanted.get(_ELEMENT_OF_SET[tag]) in (values.scalars(content) if type(values) is _Evaluation else content)

    return holds


_FUNCTIONS: dict[str, Callable[..., Predicate]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _not_exists,
    "attribute_type": _has_type,
    "begins_with": _begins_with,
    "contains": _contains,
}


def _size(operand: Getter) -> Getter:
    def size(item: Item, values: Values) -> AttributeValue | None:
        value = operand(item, values)
        if value is None:
            return None
        ((tag, content),) = value.items()
        if tag == "S":
            # DynamoDB counts UTF-16 units, so a character beyond the first plane counts twice.
            length = len(content)
            if not content.isascii():
                length = len(content.encode("utf-16-le", "surrogatepass")) // 2
        elif tag == "B":
            length = len(base64.b64decode(content))
        elif tag in condition_checks.SIZED_TYPES:
            length = len(content)
        else:
            return None
        return {"N": str(length)}

    return size
