"""What lint, estimates and documents know of the filters of access patterns."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from tablewright.design.filter_fields import has_filter, restrictions
from tablewright.model import Entity, FieldCondition, Keys, Query, Table, attr, schema_of


class State(StrEnum):
    NEW = "new"
    OPEN = "open"
    SHUT = "shut"


class Ticket(Entity, table=Table("tickets", "PK", "SK")):
    customer: str
    number: int
    state: State = State.NEW
    city: str | None = None
    count: int = 0

    keys = Keys(PK="{customer}", SK="{number:05}")

    @Query()
    def all(self, customer: str) -> None: ...

    @Query()
    def new(self, customer: str) -> FieldCondition:
        return attr(self.state) == State.NEW

    @Query()
    def busy(self, customer: str, least: int) -> FieldCondition:
        return attr(self.state).is_in(State.NEW, State.OPEN) & (attr(self.count) >= least)

    @Query()
    def in_state(self, customer: str, state: State) -> FieldCondition:
        return attr(self.state) == state

    @Query()
    def in_states(self, customer: str, *, states: list[State]) -> FieldCondition:
        return attr(self.state).is_in(*states)

    @Query()
    def nowhere(self, customer: str) -> FieldCondition:
        return attr(self.city).is_(None)

    @Query()
    def not_new(self, customer: str) -> FieldCondition:
        return ~(attr(self.state) == State.NEW)

    @Query()
    def either(self, customer: str) -> FieldCondition:
        return (attr(self.state) == State.NEW) | (attr(self.count) > 5)

    @Query()
    def computed(self, customer: str, dozens: int) -> FieldCondition:
        return attr(self.count) > 12 * dozens


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("all", []),
        ("new", [("state", 1)]),
        ("busy", [("state", 2), ("count", None)]),
        ("in_state", [("state", 1)]),
        ("in_states", [("state", None)]),
        ("nowhere", [("city", 1)]),
        ("not_new", [("state", None)]),
        ("either", [("state", None), ("count", None)]),
        ("computed", []),
    ],
)
def test_fields_and_how_many_of_their_values_pass(name: str, expected: list[tuple[str, Any]]) -> None:
    schema = schema_of(Ticket)
    pattern = schema.patterns[name]
    assert [(each.field, each.allowed) for each in restrictions(schema, pattern)] == expected
    assert has_filter(pattern) == (name != "all")


def test_values_that_are_known_before_the_pattern_is_called() -> None:
    schema = schema_of(Ticket)
    known = {name: [each.values for each in restrictions(schema, schema.patterns[name])] for name in schema.patterns}
    assert known["new"] == [({"S": "new"},)]
    assert known["busy"] == [({"S": "new"}, {"S": "open"}), None]
    assert known["in_state"] == [None]
    assert known["nowhere"] == [({"NULL": True},)]
