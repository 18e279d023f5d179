"""A key that is made straight from values is the one that the long way makes of them, or is left to it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tablewright.model import Entity, EpochMillis, Get, Keys, ModelError, Schema, Table, schema_of, sharded


class Kind(StrEnum):
    WARM = "warm"
    COLD = "c#ld"


class Subject(BaseModel):
    id: str


class Made(Entity, table=Table("made", "PK", "SK")):
    name: str
    count: int
    price: Decimal
    kind: Kind
    day: date
    at: EpochMillis
    keys = Keys(PK="MADE#{name}", SK="{kind}#{count:04}#{price:number}#{day}#{at:013}")

    @Get()
    def itself(self, name: str, kind: Kind, count: int, price: Decimal, day: date, at: datetime) -> None: ...


class Plain(Entity, table=Table("plain", "name", "id")):
    name: str
    id: UUID
    note: str = ""

    @Get()
    def itself(self, name: str, id: UUID) -> None: ...


class Lone(Entity, table=Table("lone", "PK")):
    name: str
    keys = Keys(PK="{name}")

    @Get()
    def itself(self, name: str) -> None: ...


class Optional(Entity, table=Table("optional", "PK", "SK")):
    name: str
    part: str | None = None
    keys = Keys(PK="P#{name}", SK="S[#{part}]")

    @Get()
    def itself(self, name: str, part: str) -> None: ...


class Nested(Entity, table=Table("nested", "PK")):
    subject: Subject
    keys = Keys(PK="N#{subject.id}")

    @Get()
    def itself(self, subject__id: str) -> None: ...


class Spread(Entity, table=Table("spread", "PK", "SK")):
    name: str
    number: int
    keys = Keys(PK=sharded("S#{name}", 4), SK="{number:04}")

    @Get()
    def itself(self, name: str, number: int) -> None: ...


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(["a#b", "$", "$#x"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": TEXT,
    "part": TEXT,
    "note": TEXT,
    "subject": st.builds(Subject, id=TEXT),
    "subject__id": TEXT,
    "id": st.uuids() | st.uuids().map(lambda each: str(each).upper()) | TEXT,
    "number": st.integers(-5, 20000),
    "count": st.integers(-5, 20000),
    "price": st.decimals(-1000, 1000, places=2),
    "kind": st.sampled_from(Kind),
    "day": st.dates(),
    "at": st.datetimes(datetime(1960, 1, 1), datetime(2400, 1, 1), timezones=st.just(UTC)),
}
# What a caller may give by mistake.
STRAY = st.sampled_from([None, 3, "3", b"3", 0.5, True, {"a"}, object(), datetime(2025, 1, 1)])


def outcome(schema: Schema, values: dict[str, Any]) -> Any:
    try:
        return schema.key_for(values, "Some.pattern")
    except (ModelError, TypeError, ValueError) as error:
        return type(error), str(error)


def the_long_way(schema: Schema, values: dict[str, Any]) -> Any:
    maker, schema._build_key = schema._build_key, lambda values: None
    try:
        return outcome(schema, values)
    finally:
        schema._build_key = maker


@pytest.mark.parametrize("entity", [Made, Plain, Lone, Optional, Nested, Spread])
@given(data=st.data())
def test_a_key_is_the_one_that_the_long_way_makes(entity: type[Entity], data: st.DataObject) -> None:
    schema = schema_of(entity)
    wanted = {name: VALUES[name] for name in [*schema.identity_fields, "subject__id"] if name in VALUES}
    values = data.draw(st.fixed_dictionaries({}, optional=wanted) | st.fixed_dictionaries(wanted))
    strays = data.draw(st.dictionaries(st.sampled_from([*VALUES, "nothing"]), STRAY, max_size=1))
    for given_values in (values, {**values, **strays}):
        assert outcome(schema, given_values) == the_long_way(schema, given_values)


@pytest.mark.parametrize(
    ("entity", "values"),
    [
        (Lone, {"name": "a#b"}),
        (Plain, {"name": "n", "id": UUID(int=1)}),
        (Spread, {"name": "n", "number": 7}),
        (Optional, {"name": "n", "part": "p"}),
        (Optional, {"name": "n"}),
    ],
)
def test_the_key_of_an_entitys_values_is_that_of_its_item(entity: type[Entity], values: dict[str, Any]) -> None:
    item = entity(**values).item()
    assert schema_of(entity).key_for(values, "") == {name: item[name] for name in schema_of(entity).table.key}


def test_most_keys_take_the_short_way() -> None:
    assert schema_of(Lone)._build_key({"name": "a"}) == {"PK": {"S": "a"}}
    number = UUID(int=11)
    assert schema_of(Plain)._build_key({"name": "a", "id": number}) == {"name": {"S": "a"}, "id": {"S": str(number)}}
    assert schema_of(Plain)._build_key({"name": "a", "id": str(number)}) is None
