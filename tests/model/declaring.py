"""Entities that a test declares in a line: a table, and a class with given fields."""

from collections.abc import Callable
from types import new_class
from typing import Any, cast

from tablewright.model import (
    Entity,
    GlobalIndex,
    Keys,
    LocalIndex,
    Table,
)


def table(**options: Any) -> Table:
    indexes = [GlobalIndex("GSI1", "GSI1PK", "GSI1SK"), LocalIndex("LSI1", "LSI1SK")]
    return Table("Rows", "PK", "SK", **{"indexes": indexes, **options})


def declared(fields: dict[str, Any], where: Table | None = None, **options: Any) -> type[Entity]:
    """An entity of the name Row, with the keys of its table unless others are given."""
    annotations = {"id": str, **{name: kind for name, kind in fields.items() if not isinstance(kind, tuple)}}
    annotations |= {name: pair[0] for name, pair in fields.items() if isinstance(pair, tuple)}
    body: dict[str, Any] = {name: pair[1] for name, pair in fields.items() if isinstance(pair, tuple)}
    body |= {"keys": Keys(PK="ROW#{id}", SK="ROW"), "__annotations__": annotations, "__module__": __name__}
    arguments: dict[str, Any] = {name: options.pop(name) for name in ("naming", "type_name") if name in options}
    body |= options
    return cast("type[Entity]", new_class("Row", (Entity,), {"table": where or table(), **arguments}, body_of(body)))


def body_of(members: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda namespace: namespace.update(members)


KEYS = {"PK": "ROW#{id}", "SK": "ROW"}
