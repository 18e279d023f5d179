"""Where else an item appears, and what can be read from it: index entries, guards of unique values, patterns.

index entries     in every index whose key attributes the item has
guards            the guards of its unique values, by their keys
jumps             access patterns of the design that can be called with the item's own fields
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tablewright.dynamo import Item
from tablewright.model import Design, ModelError, Schema
from tablewright.studio.items.attribute_text import short_text
from tablewright.studio.items.item_search import Place

__all__ = ["Jump", "guards_of", "index_entries", "jumps_of"]


@dataclass(frozen=True, slots=True)
class Jump:
    """A pattern that can be called with values of an item."""

    pattern: str
    values: Mapping[str, str]


def index_entries(item: Item, places: Sequence[Place]) -> list[tuple[Place, Item]]:
    """The indexes that have an entry of an item, with its key there."""
    return [
        (place, {name: item[name] for name in place.key})
        for place in places
        if place.index is not None and all(name in item for name in place.key)
    ]


def guards_of(schema: Schema, item: Item) -> list[tuple[str, Item]]:
    """The unique values of an item, by the names of their fields, with the keys of their guards."""
    found = []
    for spec in schema.unique:
        value = schema.guard_value(spec, item)
        if value is not None:
            found.append((spec.name, schema.guard_key(spec, value)))
    return found


def jumps_of(design: Design, schema: Schema, item: Item) -> list[Jump]:
    """The patterns that need only fields of an item, with their values as text."""
    try:
        entity = schema.entity.of(item)
    except (ModelError, ValueError):
        return []
    values = {name: _text(getattr(entity, name, None)) for name in schema.fields}
    known = {name: text for name, text in values.items() if text}
    found = []
    for name, (_, pattern) in design.patterns.items():
        signature = pattern.signature
        if signature is not None and signature.required and signature.required <= known.keys():
            found.append(Jump(name, {each: known[each] for each in signature.names if each in signature.required}))
    return found


def _text(value: Any) -> str:
    if value is None or isinstance(value, list | dict | set | frozenset | bytes):
        return ""
    return str(getattr(value, "value", value))


def key_text(key: Item) -> str:
    """A key in one line."""
    return " · ".join(short_text(value) for value in key.values())
