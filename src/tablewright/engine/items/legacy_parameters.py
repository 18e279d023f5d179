"""The parameters that predate expressions, as the same programs that expressions are compiled to.

    Expected, QueryFilter, ScanFilter (+ ConditionalOperator)   a ConditionProgram
    KeyConditions                                               the bounds of a key condition
    AttributeUpdates                                            an AttributeUpdates, used like an Update
    AttributesToGet                                             a ProjectionProgram

Attribute names here are names, never paths: ``a.b`` is an attribute with a dot in its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablewright.dynamo import (
    INVALID_VALUES,
    AttributeValue,
    Item,
    Path,
    RequestValidationException,
    ValidationException,
    check_name,
    checked,
)
from tablewright.dynamo.expressions import (
    And,
    Between,
    Bound,
    Compare,
    Condition,
    ConditionProgram,
    Function,
    In,
    Literal,
    Not,
    Or,
    ProjectionProgram,
    Values,
    add_values,
    compare,
    condition_from_node,
    subtract_elements,
)

_COMPARATORS = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}
_INDEX_OPERATORS = {**_COMPARATORS, "BETWEEN": "BETWEEN", "BEGINS_WITH": "begins_with"}
_SCALARS = frozenset({"S", "N", "B"})
# EQ and NE take values of every type; NULL and NOT_NULL take none.
_TYPES = {
    "LE": _SCALARS,
    "LT": _SCALARS,
    "GE": _SCALARS,
    "GT": _SCALARS,
    "CONTAINS": _SCALARS,
    "NOT_CONTAINS": _SCALARS,
    "BEGINS_WITH": frozenset({"S", "B"}),
    "IN": _SCALARS,
    "BETWEEN": _SCALARS,
}

_SETS = frozenset({"SS", "NS", "BS"})
# The types of an attribute that can contain a value of a type.
_HOLDERS = {"S": ("S", "SS", "L"), "N": ("NS", "L"), "B": ("B", "BS", "L")}


# -- conditions ------------------------------------------------------------------------------------


def condition_from_expected(
    expected: Mapping[str, Mapping[str, Any]] | None, conditional_operator: str | None = None
) -> ConditionProgram | None:
    """The condition of a write, or None when the request sets none."""
    _check_conditional_operator(expected, conditional_operator)
    return _joined([_expectation(name, given) for name, given in (expected or {}).items()], conditional_operator)


def condition_from_filter(
    conditions: Mapping[str, Mapping[str, Any]] | None, conditional_operator: str | None = None
) -> ConditionProgram | None:
    """QueryFilter or ScanFilter as a condition, or None when the request sets none."""
    _check_conditional_operator(conditions, conditional_operator)
    parts = []
    for name, given in (conditions or {}).items():
        operator = given["ComparisonOperator"]
        parts.append(_comparison(name, operator, _condition_values(operator, given)))
    return _joined(parts, conditional_operator)


def _check_conditional_operator(conditions: Mapping[str, Any] | None, operator: str | None) -> None:
    if operator is None:
        return
    if not conditions:
        raise RequestValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) == 1:
        raise RequestValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


def _joined(parts: list[Condition], operator: str | None) -> ConditionProgram | None:
    if not parts:
        return None
    if len(parts) == 1:
        return condition_from_node(parts[0])
    return condition_from_node(Or(tuple(parts)) if operator == "OR" else And(tuple(parts)))


def _expectation(name: str, given: Mapping[str, Any]) -> Condition:
    listed, single = given.get("AttributeValueList"), given.get("Value")
    operator, exists = given.get("ComparisonOperator"), given.get("Exists")
    if listed is not None and single is not None:
        raise RequestValidationException(
            f"{INVALID_VALUES}Value and AttributeValueList cannot be used together for Attribute: {name}"
        )
    if operator is not None:
        if exists is not None:
            raise RequestValidationException(
                f"{INVALID_VALUES}Exists and ComparisonOperator cannot be used together for Attribute: {name}"
            )
        if operator not in ("NULL", "NOT_NULL") and listed is None and single is None:
            raise RequestValidationException(
                f"{INVALID_VALUES}Value or AttributeValueList must be used with ComparisonOperator: {operator} "
                f"for Attribute: {name}"
            )
        values = listed if listed is not None else [] if single is None else [single]
        _check_count(operator, len(values))
        return _comparison(name, operator, _operands(operator, [checked(value)[0] for value in values]))
    if listed is not None:
        raise RequestValidationException(
            f"{INVALID_VALUES}AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}"
        )
    if exists is False:
        if single is not None:
            raise RequestValidationException(
                f"{INVALID_VALUES}Value cannot be used when Exists is false for Attribute: {name}"
            )
        return _comparison(name, "NULL", ())
    if single is None:
        given_as = "null" if exists is None else "true"
        raise RequestValidationException(
            f"{INVALID_VALUES}Value must be provided when Exists is {given_as} for Attribute: {name}"
        )
    return _comparison(name, "EQ", (checked(single)[0],))


def _condition_values(operator: str, given: Mapping[str, Any]) -> tuple[AttributeValue, ...]:
    values = [checked(value)[0] for value in given.get("AttributeValueList") or ()]
    _check_count(operator, len(values))
    return _operands(operator, values)


def _check_count(operator: str, count: int) -> None:
    match operator:
        case "NULL" | "NOT_NULL":
            fits = count == 0
        case "IN":
            fits = count > 0
        case "BETWEEN":
            fits = count == 2
        case _:
            fits = count == 1
    if not fits:
        raise RequestValidationException(
            f"{INVALID_VALUES}Invalid number of argument(s) for the {operator} ComparisonOperator"
        )


def _operands(operator: str, values: Sequence[AttributeValue]) -> tuple[AttributeValue, ...]:
    tags = [next(iter(value)) for value in values]
    if len(set(tags)) > 1:
        raise RequestValidationException(
            f"{INVALID_VALUES}AttributeValues inside AttributeValueList must be of same type"
        )
    if operator in _TYPES:
        for tag in tags:
            if tag not in _TYPES[operator]:
                raise RequestValidationException(
                    f"{INVALID_VALUES}ComparisonOperator {operator} is not valid for {tag} AttributeValue type"
                )
    if operator == "BETWEEN" and compare(*values) == 1:
        raise RequestValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )
    return tuple(values)


def _comparison(name: str, operator: str, values: tuple[AttributeValue, ...]) -> Condition:
    check_name(name)
    path, literals = Path((name,)), tuple(Literal(value) for value in values)
    match operator:
        case "NULL":
            return Function("attribute_not_exists", (path,))
        case "NOT_NULL":
            return Function("attribute_exists", (path,))
        case "CONTAINS":
            return Function("contains", (path, *literals))
        case "NOT_CONTAINS":
            # Unlike NOT contains(), it is not met if the attribute is missing, or cannot contain such a value.
            (tag,) = values[0]
            holders = [Function("attribute_type", (path, Literal({"S": holder}))) for holder in _HOLDERS[tag]]
            return And((Or(tuple(holders)), Not(Function("contains", (path, *literals)))))
        case "BEGINS_WITH":
            return Function("begins_with", (path, *literals))
        case "IN":
            return In(path, literals)
        case "BETWEEN":
            return Between(path, *literals)
        case _:
            return Compare(_COMPARATORS[operator], path, *literals)


# -- keys ------------------------------------------------------------------------------------------


def bounds_from_key_conditions(conditions: Mapping[str, Mapping[str, Any]]) -> dict[str, Bound]:
    """The operator and operands for each attribute; raises what is wrong with the conditions themselves."""
    if not conditions:
        raise ValidationException("Conditions can be of length 1 or 2 only")
    bounds = {}
    for name, given in conditions.items():
        check_name(name)
        operator = given["ComparisonOperator"]
        values = _condition_values(operator, given)
        bounds[name] = (_INDEX_OPERATORS.get(operator, operator), values)
    return bounds


# -- projections -----------------------------------------------------------------------------------


def projection_from_attributes(attributes: Sequence[str]) -> ProjectionProgram:
    """AttributesToGet; the keys are not added."""
    seen = set()
    for name in attributes:
        check_name(name)
        if name in seen:
            raise ValidationException(f"{INVALID_VALUES}Duplicate value in attribute name: {name}")
        seen.add(name)
    return ProjectionProgram(Path((name,)) for name in attributes)


# -- updates ---------------------------------------------------------------------------------------


class AttributeUpdates:
    """AttributeUpdates as an update: ``apply`` and ``updated`` are those of an ``Update``.

    PUT replaces an attribute. ADD adds numbers, unites sets and appends to a list. DELETE removes the
    attribute, or the elements of a set when it has a value.
    """

    used_names: frozenset[str] = frozenset()
    used_values: frozenset[str] = frozenset()
    nested_attributes: frozenset[str] = frozenset()

    def __init__(self, updates: Mapping[str, Mapping[str, Any]]) -> None:
        for name in updates:
            check_name(name)
        self._changes = [(name, *_change(update)) for name, update in updates.items()]
        self.top_level_attributes = frozenset(updates)
        # Without any update, the item is created nevertheless.
        self.only_removes = bool(self._changes) and all(action == "DELETE" for _, action, _ in self._changes)

    def check(self, values: Values | None = None) -> None:
        """The values came with the updates, and were checked with them."""

    def static_types(self, values: Values | None = None) -> dict[str, str]:
        return {name: next(iter(value)) for name, _, value in self._changes if value is not None}

    def apply(self, item: Item, values: Values | None = None) -> Item:
        result = dict(item)
        for name, action, value in self._changes:
            old = item.get(name)
            if value is None:
                result.pop(name, None)
            elif action == "PUT":
                result[name] = value
            elif old is not None and old.keys() != value.keys():
                raise ValidationException("Type mismatch for attribute to update")
            elif action == "ADD":
                if old is None:
                    result[name] = value
                elif "L" in value:
                    result[name] = {"L": old["L"] + value["L"]}
                else:
                    result[name] = add_values(old, value)
            elif old is not None:
                remaining = subtract_elements(old, value)
                if remaining is None:
                    del result[name]
                else:
                    result[name] = remaining
        return result

    def updated(self, item: Item) -> Item:
        return {name: item[name] for name, _, _ in self._changes if name in item}


def _change(update: Mapping[str, Any]) -> tuple[str, AttributeValue | None]:
    action, value = update.get("Action") or "PUT", update.get("Value")
    if value is None:
        if action != "DELETE":
            raise RequestValidationException(
                f"{INVALID_VALUES}Only DELETE action is allowed when no attribute value is specified"
            )
        return action, None
    value = checked(value)[0]
    (tag,) = value
    if action == "DELETE" and tag not in _SETS:
        raise RequestValidationException(
            f"{INVALID_VALUES}DELETE action with value is not supported for the type {tag}"
        )
    if action == "ADD" and tag not in _SETS | {"N", "L"}:
        raise RequestValidationException(f"{INVALID_VALUES}ADD action is not supported for the type {tag}")
    return action, value
