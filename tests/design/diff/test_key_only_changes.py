"""A field that is only in keys must not lose the key that it is read from."""

from __future__ import annotations

from types import new_class
from typing import Annotated, Any

import pytest

from tablewright.design.diff import Impact, changes, snapshot
from tablewright.model import Design, Entity, GlobalIndex, KeyOnly, Keys, Table, first_of, raw, when


def design(key: Any, only: bool = True) -> Design:
    table = Table("Rows", "PK", indexes=[GlobalIndex("one", "GSI1PK")])
    kind: Any = Annotated[str, KeyOnly()] if only else str
    body = {
        "__annotations__": {"id": Annotated[str, KeyOnly()], "group": kind, "state": str},
        "__module__": __name__,
        "keys": Keys(PK="R#{id}", GSI1PK=key),
    }
    new_class("Row", (Entity,), {"table": table}, lambda namespace: namespace.update(body))
    return Design("Rows", tables=[table])


def found(old: Design, new: Design) -> dict[str, set[Impact]]:
    places: dict[str, set[Impact]] = {}
    for change in changes(snapshot(old), snapshot(new)):
        places.setdefault(change.place, set()).add(change.impact)
    return places


@pytest.mark.parametrize("new", [raw("B#{group}"), "A#{group}#{state}"])
def test_another_key_for_a_field_that_is_nowhere_else_is_unsafe(new: Any) -> None:
    assert Impact.UNSAFE in found(design("A#{group}"), design(new))["Row.group"]


def test_another_index_key_does_not_matter_to_what_is_in_the_primary_key() -> None:
    assert "Row.id" not in found(design("A#{group}"), design("B#{group}"))


def test_the_same_keys_are_no_change() -> None:
    assert found(design(raw("A#{group}")), design(raw("A#{group}"))) == {}


def test_keys_by_state_are_part_of_a_snapshot() -> None:
    old = design(first_of(when("A", state="a"), "B#{state}"), only=False)
    new = design(first_of(when("A", state="a"), "C#{state}"), only=False)
    assert found(old, new)["Row.keys.GSI1PK"] == {Impact.BACKFILL}
    assert found(old, old) == {}


def test_a_raw_template_is_another_one() -> None:
    assert found(design("A#{group}", only=False), design(raw("A#{group}"), only=False))["Row.keys.GSI1PK"]
