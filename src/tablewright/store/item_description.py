"""Descriptions of items for messages: by the fields of the primary key, and never by a key string."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tablewright.dynamo import Item, non_null_at
from tablewright.model import Lookup, Schema
from tablewright.model.values.attribute_codec import decode


@lru_cache(maxsize=1024)
def _identity(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The fields that the primary key is made of, each with its path in the item."""
    paths: list[str] = []
    for attribute in schema.table.key:
        rule = schema.key_rules.get(attribute)
        paths.extend([attribute] if rule is None else [part.name for part in rule.fields])
    return tuple({schema.field_path(path): path for path in paths}.items())


def describe_item(schema: Schema, item: Item) -> str:
    """An item by its fields: ``user_id u-1, call_id c-9``. A primary key will do for an item."""
    values: Item = {}
    for attribute in schema.table.key:
        rule = schema.key_rules.get(attribute)
        if rule is None:
            values[attribute] = item[attribute]
        else:
            values.update(rule.parse(item.get(attribute, {}).get("S", "")) or {})
    parts = []
    for name, path in _identity(schema):
        value = non_null_at(item, path) or values.get(path)
        if value is not None:
            parts.append(f"{name} {decode(value)}")
    return ", ".join(parts) or "(the only one)"


def describe_lookup(lookup: Lookup[Any]) -> str:
    """The description of the item that is looked up, for messages."""
    return ", ".join(f"{name} {value}" for name, value in lookup.values.items())
