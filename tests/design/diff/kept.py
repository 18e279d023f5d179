"""The design whose snapshot was written by the first version of the format, and is kept in ``snapshots``."""

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from annotated_types import MaxLen
from pydantic import BaseModel, Field

from tablewright.model import (
    Design,
    Entity,
    EpochMillis,
    EpochSeconds,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Large,
    Query,
    Table,
    Unique,
    Write,
    sharded,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    city: str
    since: date
    lines: list[str] = []


class Node(BaseModel):
    name: str
    inner: list["Node"] = []


things = Table("things", "PK", "SK", indexes=[GlobalIndex("byDay", "GSI1PK", "GSI1SK")], type_attribute="type")


class Thing(Entity, table=things):
    thing_id: Annotated[UUID, Unique()]
    day: date
    at: datetime
    counted: EpochSeconds
    finer: EpochMillis | None = None
    number: Annotated[int, Field(ge=1, le=5)] = 1
    price: Decimal = Decimal(0)
    share: float = 0.0
    colour: Colour = Colour.RED
    size: Literal["s", "m", 3] = "s"
    note: Annotated[str, MaxLen(20)] | None = None
    # Limits that the first format did not note.
    code: Annotated[str, Field(max_length=5)] | None = None
    exact: Annotated[Decimal, Field(max_digits=9)] = Decimal(0)
    text: Annotated[str, Large()] = ""
    names: set[str] = Field(default_factory=set)
    lines: list[str] = Field(default_factory=list)
    pair: tuple[int, str] = (1, "a")
    map: dict[str, list[date]] = Field(default_factory=dict)
    place: Place | None = None
    places: list[Place] = Field(default_factory=list)
    tree: Node | None = None
    either: int | str = 0
    anything: Any = None

    keys = Keys(PK="THING#{thing_id}", SK="{day}#{counted:010}", GSI1PK=sharded("DAY#{day}", 4), GSI1SK="{at:date}")

    by_id = Get()
    of_day = Query("byDay")


class Other(Entity, table=things):
    thing_id: UUID
    other_id: str

    keys = Keys(PK="THING#{thing_id}", SK="OTHER#{other_id}")


design = Design(
    "Kept",
    tables=[things],
    writes=[Write("add", ItemWrite(Other, "create"), checks=[Thing])],
    roles={"api": ["add", "Thing.by_id"]},
)
