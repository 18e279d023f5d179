"""Validators that look at a whole model see what an update comes to, before it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from tablewright.model import Entity, FieldChange, Get, GlobalIndex, Keys, ModelError, Table, Version, attr
from tablewright.store import ReadRequired, Store
from tests.store.bench import Bench

trips = Table("trips", "PK", indexes=[GlobalIndex("byStart", "GSI1PK")])


class Span(BaseModel):
    first: int = 0
    last: int = 10

    @model_validator(mode="after")
    def in_order(self) -> Self:
        if self.first > self.last:
            raise ValueError("first is after last")
        return self


class Trip(Entity, table=trips):
    trip_id: str
    start: int = 0
    end: int = 10
    stops: list[Span] = Field(default_factory=list)
    note: str | None = None

    keys = Keys(PK="TRIP#{trip_id}", GSI1PK="START#{start}")

    @Get()
    def by_id(self, trip_id: str) -> None: ...

    @model_validator(mode="after")
    def in_order(self) -> Self:
        if self.start > self.end:
            raise ValueError("start is after end")
        return self


class Flight(Entity, table=trips):
    flight_id: str
    start: int = 0
    end: int = 10
    version: Version = 0

    keys = Keys(PK="FLIGHT#{flight_id}")

    @Get()
    def by_id(self, flight_id: str) -> None: ...

    @model_validator(mode="after")
    def in_order(self) -> Self:
        if self.start > self.end:
            raise ValueError("start is after end")
        return self


class Hotel(Entity, table=trips):
    """Has no validator of its own, but a model that has one."""

    hotel_id: str
    open: Span = Span()
    stars: int = Field(default=0, ge=0, le=5)
    tags: set[str] = Field(default_factory=set)

    keys = Keys(PK="HOTEL#{hotel_id}")

    @Get()
    def by_id(self, hotel_id: str) -> None: ...


hotel: Any = Hotel
TRIP, FLIGHT, HOTEL = Trip.by_id(trip_id="t"), Flight.by_id(flight_id="f"), Hotel.by_id(hotel_id="h")


@pytest.fixture
def store(bench: Bench) -> Iterator[Store]:
    bench.create_own(trips)
    for entity in (Trip(trip_id="t", stops=[Span()]), Flight(flight_id="f"), Hotel(hotel_id="h")):
        bench.store.create(entity)
    yield bench.store
    report = bench.store.verify(trips)
    assert report.is_clean, report.findings


@pytest.mark.parametrize(
    ("lookup", "changes", "reason"),
    [
        (TRIP, [attr(Trip.start).set(11)], "start is after end"),
        (TRIP, [attr(Trip.start).set(5), attr(Trip.end).set(4)], "start is after end"),
        (TRIP, [attr(Trip.stops[0].first).set(11)], "first is after last"),
        (TRIP, [attr(Trip.start).set(11), attr(Trip.note).set(None)], "start is after end"),
        (FLIGHT, [attr(Flight.start).set(11)], "start is after end"),
        (HOTEL, [attr(Hotel.open.last).set(-1)], "first is after last"),
        (HOTEL, [attr(Hotel.open.first).set(7), attr(Hotel.open.last).set(6)], "first is after last"),
    ],
)
def test_what_they_refuse_is_not_written(store: Store, lookup: Any, changes: list[FieldChange], reason: str) -> None:
    before = store.get(lookup)
    for target in (lookup, store.get(lookup)):
        with pytest.raises(ValidationError, match=reason):
            store.update(target, *changes)
    assert store.get(lookup) == before


def test_what_they_accept_is(store: Store) -> None:
    assert store.update(TRIP, attr(Trip.start).set(20), attr(Trip.end).set(30)).start == 20
    assert store.update(TRIP, attr(Trip.stops[0].last).set(40)).stops == [Span(last=40)]
    assert store.update(FLIGHT, attr(Flight.end).set(5)).version == 2
    assert store.update(HOTEL, attr(Hotel.open.first).set(11), attr(Hotel.open.last).set(12)).open == Span(
        first=11, last=12
    )


def test_what_others_write_meanwhile_is_seen(bench: Bench, store: Store) -> None:
    trip = store.get(TRIP)
    assert trip is not None
    store.update(TRIP, attr(Trip.end).set(3))
    # With the end that this one knows it would be in order.
    with pytest.raises(ValidationError, match="start is after end"):
        store.update(trip, attr(Trip.start).set(8))
    assert store.update(TRIP, attr(Trip.start).set(2)).end == 3


def test_a_strict_store_does_not_read_for_them(bench: Bench, store: Store) -> None:
    strict = Store(bench.backend, clock=bench.clock, table_names=bench.names, strict=True)
    with pytest.raises(ReadRequired, match="Trip trip_id t: this write has to read the item first"):
        strict.update(TRIP, attr(Trip.start).set(1))
    trip = store.get(TRIP)
    assert trip is not None
    assert strict.update(trip, attr(Trip.start).set(1)).start == 1


def test_an_invalid_value_is_reported_with_entity_and_path(store: Store) -> None:
    trip: Any = Trip
    with pytest.raises(ValidationError) as refused:
        store.update(TRIP, attr(trip.stops[0].first).set("soon"))
    assert refused.value.title == "Trip"
    assert [(error["loc"], error["type"]) for error in refused.value.errors()] == [(("stops[0].first",), "int_parsing")]
    with pytest.raises(ValidationError) as refused:
        store.update(TRIP, attr(trip.stops).append({"first": "soon"}))
    assert refused.value.errors()[0]["loc"] == ("stops", 0, "first")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            [attr(Hotel.stars).set(1), attr(Hotel.stars).add(1)],
            "Hotel: stars is changed twice in one update; do it once",
        ),
        (
            [attr(Hotel.open).set(Span()), attr(Hotel.open.first).set(1)],
            r"Hotel: open\.first is a part of open, which the same update",
        ),
        ([attr(Hotel.open).remove(), attr(Hotel.open.first).set(1)], r"Hotel: open\.first is a part of open"),
        ([attr(Hotel.tags).add({"x"}), attr(Hotel.tags).discard({"y"})], "Hotel: tags is changed twice"),
        ([attr(hotel.tags).discard({1})], r"tags: \{1\} does not fit: Input should be a valid string"),
        ([attr(hotel.stars).discard({1})], "stars: a set can be added only to a set"),
    ],
)
def test_changes_that_make_no_sense_are_refused_before_anything_is_asked(
    store: Store, changes: list[FieldChange], reason: str
) -> None:
    with pytest.raises(ModelError, match=reason):
        store.update(HOTEL, *changes)


def test_a_number_that_cannot_be_stored_is_reported_with_its_field(store: Store) -> None:
    class Scale(Entity, table=Table("scales", "PK")):
        scale_id: str
        weight: float = 0.0
        log: list[float] = Field(default_factory=list)

        keys = Keys(PK="SCALE#{scale_id}")

        @Get()
        def by_id(self, scale_id: str) -> None: ...

    by_id = Scale.by_id(scale_id="s")
    with pytest.raises(ModelError, match=r"Scale\.weight: nan is not a number that DynamoDB can store"):
        store.update(by_id, attr(Scale.weight).set(float("nan")))
    with pytest.raises(ModelError, match=r"Scale\.weight: inf is not a number that DynamoDB can store"):
        store.update(by_id, attr(Scale.weight).add(float("inf")))
    with pytest.raises(ModelError, match=r"Scale\.log: 1e-200 is not a number that DynamoDB can store"):
        store.update(by_id, attr(Scale.log).append(1e-200))
