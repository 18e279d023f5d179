"""Keys straight from field values, as a read gives them.

A key follows from an item: values are encoded, placed in it, and put into the templates (``stored`` and ``key_of`` of a
schema). Where each value is that of a field, of its own type, and goes into the key as a whole, a maker does all of it
in one go. What is not so plain (a value that is missing, too many, or of another type; a part of a field; a shard) it
leaves to the long way, which also knows what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from tablewright.dynamo import AttributeValue
from tablewright.model.declarations import KeyRule
from tablewright.model.errors import ModelError
from tablewright.model.items.field_layout import FieldLayout
from tablewright.model.items.field_spec import FieldLocation
from tablewright.model.keys.key_template import Field, Part, escape
from tablewright.model.values.attribute_codec import Encoder

__all__ = ["AttributeBuilder", "KeyBuilder", "attribute_builder", "key_builder", "made"]

# Gives the primary key that field values make up, or None where the maker does not know.
KeyBuilder = Callable[[Mapping[str, Any]], dict[str, AttributeValue] | None]
# The same of one attribute of a key; where it does not know, it may also raise what ``made`` knows.
AttributeBuilder = Callable[[Mapping[str, Any]], AttributeValue | None]


def key_builder(layout: FieldLayout, key_rules: Mapping[str, KeyRule]) -> KeyBuilder:
    """The maker of the primary keys of an entity."""
    table = layout.table
    makers: list[tuple[str, AttributeBuilder]] = []
    used: set[str] = set()
    for attribute in table.key:
        rule = key_rules.get(attribute)
        maker = None
        if rule is None or not (rule.shards > 1 or rule.template.optional):
            maker = attribute_builder(layout, attribute, None if rule is None else rule.template.parts)
        if maker is None:
            return lambda values: None
        makers.append((attribute, maker))
        used.update([attribute] if rule is None else rule.template.required)
    may_be_internal = table.partition not in key_rules
    number = len(used)

    def make(values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        key = made(makers, values, {}) if len(values) == number else None
        return None if key is None or (may_be_internal and table.is_internal(key)) else key

    return make


def made(
    makers: Sequence[tuple[str, AttributeBuilder]], values: Mapping[str, Any], given: dict[str, AttributeValue]
) -> dict[str, AttributeValue] | None:
    """What is given, with what makers make of field values; None where one does not know."""
    try:
        for name, maker in makers:
            value = maker(values)
            if value is None:
                return None
            given[name] = value
    except (KeyError, TypeError, ValueError, ModelError):
        return None
    return given


def attribute_builder(layout: FieldLayout, attribute: str, parts: Sequence[Part] | None) -> AttributeBuilder | None:
    """The maker of a key attribute from these parts of its template, or, if it has none, from the field that is stored
    in it; None where it takes more than that.
    """
    names = {spec.attribute: spec.name for spec in layout.fields.values()}
    sources = {attribute} if parts is None else {part.name for part in parts if isinstance(part, Field)}
    if not names.keys() >= sources:
        return None
    locations = {source: (names[source], layout.locate(names[source], "")) for source in sources}
    return _as_it_is(*locations[attribute]) if parts is None else _templated(parts, locations)


def _as_it_is(name: str, location: FieldLocation) -> AttributeBuilder:
    own = location.coercion.encoders

    def make(values: Mapping[str, Any]) -> AttributeValue | None:
        value = values[name]
        encode = own.get(type(value))
        return None if encode is None else encode(value)

    return make


def _templated(parts: Sequence[Part], locations: Mapping[str, tuple[str, FieldLocation]]) -> AttributeBuilder:
    pieces = []
    literal = ""
    for part in parts:
        if isinstance(part, Field):
            name, location = locations[part.name]
            pieces.append((literal, name, _writers(part, location)))
            literal = ""
        else:
            literal += part.text

    def make(values: Mapping[str, Any]) -> AttributeValue | None:
        text = ""
        for before, name, writers in pieces:
            value = values[name]
            write = writers.get(type(value))
            if write is None:
                return None
            text += before + write(value)
        text += literal
        # No key is empty.
        return {"S": text} if text else None

    return make


def _writers(part: Field, location: FieldLocation) -> Mapping[type, Callable[[Any], str]]:
    """How values of a field's own types stand in a key; of some types without being encoded first."""
    return {
        kind: _straight(part.form, kind) or _encoded(part, encode)
        for kind, encode in location.coercion.encoders.items()
    }


def _straight(form: str, kind: type) -> Callable[[Any], str] | None:
    if form == "text":
        return _AS_TEXT.get(kind)
    return _padded(int(form)) if form.isdigit() and kind is int else None


_AS_TEXT: Mapping[type, Callable[[Any], str]] = {str: escape, date: date.isoformat, UUID: str}


def _encoded(part: Field, encode: Encoder) -> Callable[[Any], str]:
    as_text = part.encoder
    return lambda value: as_text(encode(value) or {})


def _padded(width: int) -> Callable[[int], str]:
    most = 10**width

    def padded(value: int) -> str:
        if not 0 <= value < most:
            raise ValueError
        return str(value).zfill(width)

    return padded
