"""Stores in shopping malls, after ElectroDB's example.

    python examples/designs/malls.py

It shows a hierarchy in a sort key that is read at every level, leases by the day that they end, and rents in the order
of the largest first.
"""

from datetime import date, timedelta
from enum import StrEnum

from tablewright.model import (
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Write,
    attr,
)
from tablewright.store import Store

malls = Table(
    "MallStoreDirectory",
    "pk",
    "sk",
    indexes=[
        GlobalIndex("byLease", "gsi1pk", "gsi1sk"),
        GlobalIndex("byCategory", "gsi2pk", "gsi2sk"),
        GlobalIndex("byRent", "gsi3pk", "gsi3sk"),
    ],
)


class Category(StrEnum):
    FOOD = "food/coffee"
    BOOKS = "books"
    CLOTHES = "clothes"


class MallStore(Entity, table=malls):
    city: str
    mall: str
    building: str
    store_id: str
    unit: str
    category: Category
    lease_end: date
    rent: int

    keys = Keys(
        pk="CITY#{city}",
        sk="MALL#{mall}#BUILDING#{building}#STORE#{store_id}",
        gsi1pk="MALL#{mall}",
        gsi1sk="{lease_end}#{store_id}",
        gsi2pk="MALL#{mall}",
        gsi2sk="{category}#{building}#{unit}#{store_id}",
        gsi3pk="MALL#{mall}",
        gsi3sk="{rent:-08}#{store_id}",
    )

    @Get()
    def by_id(self, city: str, mall: str, building: str, store_id: str) -> None:
        """A store."""

    @Query()
    def stores(self, city: str, mall: str | None = None, building: str | None = None) -> None:
        """The stores of a city, of a mall in it, or of a building of that."""

    @Query("byLease")
    def leases(self, mall: str, *, since: date | None = None, until: date | None = None) -> None:
        """The stores of a mall whose lease ends in a time."""

    @Query("byLease")
    def cheap_leases(self, mall: str, rent: int, *, until: date | None = None) -> FieldCondition:
        """Those with at most some rent."""
        return attr(self.rent) <= rent

    @Query("byCategory")
    def units(self, mall: str, category: Category | None = None, building: str | None = None) -> None:
        """The stores of a mall by category, and by building in that."""

    @Query("byRent")
    def dearest(self, mall: str, *, since: int | None = None) -> None:
        """The stores of a mall, those with the highest rent first."""


design = Design(
    "Malls",
    tables=[malls],
    writes=[
        Write("let", ItemWrite(MallStore, "create")),
        Write("renew", ItemWrite(MallStore, "update", sets=[MallStore.lease_end, MallStore.rent])),
    ],
)

DAY = date(2026, 4, 1)


def fill(store: Store) -> None:
    store.ensure_tables(malls)
    rows = [
        ("EastPointe", "A", "s1", "B54", Category.FOOD, 0, 5000),
        ("EastPointe", "A", "s2", "B55", Category.BOOKS, 40, 900),
        ("EastPointe", "F", "s3", "F01", Category.BOOKS, 80, 12000),
        ("WestSide", "A", "s4", "A01", Category.CLOTHES, 10, 700),
    ]
    for mall, building, store_id, unit, category, days, rent in rows:
        end = DAY + timedelta(days=days)
        store.create(
            MallStore(
                city="Atlanta", mall=mall, building=building, store_id=store_id, unit=unit, category=category,
                lease_end=end, rent=rent,
            )
        )  # fmt: skip


def ids(found: list[MallStore]) -> list[str]:
    return [each.store_id for each in found]


def try_patterns(store: Store) -> None:
    assert ids(store.query(MallStore.stores("Atlanta")).items) == ["s1", "s2", "s3", "s4"]
    assert ids(store.query(MallStore.stores("Atlanta", "EastPointe")).items) == ["s1", "s2", "s3"]
    assert ids(store.query(MallStore.stores("Atlanta", "EastPointe", "A")).items) == ["s1", "s2"]
    june = DAY + timedelta(days=60)
    assert ids(store.query(MallStore.leases("EastPointe", since=DAY, until=june)).items) == ["s1", "s2"]
    assert ids(store.query(MallStore.cheap_leases("EastPointe", 1000, until=june)).items) == ["s2"]
    assert ids(store.query(MallStore.units("EastPointe", Category.BOOKS)).items) == ["s2", "s3"]
    assert ids(store.query(MallStore.units("EastPointe", Category.BOOKS, "F")).items) == ["s3"]
    assert ids(store.query(MallStore.dearest("EastPointe")).items) == ["s3", "s1", "s2"]
    assert ids(store.query(MallStore.dearest("EastPointe", since=5000)).items) == ["s3", "s1"]
    one = store.get_or_raise(MallStore.by_id("Atlanta", "EastPointe", "A", "s1"))
    store.update(one, attr(MallStore.lease_end).set(june), attr(MallStore.rent).set(99))
    assert ids(store.query(MallStore.dearest("EastPointe"), limit=1).items) == ["s3"]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of malls")


if __name__ == "__main__":
    main()
