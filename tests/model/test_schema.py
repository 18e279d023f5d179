"""A compiled declaration: paths, keys, guards, large attributes."""

# ruff: noqa: RUF012 (an entity copies its defaults)

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tablewright.model import (
    AttributeName,
    Entity,
    EpochMillis,
    Get,
    GlobalIndex,
    Keys,
    Large,
    LocalIndex,
    ModelError,
    Query,
    Table,
    TemplateError,
    camel_case,
    schema_of,
    sharded,
    when,
)

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def test_a_template_takes_fields_whatever_they_are_stored_in() -> None:
    class Row(Entity, table=Table("rows", "PK")):
        id: Annotated[str, AttributeName("the id:1")]

        keys = Keys(PK="ROW#{id}")

    assert Row(id="1").item() == {"the id:1": {"S": "1"}, "PK": {"S": "ROW#1"}}


# -- paths into models and maps -------------------------------------------------------------------------------------


class Place(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    country_code: str
    since: EpochMillis | None = None


VISITS = Table("visits", "PK", "SK", indexes=[GlobalIndex("byCountry", "country", "since")])


class Visit(Entity, table=VISITS, naming=camel_case):
    visitor: str
    first_place: Place
    extra: dict[str, Any] = {}

    keys = Keys(
        PK="VISITOR#{visitor}",
        SK="PLACE#{first_place.country_code}#{extra.n:04}",
        country=sharded(when("{first_place.country_code}", visitor=["a", "b"]), 12),
        since="{first_place.since:013}",
    )

    @Get()
    def by_key(self, visitor: str, first_place__country_code: str, extra__n: Any) -> None: ...


def test_a_path_leads_into_a_model_by_the_names_it_is_stored_under() -> None:
    visit = Visit(visitor="a", first_place=Place(country_code="de", since=NOON), extra={"n": 7})
    item = visit.item()
    assert item["SK"] == {"S": "PLACE#de#0007"}
    assert item["since"] == {"S": "1763467200000"}
    assert schema_of(Visit).path("first_place.country_code") == "firstPlace.countryCode"
    assert schema_of(Visit).path("extra.n") == "extra.n"


def test_a_key_follows_from_whole_attributes_whatever_part_it_takes() -> None:
    schema = schema_of(Visit)
    assert schema.sources("SK") == {"firstPlace", "extra"}
    assert schema.sources("since") == {"firstPlace"}
    assert schema.sources("country") == {"firstPlace", "visitor", "extra"}


@pytest.mark.parametrize(
    "values",
    [
        {"first_place": Place(country_code="de"), "extra": {"n": 7}},
        {"first_place.country_code": "de", "extra.n": 7},
        {"first_place__country_code": "de", "extra__n": 7},
    ],
)
def test_a_key_can_be_given_in_parts(values: dict[str, Any]) -> None:
    schema = schema_of(Visit)
    key = schema.key_of(schema.encode_values({"visitor": "a", **values}))
    assert key == {"PK": {"S": "VISITOR#a"}, "SK": {"S": "PLACE#de#0007"}}


def test_parts_of_one_field_are_stored_together() -> None:
    stored = schema_of(Visit).encode_values(
        {"first_place__country_code": "de", "first_place__since": NOON, "visitor": None}
    )
    assert stored == {"firstPlace": {"M": {"countryCode": {"S": "de"}, "since": {"N": "1763467200000"}}}}


def test_what_a_key_lacks_is_named_as_it_was_declared() -> None:
    schema = schema_of(Visit)
    with pytest.raises(
        ModelError, match=r"Visit: SK cannot be made without a value for extra\.n and first_place\.country_code"
    ):
        schema.key_of(schema.encode_values({"visitor": "a"}))
    with pytest.raises(
        ModelError, match=r"^Visit has no field 'visitr'; did you mean 'visitor'\? It has visitor, first_place, extra"
    ):
        schema.encode_values({"visitr": "a"})


def test_a_value_that_does_not_fit_into_a_key_is_reported_with_its_path() -> None:
    visit = Visit(visitor="a", first_place=Place(country_code="de"), extra={"n": 12345})
    with pytest.raises(TemplateError, match=r"Visit, SK: extra\.n is 12345, which is not a whole number of up to 4"):
        visit.item()


# -- shards ---------------------------------------------------------------------------------------------------------


class Reading(Entity, table=Table("readings", "PK", "SK", indexes=[LocalIndex("byValue", "value")])):
    device: str
    at: datetime
    value: str

    keys = Keys(PK=sharded("DEVICE#{device}", 3), SK="{at}")


def test_a_primary_key_can_be_sharded_too() -> None:
    schema = schema_of(Reading)
    readings = [Reading(device="d#1", at=NOON.replace(minute=minute), value="v") for minute in range(20)]
    for reading in readings:
        item = reading.item()
        assert schema.key_of(item) == {name: item[name] for name in ("PK", "SK")}
        assert schema.matches(item)
    assert {reading.item()["PK"]["S"] for reading in readings} == {f"DEVICE#d$c1#{shard}" for shard in range(3)}


@pytest.mark.parametrize("key", ["DEVICE#d", "DEVICE#d#3", "DEVICE#d#01", "DEVICE#d#x", "DEVICE#d#\u00b2", "DEVICE#"])
def test_a_key_without_a_shard_of_its_own_is_foreign(key: str) -> None:
    assert not schema_of(Reading).matches({"PK": {"S": key}, "SK": {"S": "x"}})


# -- keys that are fields -------------------------------------------------------------------------------------------

ORDERS = Table(
    "orders",
    "id",
    indexes=[GlobalIndex("byRegion", ["tenant", "region"], ["day", "total"])],
    types={"total": "N"},
)


class Order(Entity, table=ORDERS):
    id: str
    tenant: str
    region: str | None = None
    day: str
    total: Decimal

    @Query("byRegion")
    def of_region(self, tenant: str, region: str, *, since: str | None = None, before: str | None = None) -> None: ...


def test_a_key_of_several_attributes_is_made_of_fields() -> None:
    order = Order(id="1", tenant="t", region="eu", day="2025-11-18", total=Decimal("9.50"))
    assert order.item()["total"] == {"N": "9.5"}
    assert schema_of(Order).key_rules == {}
    assert schema_of(Order).covers(ORDERS.index("byRegion"))
    (index,) = ORDERS.create_request()["GlobalSecondaryIndexes"]
    assert [(part["AttributeName"], part["KeyType"]) for part in index["KeySchema"]] == [
        ("tenant", "HASH"),
        ("region", "HASH"),
        ("day", "RANGE"),
        ("total", "RANGE"),
    ]
    assert {"AttributeName": "total", "AttributeType": "N"} in ORDERS.create_request()["AttributeDefinitions"]


def test_an_absent_key_field_leaves_the_item_out_of_the_index() -> None:
    order = Order(id="1", tenant="t", day="2025-11-18", total=Decimal(1))
    assert "region" not in order.item()


def test_guards_find_a_place_beside_keys_of_any_type_but_numbers() -> None:
    binary = Table("blobs", "id", "at", types={"id": "B", "at": "N"})
    key = binary.internal_key("unique", "x")
    assert key == {"id": {"B": "JCN1bmlxdWUjeA=="}, "at": {"N": "0"}}
    assert binary.is_internal(key)
    assert not binary.is_internal({"id": {"B": "YQ=="}})
    with pytest.raises(
        ModelError,
        match="table 'numbers': id is a number, so the store cannot keep guards and sequences in the table; make "
        "the partition key text, or remove unique and numbered fields",
    ):
        Table("numbers", "id", types={"id": "N"}).internal_key("unique")


def test_the_key_of_a_guard_has_room_for_values_of_any_length() -> None:
    where = Table("things", "id")
    keys = [where.internal_key("unique", "x" * length)["id"]["S"] for length in (2039, 2040, 2041)]
    assert [len(key) for key in keys] == [2048, 75, 75]
    assert keys[1] != keys[2]
    assert all(where.is_internal({"id": {"S": key}}) for key in keys)


# -- large attributes -----------------------------------------------------------------------------------------------


def test_a_large_attribute_is_declared_with_its_threshold() -> None:
    class Document(Entity, table=Table("documents", "id")):
        id: str
        body: Annotated[str, Large()] = ""
        scan: Annotated[bytes, Large(threshold=1000)] = b""

    assert [(spec.name, spec.marker(Large).threshold) for spec in schema_of(Document).large] == [
        ("body", 358_400),
        ("scan", 1000),
    ]
    assert Document.of(Document(id="1", body="b").item()).body == "b"


def test_what_is_left_out_of_a_primary_key_is_absent() -> None:
    class Folder(Entity, table=Table("folders", "PK", "SK", indexes=[GlobalIndex("gsi", "GSI")])):
        owner: str
        shelf: str | None = None
        row: str | None = None

        keys = Keys(PK="{owner}", SK="F[#{shelf}#{row}]", GSI="G[#{shelf}#{row}]")

    class File(Entity, table=Table("files", "PK", "SK")):
        owner: str
        shelf: str | None = None

        keys = Keys(PK="{owner}", SK="F[#{shelf}#{owner}]")

    assert Folder(owner="o").item()["SK"] == {"S": "F"}
    assert Folder(owner="o", shelf="s", row="r").item()["SK"] == {"S": "F#s#r"}
    # The owner is in the key in any case.
    assert File(owner="o").item()["SK"] == {"S": "F"}
    for folder in (Folder(owner="o", shelf="s"), Folder(owner="o", row="r")):
        with pytest.raises(
            TemplateError,
            match=r"Folder, SK: (shelf|row) would be left out of the primary key, as (row|shelf) has no value, and two "
            "items could have the same key; give values for all of them, or for none",
        ):
            folder.item()


def test_a_value_that_cannot_be_stored_is_reported_with_its_field() -> None:
    class Scale(Entity, table=Table("scales", "id")):
        id: str
        weight: float = 0.0

    with pytest.raises(ModelError, match=r"Scale\.weight: nan is not a number that DynamoDB can store"):
        Scale(id="s", weight=float("nan")).item()
