"""Attribute values as plain JSON, and back: for JSON Lines and CSV, and for other programs.

    {"N": "12.5"} ⇄ 12.5     {"SS": ["a"]} ⇄ ["a"]     {"B": "AQI="} ⇄ "AQI="     {"NULL": true} ⇄ null

Numbers keep all of their digits. Whether a list was a set, or text was binary, is lost: the definition of the table
declares it for the attributes of its keys, and the design for those of its fields. Other attributes are read by their
form; in CSV, as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, get_args

import orjson

from tablewright.dynamo import AttributeValue, DynamoError, Item, canonical_number, checked
from tablewright.model import Schema, Table, schemas_of
from tablewright.transfer.places.table_definition import TableDefinition

_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class AttributeTypes:
    """The types of attributes that a design and a table's definition declare: S, N, B, BOOL, L, M, SS, NS or BS."""

    def __init__(self, table: Table | None = None, definition: TableDefinition | None = None) -> None:
        self._table = table
        self._types = {} if table is None else _types_in(table)
        # Values of other types are not in an index, and do not expire, but a table may have them.
        self._usual: dict[str, str] = {}
        if definition is not None:
            self._types |= dict(definition.typed_key)
            usual = definition.attribute_types | ({} if definition.ttl is None else {definition.ttl: "N"})
            self._usual = {name: kind for name, kind in usual.items() if name not in self._types}

    def __bool__(self) -> bool:
        """Whether any type is known."""
        return bool(self._types)

    def get(self, attribute: str) -> str | None:
        return self._types.get(attribute, self._usual.get(attribute))

    def value(self, attribute: str, read: Callable[[str | None], AttributeValue]) -> AttributeValue:
        """What ``read`` makes of a value, with the type of its attribute; ValueError if it cannot be of that type."""
        if attribute in self._usual:
            with suppress(DynamoError, ValueError):
                found = read(self._usual[attribute])
                checked(found)
                return found
        return read(self._types.get(attribute))

    def is_internal(self, item: Item) -> bool:
        """Whether the store manages an item, so that no entity declares its types."""
        return self._table is not None and self._table.is_internal(item)


class _Number(str):
    """A number of JSON text, as it is written there."""


def to_line(item: Item) -> bytes:
    """An item as a line of JSON."""
    return orjson.dumps({name: _plain(value) for name, value in item.items()}) + b"\n"


def from_line(line: bytes, types: AttributeTypes) -> Item:
    """The item of a line of JSON; ValueError if it is not one."""
    content = json.loads(line, parse_int=_Number, parse_float=_Number)
    if not isinstance(content, dict):
        raise TypeError("a line must be an object with the attributes of an item")
    return {name: types.value(name, partial(_value, each)) for name, each in content.items()}


def to_row(item: Item) -> dict[str, str]:
    """The cells of an item's row."""
    return {name: _to_cell(value) for name, value in item.items()}


def from_row(row: Mapping[str, str], types: AttributeTypes) -> Item:
    """The item of a row; an empty cell is a missing attribute."""
    item = {name: types.value(name, partial(from_cell, cell)) for name, cell in row.items() if cell}
    if types.is_internal(item):
        return {name: from_cell(row[name], types.get(name) or _look(row[name])) for name in item}
    return item


def _look(cell: str) -> str:
    """The type that a cell looks like."""
    return "M" if cell.startswith("{") else "N" if _NUMBER.fullmatch(cell) else "S"


def _to_cell(value: AttributeValue) -> str:
    """A value as the text of a cell."""
    ((tag, content),) = value.items()
    return str(content) if tag in ("S", "N", "B") else orjson.dumps(_plain(value)).decode()


def from_cell(text: str, kind: str | None) -> AttributeValue:
    """The value of a cell; text, unless another type is known."""
    if kind in (None, "S"):
        return {"S": text}
    if kind in ("N", "B"):
        return _value(text, kind)
    return _value(json.loads(text, parse_int=_Number, parse_float=_Number), kind)


def _plain(value: AttributeValue) -> Any:
    ((tag, content),) = value.items()
    if tag == "N":
        return orjson.Fragment(content)
    if tag == "NS":
        return [orjson.Fragment(each) for each in content]
    if tag == "L":
        return [_plain(each) for each in content]
    if tag == "M":
        return {name: _plain(each) for name, each in content.items()}
    return None if tag == "NULL" else content


def _value(content: Any, kind: str | None = None) -> AttributeValue:
    if content is None:
        return {"NULL": True}
    if isinstance(content, bool):
        return {"BOOL": content}
    if isinstance(content, _Number):
        return {"N": _canonical(content)}
    if isinstance(content, str):
        return {"N": _canonical(content)} if kind == "N" else {"B" if kind == "B" else "S": content}
    if isinstance(content, dict):
        return {"M": {name: _value(each) for name, each in content.items()}}
    if kind in ("SS", "BS"):
        return {kind: [str(each) for each in content]}
    if kind == "NS":
        return {kind: [_canonical(str(each)) for each in content]}
    return {"L": [_value(each) for each in content]}


def _canonical(text: str) -> str:
    with suppress(DynamoError):
        # Without the class of a number in JSON text, which orjson does not write.
        return str(canonical_number(text))
    raise ValueError(f"{text} is not a number that DynamoDB can store")


# -- types ----------------------------------------------------------------------------------------------------------


def _types_in(table: Table) -> dict[str, str]:
    """The types of attributes that all entities of a table agree on."""
    found: dict[str, set[str | None]] = {name: {table.types.get(name, "S")} for name in table.key_attributes}
    if table.type_attribute is not None:
        found.setdefault(table.type_attribute, {"S"})
    if table.ttl is not None:
        found.setdefault(table.ttl, {"N"})
    for schema in schemas_of(table):
        for attribute, kind in _types_of(schema).items():
            if attribute not in table.key_attributes:
                found.setdefault(attribute, set()).add(kind)
    return {name: kind for name, kinds in found.items() if len(kinds) == 1 and (kind := next(iter(kinds))) is not None}


def _types_of(schema: Schema) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for spec in schema.fields.values():
        kinds = spec.types - {"NULL"}
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        found[spec.attribute] = _set_type(spec.annotation) if kind == "SET" else kind
    if schema.upgrades is not None:
        found[schema.upgrades.attribute] = "N"
    return found


def _set_type(annotation: Any) -> str:
    inside = set(_leaves(annotation))
    if bytes in inside:
        return "BS"
    return "NS" if any(isinstance(each, type) and issubclass(each, int | float) for each in inside) else "SS"


def _leaves(annotation: Any) -> list[Any]:
    arguments = get_args(annotation)
    return [leaf for each in arguments for leaf in _leaves(each)] if arguments else [annotation]
