"""Sample entities: valid, the same every time, and each with a key of its own."""

# ruff: noqa: RUF012 (an entity copies its defaults)

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from annotated_types import Ge, Le, MaxLen, MultipleOf
from pydantic import BaseModel, Field, StringConstraints, field_validator, model_validator

from tablewright.design.sample_entities import sample, samples
from tablewright.model import (
    Entity,
    EpochMillis,
    ExpiresAt,
    Expiry,
    GlobalIndex,
    Keys,
    ModelError,
    Table,
    Version,
    schema_of,
    when,
)
from tests.design.subjects import DESIGNS

ENTITIES = {
    f"{name}: {schema.entity.__name__}": schema.entity for name, design in DESIGNS.items() for schema in design.schemas
}


@pytest.mark.parametrize("name", ENTITIES)
def test_samples_are_valid_and_can_be_stored(name: str) -> None:
    entity = ENTITIES[name]
    for one in samples(entity, 3):
        assert entity.of(one.item()) == one
        assert entity.model_validate(one.model_dump()) == one


@pytest.mark.parametrize("name", ENTITIES)
def test_samples_are_the_same_every_time_and_differ_from_each_other(name: str) -> None:
    entity = ENTITIES[name]
    assert samples(entity, 3) == samples(entity, 3)
    key = schema_of(entity).table.key
    keys = [[one.item()[attribute] for attribute in key] for one in samples(entity, 3)]
    assert [keys.count(each) for each in keys] == [1, 1, 1]


things = Table("Things", "id", ttl="gone")


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Part(BaseModel):
    name: str
    inner: list["Part"] = []
    label: str = Field(default="", alias="theLabel")


class Thing(Entity, table=things):
    id: UUID
    text: str
    email: str
    homepage_url: str
    count: int
    price: Decimal
    ratio: float
    flag: bool
    at: datetime
    millis: EpochMillis
    day: date
    blob: bytes
    colour: Colour = Colour.BLUE
    size: Size
    mode: Literal["a", "b"]
    tags: set[str] = set()
    numbers: list[int]
    parts: dict[str, Part]
    maybe: str | None = None
    part: Part | None = None
    pair: tuple[int, str]
    anything: Any
    short: Annotated[str, MaxLen(3)]
    code: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
    percent: Annotated[int, Ge(10), Le(20)]
    even: Annotated[int, MultipleOf(4)]
    share: Annotated[float, Le(0.5)]
    version: Version = 0
    gone: Annotated[ExpiresAt, Expiry(timedelta(hours=2))] = None


def test_every_type_has_a_sample() -> None:
    first, second = samples(Thing, 2)
    assert first.text == "text-1"
    assert second.text == "text-2"
    assert first.email == "person1@example.com"
    assert first.homepage_url == "https://example.com/1"
    assert first.maybe == "maybe-1"
    assert first.tags == {"tag-1"}
    assert (first.colour, second.colour) == (Colour.BLUE, Colour.RED)
    assert (first.mode, second.mode) == ("a", "b")
    assert len(first.short) <= 3
    assert first.version == 1
    assert first.gone is not None
    assert first.gone - first.at < timedelta(hours=2)
    assert first.at < first.millis
    assert Thing.of(first.item()) == first


def test_examples_are_preferred() -> None:
    class Named(Entity, table=Table("Names", "name")):
        name: str = Field(examples=["Ada", "Grace"])

    assert [one.name for one in samples(Named, 3)] == ["Ada", "Grace", "Ada"]


def test_a_validator_is_satisfied_by_another_candidate() -> None:
    class Strict(Entity, table=Table("Stricts", "id")):
        id: str
        cron: str
        low: int
        high: int

        @field_validator("cron")
        @classmethod
        def five_parts(cls, value: str) -> str:
            if len(value.split()) != 5:
                raise ValueError("five parts")
            return value

        @model_validator(mode="after")
        def in_order(self) -> "Strict":
            if self.low > self.high:
                raise ValueError("in order")
            return self

    one = sample(Strict)
    assert len(one.cron.split()) == 5
    assert one.low <= one.high


def test_a_field_without_a_valid_sample_value_is_reported() -> None:
    class Odd(Entity, table=Table("Odds", "id")):
        id: str

        @field_validator("id")
        @classmethod
        def never(cls, value: str) -> str:
            raise ValueError("never")

    with pytest.raises(
        ModelError, match=r"Odd\.id: no sample value passes its validation; give one with Field\(examples"
    ):
        sample(Odd)


def test_later_samples_are_in_the_states_that_keys_tell_apart() -> None:
    class Job(Entity, table=Table("Jobs", "id", indexes=[GlobalIndex("waiting", "queue")])):
        id: str
        status: str = "DONE"

        keys = Keys(queue=when("QUEUE", status=["NEW", "LATE"]))

    assert [one.status for one in samples(Job, 3)] == ["DONE", "NEW", "LATE"]
