"""Creations that replace an item on a condition: a lock that has run out, a value that is older."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest

from tablewright.model import Entity, Get, Keys, ModelError, Table, Unique, Version, attr
from tablewright.store import AlreadyExists, Cancelled, Create, Store
from tests.store.bench import Bench
from tests.store.branches import Buyer

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
locks = Table("locks", "PK")


class Lock(Entity, table=locks):
    name: str
    until: datetime
    owner: str = ""

    keys = Keys(PK="LOCK#{name}")

    @Get()
    def by_name(self, name: str) -> None:
        """A lock."""


class Seat(Entity, table=locks):
    number: int
    guest: Annotated[str, Unique()]
    paid: bool = False

    keys = Keys(PK="SEAT#{number}")

    @Get()
    def by_number(self, number: int) -> None:
        """A seat."""


@pytest.fixture
def ready(bench: Bench, store: Store) -> Store:
    bench.create_own(locks)
    return store


def test_what_the_condition_holds_of_is_replaced(ready: Store) -> None:
    over = attr(Lock.until) < NOON
    assert ready.create(Lock(name="a", until=NOON + HOUR, owner="1"), replacing=over).owner == "1"
    with pytest.raises(AlreadyExists):
        ready.create(Lock(name="a", until=NOON + HOUR, owner="2"), replacing=over)
    later = attr(Lock.until) < NOON + 2 * HOUR
    ready.create(Lock(name="a", until=NOON + 3 * HOUR, owner="3"), replacing=later)
    found = ready.get_or_raise(Lock.by_name("a"))
    assert (found.owner, found.until) == ("3", NOON + 3 * HOUR)


def test_guards_of_what_is_replaced_are_released(ready: Store) -> None:
    unpaid = attr(Seat.paid) == False  # noqa: E712
    ready.create(Seat(number=1, guest="ada"), replacing=unpaid)
    ready.create(Seat(number=1, guest="bea"), replacing=unpaid)
    # Her name is free again.
    ready.create(Seat(number=2, guest="ada", paid=True), replacing=unpaid)
    with pytest.raises(AlreadyExists):
        ready.create(Seat(number=2, guest="cid"), replacing=unpaid)
    assert ready.verify(locks).is_clean


def test_in_a_transaction(ready: Store) -> None:
    ready.create(Lock(name="a", until=NOON))
    ready.transact(
        Create(Lock(name="a", until=NOON + HOUR), replacing=attr(Lock.until) <= NOON),
        Create(Lock(name="b", until=NOON)),
    )
    with pytest.raises(Cancelled) as cancelled:
        ready.transact(
            Create(Lock(name="c", until=NOON)),
            Create(Lock(name="a", until=NOON + HOUR), replacing=attr(Lock.until) <= NOON),
        )
    first, second = cancelled.value.reasons
    assert first is None
    assert isinstance(second, AlreadyExists)


def test_of_many_who_want_a_lock_that_has_run_out_one_gets_it(embedded: Bench) -> None:
    embedded.create_own(locks)
    store = embedded.store
    store.create(Lock(name="a", until=NOON - HOUR))
    taken: list[str] = []

    def take(owner: str) -> None:
        try:
            store.create(Lock(name="a", until=NOON + HOUR, owner=owner), replacing=attr(Lock.until) < NOON)
        except AlreadyExists:
            return
        taken.append(owner)

    threads = [threading.Thread(target=take, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1
    assert store.get_or_raise(Lock.by_name("a")).owner == taken[0]


def test_what_has_a_version_is_put() -> None:
    class Versioned(Entity, table=Table("versioned", "id")):
        id: str
        version: Version = 0

    with pytest.raises(ModelError, match="Versioned has a version, so a Versioned is replaced by put"):
        Create(Versioned(id="1"), replacing=attr(Versioned.id) == "1")
    with pytest.raises(ModelError, match="is a condition on Lock, and this is a write of Seat"):
        Create(Seat(number=1, guest="x"), replacing=attr(Lock.until) < NOON)
    assert Buyer.schema_.version is not None
