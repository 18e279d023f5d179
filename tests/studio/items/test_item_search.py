"""Searches for items: what is typed becomes a Query or a Scan, on the place that answers it, with its cost."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.studio.items.attribute_text import exact_text
from tablewright.studio.items.item_search import Condition, SearchError, equal_to, parse_conditions, plan, typed_name

pytestmark = pytest.mark.requirement("ST2")

DESCRIPTION: dict[str, Any] = {
    "TableName": "orders",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
        {"AttributeName": "status", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "n", "KeyType": "RANGE"}, {"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-status",
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
            "IndexSizeBytes": 4_096_000,
            "ItemCount": 10_000,
        }
    ],
    "TableSizeBytes": 8_192_000,
    "ItemCount": 20_000,
}


def planned(text: str, **options: Any) -> Any:
    return plan(DESCRIPTION, parse_conditions(text), **options)


def test_conditions_are_read_as_they_are_typed() -> None:
    text = 'status = "in and out" AND n between 1 and 3 and email exists and name begins_with Ada and x not exists'
    assert parse_conditions(text) == [
        Condition("status", "=", ('"in and out"',)),
        Condition("n", "between", ("1", "3")),
        Condition("email", "exists"),
        Condition("name", "begins_with", ("Ada",)),
        Condition("x", "not exists"),
    ]
    assert parse_conditions("  ") == []


@pytest.mark.parametrize("text", ["status", "= 3", "n between 1", "n ~ 3", "status = open and"])
def test_invalid_conditions_are_refused(text: str) -> None:
    if text.endswith("and"):
        # The last "and" is still being typed: it belongs to the value until something follows.
        assert parse_conditions(text)[0].values == ("open and",)
        return
    with pytest.raises(SearchError):
        planned(text)


def test_equality_on_a_partition_key_is_a_query_of_the_place_that_has_it() -> None:
    by_table, by_index = planned("pk = 7 and n >= 3"), planned("status = open and n > 1 and total = 3")
    assert (by_table.operation, by_table.place.index) == ("Query", None)
    assert by_table.body["KeyConditionExpression"] == "#n0 = :v0 AND #n1 >= :v1"
    assert by_table.body["ExpressionAttributeValues"] == {":v0": {"S": "7"}, ":v1": {"N": "3"}}
    assert by_table.body["Limit"] == 50
    assert (by_index.operation, by_index.place.index, by_index.is_filtered) == ("Query", "by-status", True)
    assert by_index.body["FilterExpression"] == "#n2 = :v2"


def test_everything_else_is_a_scan_that_says_what_all_of_it_costs() -> None:
    found = planned("total > 3")
    assert (found.operation, found.page_units, found.all_units) == ("Scan", 128.0, 1000.0)
    assert "Limit" not in found.body
    plain = planned("")
    assert (plain.operation, plain.page_units, plain.all_units) == ("Scan", 2.5, None)
    assert planned("status = open", index="by-status").operation == "Query"
    with pytest.raises(SearchError, match="no index gone"):
        planned("", index="gone")


def test_a_number_of_38_digits_stays_exact_and_an_invalid_one_is_refused() -> None:
    digits = "12345678901234567890123456789012345678"
    assert planned(f"pk = a and n = {digits}").body["ExpressionAttributeValues"][":v1"] == {"N": digits}
    with pytest.raises(SearchError, match="n: "):
        planned("pk = a and n = many")


def test_the_engine_takes_what_is_planned() -> None:
    engine = Engine.open(None)
    create = {name: DESCRIPTION[name] for name in ("TableName", "AttributeDefinitions")}
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]
    index = {name: DESCRIPTION["GlobalSecondaryIndexes"][0][name] for name in ("IndexName", "KeySchema", "Projection")}
    engine.call(
        "CreateTable",
        {**create, "KeySchema": keys, "GlobalSecondaryIndexes": [index], "BillingMode": "PAY_PER_REQUEST"},
    )
    for number in range(5):
        item = {"pk": {"S": "a"}, "n": {"N": str(number)}, "status": {"S": "open"}, "map": {"M": {"x": {"S": "y"}}}}
        engine.call("PutItem", {"TableName": "orders", "Item": item})
    for text, count in [
        ("", 5),
        ("pk = a and n between 1 and 3", 3),
        ("status = open and n > 3", 1),
        ("map.x = y", 5),
        ("map.x contains z", 0),
        ("status <> open", 0),
        ("gone not exists and pk = a", 5),
        ("pk begins_with a", 5),
    ]:
        found = planned(text)
        assert engine.call(found.operation, found.body)["Count"] == count, text


ODD_KEYS: list[dict[str, Any]] = [
    {"S": 'say "hi" and go'},
    {"S": "it's = 3 and n exists"},
    {"S": '"'},
    {"S": "two\nlines"},
    {"S": "42"},
    {"S": " padded "},
    {"N": "12345678901234567890123456789012345678"},
    {"N": "-1E-130"},
    {"B": "AAEC/w=="},
]
ODD_NAMES = ["a.b", 'say "hi"', "full name", "with and in it", "\N{PARTY POPPER}", "#hash:colon/slash", "n"]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("value", ODD_KEYS, ids=str)
def test_an_item_is_found_by_its_key_whatever_is_in_it(name: str, value: dict[str, Any]) -> None:
    kind = next(iter(value))
    with Engine.open() as engine:
        engine.call(
            "CreateTable",
            {
                "TableName": "odd",
                "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind}],
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        engine.call("PutItem", {"TableName": "odd", "Item": {name: value, "other": {"S": "x"}}})
        description = engine.call("DescribeTable", {"TableName": "odd"})["Table"]
        for conditions in (
            parse_conditions(f"{typed_name(name)} = {exact_text(value)} and other = x"),
            [equal_to(name, next(iter(value.values())))],
        ):
            found = plan(description, conditions)
            assert found.operation == "Query"
            assert engine.call("Query", found.body)["Count"] == 1


def test_a_path_leads_into_maps_and_lists_and_a_quoted_name_does_not() -> None:
    found = planned('lines[0].sku = "a" and "a.b" = 1 and address."zip code" exists')
    names = found.body["ExpressionAttributeNames"]
    assert found.body["FilterExpression"] == "#n0[0].#n1 = :v0 AND #n2 = :v1 AND attribute_exists(#n3.#n4)"
    assert list(names.values()) == ["lines", "sku", "a.b", "address", "zip code"]
    assert parse_conditions('n between "1 and 2" and 3')[0].values == ('"1 and 2"', "3")


def test_the_cost_of_an_uncounted_table_is_unknown() -> None:
    fresh = {**DESCRIPTION, "TableSizeBytes": 0, "ItemCount": 0}
    of_engine = plan(fresh, parse_conditions("total = 3"))
    assert (of_engine.page_units, of_engine.all_units, of_engine.is_unknown) == (0.5, 0.5, False)
    # A request reads 1 MB at most.
    elsewhere = plan(fresh, parse_conditions("total = 3"), is_counted=False)
    assert (elsewhere.page_units, elsewhere.all_units, elsewhere.is_unknown) == (128, None, True)
    # moto counts items and not their size.
    assert plan({**fresh, "ItemCount": 9}, []).page_units == 128
    assert not planned("pk = 1").is_most
    assert planned("pk = 1 and total = 3").is_most
