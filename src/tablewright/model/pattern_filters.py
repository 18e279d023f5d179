"""The conditions that access patterns return, looked at when the class is made.

    @Query("byStatus")
    def large(self, at_least: Decimal) -> FieldCondition:
        return (attr(self.status) == OPEN) & (attr(self.total) >= at_least)
                 the key that is read          filter: total >= :at_least

The function is called once, with a ``FilterParameter`` for each value that it will be given, so that a wrong field is
an error of the declaration, and lint, estimates and documents know what is filtered by. A filter that computes
something from its parameters is known only when it has them; values of the key are known if they stand before it.

Where a field of the key is compared with a value, ``self`` is ``KeyFields``: comparisons of such fields are
``KeyCondition``, which keep these values apart from the filter. A value that the key does not tell from others (one of
two states with the same key, a text in lower case) is filtered by as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_
from typing import Any

from tablewright.dynamo import AttributeValue
from tablewright.dynamo.expressions import Compare, Condition, Literal, Or, Placeholder, leaves, operands
from tablewright.dynamo.expressions.builder import attributes_in, missing
from tablewright.model.errors import ModelError, no_field
from tablewright.model.field_conditions import (
    FieldCondition,
    FieldPath,
    FilterParameter,
    KeyAlternative,
    KeyCondition,
    NoValue,
    UnknownValue,
)
from tablewright.model.field_expressions import Attr
from tablewright.model.items.field_paths import place_of
from tablewright.model.patterns import BOUNDS, Get, Query
from tablewright.model.schema import Schema
from tablewright.model.values.attribute_codec import decode

_NULL: AttributeValue = {"NULL": True}

__all__ = ["KeyFields", "filter_of", "filters_of", "has_filter", "key_values"]


def filters_of(schema: Schema) -> dict[str, FieldCondition]:
    """The filters of an entity's patterns, by their names, as far as they are known without values."""
    found = {}
    for pattern in schema.patterns.values():
        condition = filter_of(schema, pattern)
        if condition is not None:
            found[pattern.name] = condition
    return found


def has_filter(schema: Schema, place: str, pattern: Query) -> bool:
    """Whether the function of a pattern returns more than values of the key."""
    condition = _returned(schema, place, pattern, pattern.key_fields)
    return not isinstance(condition, KeyCondition) or condition.filter is not None


def filter_of(schema: Schema, pattern: Get | Query) -> FieldCondition | None:
    """The filter of a pattern, as far as it is known without values."""
    if not isinstance(pattern, Query) or pattern.signature is None or not pattern.signature.returns_filter:
        return None
    place = pattern.place(schema.entity)
    try:
        condition = _returned(schema, place, pattern, pattern.key_fields or schema.entity)
    except (UnknownValue, TypeError):
        return None
    if isinstance(condition, KeyCondition):
        condition = condition.filter
    if condition is None:
        return None
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
            raise ModelError(
                f"{place}: {name} is part of the key that is read, so it cannot be filtered by; compare it with one "
                "value, or take it as a parameter"
            )
    return condition


def _returned(
    schema: Schema, place: str, pattern: Query, fields: object, only_required: bool = False, is_true: bool = True
) -> FieldCondition | None:
    """What the function of a pattern returns, with parameters that have no values yet."""
    signature = pattern.signature
    assert signature is not None
    given = [name for name in signature.names if name in signature.required or not only_required]
    try:
        condition = signature.declaration(fields, **{name: FilterParameter(name, is_true) for name in given})
    except NoValue as error:
        raise ModelError(f"{place}: {error}") from None
    except AttributeError as error:
        raise ModelError(
            f"{place}, filter: {no_field(schema.entity.__name__, str(error.name), schema.fields)}"
        ) from None
    if condition is not None and not isinstance(condition, FieldCondition):
        raise ModelError(f"{place} returns {condition!r} as its filter; return a condition, such as attr(self.x) == 1")
    if pattern.projection is not None and isinstance(fields, KeyFields):
        return fields.split(condition)
    return condition


# -- values of the key ----------------------------------------------------------------------------------------------


def key_values(schema: Schema, place: str, pattern: Query, names: Iterable[str]) -> dict[str, Any]:
    """The values that the function of a pattern always compares some fields with."""
    wanted = frozenset(names)
    while wanted:
        fields = KeyFields(schema, wanted)
        try:
            found = _values(_returned(schema, place, pattern, fields))
        except (UnknownValue, TypeError):
            found = fields._compared
        except KeyAlternative as error:
            # It is a filter.
            wanted -= error.names
            continue
        for only_required, is_true in ((False, False), (True, True), (True, False)):
            # What depends on a parameter is a filter.
            fields = KeyFields(schema, wanted)
            try:
                again = _returned(schema, place, pattern, fields, only_required, is_true)
            except Exception:
                # It needs values, which says nothing about those of the key.
                continue
            other = _values(again)
            found = {name: value for name, value in found.items() if name in other and other[name] == value}
        return found
    return {}


