"""A value that its field does not take is refused where a pattern is run, instead of finding nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from tablewright.model import Entity, EpochMillis, Get, GlobalIndex, Keys, ModelError, Query, Table
from tablewright.store import Store

trains = Table("trains", "PK", "SK", indexes=[GlobalIndex("byOwner", "owner", "number")], types={"number": "N"})


class Kind(StrEnum):
    EXPRESS = "EXPRESS"


class Maker(BaseModel):
    name: str


class Train(Entity, table=trains):
    station_id: str
    number: int
    kind: Kind = Kind.EXPRESS
    owner: UUID = UUID(int=7)
    maker: Maker = Maker(name="m")
    leaves_at: EpochMillis = datetime(2026, 1, 1, tzinfo=UTC)
    extra: Any = None

    keys = Keys(PK="STATION#{station_id}#{maker.name}", SK="{kind}#{number:05}")

    @Get()
    def by_id(self, station_id: str, maker__name: str, kind: Kind, number: int) -> None: ...

    @Query()
    def of_station(
        self, station_id: str, maker__name: str, *, kind: Kind | None = None, number: int | None = None
    ) -> None: ...

    @Query("byOwner")
    def of_owner(self, owner: UUID, *, number: int | None = None) -> None: ...


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(trains)
        store.put(Train(station_id="3", number=1))
        yield store


# For values of other types than are declared.
train: Any = Train


def query(**values: Any) -> Callable[[Store], Any]:
    return lambda store: store.query(Train.of_station(**values))


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (query(station_id=3, maker__name="m"), "Train.station_id: 3 is not valid: Input should be a valid string"),
        (
            query(station_id=b"\xff", maker__name="m"),
            "Train.station_id: b'\\xff' is not valid: Input should be a valid string",
        ),
        (
            query(station_id="3", maker__name=5),
            "Train.maker__name: 5 is not valid: Input should be a valid string",
        ),
        (
            query(station_id="3", maker__name="m", kind=Kind.EXPRESS, number="x"),
            "Train.number: 'x' is not valid: Input",
        ),
        (
            query(station_id="3", maker__name="m", kind=Kind.EXPRESS, number=1.5),
            "Train.number: 1.5 is not valid: Input",
        ),
        (lambda store: store.query(train.of_owner(owner=7)), "Train.owner: 7 is not valid: UUID input should be"),
        (
            lambda store: store.get(train.by_id(station_id=3, maker__name="m", kind=Kind.EXPRESS, number=1)),
            "Train.station_id: 3 is not valid: Input should be a valid string",
        ),
        (
            lambda store: store.delete(train.by_id(station_id=3, maker__name="m", kind=Kind.EXPRESS, number=1)),
            "Train.station_id: 3 is not valid: Input should be a valid string",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(store: Store, read: Callable[[Store], Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        read(store)


@pytest.mark.parametrize(
    "read",
    [
        query(station_id="3", maker__name="m"),
        query(station_id="3", maker__name="m", kind="EXPRESS"),
        query(station_id=b"3", maker__name="m", kind="EXPRESS", number="1"),
        query(station_id="3", maker__name="m", kind=Kind.EXPRESS, number=Decimal(1)),
        lambda store: store.query(train.of_owner(owner=UUID(int=7), number=1.0)),
        lambda store: store.query(train.of_owner(owner=str(UUID(int=7)))),
    ],
)
def test_what_the_field_takes_is_taken(store: Store, read: Callable[[Store], Any]) -> None:
    assert len(read(store).items) == 1


def test_a_field_of_any_type_takes_any_value() -> None:
    schema = Train.schema_
    for value in (1, "x", b"x", True, [1], {"a": 1}, {"x"}, date(2026, 1, 1)):
        assert "extra" in schema.encode_values({"extra": value})
