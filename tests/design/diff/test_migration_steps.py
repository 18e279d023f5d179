"""The steps that a diff advises are taken: what the old version wrote, the new one has after them.

Each case is an old and a new version of one entity on the same engine. The old one writes, the diff says what kind of
change it is and to repair, ``repair`` does it, and the new one finds everything and has nothing to complain of.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from types import new_class
from typing import Annotated, Any

import pytest

from tablewright.design.diff import Impact, changes, most_severe
from tablewright.design.diff.design_snapshot import snapshot
from tablewright.engine import Engine
from tablewright.model import (
    Design,
    Entity,
    FieldGroup,
    Get,
    GlobalIndex,
    Keys,
    Large,
    Numbered,
    Query,
    RetiredEntity,
    Table,
    Unique,
    Upgrades,
    attr,
    sharded,
)
from tablewright.store import NotUnique, Store, offloaded_sizes
from tests.declared_patterns import taking

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

        @Get()
        def by_id(self, order_id: str) -> None: ...

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

        @Get()
        def by_id(self, order_id: str) -> None: ...

        @Query("byShop")
        def of_shop(self, shop: str) -> None: ...

    return table, Order


def rekeyed() -> Model:
    table = Table("Orders", "PK", "SK", type_attribute="type")

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: int = 0

        keys = Keys(PK="SHOP#{shop}", SK="ORDER#{order_id}")

        @Get()
        def by_id(self, shop: str, order_id: str) -> None: ...

        @Query()
        def of_shop(self, shop: str) -> None: ...

    return table, Order


def unique() -> Model:
    table = Table("Orders", "PK", "SK")

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: Annotated[int, Unique()] = 0

        keys = Keys(PK="ORDER#{order_id}", SK="METADATA")

        @Get()
        def by_id(self, order_id: str) -> None: ...

    return table, Order


def numbered() -> Model:
    table = Table("Orders", "PK", "SK")

    class Order(Entity, table=table):
        order_id: str
        shop: str = "s"
        number: int = 0

        keys = Keys(PK="ORDER#{order_id}", SK="METADATA")

        @Numbered()
        def number_per_shop(self) -> FieldGroup[int]:
            return attr(self.number).per(self.shop)

        @Get()
        def by_id(self, order_id: str) -> None: ...

    return table, Order


CASES: dict[str, tuple[Callable[[], Model], Callable[[], Model], Impact]] = {
    "new index": (plain, indexed, Impact.BACKFILL),
    "shards": (lambda: indexed(2), lambda: indexed(4, was=2), Impact.BACKFILL),
    "re-key": (lambda: plain(type_attribute="type"), rekeyed, Impact.RE_KEY),
    "type attribute moves": (
        lambda: plain(type_attribute="type"),
        lambda: plain(type_attribute="kind"),
        Impact.BACKFILL,
    ),
    "unique": (plain, unique, Impact.BACKFILL),
    "numbered": (plain, numbered, Impact.BACKFILL),
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
    assert most_severe(found) is kind
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


def with_text(annotation: Any) -> Model:
    table = Table("Orders", "PK", "SK")

    class Order(Entity, table=table):
        order_id: str
        text: annotation = ""

        keys = Keys(PK="ORDER#{order_id}", SK="METADATA")

        @Get()
        def by_id(self, order_id: str) -> None: ...

    return table, Order


def test_values_that_are_outside_come_back_before_they_are_no_longer_large(engine: Engine) -> None:
    small, most = Annotated[str, Large(threshold=1000)], Annotated[str, Large(threshold=400 * 1024)]
    (table, Old), (_, Between), (new_table, New) = with_text(small), with_text(most), with_text(str)
    store = Store.on(engine)
    store.ensure_tables(table)
    for name in NAMES:
        store.put(Old(order_id=name, text=name * 5000))
    (change,) = changes(snapshot(Design("D", tables=[table])), snapshot(Design("D", tables=[new_table])))
    assert (change.impact, change.place) == (Impact.UNSAFE, "Order.text")
    # Without the steps, the new version does not have what was stored.
    assert not hasattr(store.get(New.by_id(order_id="a")), "text")

    for each in list(store.iterate(Between)):
        store.put(each)

    assert all(not offloaded_sizes(each) for each in store.iterate(Between))
    assert [each.text for each in sorted(store.iterate(New), key=lambda each: each.order_id)] == [
        name * 5000 for name in NAMES
    ]


def test_a_value_that_becomes_large_is_read_where_it_is(engine: Engine) -> None:
    (table, Old), (new_table, New) = with_text(str), with_text(Annotated[str, Large(threshold=1000)])
    store = Store.on(engine)
    store.ensure_tables(table)
    store.put(Old(order_id="a", text="x" * 5000))
    assert (
        most_severe(changes(snapshot(Design("D", tables=[table])), snapshot(Design("D", tables=[new_table]))))
        is Impact.FREE
    )
    (stored,) = store.iterate(New)
    assert stored.text == "x" * 5000


DAY = date(2026, 1, 15)
MIDNIGHT = datetime(2026, 1, 15, tzinfo=UTC)


def at_midnight(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "day": f"{values['day']}T00:00:00.000000Z"}


def of_a_day(annotation: Any, *steps: Any, **keys: str) -> Model:
    table = Table("Orders", "PK", "SK", indexes=[INDEX])
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {"order_id": str, "day": annotation},
        "keys": Keys({"PK": "ORDER#{order_id}", **keys}),
        "of_day": taking(Query("byShop"), *(["day"] if "{day}" in keys["GSI1PK"] else [])),
        **({"upgrades": Upgrades(*steps)} if steps else {}),
    }
    return table, new_class("Order", (Entity,), {"table": table}, lambda given: given.update(namespace))


def kinds(old: Table, new: Table) -> dict[str, Impact]:
    found = changes(snapshot(Design("D", tables=[old])), snapshot(Design("D", tables=[new])))
    return {change.place: change.impact for change in found if change.impact is not Impact.FREE}


def test_an_index_key_that_is_written_otherwise_is_made_anew(engine: Engine) -> None:
    keys = {"SK": "METADATA", "GSI1PK": "DAY#{day}", "GSI1SK": "{order_id}"}
    (old_table, Old), (new_table, New) = of_a_day(date, **keys), of_a_day(datetime, at_midnight, **keys)
    assert kinds(old_table, new_table) == {"Order.keys.GSI1PK": Impact.BACKFILL}
    store = Store.on(engine)
    store.ensure_tables(old_table)
    for order_id in NAMES:
        store.put(Old(order_id=order_id, day=DAY))

    store.repair(New, dry_run=False)

    assert store.verify(new_table).is_clean
    assert [each.order_id for each in store.query(New.of_day(day=MIDNIGHT)).items] == NAMES


def test_a_primary_key_that_is_written_otherwise_is_moved_by_a_repair(engine: Engine) -> None:
    keys = {"SK": "{day}", "GSI1PK": "ALL", "GSI1SK": "{order_id}"}
    (old_table, Old), (new_table, New) = of_a_day(date, **keys), of_a_day(datetime, at_midnight, **keys)
    assert kinds(old_table, new_table) == {"Order.keys.SK": Impact.RE_KEY}
    store = Store.on(engine)
    store.ensure_tables(old_table)
    for order_id in NAMES:
        store.put(Old(order_id=order_id, day=DAY))

    store.repair(New, dry_run=False)

    assert store.verify(new_table).is_clean
    assert [(each.order_id, each.day) for each in store.query(New.of_day()).items] == [
        (order_id, MIDNIGHT) for order_id in NAMES
    ]
    assert len(list(store.iterate(New))) == len(NAMES)


def test_a_field_that_is_the_key_is_converted_by_a_retired_entity(engine: Engine) -> None:
    old_table, new_table = Table("Days", "who", "day"), Table("Days", "who", "day")

    class OldDay(Entity, table=old_table, type_name="Day"):
        who: str
        day: date

    class Day(Entity, table=new_table):
        who: str
        day: datetime

        @Get()
        def at(self, who: str, day: datetime) -> None: ...

    before, after = Design("D", tables=[old_table]), Design("D", tables=[new_table])
    was = snapshot(before)
    was["tables"]["Days"]["entities"]["Day"] = was["tables"]["Days"]["entities"].pop("OldDay")
    (change,) = [change for change in changes(was, snapshot(after)) if change.impact is Impact.RE_KEY]
    assert "day: date\n" in change.declaration
    assert "yield Day(who=self.who, day=...)" in change.declaration

    class DayBefore(RetiredEntity, Day):
        day: date  # type: ignore[assignment]

        def becomes(self) -> Iterator[object]:
            yield Day(who=self.who, day=datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC))

    store = Store.on(engine)
    store.ensure_tables(old_table)
    store.put(OldDay(who="ada", day=DAY))
    store.repair(Day, dry_run=False)
    assert store.get(Day.at("ada", MIDNIGHT)) == Day(who="ada", day=MIDNIGHT)
    assert store.verify(new_table).is_clean
    assert DayBefore not in new_table.entities
