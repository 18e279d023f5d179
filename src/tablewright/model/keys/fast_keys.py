"""Fast keys: keys straight from field values, as reads have them, without making an item first.

In general a key is made of an item: ``encode_values`` makes attributes of the values, and ``key_of`` renders the
templates. Where each value is one of a field, of exactly its type, and all of it goes into the key, a builder does that
in one step. In all other cases (a value is missing, not needed or of another type; a part of a field; a shard) it
returns None, and the general way is taken, which also knows what to say about invalid values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from tablewright.dynamo import AttributeValue
from tablewright.model.errors import ModelError
from tablewright.model.items.field_layout import FieldLayout
from tablewright.model.items.field_spec import FieldLocation
from tablewright.model.keys.key_forms import Field, Part, escape
from tablewright.model.keys.key_rules import KeyRule
from tablewright.model.values.attribute_codec import Encoder

__all__ = ["AttributeBuilder", "KeyBuilder", "attribute_builder", "build_attributes", "key_builder"]

# Returns the primary key that field values make up, or None where the general way is needed.
KeyBuilder = Callable[[Mapping[str, Any]], dict[str, AttributeValue] | None]
# The same for one key attribute; it may also raise, which ``build_attributes`` takes for None.
AttributeBuilder = Callable[[Mapping[str, Any]], AttributeValue | None]


def key_builder(layout: FieldLayout, key_rules: Mapping[str, KeyRule]) -> KeyBuilder:
    """The builder of an entity's primary keys."""
    table = layout.table
    builders: list[tuple[str, AttributeBuilder]] = []
    used: set[str] = set()
    for attribute in table.key:
        rule = key_rules.get(attribute)
        builder = None
        if rule is None or not (rule.shards > 1 or rule.template.optional or rule.others):
            builder = attribute_builder(layout, attribute, None if rule is None else rule.template.parts)
        if builder is None:
            return lambda values: None
        builders.append((attribute, builder))
        used.update([attribute] if rule is None else rule.template.required)
    may_be_internal = table.partition not in key_rules
    number = len(used)

    def build(values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        key = build_attributes(builders, values, {}) if len(values) == number else None
        return None if key is None or (may_be_internal and table.is_internal(key)) else key

    return build


def build_attributes(
    builders: Sequence[tuple[str, AttributeBuilder]], values: Mapping[str, Any], attributes: dict[str, AttributeValue]
) -> dict[str, AttributeValue] | None:
    """Adds the attributes that builders make of field values; None where the general way is needed."""
    try:
        for name, builder in builders:
            value = builder(values)
            if value is None:
                return None
            attributes[name] = value
    except (KeyError, TypeError, ValueError, ModelError):
        return None
    return attributes


def attribute_builder(layout: FieldLayout, attribute: str, parts: Sequence[Part] | None) -> AttributeBuilder | None:
    """The builder of a key attribute from parts of its template, or, without a template, from the field that is stored
    in it; None where the general way is needed.
    """
    names = {spec.attribute: spec.name for spec in layout.fields.values()}
    sources = {attribute} if parts is None else {part.name for part in parts if isinstance(part, Field)}
    if not names.keys() >= sources:
        return None
    locations = {source: (names[source], layout.locate(names[source], "")) for source in sources}
    return _from_field(*locations[attribute]) if parts is None else _from_template(parts, locations)


def _from_field(name: str, location: FieldLocation) -> AttributeBuilder:
    encoders = location.coercion.encoders

    def build(values: Mapping[str, Any]) -> AttributeValue | None:
        value = values[name]
        encode = encoders.get(type(value))
        return None if encode is None else encode(value)

    return build


def _from_template(parts: Sequence[Part], locations: Mapping[str, tuple[str, FieldLocation]]) -> AttributeBuilder:
    pieces = []
    literal = ""
    for part in parts:
        if isinstance(part, Field):
            name, location = locations[part.name]
            pieces.append((literal, name, _writers(part, location)))
            literal = ""
        else:
            literal += part.text

    def build(values: Mapping[str, Any]) -> AttributeValue | None:
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

    return build


def _writers(part: Field, location: FieldLocation) -> Mapping[type, Callable[[Any], str]]:
    """How values of a field's types are written in a key; those of some types without being encoded first."""
    return {
        kind: _direct_writer(part, kind) or _encoded(part, encode)
        for kind, encode in location.coercion.encoders.items()
    }


def _direct_writer(part: Field, kind: type) -> Callable[[Any], str] | None:
    form = part.form
    if form == "text":
        return _AS_TEXT.get(kind) if part.raw is None or kind is not str else None
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
