"""Key conditions: a KeyConditionExpression as the partition and the range of sort keys that a Query reads.

The expression is first a condition like any other, with all its checks. Then it must be an AND of comparisons of one
key attribute with values each, and then these must fit the key: equality on every partition attribute; on the sort
attributes equality from the left without a gap, and only the last one used may have another operator. (Tables have one
partition and at most one sort attribute, global secondary indexes up to four of each.)

The three steps are separate because DynamoDB does other things in between: the request's other expressions and unused
placeholders after the first, the lookup of the table after the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tablewright.dynamo.attribute_values import AttributeValue
from tablewright.dynamo.errors import ValidationException
from tablewright.dynamo.expressions.compile_cache import compiler
from tablewright.dynamo.expressions.condition_checks import Values
from tablewright.dynamo.expressions.conditions import ConditionProgram, compile_condition
from tablewright.dynamo.expressions.nodes import (
    And,
    Between,
    Compare,
    Condition,
    Function,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
    Placeholder,
)
from tablewright.dynamo.expressions.path_checks import resolved

_KIND = "KeyConditionExpression"
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INDEXABLE = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})
_NOT_SUPPORTED = "Query key condition not supported"

Bound = tuple[str, tuple[AttributeValue, ...]]
"""An operator (``= < <= > >= BETWEEN begins_with``) and its operands."""


class _Unsuitable(Exception):
    """The condition is valid, but not a key condition."""


class KeyConditionProgram:
    """A compiled key condition, to be run with ``check`` and ``bounds``; ``bind_bounds`` is the step after those."""

    __slots__ = ("_bounds", "_condition", "_unsuitable", "used_names", "used_values")

    def __init__(self, condition: ConditionProgram, names: Mapping[str, str]) -> None:
        self._condition = condition
        self.used_names = condition.used_names
        self.used_values = condition.used_values
        self._bounds: dict[str, tuple[str, tuple[Placeholder | Literal, ...]]] = {}
        self._unsuitable: str | None = None
        try:
            self._collect(condition.node, names)
        except _Unsuitable as unsuitable:
            self._unsuitable = str(unsuitable)

    def check(self, values: Values | None) -> None:
        """Raises the errors that any condition expression can have."""
        self._condition.check(values)

    def bounds(self, values: Values) -> dict[str, Bound]:
        """The operator and operands for each attribute; raises if this is not a key condition."""
        if self._unsuitable is not None:
            raise ValidationException(self._unsuitable)
        return {
            attribute: (operator, tuple([_constant(operand, values) for operand in operands]))
            for attribute, (operator, operands) in self._bounds.items()
        }

    def _collect(self, node: Condition, names: Mapping[str, str]) -> None:
        match node:
            case And(parts):
                for part in parts:
                    self._collect(part, names)
                return
            case Or():
                raise _invalid_operator("OR")
            case Not():
                raise _invalid_operator("NOT")
            case In():
                raise _invalid_operator("IN")
            case Compare(operator="<>"):
                raise _invalid_operator("<>")
            case Function(name=name) if name != "begins_with":
                raise _invalid_operator(name)
            case Compare(operator, left, right):
                operands: tuple[Operand, ...] = (left, right)
            case Between(operand, low, high):
                operator, operands = "BETWEEN", (operand, low, high)
            case Function(operator, arguments):
                operands = arguments
        if operator in ("BETWEEN", "begins_with") and not isinstance(operands[0], Path):
            raise _Unsuitable(
                f"Invalid condition in KeyConditionExpression: {operator} operator must have the key "
                "attribute as its first operand"
            )
        attribute = _only_attribute(operands, names)
        if attribute in self._bounds:
            raise _Unsuitable(f"Invalid {_KIND}: KeyConditionExpressions must only contain one condition per key")
        if not isinstance(operands[0], Path):
            operator = _MIRRORED[operator]
        constants = tuple(operand for operand in operands if isinstance(operand, Placeholder | Literal))
        self._bounds[attribute] = (operator, constants)


def _constant(operand: Placeholder | Literal, values: Values) -> AttributeValue:
    return values[operand.name] if isinstance(operand, Placeholder) else operand.value


def _invalid_operator(name: str) -> _Unsuitable:
    return _Unsuitable(f"Invalid operator used in KeyConditionExpression: {name}")


def _only_attribute(operands: tuple[Operand, ...], names: Mapping[str, str]) -> str:
    attribute: str | None = None
    for operand in operands:
        if isinstance(operand, Path):
            if attribute is not None:
                raise _Unsuitable(
                    "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
                )
            if len(operand.parts) > 1:
                raise _Unsuitable(
                    f"Invalid {_KIND}: KeyConditionExpressions cannot have conditions on nested attributes"
                )
            attribute = str(resolved(operand, names).parts[0])
        elif isinstance(operand, Function):
            raise _Unsuitable(f"Invalid {_KIND}: KeyConditionExpressions cannot contain nested operations")
    if attribute is None:
        raise _Unsuitable("Invalid condition in KeyConditionExpression: No key attribute specified")
    return attribute


def bind_bounds(
    bounds: Mapping[str, Bound], partition_keys: Sequence[str], sort_keys: Sequence[str]
) -> tuple[dict[str, AttributeValue], list[tuple[str, str, tuple[AttributeValue, ...]]]]:
    """The bounds sorted into those of the partition and those of the sort key."""
    attributes = len(partition_keys) + len(sort_keys)
    if len(bounds) > attributes:
        raise ValidationException(
            f"The number of query conditions ({len(bounds)}) exceeds the number of key attributes defined in the "
            f"schema ({attributes})"
        )
    if attributes > 2 or len(partition_keys) > 1:
        _check_partition(bounds, partition_keys)
    partition: dict[str, AttributeValue] = {}
    sort: list[tuple[str, str, tuple[AttributeValue, ...]]] = []
    for attribute in partition_keys:
        if attribute not in bounds:
            raise _missed(attribute)
        operator, operands = _indexable(bounds[attribute])
        if operator != "=":
            raise ValidationException(_NOT_SUPPORTED)
        partition[attribute] = operands[0]
    if len(sort_keys) > 1:
        _check_leading(bounds, sort_keys)
    for attribute in sort_keys:
        if len(partition) + len(sort) == len(bounds):
            break
        if attribute not in bounds:
            raise _missed(attribute)
        sort.append((attribute, *_indexable(bounds[attribute])))
    if len(partition) + len(sort) < len(bounds):
        raise ValidationException(_NOT_SUPPORTED)
    return partition, sort


def _check_partition(bounds: Mapping[str, Bound], partition_keys: Sequence[str]) -> None:
    """The required conditions of a multi-attribute key, checked together."""
    lacking = [name for name in partition_keys if name not in bounds or bounds[name][0] != "="]
    if lacking:
        raise ValidationException(
            f"HASH key attributes {', '.join(lacking)} must have equality conditions specified in the query"
        )


def _check_leading(bounds: Mapping[str, Bound], sort_keys: Sequence[str]) -> None:
    """The attributes before the last sort attribute used must have equality conditions."""
    last = max((position for position, attribute in enumerate(sort_keys) if attribute in bounds), default=0)
    lacking = [name for name in sort_keys[:last] if name not in bounds or bounds[name][0] != "="]
    if lacking:
        raise ValidationException(
            f"RANGE key attributes {', '.join(lacking)} must have equality conditions specified in the query "
            f"because a condition is present on key attribute {sort_keys[last]}"
        )


def _indexable(bound: Bound) -> Bound:
    """Only the legacy KeyConditions can have an operator that keys cannot be looked up by."""
    if bound[0] not in _INDEXABLE:
        raise ValidationException("Attempted conditional constraint is not an indexable operation")
    return bound


def _missed(attribute: str) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {attribute}")


@compiler(_KIND)
def compile_key_condition(text: str, names: Mapping[str, str]) -> KeyConditionProgram:
    """The program of a key condition expression; raises the errors in its text."""
    return KeyConditionProgram(compile_condition(text, names, _KIND), names)
