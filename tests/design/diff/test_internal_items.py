"""What the store keeps beside items, and what it recognises them by: guards, counters, type names, shards, indexes."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from tablewright.design.diff import Impact, changes
from tablewright.engine import Engine
from tablewright.model import (
    AttributeName,
    Collection,
    CollectionQuery,
    CreatedAt,
    Entity,
    GlobalIndex,
    Keys,
    Numbered,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Upgrades,
    schema_of,
    sharded,
)
from tablewright.store import NotUnique, Store
from tests.declared_patterns import grouped
from tests.design.diff.versions import INDEX, INDEXED, difference, version

MAIL = {"mail": Annotated[str, Unique()]}


def number_per(group: str) -> dict[str, Any]:
    return {"number": (int, 0), "numbered": grouped(Numbered(), "number", group)}


NUMBER = number_per("shop")


def moved(values: dict[str, Any]) -> dict[str, Any]:
    return values


def kinds(old: dict[str, Any], new: dict[str, Any]) -> dict[str, str]:
    """The most severe impact at each place."""
    order = list(Impact)
    found: dict[str, Impact] = {}
    for change in changes(old, new):
        found[change.place] = max(found.get(change.place, Impact.FREE), change.impact, key=order.index)
    return {place: kind.value for place, kind in found.items()}


# -- type names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [MAIL, NUMBER], ids=["unique", "numbered"])
def test_guards_and_counters_have_the_type_name_in_their_keys(fields: Mapping[str, Any]) -> None:
    renamed = version(fields, entity={"type_name": "parcel"})
    assert kinds(version(fields), renamed) == {"Order.type_name": "backfill"}
    (change,) = changes(version(fields), renamed)
    assert "`store.repair(Order, dry_run=False)`" in change.steps[-1]


def test_a_type_name_that_nothing_is_kept_by_is_free() -> None:
    assert difference(version(), version(entity={"type_name": "parcel"})) == []


def test_a_type_name_that_items_and_guards_have_takes_both_steps() -> None:
    old = version(MAIL, type_attribute="type")
    (change,) = changes(old, version(MAIL, type_attribute="type", entity={"type_name": "parcel"}))
    assert change.impact is Impact.BACKFILL
    assert [step.split()[0] for step in change.steps] == ["keep", "declare", "deploy,", "check"]


def test_a_repair_makes_the_guards_of_another_type_name() -> None:
    def model(type_name: str) -> Any:
        class Member(Entity, table=Table("members", "id"), type_name=type_name):
            id: str
            mail: Annotated[str, Unique()]

        return Member

    old, new = model("first"), model("second")
    with Store.on(Engine.open()) as store:
        store.ensure_tables(schema_of(old).table)
        store.create(old(id="1", mail="m"))
        store.repair(new, dry_run=False)
        with pytest.raises(NotUnique):
            store.create(new(id="2", mail="m"))


# -- attributes -----------------------------------------------------------------------------------------------------


def test_guards_and_counters_have_the_attribute_in_their_keys() -> None:
    upgrades = {"upgrades": Upgrades(moved)}
    elsewhere: dict[str, Any] = {"mail": Annotated[str, Unique(), AttributeName("m")]}
    assert kinds(version(MAIL), version(elsewhere, members=upgrades))["Order.mail"] == "backfill"
    elsewhere = {**NUMBER, "number": (Annotated[int, AttributeName("n")], 0)}
    assert kinds(version(NUMBER), version(elsewhere, members=upgrades))["Order.number"] == "backfill"


def test_a_numbered_field_that_an_upgrade_fills_has_counters_of_its_own() -> None:
    other = {"position": (int, 0), "numbered": grouped(Numbered(), "position", "shop")}
    found = kinds(version(NUMBER), version(other, members={"upgrades": Upgrades(moved)}))
    assert found["Order.position"] == "backfill"
    # Without one there is nothing that could have been numbered before.
    assert kinds(version(), version(other)) == {"Order.position": "free"}


def test_what_is_counted_for_may_be_called_otherwise() -> None:
    old = version({"seller": str, **number_per("seller")})
    new = {"vendor": Annotated[str, AttributeName("seller")], **number_per("vendor")}
    assert kinds(old, version(new)) == {"Order.seller": "free"}
    other = {"seller": str, **number_per("shop")}
    assert kinds(old, version(other)) == {"Order.number": "unsafe"}


def test_what_is_counted_for_is_not_stored_otherwise() -> None:
    old = version({"seller": str, **number_per("seller")})
    new = {"vendor": Annotated[int, AttributeName("seller")], **number_per("vendor")}
    assert kinds(old, version(new))["Order.number"] == "unsafe"


def test_a_field_does_not_read_what_was_another_one() -> None:
    old = version({"first": str, "second": str})
    swapped = {"first": Annotated[str, AttributeName("second")], "second": Annotated[str, AttributeName("first")]}
    assert kinds(old, version(swapped)) == {"Order.first": "unsafe", "Order.second": "unsafe"}
    # One is gone, and the other has taken its place.
    assert kinds(old, version({"second": Annotated[str, AttributeName("first")]}))["Order.second"] == "unsafe"
    upgraded = version(swapped, members={"upgrades": Upgrades(moved)})
    assert set(kinds(old, upgraded).values()) == {"free"}


def test_the_time_of_creation_does_not_become_that_of_the_last_write() -> None:
    created, updated = version({"at": (CreatedAt, None)}), version({"at": (UpdatedAt, None)})
    assert kinds(created, updated) == kinds(updated, created) == {"Order.at": "unsafe"}


# -- what tells items apart -----------------------------------------------------------------------------------------


def test_a_type_attribute_that_had_other_values_recognises_nothing() -> None:
    old = version({"type": str})
    assert kinds(old, version(type_attribute="type"))["Orders.type_attribute"] == "backfill"
    assert kinds(old, version({"type": str}, type_attribute="kind")) == {"Orders.type_attribute": "free"}
    old = version({"type": str}, type_attribute="kind")
    (change,) = [each for each in changes(old, version(type_attribute="type")) if "type_attribute" in each.place]
    assert "Order.type" in change.what


def test_a_renamed_entity_may_have_new_fields_that_need_not_be_stored() -> None:
    old = version(name="Order")
    assert kinds(old, version({"note": (str, "")}, name="Purchase")) == {"Order": "free", "Purchase.note": "free"}
    assert kinds(old, version({"note": str}, name="Purchase")) == {"Order": "free", "Purchase.note": "backfill"}


# -- indexes of collections -----------------------------------------------------------------------------------------


def test_an_index_that_a_collection_reads_is_not_removed_freely() -> None:
    def gathered(order: type[Entity]) -> list[type[Collection]]:
        class Shop(Collection):
            orders: list[order]  # type: ignore[valid-type]

            @CollectionQuery("byShop")
            def all(self, shop: str) -> None: ...

        return [Shop]

    old = version(keys=INDEXED, indexes=[INDEX], design={"collections": gathered})
    (change,) = [each for each in changes(old, version()) if each.place == "Orders.byShop"]
    assert change.impact is Impact.UNSAFE
    assert "Shop.all" in change.what


# -- shards ---------------------------------------------------------------------------------------------------------

Shards = tuple[int, int | None]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ((8, None), (8, 16), "free"),
        ((8, 16), (16, 8), "backfill"),
        ((8, None), (16, 8), "backfill"),
        ((16, 8), (16, None), "free"),
        ((8, 16), (8, None), "free"),
        ((8, 16), (16, None), "backfill"),
        ((8, None), (16, None), "backfill"),
        ((8, 4), (8, 16), "backfill"),
        ((8, 4), (16, 8), "backfill"),
        ((8, 4), (16, 4), "backfill"),
    ],
)
def test_a_step_of_shards_is_what_it_takes(old: Shards, new: Shards, kind: str) -> None:
    versions = [
        version(keys={**INDEXED, "GSI1PK": sharded("SHOP#{shop}", shards, was=was)}, indexes=[INDEX])
        for shards, was in (old, new)
    ]
    assert kinds(*versions) == {"Order.keys.GSI1PK": kind}


@pytest.mark.parametrize(("old", "new"), [((8, None), (8, 16)), ((8, 16), (16, 8)), ((8, None), (16, 8))])
def test_a_query_finds_all_after_a_step(old: Shards, new: Shards) -> None:
    def model(shards: int, was: int | None) -> Any:
        class Parcel(Entity, table=Table("parcels", "PK", indexes=[GlobalIndex("byState", "GSI1PK", "PK")])):
            parcel_id: str
            state: str = "open"

            keys = Keys(PK="{parcel_id}", GSI1PK=sharded("STATE#{state}", shards, was=was))

            @Query("byState")
            def in_state(self, state: str) -> None: ...

        return Parcel

    before, after = model(*old), model(*new)
    with Store.on(Engine.open()) as store:
        store.ensure_tables(schema_of(before).table)
        store.write_many([before(parcel_id=str(number)) for number in range(40)])
        assert len(store.query(after.in_state(state="open"), limit=50).items) == 40
