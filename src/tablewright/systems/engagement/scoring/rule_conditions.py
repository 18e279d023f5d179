"""Rules over the attributes of a customer, as JSON, which is never evaluated as code.

    {"all": [{"attribute": "age", "op": "ge", "value": 18},
             {"any": [{"attribute": "country", "op": "in", "value": ["IT", "DE"]},
                      {"attribute": "vip", "op": "eq", "value": true}]},
             {"not": {"attribute": "churned_at", "op": "exists"}}]}

If an attribute is absent, or of another type than the value, a comparison is false, and so is ``ne``. ``exists`` is
true for every attribute that is present and not null. ``contains`` is for strings and lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from tablewright.runtime import Invalid

Rule = Callable[[Mapping[str, Any]], bool]

_MAX_DEPTH = 10
_MAX_PARTS = 200
_MAX_LIST_LENGTH = 1_000
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda found, value: bool(found < value),
    "le": lambda found, value: bool(found <= value),
    "gt": lambda found, value: bool(found > value),
    "ge": lambda found, value: bool(found >= value),
}
_OPERATORS = ("eq", "ne", *_ORDERED, "in", "contains", "exists")


def compiled(rule: Any) -> Rule:
    """The compiled rule; Invalid if it is not a rule."""
    return _Compiler().rule(rule, 0)


def attributes_in(rule: Any) -> set[str]:
    """The attributes that a rule uses, which was compiled before."""
    if "attribute" in rule:
        return {rule["attribute"]}
    ((_, members),) = rule.items()
    return set().union(*map(attributes_in, members if isinstance(members, list) else [members]))


class _Compiler:
    def __init__(self) -> None:
        self._parts = 0

    def rule(self, rule: Any, depth: int) -> Rule:
        self._parts += 1
        if depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            raise Invalid(f"a rule can have at most {_MAX_PARTS} parts, nested at most {_MAX_DEPTH} deep")
        if not isinstance(rule, dict):
            raise Invalid("a rule must be an object with all, any or not, or with attribute, op and value")
        names = set(rule)
        if names in ({"all"}, {"any"}):
            ((how, members),) = rule.items()
            if not isinstance(members, list) or not members:
                raise Invalid(f"{how} takes a list of rules")
            rules = [self.rule(member, depth + 1) for member in members]
            if how == "all":
                return lambda attributes: all(each(attributes) for each in rules)
            return lambda attributes: any(each(attributes) for each in rules)
        if names == {"not"}:
            inner = self.rule(rule["not"], depth + 1)
            return lambda attributes: not inner(attributes)
        return self._comparison(rule)

    def _comparison(self, rule: dict[str, Any]) -> Rule:
        name, operator = rule.get("attribute"), rule.get("op")
        if not isinstance(name, str) or not name or operator not in _OPERATORS:
            raise Invalid(f"a comparison must have an attribute and an op, one of {', '.join(_OPERATORS)}")
        if operator == "exists":
            if set(rule) != {"attribute", "op"}:
                raise Invalid("exists takes no value")
            return lambda attributes: attributes.get(name) is not None
        if set(rule) != {"attribute", "op", "value"}:
            raise Invalid(f"{operator} takes a value and nothing else")
        value = rule["value"]
        if operator == "in":
            if not isinstance(value, list) or len(value) > _MAX_LIST_LENGTH or not all(map(_is_plain, value)):
                raise Invalid(f"in takes a list of at most {_MAX_LIST_LENGTH} strings, numbers and booleans")
            return lambda attributes: any(_equal(attributes.get(name), member) for member in value)
        if not _is_plain(value):
            raise Invalid(f"{operator} takes a string, a number or a boolean")
        if operator == "eq":
            return lambda attributes: _equal(attributes.get(name), value)
        if operator == "ne":
            return lambda attributes: _kind(attributes.get(name)) == _kind(value) and attributes.get(name) != value
        if operator == "contains":
            return lambda attributes: _contains(attributes.get(name), value)
        if _kind(value) == "boolean":
            raise Invalid(f"{operator} compares numbers or strings")
        return _ordered(name, _ORDERED[operator], value)


def _ordered(name: str, holds: Callable[[Any, Any], bool], value: Any) -> Rule:
    kind = _kind(value)

    def rule(attributes: Mapping[str, Any]) -> bool:
        found = attributes.get(name)
        return _kind(found) == kind and holds(found, value)

    return rule


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    return "text" if isinstance(value, str) else "other"


def _is_plain(value: Any) -> bool:
    return _kind(value) != "other"


def _equal(found: Any, value: Any) -> bool:
    return _kind(found) == _kind(value) and bool(found == value)


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(_equal(member, value) for member in found)
