"""For each rule, a design that has the mistake and the same design without it.

Entities are declared inside of functions, so that each design has tables of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import new_class
from typing import Any

from tablewright.model import Design, Entity, Table


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, where it finds its mistake, and a design with it and without it."""

    rule: str
    place: str
    wrong: Callable[[], Design]
    right: Callable[[], Design]
    severity: str | None = None


def entity(name: str, table: Table, fields: dict[str, Any], **members: Any) -> type[Entity]:
    """An entity whose fields have names that a case chooses."""
    namespace = {"__module__": __name__, "__annotations__": fields, **members}
    return new_class(name, (Entity,), {"table": table}, lambda body: body.update(namespace))


def design_of(*entities: type[Entity]) -> Design:
    """A design of entities alone."""
    tables: list[Table] = []
    for entity in entities:
        if entity.schema_.table not in tables:
            tables.append(entity.schema_.table)
    return Design("A design", tables=tables)
