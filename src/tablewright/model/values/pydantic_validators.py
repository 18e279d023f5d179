"""The validators of entities: pydantic's own, adapted to values as items have them.

* A time without a zone is rejected, also inside of nested models.
* A number in a ``JsonValue`` is a float if it has a fraction; decoding gives a Decimal.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

from pydantic import BaseModel, types
from pydantic_core import CoreSchema, SchemaValidator

# Members of a core schema that are not schemas, but may look like one.
_OPAQUE = frozenset({"config", "default", "expected", "metadata"})
# The function by which pydantic distinguishes the types of a JsonValue.
_OF_JSON = getattr(types, "_get_type_name", None)


def accept_stored_values(model: type[BaseModel]) -> None:
    """Replace the validator of a complete model by one that accepts values as they are stored."""
    schema = model.__pydantic_core_schema__
    changed = cast("CoreSchema", _changed(schema))
    if changed is schema:
        return
    model.__pydantic_core_schema__ = changed
    model.__pydantic_validator__ = validator_of(changed)


def validator_of(schema: Any, config: Any = None) -> SchemaValidator:
    """The validator of a core schema, with nested models as that schema describes them."""
    try:
        # Otherwise pydantic would use the validator of a nested model's class instead.
        return SchemaValidator(schema, config, _use_prebuilt=False)
    except TypeError:
        # This pydantic does not know the argument.
        return SchemaValidator(schema, config)


def fields_alone(schema: Any) -> Any:
    """The core schema of a model without validators of the whole model and without frozen fields."""
    if schema["type"] == "definitions":
        return {**schema, "schema": fields_alone(schema["schema"])}
    if schema["type"].startswith("function-"):
        return fields_alone(schema["schema"])
    if schema["type"] == "model":
        return {**_thawed(schema), "schema": fields_alone(schema["schema"])}
    if schema["type"] == "model-fields":
        return {**schema, "fields": {name: _thawed(field) for name, field in schema["fields"].items()}}
    return schema


def _thawed(schema: Any) -> Any:
    return {name: member for name, member in schema.items() if name != "frozen"}


def _changed(schema: Any) -> Any:
    """A core schema for stored values; the same object if nothing has to change."""
    if isinstance(schema, list | tuple):
        members = [_changed(member) for member in schema]
        same = all(new is old for new, old in zip(members, schema, strict=True))
        return schema if same else type(schema)(members)
    if not isinstance(schema, dict):
        return schema
    copied = {name: member if name in _OPAQUE else _changed(member) for name, member in schema.items()}
    kind = copied.get("type")
    if kind == "datetime" and copied.get("tz_constraint") != "aware":
        return {**copied, "tz_constraint": "aware"}
    if kind == "tagged-union" and _OF_JSON is not None and copied.get("discriminator") is _OF_JSON:
        return {"type": "function-before", "function": {"type": "no-info", "function": _json_number}, "schema": copied}
    return schema if all(copied[name] is member for name, member in schema.items()) else copied


def _json_number(value: Any) -> Any:
    """A number as JSON has it; one that no float equals is left alone, and rejected."""
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        return float(value)
    return value
