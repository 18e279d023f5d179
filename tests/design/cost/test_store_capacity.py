"""What the store does beside what it is asked for is estimated as it is charged: fetches, first reads, guards."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.dynamo import item_size
from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    ExpiresAt,
    FieldCondition,
    GlobalIndex,
    ItemWrite,
    Keys,
    Large,
    LocalIndex,
    Projection,
    Query,
    Table,
    Unique,
    Version,
    Volume,
    Write,
    attr,
    schema_of,
)
from tablewright.store import Store

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)

parcels = Table(
    "Parcels",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("byDepot", "GSI1PK", "SK", include=["label"]),
        GlobalIndex("byDay", "GSI1PK", "GSI2SK", include=["label"]),
        LocalIndex("byLabel", "LSK", include=["label"]),
    ],
    ttl="ttl",
)


class Parcel(Entity, table=parcels):
    """Of more than 4 KB, so that an item is told from an entry of an index."""

    depot: str = "d"
    parcel_id: str
    shelf: str = "s"
    label: str = "l"
    sender: str = "x"
    at: datetime = NOON
    filling: str = "z" * 5000

    keys = Keys(
        PK="DEPOT#{depot}",
        SK="PARCEL#{shelf}#{parcel_id}",
        GSI1PK="DEPOT#{depot}",
        GSI2SK="{at:date}#{parcel_id}",
        LSK="{label}",
    )


class ParcelLabel(Projection[Parcel]):
    label: str

    @Query("byDepot", expected=3)
    def labels(self, depot: str) -> None: ...

    @Query("byDepot", expected=3)
    def of_sender(self, depot: str) -> FieldCondition:
        return attr(Parcel.sender) == "x"

    @Query("byDay", expected=3)
    def since(self, depot: str, *, since: datetime | None = None) -> None: ...

    @Query("byLabel", expected=3)
    def by_label(self, depot: str) -> FieldCondition:
        return attr(Parcel.sender) == "x"


class Depot(Collection):
    parcels: list[Parcel]

    @CollectionQuery("byDepot", expected=3)
    def all(self, depot: str) -> None: ...


class Member(Entity, table=parcels):
    name: Annotated[str, Unique()]
    ttl: ExpiresAt = None

    keys = Keys(PK="MEMBER#{name}", SK="MEMBER")


class Letter(Entity, table=parcels):
    letter_id: str
    box: str = "b"
    note: str = ""
    filling: str = "z" * 5000
    text: Annotated[str, Large(threshold=100_000)] = ""

    keys = Keys(PK="LETTER#{letter_id}", SK="{box}")


class Card(Entity, table=parcels):
    card_id: str
    box: str = "b"
    filling: str = "z" * 5000
    version: Version = 0

    keys = Keys(PK="CARD#{card_id}", SK="{box}")


WRITES = [
    Write("shelve", ItemWrite(Parcel, "update", sets=[Parcel.shelf])),
    Write("extend", ItemWrite(Member, "update", sets=[Member.ttl])),
    Write("annotate", ItemWrite(Letter, "update", sets=[Letter.note])),
    Write("sort cards", ItemWrite(Card, "update", sets=[Card.box])),
    Write("import letters", ItemWrite(Letter, "put", count=5, conditional=False)),
    Write("import parcels", ItemWrite(Parcel, "put", count=5, conditional=False)),
]


class Bench:
    def __init__(self) -> None:
        self.read = self.write = Decimal(0)
        self.store = Store.open(None, on_capacity=self._count)
        self.store.ensure_tables(parcels)

    def _count(self, pattern: str, operation: str, consumed: Any) -> None:
        for figures in [consumed] if isinstance(consumed, dict) else consumed:
            units = Decimal(str(figures["CapacityUnits"]))
            if operation in ("GetItem", "BatchGetItem", "Query"):
                self.read += units
            else:
                self.write += units

    def charged(self, action: Callable[[Store], object]) -> tuple[Decimal, Decimal]:
        self.read = self.write = Decimal(0)
        action(self.store)
        return self.read, self.write


def estimated(subject: str) -> tuple[Decimal, Decimal]:
    there: list[Entity] = [parcel(), Letter(letter_id="1"), Card(card_id="1")]
    volume = {type(each): Volume(items=10, size=item_size(each.item())) for each in there}
    design = Design("Parcels", tables=[parcels], collections=[Depot], writes=WRITES, volume=volume)
    units = CapacityEstimate(design).of(subject)
    return sum((each.read for each in units), Decimal(0)), sum((each.write for each in units), Decimal(0))


def parcel(number: int = 0) -> Parcel:
    return Parcel(parcel_id=str(number))


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        ("ParcelLabel.labels", lambda store: store.query(ParcelLabel.labels(depot="d"))),
        ("ParcelLabel.of_sender", lambda store: store.query(ParcelLabel.of_sender(depot="d"))),
        ("ParcelLabel.since", lambda store: store.query(ParcelLabel.since(depot="d", since=NOON))),
        ("ParcelLabel.by_label", lambda store: store.query(ParcelLabel.by_label(depot="d"))),
        ("Depot.all", lambda store: store.collect(Depot.all(depot="d"))),
    ],
)
def test_what_an_index_lacks_is_fetched_from_the_table(pattern: str, read: Callable[[Store], object]) -> None:
    bench = Bench()
    for number in range(3):
        bench.store.create(parcel(number))
    assert bench.charged(read) == estimated(pattern)


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("write", "begin", "action"),
    [
        ("shelve", parcel, lambda store, it: store.update(it, attr(Parcel.shelf).set("t"))),
        (
            "extend",
            lambda: Member(name="ada"),
            lambda store, it: store.update(it, attr(Member.ttl).set(NOON + timedelta(days=99999))),
        ),
        ("annotate", lambda: Letter(letter_id="1"), lambda store, it: store.update(it, attr(Letter.note).set("n"))),
        ("sort cards", lambda: Card(card_id="1"), lambda store, it: store.update(it, attr(Card.box).set("c"))),
    ],
)
def test_what_the_store_reads_and_keeps_for_a_write_is_counted(
    write: str, begin: Callable[[], Entity], action: Callable[[Store, Entity], object]
) -> None:
    bench = Bench()
    entity = bench.store.create(begin())
    assert bench.charged(lambda store: action(store, entity)) == estimated(write)


@pytest.mark.requirement("X5")
@pytest.mark.parametrize("kind", ["letters", "parcels"])
def test_a_batch_costs_what_its_items_cost_each_for_itself(kind: str) -> None:
    bench = Bench()
    items: list[Entity] = [
        Letter(letter_id=str(number)) if kind == "letters" else parcel(number) for number in range(5)
    ]
    if kind == "letters":
        # So that the items are there whose large values a batch looks for.
        bench.store.write_many(items)
    assert bench.charged(lambda store: store.write_many(items)) == estimated(f"import {kind}")


def test_an_entity_that_no_batch_takes_is_written_in_transactions() -> None:
    versioned = Write("cards", ItemWrite(Card, "put", count=5, conditional=False))
    assert not versioned.is_batch
    assert schema_of(Card).version is not None
