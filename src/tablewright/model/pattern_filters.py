"""The filters that access patterns return, looked at when the class is made.

    @Query("byStatus")
    def large(self, status: Status, at_least: Decimal) -> FieldCondition:
        return attr(self.total) >= at_least                                     total >= :at_least

The function is called once, with a ``FilterParameter`` for each value that it will be given, so that a wrong field is
an error of the declaration, and lint, estimates and documents know what is filtered by. A filter that computes
something from its parameters is known only when it has them.
"""

from __future__ import annotations

from tablewright.dynamo.expressions import Placeholder, leaves, operands
from tablewright.dynamo.expressions.builder import attributes_in
from tablewright.model.errors import ModelError, no_field
from tablewright.model.field_conditions import FieldCondition, FilterParameter, NoValue, UnknownValue
from tablewright.model.patterns import BOUNDS, Query
from tablewright.model.schema import Schema

__all__ = ["filters_of"]


def filters_of(schema: Schema) -> dict[str, FieldCondition]:
    """The filters of an entity's patterns, by their names, as far as they are known without values."""
    found = {}
    for pattern in schema.patterns.values():
        if isinstance(pattern, Query) and pattern.signature is not None and pattern.signature.returns_filter:
            condition = _filter(schema, pattern)
            if condition is not None:
                found[pattern.name] = condition
    return found


def _filter(schema: Schema, pattern: Query) -> FieldCondition | None:
    place = f"{schema.entity.__name__}.{pattern.name}"
    assert pattern.signature is not None
    try:
        condition = pattern.signature.declaration(
            schema.entity, **{name: FilterParameter(name) for name in pattern.signature.names}
        )
    except NoValue as error:
        raise ModelError(f"{place}: {error}") from None
    except (UnknownValue, TypeError):
        return None
    except AttributeError as error:
        raise ModelError(
            f"{place}, filter: {no_field(schema.entity.__name__, str(error.name), schema.fields)}"
        ) from None
    if condition is None:
        return None
    if not isinstance(condition, FieldCondition):
        raise ModelError(f"{place} returns {condition!r} as its filter; return a condition, such as attr(self.x) == 1")
    for name in (
        each.name for leaf in leaves(condition.node) for each in operands(leaf) if isinstance(each, Placeholder)
    ):
        if pattern.range is not None and name.removeprefix(":") in BOUNDS:
            bound = name.removeprefix(":")
            raise ModelError(
                f"{place}: {bound} is a bound of {pattern.range}, so it cannot be filtered by; rename the parameter"
            )
    index = None if pattern.index is None else schema.table.index(pattern.index)
    read_by = schema.table.key if index is None else (*index.partition, *index.sort)
    for attribute in attributes_in(condition.node):
        if attribute in read_by:
            name = schema.by_attribute[attribute].name
            raise ModelError(f"{place}: {name} is part of the key that is read, so it cannot be filtered by; use fixed")
    return condition
