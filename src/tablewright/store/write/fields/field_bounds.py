"""Bounds of fields that an update changes without knowing them, as preconditions of the write.

An addition or an append reads nothing, so the result cannot be validated before it is written; and what breaks a
bound (``Field(max_length=100)``, ``Field(ge=0)``) would be an item that cannot be read any more. So the bound becomes a
condition on the value before: to append 2 to a list of at most 100, it has at most 98.

Members that are added to a set are counted as new, unless it is one that is there already.

Likewise, a path into a field needs the map or list that it leads into, and of several models one that has the field.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from annotated_types import Ge, Gt, Le, Lt, MaxLen

from tablewright.dynamo import AttributeValue, Item, value_at
from tablewright.dynamo.expressions.builder import Condition, compare, compare_size, contains, exists, missing, one_of
from tablewright.model import Schema
from tablewright.model.items.field_paths import Variant, markers_of, path_around, place_of
from tablewright.model.values.attribute_codec import decode, number_text
from tablewright.store.errors import ConditionFailed, StoreError
from tablewright.store.item_description import describe_item
from tablewright.store.write.fields.field_updates import FieldUpdates, to_operand
from tablewright.store.write.planning.preconditions import Precondition

_WORDS = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}


def field_preconditions(schema: Schema, updates: FieldUpdates, key: Item) -> list[Precondition]:
    """What must hold for updates to be possible, and to leave an item that can be read."""
    found = bounds(schema, updates, key) if updates.add or updates.append else []
    for path in updates.paths:
        around = path_around(path)
        if around:
            place = place_of(schema.entity, path)
            found.append(_is_in(schema, key, path, around, path_around(place.path)))
            found += [_is_variant(schema, key, variant) for variant in place.variants]
    return found


def bounds(schema: Schema, updates: FieldUpdates, key: Item) -> list[Precondition]:
    """The bounds that additions and appends could break."""
    found: list[Precondition] = []
    for path, value in updates.append.items():
        found += _lengths(schema, key, path, Decimal(len(list(value))), None)
    for path, value in updates.add.items():
        markers = markers_of(schema.entity, path)
        if not markers:
            continue
        ((tag, content),) = to_operand(schema, path, value).items()
        if tag == "N":
            found += [
                _bound(schema, key, path, operator, limit, Decimal(content)) for operator, limit in _limits(markers)
            ]
        else:
            member = {tag[0]: content[0]} if len(content) == 1 else None
            found += _lengths(schema, key, path, Decimal(len(content)), member)
    return found


def _lengths(
    schema: Schema, key: Item, path: str, growth: Decimal, member: AttributeValue | None
) -> Iterator[Precondition]:
    for marker in markers_of(schema.entity, path):
        if isinstance(marker, MaxLen):
            yield _bound(schema, key, path, "<=", Decimal(marker.max_length), growth, is_length=True, member=member)


def _limits(markers: tuple[Any, ...]) -> Iterator[tuple[str, Decimal]]:
    for marker in markers:
        for kind, operator in ((Ge, ">="), (Gt, ">"), (Le, "<="), (Lt, "<")):
            if isinstance(marker, kind):
                limit = getattr(marker, kind.__name__.lower())
                # Times are bound by times; an addition to one is of seconds, and is let through.
                if isinstance(limit, int | float | Decimal):
                    yield operator, Decimal(str(limit))


def _bound(
    schema: Schema,
    key: Item,
    path: str,
    operator: str,
    limit: Decimal,
    growth: Decimal,
    *,
    is_length: bool = False,
    member: AttributeValue | None = None,
) -> Precondition:
    """A bound of a number, or of the length of a list or set, that is about to grow.

    ``member`` is what a set may have already, so that it does not grow.
    """
    stored = place_of(schema.entity, path).path
    most = {"N": number_text(limit - growth)}
    condition: Condition = (compare_size if is_length else compare)(stored, operator, most)
    start = _start(schema.defaults.get(stored), is_length=is_length)
    if _holds(start + growth, operator, limit):
        # What is missing begins with its default, or with what is added to it.
        condition = missing(stored) | condition
    if member is not None:
        condition = condition | contains(stored, member)

    def refusal(item: Item) -> StoreError:
        before = _start(value_at(item, stored) or schema.defaults.get(stored), is_length=is_length)
        after, allowed = number_text(before + growth), f"{_WORDS[operator]} {number_text(limit)}"
        if is_length:
            return _failed(schema, key, f"{path} would have {after} members, and may have {allowed}")
        return _failed(schema, key, f"{path} would be {after}, and must be {allowed}")

    return Precondition(condition, refusal)


def _start(found: AttributeValue | None, *, is_length: bool) -> Decimal:
    """What grows: a number, or how many members there are; 0 where nothing is stored."""
    if found is None:
        return Decimal(0)
    ((tag, content),) = found.items()
    return Decimal(len(content)) if is_length else Decimal(content if tag == "N" else 0)


def _holds(value: Decimal, operator: str, limit: Decimal) -> bool:
    if operator in ("<=", ">=") and value == limit:
        return True
    return value < limit if operator in ("<", "<=") else value > limit


def _is_in(schema: Schema, key: Item, path: str, around: str, stored: str) -> Precondition:
    """The container that a path leads into exists."""

    def refusal(_: Item) -> StoreError:
        return _failed(schema, key, f"{path} cannot be set, because {around} does not exist; set {around} as a whole")

    return Precondition(exists(stored), refusal)


def _is_variant(schema: Schema, key: Item, variant: Variant) -> Precondition:
    """Of several models that a value may be, it is one that has the field."""

    def refusal(item: Item) -> StoreError:
        found = value_at(item, variant.path)
        state = "of no known type" if found is None else str(decode(found))
        return _failed(
            schema, key, f"{variant.name} is {state}, which has no {variant.field}; set {variant.name} as a whole"
        )

    return Precondition(one_of(variant.path, variant.values), refusal)


def _failed(schema: Schema, key: Item, reason: str) -> ConditionFailed:
    return ConditionFailed(f"{schema.entity.__name__} {describe_item(schema, key)}: {reason}")
