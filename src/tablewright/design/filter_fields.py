"""What an access pattern filters by, after it has read an item: fields, and how many of their values pass.

    restrictions(schema, pattern)       [Restriction("status", 2), Restriction("total", None)]

A filter is a condition of which all parts hold; a part on one field that names its values says how many pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tablewright.dynamo.expressions import And, Compare, Condition, Function, In, Literal, Not, Placeholder, leaves
from tablewright.dynamo.expressions.builder import attributes_in
from tablewright.model import CollectionQuery, Get, Query, Schema

__all__ = ["Restriction", "has_filter", "restrictions"]

_PRESENCE = ("attribute_exists", "attribute_not_exists")


@dataclass(frozen=True, slots=True)
class Restriction:
    """A field that a pattern filters by, and how many of its values pass; None: that is not known."""

    field: str
    allowed: int | None


def has_filter(pattern: Get | Query | CollectionQuery) -> bool:
    """Whether a pattern has a filter, known or not."""
    return isinstance(pattern, Query) and (
        bool(pattern.where) or (pattern.signature is not None and pattern.signature.returns_filter)
    )


def restrictions(schema: Schema, pattern: Get | Query | CollectionQuery) -> list[Restriction]:
    """What a pattern filters by; nothing of a filter that is known only when its function is called."""
    found = [
        Restriction(name, len(wanted) if isinstance(wanted, list | tuple | set | frozenset) else 1)
        for name, wanted in (pattern.where.items() if isinstance(pattern, Query) else ())
    ]
    condition = schema.filters.get(pattern.name)
    if condition is not None:
        parts = condition.node.parts if isinstance(condition.node, And) else (condition.node,)
        found += [each for part in parts for each in _restrictions(schema, part)]
    return found


def _restrictions(schema: Schema, part: Condition) -> Iterator[Restriction]:
    allowed = _allowed(part)
    for attribute in attributes_in(part):
        yield Restriction(schema.field_path(attribute), allowed)


def _allowed(part: Condition) -> int | None:
    """How many values pass, where a part of a condition names them: ``status = :s``, ``status IN (:a, :b)``."""
    # A missing attribute may pass as well, because it stands for one of these values.
    tests = [leaf for leaf in leaves(part) if not (isinstance(leaf, Function) and leaf.name in _PRESENCE)]
    if len(tests) != 1 or isinstance(part, Not):
        return None
    test = tests[0]
    if isinstance(test, Compare):
        return 1 if test.operator == "=" and isinstance(test.right, Literal | Placeholder) else None
    if isinstance(test, In):
        return len(test.options) if all(isinstance(option, Literal) for option in test.options) else None
    return None
