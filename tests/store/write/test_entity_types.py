"""Where two entities have the same keys, and a type attribute tells them apart, neither is written as the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import pytest

from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    ExpiresAt,
    Get,
    GlobalIndex,
    Keys,
    Large,
    ModelError,
    Query,
    Table,
    Unique,
    Version,
    attr,
    sharded,
)
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    Check,
    Delete,
    NotFound,
    Put,
    Store,
    Update,
    Upsert,
    VersionConflict,
)
from tablewright.store.context import Context
from tablewright.store.flow.driver import Request
from tablewright.store.write.put import put
from tests.store.bench import Bench

rooms = Table("rooms", "PK", type_attribute="kind", ttl="ttl")


class Meeting(Entity, table=rooms):
    room: str
    title: Annotated[str, Unique()]

    keys = Keys(PK="ROOM#{room}")

    @Get()
    def by_room(self, room: str) -> None: ...


class Repair(Entity, table=rooms):
    room: str
    part: str = ""

    keys = Keys(PK="ROOM#{room}")

    @Get()
    def by_room(self, room: str) -> None: ...


class Plan(Entity, table=rooms):
    room: str
    drawing: Annotated[str, Large(threshold=1_000)] = ""

    keys = Keys(PK="ROOM#{room}")


class Stay(Entity, table=rooms):
    room: str
    ttl: ExpiresAt = None

    keys = Keys(PK="ROOM#{room}")

    @Get()
    def by_room(self, room: str) -> None: ...


class Inspection(Entity, table=rooms):
    room: str
    report: Annotated[str, Unique()] = ""
    version: Version = 0

    keys = Keys(PK="ROOM#{room}")

    @Get()
    def by_room(self, room: str) -> None: ...


MEETING, REPAIR, INSPECTION = Meeting.by_room(room="r"), Repair.by_room(room="r"), Inspection.by_room(room="r")


@pytest.fixture
def store(bench: Bench) -> Iterator[Store]:
    """A store with a meeting in a room, which is there as it was when all is over."""
    bench.create_own(rooms)
    bench.store.create(Meeting(room="r", title="Budget"))
    yield bench.store
    assert bench.store.get(MEETING) == Meeting(room="r", title="Budget")
    assert bench.store.verify(rooms).is_clean


def test_another_entity_is_not_there(store: Store) -> None:
    for lookup, in_room in ((REPAIR, attr(Repair.room) == "r"), (INSPECTION, attr(Inspection.room) == "r")):
        assert store.get(lookup) is None
        assert store.delete(lookup) is False
        with pytest.raises(NotFound):
            store.delete(lookup, expect=in_room)
        with pytest.raises(Cancelled) as cancelled:
            store.transact(Check(lookup))
        assert isinstance(cancelled.value.reasons[0], NotFound)
    with pytest.raises(NotFound, match="Repair room r does not exist"):
        store.update(REPAIR, attr(Repair.part).set("lamp"))
    with pytest.raises(NotFound):
        store.update(Repair(room="r"), attr(Repair.part).set("lamp"))
    with pytest.raises(NotFound):
        store.update(INSPECTION, attr(Inspection.report).set("fine"))
    with pytest.raises(VersionConflict, match="expected version 3, the item no longer exists"):
        store.put(Inspection(room="r", version=3))
    assert store.delete(Repair(room="r")) is False


def test_its_place_is_taken(store: Store) -> None:
    for entity in (Repair(room="r"), Inspection(room="r", report="fine")):
        with pytest.raises(AlreadyExists):
            store.create(entity)
        with pytest.raises(AlreadyExists):
            store.upsert(entity)
    for other in (Repair(room="r"), Plan(room="r"), Stay(room="r"), Inspection(room="r", report="fine")):
        with pytest.raises(AlreadyExists):
            store.put(other)
        with pytest.raises(Cancelled) as cancelled:
            store.transact(Put(other))
        assert isinstance(cancelled.value.reasons[0], AlreadyExists)
    with pytest.raises(Cancelled) as cancelled:
        store.transact(Upsert(Repair(room="r")), Put(Inspection(room="s")))
    assert isinstance(cancelled.value.reasons[0], AlreadyExists)
    with pytest.raises(Cancelled) as cancelled:
        store.transact(Delete(REPAIR), Update(INSPECTION, attr(Inspection.report).set("x")))
    assert isinstance(cancelled.value.reasons[1], NotFound)


def test_an_item_without_a_type_is_identified_by_its_key(bench: Bench) -> None:
    bench.create_own(rooms)
    item = Repair(room="r").item()
    del item["kind"]
    bench.save_item(rooms, item)
    assert bench.store.update(REPAIR, attr(Repair.part).set("lamp")).part == "lamp"
    assert bench.store.delete(REPAIR) is True


def test_a_put_replaces_its_own_kind(bench: Bench) -> None:
    bench.create_own(rooms)
    for part in ("lamp", "door"):
        bench.store.put(Repair(room="r", part=part))
        bench.store.transact(Put(Repair(room="s", part=part)))
    for drawing in ("small", "large" * 1_000):
        bench.store.put(Plan(room="t", drawing=drawing))
    repairs = bench.store.get_many([Repair.by_room(room=room) for room in "rst"])
    assert [each and each.part for each in repairs] == ["door", "door", None]


def test_an_expired_item_of_another_type_is_replaced(bench: Bench) -> None:
    bench.create_own(rooms)
    bench.save_item(rooms, {**Stay(room="r").item(), "kind": {"S": "Repair"}, "ttl": {"N": "1"}})
    bench.store.put(Stay(room="r"))
    assert bench.store.get(Stay.by_room(room="r")) is not None


def test_a_batch_which_checks_nothing_does_not_take_what_could_replace_another_kind(bench: Bench) -> None:
    answer = (
        "Repair has keys that Meeting can also have, which a batch cannot check; write it with put, delete or transact"
    )
    for write in ({"entities": [Repair(room="r")]}, {"entities": [], "delete": [REPAIR]}):
        with pytest.raises(ModelError, match=answer):
            bench.store.write_many(**write)


def test_where_keys_tell_kinds_apart_a_put_is_made_under_no_condition() -> None:
    """Which of them come first does not matter: the last entity of a table may be the one that shares keys."""
    flats = Table("flats", "PK", type_attribute="kind")

    class Lease(Entity, table=flats):
        flat: str

        keys = Keys(PK="LEASE#{flat}")

    class Tenant(Entity, table=flats):
        name: str

        keys = Keys(PK=sharded("TENANT#{name}", 4))

    context = Context()
    assert isinstance(request := next(put(context, Lease(flat="f"))), Request)
    assert "ConditionExpression" not in request.body
    assert isinstance(request := next(put(context, Tenant(name="n"))), Request)
    assert "ConditionExpression" not in request.body

    class Sublease(Entity, table=flats):
        flat: str

        keys = Keys(PK="LEASE#{flat}")

    for entity in (Lease(flat="f"), Sublease(flat="f")):
        assert isinstance(request := next(put(context, entity)), Request)
        assert request.body["ConditionExpression"] == "attribute_not_exists(#n0) OR #n0 = :v0"


# -- the type as a part of an index key -----------------------------------------------------------------------------

stock = Table(
    "stock",
    "PK",
    indexes=[GlobalIndex("byKind", "kind", "PK"), GlobalIndex("byOwner", "owner", ["kind", "price"])],
    types={"price": "N"},
    type_attribute="kind",
)


class Chair(Entity, table=stock):
    chair_id: str
    owner: str = "o"
    price: int = 0

    keys = Keys(PK="CHAIR#{chair_id}")

    @Query("byKind")
    def everyone(self, *, after: str | None = None) -> None: ...

    @Query("byOwner")
    def of_owner(self, owner: str, *, since: int | None = None, before: int | None = None) -> None: ...


class Desk(Entity, table=stock):
    desk_id: str
    owner: str = "o"
    price: int = 0

    keys = Keys(PK="DESK#{desk_id}")

    @Query("byKind")
    def everyone(self) -> None: ...

    @Query("byOwner")
    def of_owner(self, owner: str, *, since: int | None = None) -> None: ...


class Chairs(Collection):
    chairs: list[Chair]

    @CollectionQuery("byKind")
    def of_all(self) -> None: ...


def test_an_index_by_type_is_read_without_naming_it(embedded: Bench) -> None:
    store = embedded.store
    embedded.create_own(stock)
    for number in range(3):
        store.create(Chair(chair_id=str(number), price=number))
        store.create(Desk(desk_id=str(number), price=number))
    page = store.query(Chair.everyone(), limit=2)
    page = store.query(Chair.everyone(), limit=2, cursor=page.cursor)
    assert [chair.chair_id for chair in page.items] == ["2"]
    assert [chair.chair_id for chair in store.query(Chair.everyone(after="0")).items] == ["1", "2"]
    assert store.count(Desk.everyone()) == 3
    assert [desk.price for desk in store.query(Desk.of_owner(owner="o", since=1)).items] == [1, 2]
    gathered = store.collect(Chairs.of_all())
    assert gathered is not None
    assert len(gathered.chairs) == 3


def test_entities_of_two_types_share_no_partition_of_it() -> None:
    with pytest.raises(ModelError, match=r"Furniture\.of_all: Chair, Desk are in different partitions"):

        class Furniture(Collection):
            chairs: list[Chair]
            desks: list[Desk]

            @CollectionQuery("byKind")
            def of_all(self) -> None: ...
