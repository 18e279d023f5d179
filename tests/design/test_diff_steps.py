"""The steps that a diff advises are taken: what the old version wrote, the new one has after them.

Each case is an old and a new version of one entity on the same engine. The old one writes, the diff says what kind of
change it is and to repair, ``repair`` does it, and the new one finds everything and has nothing to complain of.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from tablewright.design.diff import Kind, changes, gravest
from tablewright.design.snapshot import snapshot
from tablewright.engine import Engine
from tablewright.model import Design, Entity, Get, GlobalIndex, Keys, Numbered, Query, Table, Unique, sharded
from tablewright.store import NotUnique, Store

NAMES = ["a", "b", "c", "d", "e"]
INDEX = GlobalIndex("byShop", "GSI1PK", "GSI1SK")
Model = tuple[Table, type[Any]]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        yield engine


def plain(**settings: Any) -> Model:
    table = Table("Orders", "PK", "SK", **settings)

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: int = 0

        keys = Keys(PK="ORDER#{order_id}", SK="METADATA")
        by_id = Get()

    return table, Order


def indexed(shards: int = 1, was: int | None = None) -> Model:
    table = Table("Orders", "PK", "SK", indexes=[INDEX])

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: int = 0

        keys = Keys(
            PK="ORDER#{order_id}",
            SK="METADATA",
            GSI1PK="SHOP#{shop}" if shards == 1 else sharded("SHOP#{shop}", shards, was=was),
            GSI1SK="{order_id}",
        )
        by_id = Get()
        of_shop = Query("byShop")

    return table, Order


def rekeyed() -> Model:
    table = Table("Orders", "PK", "SK", type_attribute="type")

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: int = 0

        keys = Keys(PK="SHOP#{shop}", SK="ORDER#{order_id}")
        by_id = Get()
        of_shop = Query()

    return table, Order


def unique() -> Model:
    table = Table("Orders", "PK", "SK")

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: Annotated[int, Unique()] = 0

        keys = Keys(PK="ORDER#{order_id}", SK="METADATA")
        by_id = Get()

    return table, Order


def numbered() -> Model:
    table = Table("Orders", "PK", "SK")

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: Annotated[int, Numbered("shop")] = 0

        keys = Keys(PK="ORDER#{order_id}", SK="METADATA")
        by_id = Get()

    return table, Order


CASES: dict[str, tuple[Callable[[], Model], Callable[[], Model], Kind]] = {
    "new index": (plain, indexed, Kind.BACKFILL),
    "shards": (lambda: indexed(2), lambda: indexed(4, was=2), Kind.BACKFILL),
    "re-key": (lambda: plain(type_attribute="type"), rekeyed, Kind.RE_KEY),
    "type attribute moves": (
        lambda: plain(type_attribute="type"),
        lambda: plain(type_attribute="kind"),
        Kind.BACKFILL,
    ),
    "unique": (plain, unique, Kind.BACKFILL),
    "numbered": (plain, numbered, Kind.BACKFILL),
}


@pytest.mark.parametrize("name", CASES)
def test_after_the_steps_the_new_version_has_it_all(name: str, engine: Engine) -> None:
    old_version, new_version, kind = CASES[name]
    (old_table, Old), (new_table, New) = old_version(), new_version()
    store = Store.on(engine)
    store.ensure_tables(old_table)
    for number, order_id in enumerate(NAMES, 1):
        store.put(Old(order_id=order_id, number=number))
    found = changes(snapshot(Design("D", tables=[old_table])), snapshot(Design("D", tables=[new_table])))
    assert gravest(found) is kind
    assert any("store.repair" in step for change in found for step in change.steps)

    store.ensure_tables(new_table)
    store.repair(New, dry_run=False)

    assert store.verify(new_table).is_clean
    assert sorted(each.order_id for each in store.iterate(New)) == NAMES
    if "of_shop" in New.schema_.patterns:
        assert [each.order_id for each in store.query(New.of_shop(shop="s")).items] == NAMES


def test_a_value_that_is_to_be_unique_is_guarded_after_the_repair(engine: Engine) -> None:
    (old_table, Old), (_, New) = plain(), unique()
    store = Store.on(engine)
    store.ensure_tables(old_table)
    store.put(Old(order_id="a", number=7))
    store.repair(New, dry_run=False)
    with pytest.raises(NotUnique):
        store.create(New(order_id="b", number=7))


def test_numbers_go_on_after_the_repair(engine: Engine) -> None:
    (old_table, Old), (_, New) = plain(), numbered()
    store = Store.on(engine)
    store.ensure_tables(old_table)
    store.put(Old(order_id="a", number=41))
    store.repair(New, dry_run=False)
    assert store.create(New(order_id="b")).number == 42
