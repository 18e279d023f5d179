"""Coercion of the values that callers give for a field, just as pydantic coerces them when an entity is made.

A caller may give a UUID as text in capitals, a time as ISO text, a number as text. Items have what pydantic makes of
such a value, so the value as it was given would equal none of theirs. Here pydantic coerces it in the same way, or
rejects it.

Nearly all values have exactly the field's type already, and need no coercion: ``encoders`` has these types, and none if
a validator of the field may change values (to lower case, by a function). A bound of a range need not be a valid value
of the field: ``bound_encoders`` has the types whose values are used as bounds without coercion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import SchemaValidator

from tablewright.dynamo import AttributeValue
from tablewright.model.values.attribute_codec import Encoder, Epoch, encode
from tablewright.model.values.pydantic_validators import fields_alone, validator_of

__all__ = ["UNTYPED", "Coercion", "coercion_for"]

Node = dict[str, Any]

# The types of values, by the core schema that takes them.
_TYPES: dict[str, type] = {
    "str": str,
    "int": int,
    "float": float,
    "decimal": Decimal,
    "bool": bool,
    "bytes": bytes,
    "date": date,
    "datetime": datetime,
    "uuid": UUID,
}
_WRAPPERS = ("default", "nullable")
# What changes text: in a core schema, and in the configuration of a model.
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")
_CONFIGURED_CHANGES = tuple(f"str_{change}" for change in _CHANGES)


@dataclass(frozen=True, slots=True)
class Coercion:
    """How values for a field are coerced and encoded."""

    # The types whose values need no coercion, each with its encoder.
    encoders: Mapping[type, Encoder]
    # The same for bounds, which validators do not change.
    bound_encoders: Mapping[type, Encoder]
    # Coerces any other value, or raises pydantic's ValidationError.
    coerce: Callable[[Any], Any]


def _text(value: str) -> AttributeValue:
    return {"S": value}


def _encoders(types: Iterator[type], encoder: Encoder) -> dict[type, Encoder]:
    return {kind: _text if kind is str else encoder for kind in types}


_SCALARS = _encoders(iter(_TYPES.values()), encode)
UNTYPED = Coercion(_SCALARS, _SCALARS, lambda value: value)
"""For a location whose type is not known."""


def coercion_for(model: type[BaseModel], name: str, encoder: Encoder) -> Coercion:
    """The coercion of a field of a model."""
    fields = _fields_of(model)
    schema = fields.nodes[name]["schema"]
    found = _Kinds(fields, encoder)
    found.add(schema)
    return Coercion(
        {} if found.may_change else found.encoders,
        found.bound_encoders,
        lambda value: _validator(model, name).validate_python(value),
    )


# -- core schemas ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a model in its core schema, and what they refer to."""

    nodes: Mapping[str, Node]
    definitions: list[Node]
    config: Any

    def resolved(self, node: Node) -> Node:
        while node["type"] == "definition-ref":
            node = next(each for each in self.definitions if each["ref"] == node["schema_ref"])
        return node


@lru_cache(maxsize=1024)
def _fields_of(model: type[BaseModel]) -> _Fields:
    schema = fields_alone(model.__pydantic_core_schema__)
    definitions = schema["definitions"] if schema["type"] == "definitions" else []
    schema, config = schema["schema"] if definitions else schema, None
    while schema["type"] != "model-fields":
        if schema["type"] == "definition-ref":
            schema = next(each for each in definitions if each["ref"] == schema["schema_ref"])
        elif schema["type"] == "model":
            config = schema.get("config")
            schema = schema["schema"]
        else:
            schema = schema["schema"]
    return _Fields(schema["fields"], definitions, config)


@lru_cache(maxsize=4096)
def _validator(model: type[BaseModel], name: str) -> SchemaValidator:
    """The validator of a field by itself."""
    fields = _fields_of(model)
    schema = _by_itself(fields.nodes[name]["schema"])
    if fields.definitions:
        schema = {"type": "definitions", "schema": schema, "definitions": fields.definitions}
    return validator_of(schema, fields.config)


def _by_itself(schema: Node) -> Node:
    """The schema of a field without validators that need other fields, which are missing here."""
    if schema["type"].startswith("function-") and schema["function"]["type"] == "with-info":
        return _by_itself(schema["schema"]) if "schema" in schema else {"type": "any"}
    if schema["type"].startswith("function-") or schema["type"] in _WRAPPERS:
        return {**schema, "schema": _by_itself(schema["schema"])} if "schema" in schema else schema
    return schema


class _Kinds:
    """The types of values that a core schema leaves as they are."""

    def __init__(self, fields: _Fields, encoder: Encoder) -> None:
        self._fields = fields
        self._encoder = encoder
        self.encoders: dict[type, Encoder] = {}
        self.bound_encoders: dict[type, Encoder] = {}
        self.may_change = False

    def add(self, schema: Node) -> None:
        schema = self._fields.resolved(schema)
        kind = schema["type"]
        if kind in _TYPES:
            self._take([_TYPES[kind]])
            configured = self._fields.config or {}
            if kind == "str" and (
                any(map(schema.get, _CHANGES)) or any(configured.get(change) for change in _CONFIGURED_CHANGES)
            ):
                self.may_change = True
        elif kind in _WRAPPERS:
            self.add(schema["schema"])
        elif kind.startswith("function-"):
            # An epoch time is truncated, which its encoder does as well.
            self.may_change |= not isinstance(getattr(schema["function"]["function"], "__self__", None), Epoch)
            if "schema" in schema:
                self.add(schema["schema"])
        elif kind == "union":
            for choice in schema["choices"]:
                self.add(choice[0] if isinstance(choice, tuple) else choice)
        elif kind in ("enum", "model"):
            self._take([schema["cls"]])
        elif kind == "literal":
            self._choose(schema["expected"])
        elif kind == "any":
            self._take([*_TYPES.values()])

    def _take(self, types: list[type]) -> None:
        encoders = _encoders(iter(types), self._encoder)
        self.encoders |= encoders
        self.bound_encoders |= encoders

    def _choose(self, choices: list[Any]) -> None:
        types = {type(choice) for choice in choices if choice is not None}
        self.bound_encoders |= _encoders(iter(types), self._encoder)
        for kind in types:
            # Another member of a union may accept other values of the type.
            is_taken = kind in self.encoders
            self.encoders[kind] = (
                self.bound_encoders[kind]
                if is_taken
                else self._one_of([choice for choice in choices if type(choice) is kind])
            )

    def _one_of(self, choices: list[Any]) -> Encoder:
        known = {choice: self._encoder(choice) for choice in choices}
        options = " or ".join(map(repr, choices))

        def chosen(value: Any) -> AttributeValue | None:
            if value not in known:
                raise ValueError(f"Input should be {options}")
            return known[value]

        return chosen
