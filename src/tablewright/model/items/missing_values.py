"""What a missing attribute counts as: the default of its field, or that of what it is in.

attr(Order.address.city)     an item without address: the city of the default address
attr(Order.address.tags)     an item whose address has no tags: the default of the tags

A path into a model may be missing at each of its steps, and have another value each time.
"""

from __future__ import annotations

import operator as operators
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from tablewright.dynamo import AttributeValue, Item, Path, non_null_at, parse_path, same_value
from tablewright.dynamo.expressions import And, Between, Compare, Condition, In, Literal, compare
from tablewright.dynamo.expressions.builder import exists, holds, missing
from tablewright.model.items.field_paths import place_of, step_defaults
from tablewright.model.schema import schema_of

__all__ = ["COMPARISONS", "MissingStep", "is_met_by", "is_met_by_missing", "missing_steps"]

_NULL: AttributeValue = {"NULL": True}


@dataclass(frozen=True, slots=True)
class MissingStep:
    """A step of a path that an item may lack, the condition that it does, and the value that the path has then."""

    condition: Condition
    value: AttributeValue | None


def missing_steps(entity: type[BaseModel], path: str) -> tuple[MissingStep, ...]:
    """The steps of a path into a field that an item may lack."""
    stored = place_of(entity, path).path
    found, around = [], ""
    for step, default in step_defaults(entity, path):
        place = place_of(entity, step)
        if default is not None:
            value = _default_of(entity, step, place.encode, default.value)
            rest = stored[len(place.path) :]
            if rest:
                value = None if value is None or "[" in rest else non_null_at({"it": value}, f"it{rest}")
            lacks = missing(place.path)
            found.append(MissingStep(And((exists(around), lacks)) if around else lacks, value))
        around = place.path
    return tuple(found)


def _default_of(entity: type[BaseModel], step: str, encode: Any, default: Any) -> AttributeValue | None:
    known = schema_of(entity).defaults.get(step) if step in entity.model_fields else None
    if known is not None or default is None:
        return known
    try:
        value: AttributeValue | None = encode(default)
    except (AttributeError, TypeError, ValueError):
        # Pydantic does not validate defaults.
        return None
    return None if value is None or "NULL" in value else value


# -- conditions on them ------------------------------------------------------------------------------------------


def is_met_by(condition: Condition, value: AttributeValue, path: str) -> bool:
    """Whether a value meets a condition. Most compare with one value, and are not compiled for that."""
    if isinstance(condition, Compare) and isinstance(condition.left, Path):
        operator, right = condition.operator, condition.right
        if isinstance(right, Literal):
            if operator in ("=", "<>"):
                return same_value(value, right.value) is (operator == "=")
            order = compare(value, right.value)
            return order is not None and bool(COMPARISONS[operator](order, 0))
    return holds(condition, _item_with(path, value))


def _item_with(path: str, value: AttributeValue) -> Item:
    """An item with a value at a path, and nothing else."""
    first, *rest = parse_path(path).parts
    for part in reversed(rest):
        value = {"L": [_NULL] * part + [value]} if isinstance(part, int) else {"M": {part: value}}
    return {str(first): value}


def is_met_by_missing(condition: Condition) -> bool:
    """Whether a missing attribute meets a condition: it is neither equal to anything nor in any order."""
    if isinstance(condition, Compare) and isinstance(condition.left, Path):
        return condition.operator == "<>"
    return not isinstance(condition, Between | In) and holds(condition, {})


COMPARISONS = {
    "=": operators.eq,
    "<>": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
