"""An item that is of an entity and cannot be read as one: every read says which it is, and none passes it over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    Projection,
    Query,
    Table,
    Upgrades,
    attr,
)
from tablewright.store import Store, Unreadable

stations = Table("stations", "PK", "SK", indexes=[GlobalIndex("byLine", "line", "SK")])


class Station(Entity, table=stations):
    city: str
    station_id: str
    line: str
    platforms: int
    note: str = ""

    keys = Keys(PK="CITY#{city}", SK="STATION#{station_id}")

    @Get()
    def by_id(self, city: str, station_id: str) -> None: ...

    @Query()
    def of_city(self, city: str) -> None: ...

    @Query("byLine")
    def of_line(self, line: str) -> None: ...


class Platforms(Projection[Station]):
    platforms: int

    @Query()
    def platforms_of(self, city: str) -> None: ...


class City(Collection):
    stations: list[Station]

    @CollectionQuery()
    def called(self, city: str) -> None: ...


MESSAGE = (
    "Station city bonn, station_id s-2 cannot be read: platforms: "
    "Input should be a valid integer, unable to parse string as an integer"
)


@pytest.fixture
def store() -> Iterator[Store]:
    with Engine.open() as engine:
        store = Store.on(engine)
        store.ensure_tables(stations)
        for number in range(1, 4):
            store.put(Station(city="bonn", station_id=f"s-{number}", line="U6", platforms=number))
        item = Station(city="bonn", station_id="s-2", line="U6", platforms=2).item()
        # By another program, which has its own idea of a number.
        engine.call("PutItem", {"TableName": "stations", "Item": {**item, "platforms": {"S": "zwei, geheim"}}})
        yield store


READS: dict[str, Callable[[Store], Any]] = {
    "get": lambda store: store.get(Station.by_id(city="bonn", station_id="s-2")),
    "get_many": lambda store: store.get_many([Station.by_id(city="bonn", station_id=f"s-{n}") for n in (1, 2)]),
    "query": lambda store: store.query(Station.of_city(city="bonn")),
    "query by index": lambda store: store.query(Station.of_line(line="U6"), limit=10),
    "projection": lambda store: store.query(Platforms.platforms_of(city="bonn")),
    "scan": lambda store: store.scan(Station),
    "iterate": lambda store: list(store.iterate(Station.of_city(city="bonn"))),
    "collect": lambda store: store.collect(City.called(city="bonn")),
    "update": lambda store: store.update(
        Station.by_id(city="bonn", station_id="s-2"), attr(Station.note).set("closed")
    ),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_read_names_the_item_and_the_field(store: Store, read: Callable[[Store], Any]) -> None:
    with pytest.raises(Unreadable) as refused:
        read(store)
    assert str(refused.value) == MESSAGE
    assert (refused.value.entity, refused.value.key) == ("Station", "city bonn, station_id s-2")


def test_what_is_stored_is_not_shown(store: Store) -> None:
    """Neither in the message nor behind it, since errors are logged."""
    with pytest.raises(Unreadable) as refused:
        store.query(Station.of_city(city="bonn"))
    assert "geheim" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_counting_reads_keys_alone(store: Store) -> None:
    assert store.count(Station.of_city(city="bonn")) == 3


def test_what_is_before_it_can_be_read(store: Store) -> None:
    page = store.query(Station.of_city(city="bonn"), limit=1)
    assert [station.station_id for station in page.items] == ["s-1"]


def test_an_item_whose_upgrade_fails_is_reported_too() -> None:
    class Stop(Entity, table=Table("stops", "PK")):
        name: str
        zone: str

        keys = Keys(PK="STOP#{name}")
        upgrades = Upgrades(lambda values: {**values, "zone": values["area"]})

        @Get()
        def by_name(self, name: str) -> None: ...

    with Engine.open() as engine:
        store = Store.on(engine)
        store.ensure_tables(Stop.schema_.table)
        older = {"PK": {"S": "STOP#a"}, "name": {"S": "a"}}
        newer = {"PK": {"S": "STOP#b"}, "name": {"S": "b"}, "zone": {"S": "1"}, "shape": {"N": "3"}}
        for item in (older, newer):
            engine.call("PutItem", {"TableName": "stops", "Item": item})
        with pytest.raises(
            Unreadable, match="name a cannot be read: the upgrade of Stop from schema version 1 failed: KeyError"
        ):
            store.get(Stop.by_name(name="a"))
        with pytest.raises(Unreadable, match=r"name b cannot be read: .* written by a newer program"):
            store.get(Stop.by_name(name="b"))
        with pytest.raises(Unreadable, match=r"name [ab] cannot be read"):
            store.scan(Stop)