def _values(condition: FieldCondition | None) -> dict[str, Any]:
    return dict(condition.fixed) if isinstance(condition, KeyCondition) else {}


class KeyFields:
    """What ``self`` is in the function of a pattern: fields of the entity, of which some are compared with the key."""

    def __init__(self, schema: Schema, names: Iterable[str], filtered: Iterable[str] = ()) -> None:
        # No field begins with an underscore.
        self._schema = schema
        self._names = frozenset(names)
        self._roots = {name.partition(".")[0] for name in self._names}
        # Those that are filtered by as well.
        self._filtered = frozenset(filtered)
        self._compared: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        found = _KeyPath(self, name) if name in self._roots else getattr(self._schema.entity, name)
        # So that it is made once.
        self.__dict__[name] = found
        return found

    def split(self, condition: FieldCondition | None) -> FieldCondition | None:
        """A condition of which some parts may be on fields of the class: ``attr(Order.status) == OPEN``.

        The function of a projection writes so of fields that the projection does not have.
        """
        if condition is None:
            return None
        if isinstance(condition, KeyCondition):
            rest = self.split(condition.filter)
            return condition if rest is None else KeyCondition(condition.entity, condition.fixed) & rest
        if condition.parts:
            first, *others = (self.split(part) for part in condition.parts)
            return reduce(and_, others, first)
        for path, stored_path in condition.paths[:1]:
            if path in self._names and len(condition.paths) == 1:
                found = _equal_to(condition.node, stored_path)
                if found is not None:
                    place = place_of(self._schema.entity, path)
                    value = None if found == _NULL else place.validate(decode(found))
                    return self._condition(path, value, lambda: condition)
        return condition

    def _condition(self, name: str, value: Any, compared: Callable[[], FieldCondition]) -> KeyCondition:
        self._compared[name] = value
        filtered = compared() if name in self._filtered else None
        return KeyCondition(self._schema.entity, {name: value}, filtered)


def _equal_to(node: Condition, path: str) -> AttributeValue | None:
    """The value that a condition says an attribute is equal to; NULL for None."""
    if isinstance(node, Or) and node.parts[:1] == (missing(path),) and len(node.parts) == 2:
        node = node.parts[1]
    if not isinstance(node, Compare) or node.operator != "=" or not isinstance(node.right, Literal):
        return None
    return node.right.value


class _KeyPath(FieldPath[Any]):
    """The path of a field that is compared with the key, or of a part of it."""

    __slots__ = ("_fields",)

    def __init__(self, fields: KeyFields, path: str) -> None:
        super().__init__(fields._schema.entity, path)
        self._fields = fields
        if path in fields._schema.computed:
            self._attr = _ComputedKey(fields, path)
        elif path in fields._names:
            self._attr = _KeyAttr(fields, path)

    def __getattr__(self, name: str) -> FieldPath[Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _KeyPath(self._fields, f"{self._path}.{name}")


class _KeyAttr(Attr[Any]):
    """A field that is compared with the key where it is equal to a value."""

    __slots__ = ("_fields", "_last")

    def __init__(self, fields: KeyFields, path: str) -> None:
        super().__init__(fields._schema.entity, path)
        self._fields = fields
        # Programs compare with one value.
        self._last: tuple[Any, KeyCondition] | None = None

    def _compared(self, operator: str, value: Any) -> FieldCondition:
        if operator != "=" or isinstance(value, FilterParameter | Attr):
            return super()._compared(operator, value)
        if self._last is None or self._last[0] is not value:
            plain = super()._compared
            self._last = value, self._fields._condition(self._path, value, lambda: plain(operator, value))
        return self._last[1]


class _ComputedKey:
    """A computed value, which is in keys only."""

    def __init__(self, fields: KeyFields, name: str) -> None:
        self._fields = fields
        self._name = name

    def is_(self, value: Any) -> FieldCondition:
        if isinstance(value, FilterParameter | Attr):
            raise self._refused()
        return self._fields._condition(self._name, value, self._refuse)

    def _refuse(self, *_: Any) -> Any:
        raise self._refused()

    def _refused(self) -> ModelError:
        return ModelError(f"{self._name} is computed and not stored: it can only be compared with one value, by ==")

    __eq__ = is_  # type: ignore[assignment]
    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = _refuse
    __hash__ = None  # type: ignore[assignment]
