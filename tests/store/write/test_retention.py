"""Retention periods: every write of an entity that has one sets its time to live anew, whatever the entity is like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Annotated, Any

import pytest

from tablewright.model import (
    AttributeName,
    Entity,
    EpochSeconds,
    ExpiresAt,
    Get,
    GlobalIndex,
    Keys,
    Lookup,
    ModelError,
    Retain,
    Table,
    Unique,
    UpdatedAt,
    Version,
    attr,
)
from tablewright.store import Create, NotUnique, Put, Store, Update
from tests.clocks import Clock

DAY = 24 * 60 * 60

visits = Table("visits", "PK", "SK", indexes=[GlobalIndex("byRoom", "GSI1PK", "GSI1SK")], ttl="expires")
logins = Table("logins", "user_id", ttl="ttl")


class Visit(Entity, table=visits):
    """Nothing else that the store sets, and its expiry is stored under another name."""

    visit_id: str
    room: str = "hall"
    note: str = ""
    kept_until: Annotated[ExpiresAt, Retain(days=30), AttributeName("expires")] = None

    keys = Keys(PK="VISIT#{visit_id}", SK="VISIT", GSI1PK="ROOM#{room}", GSI1SK="{visit_id}")

    @Get()
    def by_id(self, visit_id: str) -> None: ...


class Badge(Entity, table=visits):
    """A version, and a unique value whose guard expires with the badge."""

    badge_id: str
    number: Annotated[str, Unique()]
    note: str = ""
    updated_at: UpdatedAt = None
    expires: Annotated[ExpiresAt, Retain(days=30)] = None
    version: Version = 0

    keys = Keys(PK="BADGE#{badge_id}", SK="BADGE")

    @Get()
    def by_id(self, badge_id: str) -> None: ...


class Stay(Entity, table=visits):
    """Its note is part of its key, so that a change of it moves the item."""

    stay_id: str
    note: str = ""
    expires: Annotated[ExpiresAt, Retain(days=30)] = None

    keys = Keys(PK="STAY#{stay_id}", SK="NOTE#{note}")

    @Get()
    def by_id(self, stay_id: str, note: str) -> None: ...


class Login(Entity, table=logins):
    """A table of one entity, whose fields are its keys."""

    user_id: str
    note: str = ""
    ttl: Annotated[EpochSeconds | None, Retain(days=30)] = None

    @Get()
    def by_id(self, user_id: str) -> None: ...


class Kind:
    """An entity to try, with what a test needs to know of it."""

    def __init__(self, make: Callable[[], Any], expiry: str, note: Any, find: Callable[[str], Lookup[Any]]) -> None:
        self.make, self.expiry, self.note, self.find = make, expiry, note, find

    def stored(self, store: Store) -> Any:
        """The item, with whichever note it has."""
        return next(found for note in ("", "new") if (found := store.get(self.find(note))) is not None)


KINDS = {
    "visit": Kind(lambda: Visit(visit_id="1"), "kept_until", Visit.note, lambda _: Visit.by_id("1")),
    "badge": Kind(lambda: Badge(badge_id="1", number="7"), "expires", Badge.note, lambda _: Badge.by_id("1")),
    "stay": Kind(lambda: Stay(stay_id="1"), "expires", Stay.note, lambda note: Stay.by_id("1", note)),
    "login": Kind(lambda: Login(user_id="1"), "ttl", Login.note, lambda _: Login.by_id("1")),
}

FIRST: dict[str, Callable[[Store, Any], Any]] = {
    "create": lambda store, entity: store.create(entity),
    "put": lambda store, entity: store.put(entity),
    "upsert": lambda store, entity: store.upsert(entity),
    "batch": lambda store, entity: store.write_many([entity]),
    "create in a transaction": lambda store, entity: store.transact(Create(entity)),
    "put in a transaction": lambda store, entity: store.transact(Put(entity)),
}

AGAIN: dict[str, Callable[[Store, Kind, Any], Any]] = {
    "put": lambda store, kind, read: store.put(read),
    "upsert": lambda store, kind, read: store.upsert(read),
    "update": lambda store, kind, read: store.update(read, attr(kind.note).set("new")),
    "update by key": lambda store, kind, read: store.update(kind.find(""), attr(kind.note).set("new")),
    "batch": lambda store, kind, read: store.write_many([read]),
    "put in a transaction": lambda store, kind, read: store.transact(Put(read)),
    "update in a transaction": lambda store, kind, read: store.transact(Update(read, attr(kind.note).set("new"))),
}


def _all_of(writes: Iterable[str]) -> list[tuple[str, str]]:
    """Each write of each kind; a batch writes nothing that is unique."""
    return [pair for pair in product(KINDS, writes) if pair != ("badge", "batch")]


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.5)


@pytest.fixture
def store(clock: Clock) -> Iterator[Store]:
    with Store.open(None, clock=clock) as store:
        store.ensure_tables(visits, logins)
        yield store


def after_30_days(clock: Clock) -> datetime:
    return datetime.fromtimestamp(int(clock.now), UTC) + timedelta(days=30)


@pytest.mark.requirement("AP10")
@pytest.mark.parametrize(("name", "write"), _all_of(FIRST))
def test_what_is_written_first_is_kept_for_as_long_as_is_declared(
    store: Store, clock: Clock, name: str, write: str
) -> None:
    kind = KINDS[name]
    entity = kind.make()
    FIRST[write](store, entity)
    assert getattr(kind.stored(store), kind.expiry) == getattr(entity, kind.expiry) == after_30_days(clock)
    clock.now += 30 * DAY
    assert store.get(kind.find("")) is None


@pytest.mark.requirement("AP10")
@pytest.mark.parametrize(("name", "write"), _all_of(AGAIN))
def test_every_later_write_begins_the_period_again(store: Store, clock: Clock, name: str, write: str) -> None:
    kind = KINDS[name]
    store.create(kind.make())
    clock.now += 20 * DAY
    AGAIN[write](store, kind, kind.stored(store))
    assert getattr(kind.stored(store), kind.expiry) == after_30_days(clock)
    clock.now += 20 * DAY
    assert kind.stored(store) is not None
    clock.now += 10 * DAY
    assert store.get(kind.find("")) is store.get(kind.find("new")) is None


@pytest.mark.requirement("AP10")
@pytest.mark.parametrize("by_key", [False, True])
def test_a_unique_value_stays_taken_for_as_long_as_its_owner_is_kept(store: Store, clock: Clock, by_key: bool) -> None:
    badge = store.create(Badge(badge_id="1", number="7"))
    clock.now += 20 * DAY
    store.update(Badge.by_id("1") if by_key else badge, attr(Badge.note).set("new"))
    clock.now += 20 * DAY
    with pytest.raises(NotUnique):
        store.create(Badge(badge_id="2", number="7"))
    clock.now += 10 * DAY
    assert store.create(Badge(badge_id="2", number="7")).version == 1


@pytest.mark.requirement("AP10")
def test_no_change_sets_it_otherwise(store: Store, clock: Clock) -> None:
    never = datetime(2100, 1, 1, tzinfo=UTC)
    visit = store.create(Visit(visit_id="1", kept_until=never))
    assert visit.kept_until == after_30_days(clock)
    with pytest.raises(ModelError, match="Visit: kept_until is set by the store"):
        store.update(visit, attr(Visit.kept_until).set(never))


@pytest.mark.requirement("AP10")
def test_a_table_without_a_time_to_live_refuses_it() -> None:
    forever = Table("forever", "note_id")
    with pytest.raises(ModelError, match=r"Note\.ttl is the time to live, but table 'forever' has none; give it ttl="):

        class Note(Entity, table=forever):
            note_id: str
            ttl: Annotated[ExpiresAt, Retain(days=30)] = None
