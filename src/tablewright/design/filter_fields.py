"""The fields that an access pattern filters by after reading an item, and how many of their values pass.

    restrictions(schema, pattern)       [Restriction("status", 2), Restriction("total", None)]

A filter is a condition of which all parts hold; a part on one field that names its values says how many pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tablewright.dynamo import AttributeValue
from tablewright.dynamo.expressions import (
    And,
    Compare,
    Condition,
    Function,
    In,
    Literal,
    Not,
    Operand,
    Placeholder,
    leaves,
)
from tablewright.dynamo.expressions.builder import attributes_in
from tablewright.model import CollectionQuery, Get, Query, Schema

__all__ = ["Restriction", "has_filter", "restrictions"]

_PRESENCE = ("attribute_exists", "attribute_not_exists")


@dataclass(frozen=True, slots=True)
class Restriction:
    """A field that a pattern filters by, and how many of its values pass; None: unknown."""

    field: str
    allowed: int | None
    # These values, where they are known before the pattern is called.
    values: tuple[AttributeValue, ...] | None = None


def has_filter(pattern: Get | Query | CollectionQuery) -> bool:
    """Whether a pattern has a filter, known or not."""
    return isinstance(pattern, Query) and pattern.signature is not None and pattern.signature.returns_filter


def restrictions(schema: Schema, pattern: Get | Query | CollectionQuery) -> list[Restriction]:
    """What a pattern filters by; nothing of a filter that is known only when its function is called."""
    condition = schema.filters.get(pattern.name)
    if condition is None:
        return []
    parts = condition.node.parts if isinstance(condition.node, And) else (condition.node,)
    return [each for part in parts for each in _restrictions(schema, part)]


def _restrictions(schema: Schema, part: Condition) -> Iterator[Restriction]:
    options = _options(part)
    known = [option.value for option in options or () if isinstance(option, Literal)]
    values = tuple(known) if options is not None and len(known) == len(options) else None
    # A parameter of several values stands for all of them.
    allowed = None if options is None or (isinstance(options, tuple) and values is None) else len(options)
    for attribute in attributes_in(part):
        yield Restriction(schema.field_path(attribute), allowed, values)


def _options(part: Condition) -> Sequence[Operand] | None:
    """The values that pass, where a part of a condition names them: ``status = :s``, ``status IN (:a, :b)``."""
    # A missing attribute may pass as well, because it stands for one of these values.
    tests = [leaf for leaf in leaves(part) if not (isinstance(leaf, Function) and leaf.name in _PRESENCE)]
    if len(tests) != 1 or isinstance(part, Not):
        return None
    test = tests[0]
    if isinstance(test, Compare):
        return [test.right] if test.operator == "=" and isinstance(test.right, Literal | Placeholder) else None
    return test.options if isinstance(test, In) else None
