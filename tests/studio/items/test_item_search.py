"""Searches for items: what is typed becomes a Query or a Scan, on the place that answers it, with its cost."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.studio.items.item_search import Condition, SearchError, parse_conditions, plan

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
def test_what_is_no_condition_is_said(text: str) -> None:
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


def test_a_number_of_38_digits_stays_exact_and_a_wrong_one_is_said() -> None:
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
