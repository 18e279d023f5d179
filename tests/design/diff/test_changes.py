"""Changes between two versions of a design, each of its kind."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import BaseModel, Field

from tablewright.design.diff import Impact, changes, most_severe
from tablewright.model import (
    AttributeName,
    Entity,
    EpochMillis,
    EpochSeconds,
    ExpiresAt,
    Expiry,
    GlobalIndex,
    ItemWrite,
    Large,
    LocalIndex,
    Numbered,
    Query,
    Reaction,
    Unique,
    Upgrades,
    Version,
    Write,
    sharded,
    when,
)
from tests.declared_patterns import grouped, taking
from tests.design.diff.versions import INDEX, INDEXED, KEYS, difference, only, version


def test_a_version_does_not_differ_from_itself() -> None:
    assert changes(version(), version()) == []


# -- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_that_is_new_is_free_and_one_that_is_gone_is_not() -> None:
    one, other = version(), version(name="Invoice")
    both = {**one, "tables": {**one["tables"], "Invoices": other["tables"]["Orders"]}}
    assert difference(one, both) == [("free", "Invoices")]
    assert difference(both, one) == [("unsafe", "Invoices")]


@pytest.mark.parametrize(
    "changed",
    [
        {"partition": "id", "keys": {"id": "ORDER#{order_id}", "SK": "METADATA"}},
        {"sort": None, "keys": {"PK": "{order_id}"}},
    ],
)
def test_another_primary_key_is_another_table(changed: dict[str, Any]) -> None:
    found = changes(version(), version(**changed))
    assert found[0].impact is Impact.RE_KEY
    assert found[0].place == "Orders"
    assert "create a new table under another name" in found[0].steps[0]


def test_another_type_of_a_key_is_another_table() -> None:
    def numbered(kind: type, types: dict[str, str]) -> dict[str, Any]:
        return version({"SK": kind}, keys={"PK": "ORDER#{order_id}"}, types=types)

    found = changes(numbered(str, {}), numbered(int, {"SK": "N"}))
    assert ("re-key", "Orders") in [(change.impact, change.place) for change in found]


@pytest.mark.parametrize(
    ("old", "new", "kind", "place"),
    [
        ({}, {"ttl": "gone"}, "free", "Orders.ttl"),
        ({"ttl": "gone"}, {}, "free", "Orders.ttl"),
        ({"ttl": "gone"}, {"ttl": "ttl"}, "backfill", "Orders.ttl"),
        ({}, {"stream": "NEW_IMAGE"}, "free", "Orders.stream"),
        ({"stream": "NEW_IMAGE"}, {}, "free", "Orders.stream"),
        ({"stream": "NEW_IMAGE"}, {"stream": "NEW_AND_OLD_IMAGES"}, "unsafe", "Orders.stream"),
        ({}, {"point_in_time_recovery": True}, "free", "Orders.point_in_time_recovery"),
        ({"point_in_time_recovery": True}, {}, "unsafe", "Orders.point_in_time_recovery"),
        ({}, {"encryption": True}, "free", "Orders.encryption"),
        ({"encryption": True}, {}, "unsafe", "Orders.encryption"),
        ({}, {"deletion_protection": True}, "free", "Orders.deletion_protection"),
        ({"deletion_protection": True}, {}, "unsafe", "Orders.deletion_protection"),
        ({}, {"tags": {"Team": "shop"}}, "free", "Orders.tags"),
        ({}, {"type_attribute": "type"}, "free", "Orders.type_attribute"),
        ({"type_attribute": "type"}, {}, "free", "Orders.type_attribute"),
        ({"type_attribute": "type"}, {"type_attribute": "kind"}, "backfill", "Orders.type_attribute"),
    ],
)
def test_settings(old: dict[str, Any], new: dict[str, Any], kind: str, place: str) -> None:
    assert difference(version(**old), version(**new)) == [(kind, place)]


def test_time_to_live_on_what_is_stored_deletes_items() -> None:
    change = only(version({"gone": EpochSeconds}), version({"gone": EpochSeconds}, ttl="gone"))
    assert (change.impact, change.place) == (Impact.UNSAFE, "Orders.ttl")
    assert "which Order already have" in change.what


def test_switching_off_a_stream_that_consumers_read_is_unsafe() -> None:
    def reacting(order: type[Entity]) -> list[Reaction]:
        return [Reaction("count", order)]

    old = version(stream="NEW_IMAGE", design={"reactions": reacting})
    change = only(old, version(design={"reactions": reacting}))
    assert change.impact is Impact.UNSAFE
    assert "which consumers of Order read" in change.what


# -- indexes --------------------------------------------------------------------------------------------------------


def test_a_new_index_is_built_and_filled() -> None:
    found = changes(version(), version(keys=INDEXED, indexes=[INDEX]))
    assert [(change.impact, change.place) for change in found] == [
        ("backfill", "Order.keys.GSI1PK"),
        ("backfill", "Order.keys.GSI1SK"),
        ("new index", "Orders.byShop"),
    ]


def test_an_index_on_fields_that_are_there_is_only_built() -> None:
    assert difference(version(), version(indexes=[GlobalIndex("byShop", "shop")])) == [("new index", "Orders.byShop")]


def test_an_index_that_is_read_is_not_removed_freely() -> None:
    read = version(keys=INDEXED, indexes=[INDEX], members={"of_shop": taking(Query("byShop"), "shop")})
    unread = version(keys=INDEXED, indexes=[INDEX])
    gone = version()
    found = changes(read, gone)
    assert found[0].impact is Impact.UNSAFE
    assert found[0].what == "index removed, which Order.of_shop used"
    assert most_severe(changes(unread, gone)) is Impact.FREE


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (GlobalIndex("byShop", "GSI1PK"), "its key changes from GSI1PK and GSI1SK to GSI1PK"),
        (GlobalIndex("byShop", "GSI1PK", "GSI1SK", include=["shop"]), "its projection changes from everything to shop"),
        (GlobalIndex("byShop", "GSI1PK", "GSI1SK", include=[]), "its projection changes from everything to the keys"),
    ],
)
def test_an_index_cannot_be_changed(changed: Any, what: str) -> None:
    keys = {name: rule for name, rule in INDEXED.items() if name in (*KEYS, *changed.attributes)}
    found = changes(version(keys=INDEXED, indexes=[INDEX]), version(keys=keys, indexes=[changed]))
    assert (found[0].impact, found[0].place, found[0].what) == (Impact.NEW_INDEX, "Orders.byShop", what)


def test_a_local_index_is_of_a_new_table() -> None:
    local = LocalIndex("byShop", "shop")
    assert difference(version(), version(indexes=[local])) == [("re-key", "Orders.byShop")]
    narrow = LocalIndex("byShop", "shop", include=[])
    assert difference(version(indexes=[local]), version(indexes=[narrow])) == [("re-key", "Orders.byShop")]


# -- entities and keys ----------------------------------------------------------------------------------------------


def test_entities_come_and_go() -> None:
    assert difference(version(), version(entities=2)) == [("free", "Order1")]
    assert difference(version(entities=2), version()) == [("unsafe", "Order1")]


def test_a_renamed_entity_is_recognised() -> None:
    assert difference(version(), version(name="Purchase")) == [("free", "Order")]
    kept: dict[str, Any] = {"type_attribute": "type"}
    assert difference(version(**kept), version(name="Purchase", **kept)) == [("backfill", "Order")]
    named = version(name="Purchase", entity={"type_name": "Order"}, **kept)
    assert difference(version(**kept), named) == [("free", "Order")]


def test_a_renamed_entity_with_guards_has_other_guards() -> None:
    number = {"number": Annotated[str, Unique()]}
    assert difference(version(number), version(number, name="Purchase")) == [("backfill", "Order")]


def test_another_type_name_is_not_recognised() -> None:
    kept: dict[str, Any] = {"type_attribute": "type"}
    changed = version(entity={"type_name": "ORDER"}, **kept)
    assert difference(version(**kept), changed) == [("backfill", "Order.type_name")]
    assert changes(version(), version(entity={"type_name": "ORDER"})) == []


@pytest.mark.parametrize(
    ("keys", "kind", "place"),
    [
        ({**INDEXED, "PK": "O#{order_id}"}, "re-key", "Order.keys.PK"),
        ({**INDEXED, "SK": "METADATA#{shop}"}, "re-key", "Order.keys.SK"),
        ({**INDEXED, "GSI1PK": "S#{shop}"}, "backfill", "Order.keys.GSI1PK"),
        ({**INDEXED, "GSI1PK": sharded("SHOP#{shop}", 4)}, "backfill", "Order.keys.GSI1PK"),
        ({**INDEXED, "GSI1PK": when("SHOP#{shop}", shop="a")}, "backfill", "Order.keys.GSI1PK"),
        ({name: rule for name, rule in INDEXED.items() if name != "GSI1SK"}, "backfill", "Order.keys.GSI1SK"),
    ],
)
def test_keys(keys: dict[str, Any], kind: str, place: str) -> None:
    old = version(keys=INDEXED, indexes=[INDEX])
    assert difference(old, version(keys=keys, indexes=[INDEX])) == [(kind, place)]


def test_items_are_moved_in_place_only_where_something_tells_what_they_are() -> None:
    keys = {**KEYS, "PK": "O#{order_id}"}
    change = only(version(), version(keys=keys))
    assert "stored items are not recognised by the new keys" in change.what
    assert change.declaration == (
        'class OrderBefore(RetiredEntity, Order):\n    keys = Keys(PK="ORDER#{order_id}", SK="METADATA")'
    )
    told: dict[str, Any] = {"type_attribute": "type"}
    assert "store.repair(Order, dry_run=False)" in only(version(**told), version(keys=keys, **told)).steps[0]


def test_an_entity_and_a_field_of_it_are_renamed_in_one_declaration() -> None:
    old = version({"note": str}, type_attribute="type")
    new = version({"remark": str}, name="Purchase", type_attribute="type")
    (change,) = [each for each in changes(old, new) if each.declaration]
    assert change.declaration == (
        'class PurchaseBefore(RetiredEntity, Purchase, type_name="Order"):\n'
        '    remark: Annotated[str, AttributeName("note")]'
    )


# -- fields ---------------------------------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Fewer(StrEnum):
    RED = "red"


class Address(BaseModel):
    city: str
    street: str | None = None


class Moved(BaseModel):
    town: str


class Node(BaseModel):
    name: str
    inner: list["Node"] = []


class Longer(BaseModel):
    city: str
    street: str | None = None
    postcode: str


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (None, str, "backfill"),
        (None, (str, "x"), "free"),
        (None, (str | None, None), "free"),
        (None, set[str], "free"),
        (str, None, "free"),
        (str, int, "unsafe"),
        (str, str | int, "free"),
        (str | int, str, "unsafe"),
        (str, Any, "free"),
        ((str | None, None), str, "backfill"),
        (str, (str | None, None), "free"),
        ((str, "a"), (str, "a"), None),
        ((str, "a"), (str, "b"), "free"),
        ((str | None, None), (str | None, "x"), "backfill"),
        ((str | None, None), (str, "x"), "backfill"),
        ((str | None, "x"), (str, "x"), "unsafe"),
        (datetime, EpochSeconds, "unsafe"),
        (EpochSeconds, EpochMillis, "unsafe"),
        (Colour, Fewer, "unsafe"),
        (Fewer, Colour, "free"),
        (str, Colour, "unsafe"),
        (Colour, str, "free"),
        (Literal["a", "b"], Literal["a"], "unsafe"),
        (str, Annotated[str, MaxLen(10)], "unsafe"),
        (Annotated[str, MaxLen(10)], Annotated[str, MaxLen(20)], "free"),
        (Annotated[str, MaxLen(20)], Annotated[str, MaxLen(10)], "unsafe"),
        (Annotated[str, MinLen(2)], Annotated[str, MinLen(1)], "free"),
        (Annotated[int, Ge(1), Le(5)], Annotated[int, Ge(1), Le(3)], "unsafe"),
        (Annotated[str, Field(pattern="^a")], Annotated[str, Field(pattern="^b")], "unsafe"),
        (Annotated[str, Field(pattern="^a")], str, "free"),
    ],
)
def test_fields(old: Any, new: Any, kind: str | None) -> None:
    before = version({} if old is None else {"extra": old})
    after = version({} if new is None else {"extra": new})
    assert difference(before, after) == ([] if kind is None else [(kind, "Order.extra")])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (Address, Moved, [("unsafe", "city"), ("unsafe", "street"), ("backfill", "town")]),
        (Address, Longer, [("backfill", "postcode")]),
        (list[Address], list[Longer], [("backfill", "postcode")]),
        (Longer, Address, [("unsafe", "postcode")]),
    ],
)
def test_members_of_nested_models(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    found = difference(version({"address": old}), version({"address": new}))
    assert sorted(found) == sorted((kind, f"Order.address.{name}") for kind, name in expected)


def test_a_model_that_contains_itself_has_a_snapshot() -> None:
    assert changes(version({"tree": Node}), version({"tree": Node})) == []


def test_an_attribute_is_the_same_field_whatever_it_is_called() -> None:
    old = version({"note": str})
    assert difference(old, version({"remark": Annotated[str, AttributeName("note")]})) == [("free", "Order.note")]
    assert difference(old, version({"note": Annotated[str, AttributeName("remark")]})) == [("backfill", "Order.note")]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (str, Annotated[str, Unique()], "backfill"),
        (Annotated[str, Unique()], str, "free"),
        ((int, 0), (Version, 0), "free"),
        (str, Annotated[str, Large()], "free"),
        (Annotated[str, Large()], Annotated[str, Large(threshold=1000)], "free"),
        (Annotated[str, Large()], str, "unsafe"),
    ],
)
def test_what_the_store_does_with_a_field(old: Any, new: Any, kind: str) -> None:
    assert difference(version({"extra": old}), version({"extra": new})) == [(kind, "Order.extra")]


def test_how_a_field_is_numbered() -> None:
    plain, of_shop = (
        version({"extra": (int, 0)}),
        version({"extra": (int, 0), "rule": grouped(Numbered(), "extra", "shop")}),
    )
    of_all = version({"extra": (Annotated[int, Numbered()], 0)})
    assert difference(plain, of_shop) == [("backfill", "Order.extra")]
    assert difference(of_shop, plain) == [("free", "Order.extra")]
    assert difference(of_shop, of_all) == [("unsafe", "Order.extra")]


def test_another_lifetime_is_for_what_is_written_from_now_on() -> None:
    def lasting(hours: int) -> dict[str, Any]:
        return version({"gone": (Annotated[ExpiresAt, Expiry(timedelta(hours=hours))], None)}, ttl="gone")

    assert difference(lasting(1), lasting(2)) == [("free", "Order.gone")]


# -- older schema versions --------------------------------------------------------------------------------------------


def step(values: dict[str, Any]) -> dict[str, Any]:
    return values


def test_a_step_takes_care_of_what_is_stored() -> None:
    upgraded = {"upgrades": Upgrades(step)}
    found = changes(version({"a": str}), version({"a": int, "b": str}, members=upgraded))
    assert most_severe(found) is Impact.FREE
    assert {change.place for change in found} == {"Order.upgrades", "Order.a", "Order.b"}


def test_steps_are_never_taken_away() -> None:
    two, one = {"upgrades": Upgrades(step, step)}, {"upgrades": Upgrades(step)}
    assert difference(version(members=two), version(members=one)) == [("unsafe", "Order.upgrades")]
    assert difference(version(members=one), version()) == [("unsafe", "Order.upgrades")]
    elsewhere = {"upgrades": Upgrades(step, attribute="form")}
    assert difference(version(members=one), version(members=elsewhere)) == [("unsafe", "Order.upgrades")]


# -- the rest of a design -------------------------------------------------------------------------------------------


def test_patterns_writes_roles_and_reactions_are_free() -> None:
    def writes(order: type[Entity]) -> list[Write]:
        return [Write("place", ItemWrite(order, "create"))]

    new = version(
        members={"of_order": taking(Query(), "order_id")},
        design={
            "writes": writes,
            "roles": lambda order: {"api": ["place"]},
            "reactions": lambda order: [Reaction("tell", order, source="writer")],
        },
    )
    assert sorted(difference(version(), new)) == [
        ("free", "Order.of_order"),
        ("free", "reaction tell"),
        ("free", "role api"),
        ("free", "write place"),
    ]


def test_the_gravest_comes_first() -> None:
    old = version({"a": str, "b": str}, stream="NEW_IMAGE")
    new = version({"a": int, "c": bytes}, keys={**KEYS, "SK": "X"}, indexes=[GlobalIndex("byShop", "shop")])
    assert [change.impact for change in changes(old, new)] == [
        "unsafe",
        "re-key",
        "backfill",
        "new index",
        "free",
        "free",
    ]
    assert most_severe([]) is None


def test_an_entity_in_another_table_leaves_its_items_behind() -> None:
    one, other = version(), version(name="Order", keys={**KEYS, "PK": "O#{order_id}"})
    both = {**one, "tables": {**one["tables"], "Others": {**other["tables"]["Orders"], "entities": {}}}}
    moved = {
        **one,
        "tables": {"Orders": {**one["tables"]["Orders"], "entities": {}}, "Others": other["tables"]["Orders"]},
    }
    (change,) = [each for each in changes(both, moved) if each.impact is Impact.UNSAFE]
    assert (change.place, change.declaration) == (
        "Order",
        'class OrderBefore(RetiredEntity, Order, table=orders):\n    keys = Keys(PK="ORDER#{order_id}", SK="METADATA")',
    )
