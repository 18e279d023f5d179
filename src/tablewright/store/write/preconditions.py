"""What must hold of a value that an update changes without knowing it: bounds of fields, and that it has a place.

An addition or an append reads nothing, so nobody can validate what comes of it before it is written; and what breaks a
bound (``Field(max_length=100)``, ``Field(ge=0)``) would be an item that cannot be read any more. So the bound becomes a
condition on the value before: to append 2 to a list of at most 100, it has at most 98.

Members that are added to a set are counted as new, unless it is one that is there already.

Likewise, what is changed inside of a field needs something around it, and of several models one that has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from annotated_types import Ge, Gt, Le, Lt, MaxLen

from tablewright.dynamo import AttributeValue, Item
from tablewright.dynamo.expressions.builder import (
    Condition,
    compare,
    compare_size,
    contains,
    exists,
    missing,
    one_of,
    value_at,
)
from tablewright.model.schema import Schema
from tablewright.model.values.attribute_codec import decode, number_text
from tablewright.store.write.attribute_changes import Wanted, to_operand
from tablewright.store.write.field_paths import Variant, markers_of, path_around, place_of

_WORDS = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of one value, and how much the value grows."""

    # As the caller names it, and as it is stored.
    name: str
    path: str
    operator: str
    limit: Decimal
    growth: Decimal
    # Of a list or a set, its number of members is bound.
    counts: bool = False
    # What a set may have already, so that it does not grow.
    member: AttributeValue | None = None

    def condition(self) -> Condition:
        """What must hold of the value before."""
        most = {"N": number_text(self.limit - self.growth)}
        condition: Condition = (compare_size if self.counts else compare)(self.path, self.operator, most)
        if self._holds(self.growth):
            # What is not there begins with what is added to it.
            condition = missing(self.path) | condition
        return condition if self.member is None else condition | contains(self.path, self.member)

    def broken(self, item: Item) -> str | None:
        """What would be wrong after the update of an item."""
        found = value_at(item, self.path)
        before = Decimal(0)
        if found is not None:
            ((tag, content),) = found.items()
            if self.member is not None and content and next(iter(self.member.values())) in content:
                return None
            before = Decimal(len(content)) if self.counts else Decimal(content if tag == "N" else 0)
        after = before + self.growth
        if self._holds(after):
            return None
        told = f"have {number_text(after)} members, and has" if self.counts else f"be {number_text(after)}, and is"
        return f"{self.name} would {told} {_WORDS[self.operator]} {number_text(self.limit)}"

    def _holds(self, value: Decimal) -> bool:
        if self.operator in ("<=", ">=") and value == self.limit:
            return True
        return value < self.limit if self.operator in ("<", "<=") else value > self.limit


@dataclass(frozen=True, slots=True)
class Around:
    """What a place is in has to be there."""

    # The place, and what is around it, as the caller names it and as it is stored.
    name: str
    around: str
    path: str

    def condition(self) -> Condition:
        return exists(self.path)

    def broken(self, item: Item) -> str | None:
        if value_at(item, self.path) is not None:
            return None
        return f"{self.around} is not there, so there is no place for {self.name}; set {self.around} as a whole"


@dataclass(frozen=True, slots=True)
class OfModel:
    """What may be one of several models has to be one that has the field."""

    variant: Variant

    def condition(self) -> Condition:
        return one_of(self.variant.path, self.variant.values)

    def broken(self, item: Item) -> str | None:
        found, variant = value_at(item, self.variant.path), self.variant
        if found is None or found in variant.values:
            return None
        return f"{variant.name} is {decode(found)}, which has no {variant.field}; set {variant.name} as a whole"


Requirement = Bound | Around | OfModel


def requirements_of(schema: Schema, wanted: Wanted) -> list[Requirement]:
    """What must hold for the changes to be possible, and to leave an item that can be read."""
    found: list[Requirement] = [*bounds_of(schema, wanted)] if wanted.add or wanted.append else []
    for path in (*wanted.nested, *wanted.add, *wanted.append, *wanted.discard, *wanted.remove):
        around = path_around(path)
        if around:
            place = place_of(schema.entity, path)
            found.append(Around(path, around, path_around(place.path)))
            found += map(OfModel, place.variants)
    return found


def bounds_of(schema: Schema, wanted: Wanted) -> list[Bound]:
    """The bounds that additions and appends could break."""
    found: list[Bound] = []
    for path, value in wanted.append.items():
        if markers_of(schema.entity, path):
            found += _lengths(schema, path, Decimal(len(list(value))), None)
    for path, value in wanted.add.items():
        if not markers_of(schema.entity, path):
            continue
        ((tag, content),) = to_operand(schema, path, value).items()
        if tag == "N":
            place = place_of(schema.entity, path)
            found += [
                Bound(path, place.path, operator, limit, Decimal(content))
                for operator, limit in _numbers(markers_of(schema.entity, path))
            ]
        else:
            member = {tag[0]: content[0]} if len(content) == 1 else None
            found += _lengths(schema, path, Decimal(len(content)), member)
    return found


def _lengths(schema: Schema, path: str, growth: Decimal, member: AttributeValue | None) -> Iterator[Bound]:
    for marker in markers_of(schema.entity, path):
        if isinstance(marker, MaxLen):
            stored = place_of(schema.entity, path).path
            yield Bound(path, stored, "<=", Decimal(marker.max_length), growth, counts=True, member=member)


def _numbers(markers: tuple[Any, ...]) -> Iterator[tuple[str, Decimal]]:
    for marker in markers:
        for kind, operator in ((Ge, ">="), (Gt, ">"), (Le, "<="), (Lt, "<")):
            if isinstance(marker, kind):
                limit = getattr(marker, kind.__name__.lower())
                # Times are bound by times; an addition to one is of seconds, and is let through.
                if isinstance(limit, int | float | Decimal):
                    yield operator, Decimal(str(limit))
