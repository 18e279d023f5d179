"""Declarations of keys that could not be kept are refused with the class, in words that say what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from types import new_class
from typing import Annotated, Any

import pytest

from tablewright.model import (
    AttributeName,
    Entity,
    FieldCondition,
    GlobalIndex,
    KeyOnly,
    Keys,
    Large,
    ModelError,
    Query,
    Table,
    Unique,
    attr,
    computed,
    first_of,
    raw,
    sharded,
    when,
)
from tests.declared_patterns import taking


def declared(fields: dict[str, Any], keys: Keys, **members: Any) -> type[Entity]:
    """An entity of the name Row, in a table of its own."""
    body = {**members, "keys": keys, "__annotations__": {"id": str, **fields}, "__module__": __name__}
    table = Table("Rows", "PK", "SK", indexes=[GlobalIndex("GSI1", "GSI1PK", "GSI1SK")])
    return new_class("Row", (Entity,), {"table": table}, lambda namespace: namespace.update(body))


def keys(**more: Any) -> Keys:
    return Keys(**{"PK": "ROW#{id}", "SK": "ROW", **more})


Only = Annotated[str, KeyOnly()]


def range_over(template: Any, kind: Any = str) -> type[Entity]:
    def of(self: Any, id: str, *, since: Any = None) -> None: ...

    return declared({"a": kind, "b": str}, keys(SK=template), found=Query()(of))


def by_state(of: Callable[..., FieldCondition | None]) -> type[Entity]:
    states = first_of(when("A#{id}", state="a"), "B#{state}")
    return declared({"state": str}, keys(GSI1PK=states, GSI1SK="{id}"), found=Query("GSI1")(of))


def takes_nothing(self: Any) -> None: ...


def takes_id(self: Any, id: str) -> None: ...


def compares_state(self: Any, id: str) -> FieldCondition:
    return attr(self.state) == "a"


def takes_state(self: Any, state: str, id: str | None = None) -> None: ...


@computed
def initial(self: Any, name: str) -> str:
    return name[0]


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "in no key": (lambda: declared({"x": Only}, keys()), "Row.x is KeyOnly, and no key has all of it"),
    "only in lower case": (lambda: declared({"x": Only}, keys(SK="{x:lower}")), "Row.x is KeyOnly, and no key has all"),
    "in a key that comes and goes": (
        lambda: declared({"x": Only, "y": str}, keys(GSI1PK=when("{x}", y="a"), GSI1SK="{id}")),
        "Row.x is KeyOnly, and no key has all of it",
    ),
    "beside what may be absent": (
        lambda: declared({"x": Only, "y": str | None}, keys(GSI1PK="{x}#{y}", GSI1SK="{id}")),
        "into the key of an index without when(...) whose other fields are never None",
    ),
    "in shards that items move between": (
        lambda: declared({"x": Only}, keys(GSI1PK=sharded("{x}", 4, was=2), GSI1SK="{id}")),
        "Row.x is KeyOnly, and no key has all of it",
    ),
    "unique and only in keys": (
        lambda: declared({"x": Annotated[str, KeyOnly(), Unique()]}, keys(SK="{x}")),
        "Row.x is KeyOnly, and Unique needs an attribute; remove one of the markers",
    ),
    "with an attribute and without one": (
        lambda: declared({"x": Annotated[str, KeyOnly(), AttributeName("y")]}, keys(SK="{x}")),
        "Row.x is KeyOnly, and AttributeName needs an attribute",
    ),
    "None would be a default": (
        lambda: declared({"x": Annotated[str | None, KeyOnly()]}, keys(GSI1PK="{x}", GSI1SK="{id}"), x="a"),
        "Row.x is KeyOnly, so that None would be read as its default; make the default None",
    ),
    "a filter on what is only in keys": (
        lambda: declared(
            {"x": Only}, keys(SK="{x}"), found=taking(Query(), "id", where=lambda self, **_: attr(self.x) != "a")
        ),
        "Row.x is stored in keys only, so it cannot be in a condition; pass it to a pattern",
    ),
    "a marker class": (
        lambda: declared({"x": Annotated[str, KeyOnly]}, keys(SK="{x}")),
        "has the marker class KeyOnly instead of an instance",
    ),
    "several templates of a primary key": (
        lambda: declared({"x": str}, keys(SK=first_of(when("A", x="a"), "B"))),
        "Row.keys, SK is part of the primary key, which must not change with the state",
    ),
    "a state of a field that is not there": (
        lambda: declared({}, keys(GSI1PK=first_of(when("A", x=None), "B"), GSI1SK="{id}")),
        "Row.keys, GSI1PK: Row has no field 'x'",
    ),
    "a value that the state never has": (
        lambda: declared({"x": int}, keys(GSI1PK=first_of(when("A", x="a"), "B"), GSI1SK="{id}")),
        "Row.keys, GSI1PK, when x: 'a' is not valid",
    ),
    "a state that nobody gives": (
        lambda: by_state(takes_id),
        "Row.found needs state for the key, and does not take it",
    ),
    "text in lower case that is none": (
        lambda: declared({"n": int}, keys(SK="{n:lower}")),
        "Row.keys, SK: {n:lower} is a format for text, and n is not text",
    ),
    "a boolean that is none": (
        lambda: declared({"n": int}, keys(SK="{n:Y|N}")),
        "Row.keys, SK: {n:Y|N} is a format for booleans, and n is not a bool",
    ),
    "a descending text": (
        lambda: declared({"n": str}, keys(SK="{n:-04}")),
        "Row.keys, SK: {n:-04} is a format for numbers, and n is not a number",
    ),
    "a range of raw text that something follows": (
        lambda: range_over(raw("{a}|{b}", "|")),
        "Row.found: '{a}|{b}' is raw, and text follows a in it, so keys do not sort by a; put {a} last",
    ),
    "computed of what is not there": (
        lambda: declared({}, keys(SK="{initial}"), initial=initial),
        "Row.initial is computed from name, but can only be computed from id",
    ),
    "computed of what may be a blob": (
        lambda: declared({"name": Annotated[str, Large()]}, keys(SK="{initial}"), initial=initial),
        "Row.initial is computed from name, but can only be computed from id",
    ),
    "computed of nothing": (
        lambda: computed(takes_nothing),
        "takes_nothing: declare it as `def takes_nothing(self, field, ...)`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_keys_that_cannot_be_kept_are_refused(case: str) -> None:
    declaration, message = WRONG[case]
    with pytest.raises(ModelError, match=re.escape(message)):
        declaration()


RIGHT: dict[str, Callable[[], Any]] = {
    "a state that a pattern takes": lambda: by_state(takes_state),
    "a state that a pattern fixes": lambda: by_state(compares_state),
    "a range of dates that something follows": lambda: range_over(raw("{a}|{b}", "|"), date),
    "a range of raw text at the end": lambda: range_over(raw("x|{a}", "|")),
    "a range of digits in a raw key": lambda: range_over(raw("{a:04}|{b}", "|"), int),
    "only in an index": lambda: declared({"x": Only}, keys(GSI1PK="{x}", GSI1SK="{id}")),
    "only in shards": lambda: declared({"x": Only}, keys(GSI1PK=sharded("{x}", 4), GSI1SK="{id}")),
    "absent from its key": lambda: declared(
        {"x": Annotated[str | None, KeyOnly()]}, keys(GSI1PK="{x}", GSI1SK="{id}"), x=None
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_keys_that_can_be_kept_are_taken(case: str) -> None:
    RIGHT[case]()
