"""Keys straight from field values, as a read gives them.

A key follows from an item: values are encoded, placed in it, and put into the templates (``stored`` and ``key_of`` of a
schema). Where each value is that of a field, of its own type, and goes into the key as a whole, a maker does all of it
in one go. What is not so plain (a value that is missing, too many, or of another type; a part of a field; a shard) it
leaves to the long way, which also knows what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tablewright.model.errors import ModelError
from tablewright.model.items.field_spec import Place
from tablewright.model.keys.key_template import AttributeValue, Field, Part, escape
from tablewright.model.values.attribute_codec import Encoder

if TYPE_CHECKING:
    from tablewright.model.schema import Schema

__all__ = ["AttributeMaker", "KeyMaker", "attribute_maker", "key_maker", "made"]

# Gives the primary key that field values make up, or None where the maker does not know.
KeyMaker = Callable[[Mapping[str, Any]], dict[str, AttributeValue] | None]
# The same of one attribute of a key; where it does not know, it may also raise what ``made`` knows.
AttributeMaker = Callable[[Mapping[str, Any]], AttributeValue | None]


def key_maker(schema: Schema) -> KeyMaker:
    """The maker of the primary keys of an entity."""
    table = schema.table
    makers: list[tuple[str, AttributeMaker]] = []
    used: set[str] = set()
    for attribute in table.key:
        rule = schema.rules.get(attribute)
        maker = None
        if rule is None or not (rule.shards > 1 or rule.template.optional):
            maker = attribute_maker(schema, attribute, None if rule is None else rule.template.parts)
        if maker is None:
            return lambda values: None
        makers.append((attribute, maker))
        used.update([attribute] if rule is None else rule.template.required)
    may_be_internal = table.partition not in schema.rules
    number = len(used)

    def make(values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        key = made(makers, values, {}) if len(values) == number else None
        return None if key is None or (may_be_internal and table.is_internal(key)) else key

    return make


def made(
    makers: Sequence[tuple[str, AttributeMaker]], values: Mapping[str, Any], given: dict[str, AttributeValue]
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


def attribute_maker(schema: Schema, attribute: str, parts: Sequence[Part] | None) -> AttributeMaker | None:
    """The maker of a key attribute from these parts of its template, or, if it has none, from the field that is stored
    in it; None where it takes more than that.
    """
    names = {spec.attribute: spec.name for spec in schema.fields.values()}
    sources = {attribute} if parts is None else {part.name for part in parts if isinstance(part, Field)}
    if not names.keys() >= sources:
        return None
    places = {source: (names[source], schema.place(names[source], "")) for source in sources}
    return _as_it_is(*places[attribute]) if parts is None else _templated(parts, places)


def _as_it_is(name: str, place: Place) -> AttributeMaker:
    own = place.given.own

    def make(values: Mapping[str, Any]) -> AttributeValue | None:
        value = values[name]
        encode = own.get(type(value))
        return None if encode is None else encode(value)

    return make


def _templated(parts: Sequence[Part], places: Mapping[str, tuple[str, Place]]) -> AttributeMaker:
    pieces = []
    literal = ""
    for part in parts:
        if isinstance(part, Field):
            name, place = places[part.name]
            pieces.append((literal, name, _writers(part, place)))
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


def _writers(part: Field, place: Place) -> Mapping[type, Callable[[Any], str]]:
    """How values of a field's own types stand in a key; of some types without being encoded first."""
    return {kind: _straight(part.form, kind) or _encoded(part, encode) for kind, encode in place.given.own.items()}


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
