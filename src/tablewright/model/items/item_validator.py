"""Entities straight from items: pydantic validates stored values where they are, without decoding them first.

An item says with each value how it is stored: ``{"minutes": {"N": "45"}}``. pydantic's core can look a field up by a
path, and ``minutes`` is at ``("minutes", "N")``. So a second validator is made of an entity's core schema, in which
every field has such a path; it takes an item as it is, and no Python runs for most types. Fields of other types (lists
of text, bytes, unions, ...) are decoded first, field by field.

The result is the same as that of the entity's own validator on decoded values. An item validator may reject what the
entity's own would accept (a stored NULL, an unexpected type), so after a rejection the decoded values are validated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import SchemaValidator

from tablewright.dynamo import AttributeValue
from tablewright.model.values.attribute_codec import Epoch, decode, decode_list

Node = dict[str, Any]
E = TypeVar("E", bound=BaseModel)
# Makes entities of items, or raises pydantic's ValidationError.
ItemValidator = Callable[[Sequence[Mapping[str, AttributeValue]]], list[E]]

# Core schemas that take the content of a tag as it is stored; numbers are text, which these read.
_TAGS = {
    "str": "S",
    "date": "S",
    "datetime": "S",
    "uuid": "S",
    "int": "N",
    "float": "N",
    "decimal": "N",
    "bool": "BOOL",
}
_SETS = {"S": "SS", "N": "NS"}


class _NotSupported(Exception):
    """A model that cannot be validated from a stored map directly."""


def item_validator(
    entity: type[E], attributes: Mapping[str, str], absent: Mapping[str, Callable[[], Any]]
) -> ItemValidator[E] | None:
    """The validator of an entity's items; None if their values have to be decoded first.

    ``attributes`` maps fields to attributes. ``absent`` has the value of a field whose attribute is missing, where that
    is not the field's default.
    """
    schema = cast("Node", entity.__pydantic_core_schema__)
    definitions: list[Node] = schema["definitions"] if schema["type"] == "definitions" else []
    if definitions:
        schema = schema["schema"]
    try:
        item = _Compiler(definitions).entity(schema, attributes, absent)
        validated: Node = {"type": "list", "items_schema": item}
        if definitions:
            validated = {"type": "definitions", "schema": validated, "definitions": definitions}
        # Otherwise pydantic would use the validator of a nested model's class; some versions lack the argument.
        validator = SchemaValidator(cast("Any", validated), _use_prebuilt=False)
    except (_NotSupported, TypeError):
        return None
    validate: ItemValidator[E] = validator.validate_python
    if not absent:
        return validate

    def validate_and_mark(items: Sequence[Mapping[str, AttributeValue]]) -> list[E]:
        entities = validate(items)
        for entity in entities:
            # The value is not the default, so it counts as set.
            entity.__pydantic_fields_set__.update(absent)
        return entities

    return validate_and_mark


class _Compiler:
    """Core schemas of decoded values, made into core schemas of stored ones."""

    def __init__(self, definitions: list[Node]) -> None:
        self._definitions = {schema["ref"]: schema for schema in definitions}
        # The definitions that are being looked into: one that is part of itself would have no end.
        self._within: list[str] = []

    def entity(self, schema: Node, attributes: Mapping[str, str], absent: Mapping[str, Callable[[], Any]]) -> Node:
        if schema["type"] == "definition-ref":
            schema = self._definitions[schema["schema_ref"]]
        if schema["type"] == "function-after":
            return {**_plain(schema), "schema": self.entity(schema["schema"], attributes, absent)}
        fields = _fields_of(schema)
        validated = {}
        for name, field in fields.items():
            path = (attributes[name],)
            validated[name] = (
                self._with_absence(field, path, absent[name]()) if name in absent else self._field(field, path)
            )
        # Key attributes are not fields, and other attributes belong to other writers.
        model_fields = {**schema["schema"], "fields": validated, "extra_behavior": "ignore"}
        return {**_plain(schema), "schema": model_fields}

    def _field(self, field: Node, path: tuple[str, ...]) -> Node:
        tag, validated = self._stored(field["schema"])
        return {**field, "schema": validated, "validation_alias": _paths(path, tag, _has_default(field["schema"]))}

    def _with_absence(self, field: Node, path: tuple[str, ...], value: Any) -> Node:
        """A field that is something else than its default when it is not stored."""
        tag, validated = self._stored(field["schema"])
        content: Any = None if value is None else []
        stored = {"NULL" if value is None else "L": content} if tag is None else content
        schema = validated["schema"] if validated["type"] == "default" else validated
        validated = {"type": "default", "schema": schema, "default": stored, "validate_default": True}
        return {**field, "schema": validated, "validation_alias": _paths(path, tag, has_default=True)}

    def _stored(self, schema: Node) -> tuple[str | None, Node]:
        """A tag and a schema that takes its content; without a tag, a schema that takes a tagged value."""
        content = self._content(schema)
        if content is not None:
            return content
        if schema["type"] in ("default", "function-after"):
            if schema.get("validate_default"):
                # The default is not a stored value.
                raise _NotSupported
            tag, inner = self._stored(schema["schema"])
            return tag, {**_plain(schema), "schema": inner}
        return None, _decoded(schema)

    def _content(self, schema: Node) -> tuple[str, Node] | None:
        """The same, where a tag is known beforehand."""
        kind = schema["type"]
        if schema.get("strict"):
            return None
        if kind in _TAGS:
            return _TAGS[kind], _plain(schema)
        if kind == "enum":
            return ("S", _plain(schema)) if schema.get("sub_type") == "str" else None
        if kind == "literal":
            return ("S", _plain(schema)) if all(type(value) is str for value in schema["expected"]) else None
        if kind == "nullable":
            inner = self._content(schema["schema"])
            return None if inner is None else (inner[0], {**_plain(schema), "schema": inner[1]})
        if kind == "function-after":
            return self._after(schema)
        if kind == "function-before":
            epoch = _epoch(schema, Epoch.decode)
            if epoch is None:
                return None
            return "N", {**_plain(schema), "function": {"type": "no-info", "function": epoch.read}}
        if kind in ("set", "frozenset"):
            member = schema.get("items_schema", {"type": "any"})
            tag = _SETS.get(_TAGS.get(member["type"], ""))
            return None if tag is None or member.get("strict") else (tag, _plain(schema))
        if kind == "list":
            return self._list(schema)
        if kind == "model":
            return self._model(schema)
        if kind == "definition-ref":
            return self._definition(schema["schema_ref"])
        return None

    def _after(self, schema: Node) -> tuple[str, Node] | None:
        inner = self._content(schema["schema"])
        if inner is None:
            return None
        epoch = _epoch(schema, Epoch.truncate)
        if epoch is not None and _epoch(schema["schema"], Epoch.decode) == epoch:
            # What was counted in whole units is whole.
            return inner
        return inner[0], {**_plain(schema), "schema": inner[1]}

    def _list(self, schema: Node) -> tuple[str, Node] | None:
        member = schema.get("items_schema", {"type": "any"})
        try:
            if member["type"] == "model":
                return "L", {**_plain(schema), "items_schema": self._members(member, ("M",))}
        except _NotSupported:
            pass
        return "L", _decoded(schema, _listed)

    def _model(self, schema: Node) -> tuple[str, Node] | None:
        try:
            return "M", self._members(schema, ())
        except _NotSupported:
            return None

    def _definition(self, ref: str) -> tuple[str, Node] | None:
        if ref in self._within:
            return None
        self._within.append(ref)
        try:
            return self._content(self._definitions[ref])
        finally:
            self._within.pop()

    def _members(self, schema: Node, prefix: tuple[str, ...]) -> Node:
        validated = {}
        for name, field in _fields_of(schema).items():
            alias = field.get("validation_alias", name)
            if not isinstance(alias, str):
                raise _NotSupported
            validated[name] = self._field(field, (*prefix, alias))
        return {**_plain(schema), "schema": {**schema["schema"], "fields": validated}}


def _fields_of(schema: Node) -> dict[str, Node]:
    """The fields of a model, if nothing of it looks at what the model is made of."""
    config = schema.get("config", {})
    unusual = (
        schema["type"] != "model"
        or schema["schema"]["type"] != "model-fields"
        or schema.get("custom_init")
        or schema.get("root_model")
        or schema.get("strict")
        or config.get("strict")
        or config.get("extra_fields_behavior") == "allow"
        or schema["schema"].get("extra_behavior") == "allow"
        or config.get("validate_default")
        or config.get("validate_by_name")
        or config.get("populate_by_name")
        or config.get("validate_by_alias") is False
    )
    if unusual:
        raise _NotSupported
    fields: dict[str, Node] = schema["schema"]["fields"]
    return fields


def _paths(path: tuple[str, ...], tag: str | None, has_default: bool) -> list[list[str]]:
    """The paths to the value of a field. A value with another tag is missing there, which is refused. A field with a
    default would get its default instead; so it has a second path, without the tag, to the value that is refused.
    """
    if tag is None:
        return [list(path)]
    return [[*path, tag], list(path)] if has_default else [[*path, tag]]


def _has_default(schema: Node) -> bool:
    if schema["type"].startswith("function") and "schema" in schema:
        return _has_default(schema["schema"])
    return bool(schema["type"] == "default")


def _plain(schema: Node) -> Node:
    """A schema that is not referred to; those that are, are kept as they are."""
    return {name: member for name, member in schema.items() if name != "ref"}


def _decoded(schema: Node, decoder: Callable[[Any], Any] = decode) -> Node:
    return {"type": "function-before", "function": {"type": "no-info", "function": decoder}, "schema": schema}


def _listed(content: Any) -> Any:
    """The members of a stored list, or what is stored instead of one."""
    return decode_list(content) if isinstance(content, list) else decode(content)


def _epoch(schema: Node, method: Callable[..., Any]) -> Epoch | None:
    """The mark of a counted time that a validator function belongs to."""
    function = schema.get("function", {}).get("function")
    owner = getattr(function, "__self__", None)
    return owner if isinstance(owner, Epoch) and getattr(function, "__func__", None) is method else None
