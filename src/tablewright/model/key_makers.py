"""Primary keys straight from field values, as a read gives them.

A key follows from an item: values are encoded, placed in it, and put into the templates (``stored`` and ``key_of`` of a
schema). Where each value is that of a field, and goes into the key as a whole, a maker does all of that in one go. What
is not so plain (a value that is missing, too many, or of the wrong type; a part of a field; a shard) it leaves to the
long way, which also knows what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date
from typing import TYPE_CHECKING, Any

from tablewright.model.errors import ModelError
from tablewright.model.fields import Place
from tablewright.model.keys import AttributeValue, Field, Part, escape

if TYPE_CHECKING:
    from tablewright.model.schema import Schema

__all__ = ["KeyMaker", "key_maker"]

# Gives the primary key that field values make up, or None where the maker does not know.
KeyMaker = Callable[[Mapping[str, Any]], dict[str, AttributeValue] | None]
# The same of one attribute of the key.
_Maker = Callable[[Mapping[str, Any]], AttributeValue | None]


def key_maker(schema: Schema) -> KeyMaker:
    """The maker of the primary keys of an entity."""
    table, names = schema.table, {spec.attribute: spec.name for spec in schema.fields.values()}
    makers: list[tuple[str, _Maker]] = []
    used: set[str] = set()
    for attribute in table.key:
        rule = schema.rules.get(attribute)
        parts: Sequence[Part] = (Field(attribute, "text"),) if rule is None else rule.template.parts
        sources = [part.name for part in parts if isinstance(part, Field)]
        if not names.keys() >= set(sources) or (rule is not None and (rule.shards > 1 or rule.template.optional)):
            return lambda values: None
        used.update(sources)
        places = {source: (names[source], schema.place(names[source], "")) for source in sources}
        makers.append((attribute, _as_it_is(*places[attribute]) if rule is None else _templated(parts, places)))
    may_be_internal = table.partition not in schema.rules
    number = len(used)

    def make(values: Mapping[str, Any]) -> dict[str, AttributeValue] | None:
        if len(values) != number:
            return None
        key: dict[str, AttributeValue] = {}
        try:
            for attribute, maker in makers:
                value = maker(values)
                if value is None:
                    return None
                key[attribute] = value
        except (KeyError, TypeError, ValueError, ModelError):
            return None
        return None if may_be_internal and table.is_internal(key) else key

    return make


def _as_it_is(name: str, place: Place) -> _Maker:
    encode, tags = place.encode, place.tags - {"NULL"}

    def make(values: Mapping[str, Any]) -> AttributeValue | None:
        encoded = encode(values[name])
        return None if encoded is None or tags.isdisjoint(encoded) else encoded

    return make


def _templated(parts: Sequence[Part], places: Mapping[str, tuple[str, Place]]) -> _Maker:
    pieces = []
    literal = ""
    for part in parts:
        if isinstance(part, Field):
            name, place = places[part.name]
            pieces.append((literal, name, _straight(part.form, place.tags), place.encode, place.tags, part.encoder))
            literal = ""
        else:
            literal += part.text

    def make(values: Mapping[str, Any]) -> AttributeValue | None:
        text = ""
        for before, name, straight, encode, tags, as_text in pieces:
            value = values[name]
            written = straight.get(type(value))
            if written is not None:
                text += before + written(value)
                continue
            encoded = encode(value)
            if encoded is None or tags.isdisjoint(encoded):
                return None
            text += before + as_text(encoded)
        text += literal
        # No key is empty.
        return {"S": text} if text else None

    return make


def _straight(form: str, tags: Set[str]) -> Mapping[type, Callable[[Any], str]]:
    """How values of some types stand in a key, without being encoded first."""
    if form == "text" and "S" in tags:
        return {str: escape, date: date.isoformat}
    if form.isdigit() and "N" in tags:
        return {int: _padded(int(form))}
    return {}


def _padded(width: int) -> Callable[[int], str]:
    most = 10**width

    def padded(value: int) -> str:
        if not 0 <= value < most:
            raise ValueError
        return str(value).zfill(width)

    return padded
