"""For each rule, a design that has the mistake and the same design without it.

Entities are declared inside of functions, so that each design has tables of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tablewright.model import Design, Entity, Table


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, where it finds its mistake, and a design with it and without it."""

    rule: str
    place: str
    wrong: Callable[[], Design]
    right: Callable[[], Design]
    severity: str | None = None


def design_of(*entities: type[Entity]) -> Design:
    """A design of entities alone."""
    tables: list[Table] = []
    for entity in entities:
        if entity.schema_.table not in tables:
            tables.append(entity.schema_.table)
    return Design("A design", tables=tables)
