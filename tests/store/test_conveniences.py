"""Reads and writes that programs make of others all the time: or raise, or create, first, all of a selection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Annotated, assert_type

import pytest

from tablewright.model import Entity, Get, GlobalIndex, Keys, Large, ModelError, Query, Table, Unique, Version, attr
from tablewright.store import AlreadyExists, AsyncStore, LimitExceeded, NotFound, Store, Update

rooms = Table("Rooms", "PK", "SK", indexes=[GlobalIndex("byKind", "kind", "SK")])


class Room(Entity, table=rooms):
    house: str
    number: int
    kind: str = "plain"
    guests: int = 0

    keys = Keys(PK="H#{house}", SK="R#{number:04}")

    @Get()
    def by_number(self, house: str, number: int) -> None:
        """A room."""

    @Query()
    def of_house(self, house: str) -> None:
        """The rooms of a house."""

    @Query("byKind")
    def by_kind(self, kind: str) -> None:
        """The rooms of a kind."""

    @Get("byKind")
    def some(self, kind: str) -> None:
        """One room of a kind."""


class Key(Entity, table=rooms):
    house: str
    code: Annotated[str, Unique()]
    number: int
    note: Annotated[str, Large(threshold=100)] = ""
    version: Version = 0

    keys = Keys(PK="H#{house}", SK="K#{number:04}")

    @Get()
    def by_number(self, house: str, number: int) -> None:
        """A key."""

    @Query()
    def of_house(self, house: str) -> None:
        """The keys of a house."""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(rooms)
        yield store


def test_an_entity_or_an_error(store: Store) -> None:
    store.put(Room(house="a", number=1))
    assert_type(store.get_or_raise(Room.by_number("a", 1)), Room)
    assert store.get_or_raise(Room.by_number("a", 1)).number == 1
    with pytest.raises(NotFound, match="Room house a, number 2 does not exist"):
        store.get_or_raise(Room.by_number("a", 2))


def test_whether_there_is_one(store: Store) -> None:
    store.create(Key(house="a", code="x", number=1, note="n" * 200))
    assert store.exists(Key.by_number("a", 1))
    assert not store.exists(Key.by_number("a", 2))
    assert not store.exists(Room.some("lost"))


def test_the_first_of_a_selection(store: Store) -> None:
    assert store.first(Room.of_house("a")) is None
    for number in range(5):
        store.put(Room(house="a", number=number, guests=number))
    assert_type(store.first(Room.of_house("a")), Room | None)
    found = store.first(Room.of_house("a"), where=attr(Room.guests) > 2)
    assert found is not None
    assert found.number == 3


def test_a_read_of_one_moment_is_of_any_entities(store: Store) -> None:
    room = store.put(Room(house="a", number=1))
    key = store.create(Key(house="a", code="x", number=1, note="n" * 200))
    found = store.transact_get(Room.by_number("a", 1), Key.by_number("a", 1), Room.by_number("b", 1))
    assert_type(found, tuple[Room | None, Key | None, Room | None])
    assert found == (room, key, None)
    assert store.transact_get() == ()
    twice = store.transact_get(Room.by_number("a", 1), Room.by_number("a", 1), Room.by_number("b", 1))
    assert twice == (found[0], found[0], found[2]), "the service takes an item once"
    many = store.transact_get(*[Room.by_number("a", number) for number in range(100)])
    assert [each is not None for each in many].count(True) == 1
    with pytest.raises(LimitExceeded, match="100 items at most, not 101; use get_many"):
        store.transact_get(*[Room.by_number("a", number) for number in range(101)])
    with pytest.raises(ModelError, match="reads an index"):
        store.transact_get(Room.some("plain"))


def test_a_transactional_read_never_sees_half_of_a_write(store: Store) -> None:
    store.put(Room(house="a", number=1))
    store.put(Room(house="b", number=1))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            changes = [Update(Room.by_number(house, 1), attr(Room.guests).add(1)) for house in "ab"]
            store.transact(*changes)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(200):
            left, right = store.transact_get(Room.by_number("a", 1), Room.by_number("b", 1))
            assert left is not None
            assert right is not None
            assert left.guests == right.guests
    finally:
        stop.set()
        writer.join()


def test_create_or_get(store: Store) -> None:
    room, created = store.create_or_get(Room(house="a", number=1, guests=1))
    assert (room.guests, created) == (1, True)
    room, created = store.create_or_get(Room(house="a", number=1, guests=2))
    assert (room.guests, created) == (1, False)


def test_of_many_who_create_one_creates_and_all_get_the_same(store: Store) -> None:
    found: list[tuple[Room, bool]] = []

    def attempt(number: int) -> None:
        found.append(store.create_or_get(Room(house="a", number=1, guests=number)))

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [created for _, created in found].count(True) == 1
    assert len({room.guests for room, _ in found}) == 1


def test_update_or_create_counts_every_call(store: Store) -> None:
    def attempt() -> None:
        for _ in range(20):
            store.update_or_create(Room(house="a", number=1, guests=1), attr(Room.guests).add(1))

    threads = [threading.Thread(target=attempt) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get_or_raise(Room.by_number("a", 1)).guests == 100


def test_a_unique_value_is_refused_as_ever(store: Store) -> None:
    store.create(Key(house="a", code="x", number=1))
    with pytest.raises(Exception, match="code"):
        store.create_or_get(Key(house="a", code="x", number=2))
    key, created = store.create_or_get(Key(house="a", code="x", number=1))
    assert (key.version, created) == (1, False)


def test_all_of_a_selection_is_deleted_and_nothing_else(store: Store) -> None:
    store.write_many(Room(house=house, number=number, guests=number % 2) for house in "ab" for number in range(250))
    seen: list[int] = []
    assert store.delete_all(Room.of_house("a"), where=attr(Room.guests) == 1) == 125
    assert store.delete_all(Room.of_house("a"), on_progress=seen.append) == 125
    assert seen == [100, 125]
    assert store.count(Room.of_house("a")) == 0
    assert store.count(Room.of_house("b")) == 250
    assert store.delete_all(Room.by_kind("plain")) == 250
    assert store.verify(rooms).is_clean


def test_what_belongs_to_an_item_is_deleted_with_it(store: Store) -> None:
    for number in range(3):
        store.create(Key(house="a", code=f"c{number}", number=number, note="n" * 200))
    assert store.delete_all(Key.of_house("a")) == 3
    store.create(Key(house="b", code="c1", number=1))
    assert store.verify(rooms).is_clean
    with pytest.raises(AlreadyExists):
        store.create(Key(house="b", code="c2", number=1))


def test_the_asynchronous_store_has_them_too() -> None:
    async def use() -> None:
        async with AsyncStore.open() as store:
            await store.ensure_tables(rooms)
            room, created = await store.create_or_get(Room(house="a", number=1))
            assert created
            assert await store.transact_get(Room.by_number("a", 1)) == (room,)
            assert await store.exists(Room.by_number("a", 1))
            assert await store.first(Room.of_house("a")) == room
            assert await store.delete_all(Room.of_house("a")) == 1

    asyncio.run(use())
