"""The validators of entities: pydantic's own, but for what an item says otherwise than pydantic expects.

* A time without a zone is refused where it enters, also inside of models that know nothing of it.
* A number of a ``JsonValue`` is a float where it has a fraction; what an item gives is a Decimal.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

from pydantic import BaseModel, types
from pydantic_core import CoreSchema, SchemaValidator

# Members of a core schema that are no schemas, and may look like one.
_OPAQUE = frozenset({"config", "default", "expected", "metadata"})
# By which pydantic tells what a JsonValue is.
_OF_JSON = getattr(types, "_get_type_name", None)


def take_stored_values(model: type[BaseModel]) -> None:
    """Give a model that is complete a validator for values as they are stored."""
    schema = model.__pydantic_core_schema__
    changed = cast("CoreSchema", _changed(schema))
    if changed is schema:
        return
    model.__pydantic_core_schema__ = changed
    model.__pydantic_validator__ = validator_of(changed)


def validator_of(schema: Any, config: Any = None) -> SchemaValidator:
    """The validator of a core schema, with the models in it as they are there."""
    try:
        # Else a model's schema would be taken from its class, whatever it says here.
        return SchemaValidator(schema, config, _use_prebuilt=False)
    except TypeError:
        # This pydantic does not know the argument.
        return SchemaValidator(schema, config)


def fields_alone(schema: Any) -> Any:
    """The core schema of a model without the validators that look at all of it, to which any field can be assigned."""
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
    """A core schema for stored values; the same one if it is so already."""
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
    """A number as JSON has it; what no float means exactly is left, and refused."""
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        return float(value)
    return value
