"""Items as rows: each table is a relation of its attributes, and so is each entity of a design in it.

This unfolds a single-table design: ``SELECT * FROM Ticket JOIN Customer USING (customer_id)``. The model determines the
entity of an item, and its fields; an item that it cannot read is counted, and is only in the relation of the table.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError

from tablewright.dynamo import Item
from tablewright.model import Design, Entity, ModelError, Schema, schemas_of
from tablewright.sql import column_types
from tablewright.sql.column_types import Column

__all__ = ["Relation", "RelationRows", "entity_names", "entity_relation", "table_relation"]

# Further attributes are in one column, as JSON.
_MOST_COLUMNS = 300
_FURTHER = "further_attributes"
_DECLARED: tuple[tuple[type, str], ...] = (
    (bool, column_types.TRUTH),
    (int, "BIGINT"),
    (float, column_types.FLOAT),
    (Decimal, column_types.FLOAT),
    (datetime, column_types.TIMESTAMP),
    (date, column_types.DATE),
    (time, column_types.TIME),
    (bytes, column_types.BYTES),
)


@dataclass(frozen=True, slots=True)
class Relation:
    """What a query can name: a table, or an entity of one."""

    name: str
    # The table that it is read from.
    table: str
    is_entity: bool
    # Names and types, as far as they are known: for an entity all of them, for a table its keys until it is read.
    columns: tuple[tuple[str, str], ...]

    @property
    def schema(self) -> str:
        """Its DuckDB schema: if an entity has the name of a table, this distinguishes them."""
        return "entities" if self.is_entity else "tables"

    @property
    def sql_name(self) -> str:
        return f"{self.schema}.{quoted(self.name)}"


@dataclass(slots=True)
class RelationRows:
    """The rows of a relation while its table is read, with their columns."""

    relation: Relation
    columns: dict[str, Column]
    row_of: Callable[[RelationRows, Item], dict[str, Any] | None]
    rows: int = 0
    # Items of an entity that cannot be read as one.
    unreadable: int = 0
    # The numbers of columns, which are their names in files: names of attributes may differ in case only.
    places: dict[str, str] = field(default_factory=dict)

    def place(self, name: str) -> str:
        return self.places.setdefault(name, f"c{len(self.places)}")


def table_relation(name: str, description: dict[str, Any]) -> RelationRows:
    kinds = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    keys = [each["AttributeName"] for each in description["KeySchema"]]
    columns = {
        key: Column(key, {"N": column_types.FLOAT, "B": column_types.BYTES}.get(kinds[key], "VARCHAR")) for key in keys
    }
    relation = Relation(name, name, False, tuple((key, column.declared) for key, column in columns.items()))
    return RelationRows(relation, columns, _table_row)


def _table_row(rows: RelationRows, item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {}
    further: dict[str, Any] = {}
    for name, value in item.items():
        column = rows.columns.get(name)
        if column is None:
            if len(rows.columns) >= _MOST_COLUMNS:
                further[name] = value
                continue
            column = rows.columns[name] = Column(name)
        row[rows.place(name)] = column.of_attribute(value)
    if further:
        column = rows.columns.setdefault(_FURTHER, Column(_FURTHER, column_types.JSON))
        row[rows.place(_FURTHER)] = column.of_attribute({"M": further})
    return row


def entity_names(designs: Sequence[Design]) -> dict[type[Entity], str]:
    """The name of each entity: its class, prefixed with its design if others have the same name."""
    found = {
        schema.entity: design.name for design in designs for table in design.tables for schema in schemas_of(table)
    }
    counts = Counter(entity.__name__.lower() for entity in found)
    names = {}
    for entity, design in found.items():
        name = entity.__name__
        # Without characters that would have to be quoted.
        prefix = "".join(each for each in design if each.isalnum())
        names[entity] = name if counts[name.lower()] == 1 else f"{prefix}_{name}"
    return names


def entity_relation(schema: Schema, name: str, table: str, now: Callable[[], float]) -> RelationRows:
    columns = {name: Column(name, _declared(info.annotation)) for name, info in schema.entity.model_fields.items()}
    listed = tuple((name, column.declared) for name, column in columns.items())
    relation = Relation(name, table, True, listed)

    def row_of(rows: RelationRows, item: Item) -> dict[str, Any] | None:
        kind = schema.kind_of(item) if schema.subtypes else schema if schema.matches(item) else None
        if kind is None or kind.is_expired(item, now()):
            return None
        try:
            entity = kind.decode(item)
        except (ValidationError, ModelError):
            rows.unreadable += 1
            return None
        return {rows.place(name): column.of_value(entity.__dict__.get(name)) for name, column in rows.columns.items()}

    return RelationRows(relation, columns, row_of)


def _declared(annotation: Any) -> str:
    """The type of a column that has no values."""
    arguments = get_args(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [each for each in arguments if each is not type(None)]
        return _declared(rest[0]) if len(rest) == 1 else column_types.TEXT
    if hasattr(annotation, "__metadata__"):
        return _declared(arguments[0])
    if not isinstance(annotation, type):
        return column_types.TEXT
    return next((kind for of, kind in _DECLARED if issubclass(annotation, of)), column_types.TEXT)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def column_names(columns: Sequence[Column]) -> list[str]:
    """Their names, made unique: SQL does not distinguish upper from lower case."""
    taken: set[str] = set()
    names = []
    for column in columns:
        name, number = column.name, 2
        while name.lower() in taken:
            name, number = f"{column.name}_{number}", number + 1
        taken.add(name.lower())
        names.append(name)
    return names
