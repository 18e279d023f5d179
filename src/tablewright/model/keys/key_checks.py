"""Checks of an entity's keys, made with the class: templates, their forms, and fields that are only in keys."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

from tablewright.model.declarations import AttributeName, Expiry, KeyOnly, Large, Numbered, Stamp, Unique, VersionMarker
from tablewright.model.errors import ModelError
from tablewright.model.keys.key_forms import FOLDS, Field
from tablewright.model.keys.key_layout import KeyLayout
from tablewright.model.keys.key_rules import KeyRule

__all__ = ["check_keys", "check_range"]

_NOT_IN_KEYS = {"M", "L", "SET", "B"}
_KINDS = {"S": "text", "N": "a number", "B": "bytes"}
# What needs an attribute of its own.
_STORED = (AttributeName, Expiry, Large, Numbered, Stamp, Unique, VersionMarker)
# Types whose values are all stored as texts of one length.
_ONE_LENGTH = {date, datetime, UUID}


def check_keys(schema: KeyLayout) -> None:
    """Check the keys of an entity."""
    for attribute, rule in schema.key_rules.items():
        _check_rule(schema, attribute, rule)
    _check_attributes(schema)
    _check_unstored(schema)


def _check_rule(schema: KeyLayout, attribute: str, rule: KeyRule) -> None:
    table = schema.table
    place = f"{schema.entity.__name__}.keys, {attribute}"
    if attribute not in table.key_attributes:
        raise ModelError(
            f"{place} is not a key attribute of table {table.name!r}; key attributes are "
            f"{', '.join(table.key_attributes)}"
        )
    kind = table.types.get(attribute, "S")
    if kind != "S":
        raise ModelError(f"{place} is {_KINDS[kind]}, and templates make text; store a field in it instead")
    if rule.others and attribute in table.key:
        raise ModelError(
            f"{place} is part of the primary key, which must not change with the state; use first_of(...) for keys of "
            "indexes only"
        )
    if rule.when and attribute in table.key:
        raise ModelError(f"{place} is part of the primary key, which every item must have; remove the when(...)")
    sorts = [table.sort, *(name for index in table.indexes for name in index.sort)]
    if rule.is_spread and attribute in sorts:
        raise ModelError(f"{place} is a sort key; only a partition key can be sharded")
    if rule.was is not None and attribute in table.key:
        raise ModelError(
            f"{place} is part of the primary key, and items that have not been moved yet could not be found; "
            "was=... is "
            "for keys of indexes only"
        )
    for case in rule.cases:
        for field in case.template.fields:
            _check_form(schema, place, field)
    if attribute in table.key and rule.template.optional:
        # Only an absent value, or one that is elsewhere in the key too, may be left out: else two items could have
        # the same key.
        others = [
            schema.key_rules[name].template for name in table.key if name in schema.key_rules and name != attribute
        ]
        rule.template.require_complete({field.name for template in others for field in template.fields})


def _check_form(schema: KeyLayout, place: str, field: Field) -> None:
    name = schema.field_path(field.name)
    known = schema.locate(name, place).types - {"NULL", None}
    shown = f"{{{name}:{field.form}}}"
    if field.form in FOLDS:
        if known - {"S"}:
            raise ModelError(f"{place}: {shown} is a format for text, and {name} is not text")
    elif field.is_text:
        if known & {"L", "SET"}:
            raise ModelError(
                f"{place}: {name} has many values, and a key holds one; store an item for each value",
                rule="many-valued-key",
            )
        if known & _NOT_IN_KEYS:
            raise ModelError(
                f"{place}: {{{name}}} is neither text, a number nor a boolean; only those can be part of a key"
            )
    elif field.is_time_part:
        if known - {"S"}:
            raise ModelError(f"{place}: {shown} needs a time that is stored as text; declare a datetime")
    elif "|" in field.form:
        if known - {"BOOL"}:
            raise ModelError(f"{place}: {shown} is a format for booleans, and {name} is not a bool")
    elif known - {"N"}:
        raise ModelError(f"{place}: {shown} is a format for numbers, and {name} is not a number")


def check_range(schema: KeyLayout, place: str, name: str, sort: tuple[str, ...], known: Mapping[str, Any]) -> None:
    """Check that the keys of a raw template sort by the field that is bounded."""
    path = schema.path(name)
    rules = [schema.key_rules[attribute] for attribute in sort if attribute in schema.key_rules]
    for template in [case.template for rule in rules for case in rule.possible(known)]:
        part = next((part for part in template.fields if part.name == path), None)
        if part is None or part.is_sorted or part is template.parts[-1]:
            continue
        if not schema.locate(name, place).coercion.bound_encoders.keys() <= _ONE_LENGTH:
            shown = template.renamed(schema.field_path).text
            raise ModelError(
                f"{place}: {shown!r} is raw, and text follows {name} in it, so keys do not sort by {name}; "
                f"put {{{name}}} last, or use a format of one length, such as a date or {{{name}:013}}"
            )


def _check_attributes(schema: KeyLayout) -> None:
    table, entity = schema.table, schema.entity.__name__
    for attribute in table.key_attributes:
        spec = schema.by_attribute.get(attribute)
        if spec is None:
            if attribute not in schema.key_rules and attribute in table.key:
                raise ModelError(
                    f"{entity} does not define the key attribute {attribute}; add it to keys, or store a field in it"
                )
            continue
        kind = table.types.get(attribute, "S")
        known = spec.types - {"NULL", None}
        if known and known != {kind}:
            (found, *_) = sorted(map(str, known))
            hint = (
                f"give the table types={{{attribute!r}: {found!r}}}"
                if found in _KINDS
                else "give it another AttributeName"
            )
            raise ModelError(
                f"{entity}.{spec.name} is stored in the key attribute {attribute!r}, which is {_KINDS[kind]}; {hint}"
            )


def _check_unstored(schema: KeyLayout) -> None:
    entity = schema.entity.__name__
    for spec in schema.fields.values():
        if spec.marker(KeyOnly) is None:
            continue
        place = f"{entity}.{spec.name}"
        other = next((marker for marker in spec.markers if isinstance(marker, _STORED)), None)
        if other is not None:
            kind = type(other).__name__
            raise ModelError(f"{place} is KeyOnly, and {kind} needs an attribute; remove one of the markers")
        info = schema.entity.model_fields[spec.name]
        if "NULL" in spec.types and not info.is_required() and info.default is not None:
            raise ModelError(f"{place} is KeyOnly, so that None would be read as its default; make the default None")
        if spec.attribute not in schema.unstored.homes:
            raise ModelError(
                f"{place} is KeyOnly, and no key has all of it whenever it has a value; put {{{spec.name}}} into the "
                "primary key, or into the key of an index without when(...) whose other fields are never None"
            )
