"""What an entity takes for a field, a key takes for it, and it is that entity's key; what it refuses is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError, field_validator

from tablewright.model import (
    Entity,
    EpochMillis,
    EpochSeconds,
    GlobalIndex,
    Keys,
    ModelError,
    Table,
    TemplateError,
    schema_of,
    when,
)

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
Shelf = NewType("Shelf", str)


class Kind(StrEnum):
    WARM = "warm"
    COLD = "c#ld"


class Level(IntEnum):
    LOW = 1
    HIGH = 20


class Part(BaseModel):
    model_config = ConfigDict(str_to_lower=True)

    name: str = "part"
    number: UUID = UUID(int=5)


class Row(Entity, table=Table("rows", "PK")):
    text: str = "t"
    shelf: Shelf = Shelf("s")
    small: Annotated[str, StringConstraints(to_lower=True, strip_whitespace=True)] = "s"
    doubled: Annotated[int, BeforeValidator(lambda value: int(value) * 2)] = 1
    shouted: str = "S"
    count: int = 1
    amount: Decimal = Decimal(1)
    share: float = 1.0
    number: UUID = UUID(int=1)
    either: UUID | str = "e"
    kind: Kind = Kind.WARM
    level: Level = Level.LOW
    state: Literal["new", "old"] = "new"
    grade: Literal[1, 2] = 1
    day: date = NOON.date()
    at: datetime = NOON
    seconds: EpochSeconds = NOON
    millis: EpochMillis = NOON
    part: Part = Part()

    keys = Keys(
        PK="{text}#{shelf}#{small}#{doubled}#{shouted}#{count}#{amount:number}#{share:number}#{number}#{either}#{kind}"
        "#{level}#{state}#{grade}#{day}#{at}#{seconds:011}#{millis:014}#{part.name}#{part.number}"
    )

    @field_validator("shouted")
    @classmethod
    def in_capitals(cls, value: str) -> str:
        return value.upper()


UUIDS = st.uuids().flatmap(lambda each: st.sampled_from([each, str(each), str(each).upper(), each.hex, each.urn]))
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.sampled_from([UTC, None]))
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.sampled_from(
        ["7", " 7", "7.0", "1e2", "warm", "WARM", "1", "new", "NEW", "true", b"7", b"\xff", True, False, "nan"]
    ),
    st.sampled_from([Kind.COLD, Level.HIGH, None, [], {}, {"name": "A"}, Part(name="B"), ("x",), {"x"}]),
    st.integers(0, 2**40),
    st.decimals(0, 1000, places=2),
    st.floats(0, 1000),
    UUIDS,
    st.dates(date(1990, 1, 1)),
    st.dates(date(1990, 1, 1)).map(date.isoformat),
    TIMES,
    TIMES.map(datetime.isoformat),
    TIMES.map(lambda time: time.astimezone(timezone(timedelta(hours=-3)))),
)


@pytest.mark.parametrize("name", [*Row.model_fields, "part.name", "part.number"])
@given(value=VALUES)
def test_a_key_takes_what_the_entity_takes(name: str, value: Any) -> None:
    outer, _, inner = name.partition(".")
    others: dict[str, Any] = {known: getattr(Row(), known) for known in Row.model_fields if known != outer}
    # As it is given, and not as the entity has it.
    others["doubled"] = 1
    if inner:
        rest = {"name": "part", "number": UUID(int=5)} | {inner: value}
        values = {**others, **{f"part__{member}": given for member, given in rest.items()}}
    else:
        rest = value
        values = {**others, name: value}
    try:
        entity = Row(**{**others, outer: rest})
        key = {"PK": entity.item()["PK"]}
    except (ValidationError, TemplateError, ModelError, TypeError, OverflowError):
        with pytest.raises((ModelError, TypeError, OverflowError)):
            schema_of(Row).key_for(values, "Row.by")
    else:
        assert schema_of(Row).key_for(values, "Row.by") == key


def test_an_error_names_the_entity_the_field_and_the_reason() -> None:
    with pytest.raises(ModelError) as refused:
        schema_of(Row).encode_values({"number": "nobody"})
    assert str(refused.value).startswith("Row.number: 'nobody' is not valid: Input should be a valid UUID")
    with pytest.raises(ModelError, match=r"^Row\.state: 'older' is not valid: Input should be 'new' or 'old'$"):
        schema_of(Row).encode_values({"state": "older"})


def test_a_state_of_a_key_is_one_that_the_field_has() -> None:
    things = Table("things", "PK", indexes=[GlobalIndex("byState", "GSI1PK")])

    class Thing(Entity, table=things):
        number: UUID
        count: int = 0
        seen: EpochMillis = NOON

        keys = Keys(
            PK="{number}",
            GSI1PK=when("X", number=str(UUID(int=10)).upper(), count="7", seen="2025-11-18T12:00:00Z"),
        )

    assert "GSI1PK" in Thing(number=UUID(int=10), count=7).item()
    assert "GSI1PK" not in Thing(number=UUID(int=10), count=8).item()
    with pytest.raises(
        ModelError,
        match=r"Other\.keys, GSI1PK, when part\.number: 'x' is not valid: Input should be a valid UUID, invalid "
        r"character: found `x` at 0",
    ):

        class Other(Entity, table=things):
            id: str
            part: Part = Part()

            keys = Keys(PK="OTHER#{id}", GSI1PK=when("X", **{"part.number": "x"}))
