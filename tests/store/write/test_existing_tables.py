"""Tables that others have made: fields that are only in keys, raw keys, keys by state, computed keys.

One design with all of them is written by every path, read by every pattern, and verified.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from tablewright.design.cost import plan_costs
from tablewright.design.diff import snapshot
from tablewright.design.document import document
from tablewright.design.iam import grants
from tablewright.design.lint import lint
from tablewright.design.report import to_markdown
from tablewright.engine import Engine
from tablewright.model import (
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    KeyOnly,
    Keys,
    ModelError,
    Query,
    Table,
    Traffic,
    Volume,
    Write,
    attr,
    computed,
    first_of,
    raw,
    schema_of,
    when,
)
from tablewright.store import ConditionFailed, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.maintenance.findings import Fault

malls = Table(
    "Malls",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("byCategory", "GSI1PK", "GSI1SK"),
        GlobalIndex("byState", "GSI2PK", "GSI2SK"),
        GlobalIndex("byRent", "GSI3PK", "GSI3SK"),
    ],
)


class Shop(Entity, table=malls):
    mall: Annotated[str, KeyOnly()]
    unit: Annotated[int, KeyOnly()]
    category: Annotated[str, KeyOnly()]
    name: str
    open: bool = True
    tenant: str | None = None
    rent: int = 0

    keys = Keys(
        PK=raw("$mall#id_{mall}"),
        SK=raw("unit|{unit:04}|{name:lower}", "|"),
        GSI1PK=raw("category_{category}"),
        GSI1SK=raw("{mall}/{rent:-06}", "/"),
        GSI2PK=first_of(when("FREE", tenant=None), "LET#{open:Y|N}"),
        GSI2SK=first_of(when("{rent:06}", tenant=None), "{tenant}"),
        GSI3PK="{initials}",
        GSI3SK="{rent:06}",
    )

    @computed
    def initials(self, name: str, category: str) -> str:
        """The first letters of the name and the category."""
        return (name[:1] + category[:1]).upper()

    @Get()
    def by_unit(self, mall: str, unit: int, name: str) -> None: ...

    @Query()
    def of_mall(self, mall: str, *, since: int | None = None) -> None: ...

    @Query("byCategory")
    def dearest(self, category: str, mall: str, *, since: int | None = None, before: int | None = None) -> None: ...

    @Query("byState")
    def free(self, *, until: int | None = None) -> FieldCondition:
        return attr(self.tenant).is_(None)

    @Query("byState")
    def let(self, tenant: str, open: bool) -> None: ...

    @Query("byRent")
    def by_initials(self, initials: str) -> None: ...


def shop(**values: Any) -> Shop:
    return Shop(**{"mall": "west side", "unit": 7, "category": "books", "name": "The Shelf", **values})


@pytest.fixture
def store(engine: Engine) -> Store:
    store = Store(EmbeddedBackend(engine, owned=False))
    store.ensure_tables(malls)
    return store


def stored(store: Store) -> list[dict[str, Any]]:
    return [{name: next(iter(value.values())) for name, value in item.items()} for item in raw_items(store)]


def raw_items(store: Store) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = store.backend.engine.call("Scan", {"TableName": "Malls"})["Items"]  # type: ignore[attr-defined]
    return found


def test_what_is_only_in_keys_is_not_stored_beside_them(store: Store) -> None:
    store.create(shop(rent=120))
    assert stored(store) == [
        {
            "PK": "$mall#id_west side",
            "SK": "unit|0007|the shelf",
            "GSI1PK": "category_books",
            "GSI1SK": "west side/999879",
            "GSI2PK": "FREE",
            "GSI2SK": "000120",
            "GSI3PK": "TB",
            "GSI3SK": "000120",
            "name": "The Shelf",
            "open": True,
            "rent": "120",
        }
    ]


def test_items_of_others_are_read_as_they_are(store: Store) -> None:
    item = {
        "PK": {"S": "$mall#id_west side"},
        "SK": {"S": "unit|0012|zoo"},
        "GSI1PK": {"S": "category_pets"},
        "name": {"S": "Zoo"},
        "colour": {"S": "green"},
    }
    found = Shop.of(item)
    assert (found.mall, found.unit, found.category, found.name) == ("west side", 12, "pets", "Zoo")
    assert found.initials == "ZP"
    assert found.item()["colour"] == {"S": "green"}
    assert schema_of(Shop).matches(item)
    assert schema_of(Shop).decode_all([item, item]) == [found, found]


def test_every_pattern_finds_what_it_is_for(store: Store) -> None:
    cheap, dear = shop(rent=10), shop(unit=8, name="Old Books", rent=900, tenant="ada")
    store.create(cheap)
    store.create(dear)
    assert store.get(Shop.by_unit("west side", 7, "THE SHELF")) == cheap
    assert store.query(Shop.of_mall("west side", since=8)).items == [dear]
    assert store.query(Shop.dearest("books", "west side")).items == [dear, cheap]
    assert store.query(Shop.dearest("books", "west side", since=11)).items == [dear]
    assert store.query(Shop.dearest("books", "west side", before=900)).items == [cheap]
    assert store.query(Shop.dearest("books", "west side", since=10, before=900)).items == [cheap]
    assert store.query(Shop.free()).items == [cheap]
    assert store.query(Shop.free(until=9)).items == []
    assert store.query(Shop.let("ada", True)).items == [dear]
    assert store.query(Shop.let("ada", False)).items == []
    assert store.query(Shop.by_initials("TB")).items == [cheap]


CHANGES: dict[str, Callable[[Store, Shop], object]] = {
    "set": lambda store, found: store.update(found, attr(Shop.tenant).set("bea")),
    "set by lookup": lambda store, found: store.update(
        Shop.by_unit("west side", 7, "The Shelf"), attr(Shop.rent).set(77)
    ),
    "what is only in the key of an index": lambda store, found: store.update(found, attr(Shop.category).set("toys")),
    "that by lookup": lambda store, found: store.update(
        Shop.by_unit("west side", 7, "The Shelf"), attr(Shop.category).set("toys")
    ),
    "what is only in the primary key": lambda store, found: store.update(found, attr(Shop.unit).set(9)),
    "what is computed": lambda store, found: store.update(found, attr(Shop.name).set("Another")),
    "what is in a key in lower case": lambda store, found: store.update(found, attr(Shop.name).set("THE SHELF")),
    "add": lambda store, found: store.update(
        Shop.by_unit("west side", 7, "The Shelf"), attr(Shop.rent).add(5)
    ),
    "put": lambda store, found: store.put(shop(open=False, tenant="ada")),
    "delete": lambda store, found: store.delete(found),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_every_way_to_write_leaves_all_keys_as_they_should_be(
    store: Store, change: Callable[[Store, Shop], object]
) -> None:
    found = store.create(shop(rent=5))
    after = change(store, found)
    assert store.verify(Shop).is_clean
    assert [item for item in raw_items(store) if any(name.startswith("~") for name in item)] == []
    if isinstance(after, Shop):
        assert store.scan(Shop).items == [after]


def test_an_update_does_not_overwrite_a_key_that_has_changed_meanwhile(store: Store) -> None:
    mine, theirs = store.create(shop()), store.get(Shop.by_unit("west side", 7, "The Shelf"))
    assert theirs is not None
    store.update(theirs, attr(Shop.category).set("toys"))
    store.update(mine, attr(Shop.name).set("the shelf"))
    (left,) = store.scan(Shop).items
    assert (left.category, left.name, left.initials) == ("toys", "the shelf", "TT")
    assert store.verify(Shop).is_clean


def test_verify_finds_and_repair_repairs_what_does_not_follow(store: Store) -> None:
    store.create(shop())
    store.backend.engine.call(  # type: ignore[attr-defined]
        "UpdateItem",
        {
            "TableName": "Malls",
            "Key": {"PK": {"S": "$mall#id_west side"}, "SK": {"S": "unit|0007|the shelf"}},
            "UpdateExpression": "SET GSI2PK = :a REMOVE GSI3PK",
            "ExpressionAttributeValues": {":a": {"S": "LET#Y"}},
        },
    )
    assert {(each.fault, each.subject) for each in store.verify(Shop).findings} == {
        (Fault.KEY, "GSI2PK"),
        (Fault.KEY, "GSI3PK"),
    }
    assert store.repair(Shop, dry_run=False).progress.repaired == 2
    assert store.verify(Shop).is_clean


def test_an_item_without_the_key_that_a_field_is_read_from_is_reported(store: Store) -> None:
    item = {name: value for name, value in shop().item().items() if name != "GSI1PK"}
    store.backend.engine.call("PutItem", {"TableName": "Malls", "Item": item})  # type: ignore[attr-defined]
    (finding,) = store.verify(Shop).findings
    assert finding.fault is Fault.UNREADABLE
    assert "category" in str(finding.found)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: attr(Shop.mall) == "x", "Shop.mall is stored in keys only, so it cannot be in a condition"),
        (lambda: attr(Shop.unit).add(1), "Shop.unit is stored in keys only, so it cannot be in a condition"),
        (lambda: attr(Shop.unit).set(attr(Shop.unit) + 1), "Shop.unit is stored in keys only"),
        (lambda: attr(Shop.mall).exists(), "Shop.mall is stored in keys only"),
    ],
)
def test_no_condition_is_on_what_has_no_attribute(use: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        use()


def test_a_value_with_the_separator_is_refused_before_anything_is_written(store: Store) -> None:
    with pytest.raises(ModelError, match="Shop, PK: mall is 'a#b', and '#' ends a value"):
        store.create(shop(mall="a#b"))
    assert raw_items(store) == []


def test_conditions_on_other_fields_hold_as_ever(store: Store) -> None:
    found = store.create(shop())
    with pytest.raises(ConditionFailed, match="mall west side, unit 7"):
        store.update(found, attr(Shop.rent).set(1), expect=attr(Shop.tenant) == "bea")


def test_the_design_tools_know_such_keys() -> None:
    design = Design(
        "Malls",
        tables=[malls],
        writes=[Write("let", ItemWrite(Shop, "update", sets=[Shop.tenant])), Write("add", ItemWrite(Shop, "create"))],
        roles={"office": ["Shop.by_unit", "Shop.free", "Shop.let", "let", "add"]},
        volume={Shop: Volume(items=10_000, size=300)},
        traffic={"Shop.free": Traffic(per_second=1), "let": Traffic(per_second=1)},
    )
    assert [finding for finding in lint(design) if finding.severity == "error"] == []
    assert "FREE or LET#{open:Y|N}" in to_markdown(document(design))
    assert plan_costs(design).bill("on-demand").total > 0
    assert grants(design, "office")
    keys = snapshot(design)["tables"]["Malls"]["entities"]["Shop"]["keys"]
    assert keys["SK"]["raw"] == "|"
    assert keys["GSI2PK"]["others"][0]["template"] == "LET#{open:Y|N}"


def test_a_range_of_times_in_the_middle_of_a_raw_key_has_its_ends(engine: Engine) -> None:
    table = Table("Logs", "PK", "SK")

    class Log(Entity, table=table):
        host: str
        at: datetime
        line: str

        keys = Keys(PK=raw("host_{host}"), SK=raw("log {at} {line}"))

        @Query()
        def of_host(
            self,
            host: str,
            *,
            since: datetime | None = None,
            until: datetime | None = None,
            after: datetime | None = None,
            before: datetime | None = None,
        ) -> None: ...

    store = Store.on(engine)
    store.ensure_tables(table)
    times = [datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in range(4)]
    for at in times:
        store.put(Log(host="a", at=at, line="x"))

    def found(**bounds: datetime) -> list[int]:
        return [log.at.hour for log in store.query(Log.of_host("a", **bounds)).items]

    assert found(since=times[1], until=times[2]) == [1, 2]
    assert found(after=times[1], until=times[3]) == [2, 3]
    assert found(since=times[1], before=times[3]) == [1, 2]
    assert found(after=times[2]) == [3]
    assert found(before=times[1]) == [0]
