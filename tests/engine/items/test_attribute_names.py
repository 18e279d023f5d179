"""The name of an attribute has at least one byte and at most 65,535 of them; the names in a map are as long at most."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.table_client import TableClient

COUNTED = "1 validation error detected: "
TOO_LARGE = "Attribute name is too large, must be less than 65536 bytes"
EMPTY = "Empty attribute name"
A = {"S": "a"}
LONGEST = "n" * 65_535
# Bytes count, not characters.
TOO_LONG = "é" * 32_768


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({TOO_LONG: A}, TOO_LARGE),
        ({"m": {"L": [{"M": {TOO_LONG: A}}]}}, TOO_LARGE),
        ({"": A}, EMPTY),
        ({"m": {"L": [{"M": {"": A}}]}}, EMPTY),
    ],
    ids=["too long", "too long in a map", "empty", "empty in a map"],
)
def test_an_item_with_a_name_that_cannot_be_one_is_refused(db: TableClient, item: dict[str, Any], problem: str) -> None:
    db.create()
    item = {"pk": A, **item}
    assert db.refusal("PutItem", Item=item) == COUNTED + problem
    assert db.refusal("BatchWriteItem", RequestItems={"table": [{"PutRequest": {"Item": item}}]}) == problem
    put = {"Put": {"TableName": "table", "Item": item}}
    assert db.refusal("TransactWriteItems", TransactItems=[put]) == problem


def test_an_update_with_a_name_that_is_too_long_is_refused(db: TableClient) -> None:
    db.create()
    value = {"ExpressionAttributeValues": {":v": {"M": {TOO_LONG: A}}}}
    assert db.refusal("UpdateItem", Key={"pk": A}, UpdateExpression="SET v = :v", **value) == COUNTED + TOO_LARGE


def test_the_longest_name_is_kept(db: TableClient) -> None:
    db.create()
    db.put(pk=A, m={"M": {LONGEST: A}}, **{LONGEST: A})
    assert db.get(pk=A) == {"pk": A, "m": {"M": {LONGEST: A}}, LONGEST: A}
    request = {"UpdateExpression": "REMOVE #n", "ExpressionAttributeNames": {"#n": LONGEST}}
    db("UpdateItem", Key={"pk": A}, **request)
    assert db.get(pk=A) == {"pk": A, "m": {"M": {LONGEST: A}}}


def test_a_placeholder_does_not_stand_for_a_name_that_is_too_long(db: TableClient) -> None:
    db.create()
    names = {"ExpressionAttributeNames": {"#n": TOO_LONG}}
    update = {"UpdateExpression": "SET #n = :v", "ExpressionAttributeValues": {":v": A}}
    assert db.refusal("UpdateItem", Key={"pk": A}, **update, **names) == COUNTED + TOO_LARGE
    assert db.refusal("GetItem", Key={"pk": A}, ProjectionExpression="#n", **names) == TOO_LARGE
    assert db.refusal("Scan", ProjectionExpression="#n", **names) == (
        f"ExpressionAttributeNames contains invalid value: {TOO_LARGE} for key #n"
    )


@pytest.mark.parametrize(("name", "problem"), [("", EMPTY), (TOO_LONG, TOO_LARGE)], ids=["empty", "too long"])
def test_no_parameter_takes_a_name_that_cannot_be_one(db: TableClient, name: str, problem: str) -> None:
    db.create()
    key = {"Key": {"pk": A}}
    condition = {name: {"ComparisonOperator": "EQ", "AttributeValueList": [A]}}
    on_a = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [A]}}
    counted = [
        db.refusal("PutItem", Item={"pk": A}, Expected={name: {"Value": A}}),
        db.refusal("UpdateItem", **key, AttributeUpdates={name: {"Value": A}}),
        db.refusal("UpdateItem", Key={name: A}),
        db.refusal("DeleteItem", Key={name: A}),
        db.refusal("DeleteItem", **key, Expected={name: {"Exists": False}}),
    ]
    assert set(counted) == {COUNTED + problem}
    plain = [
        db.refusal("GetItem", Key={name: A}),
        db.refusal("GetItem", **key, AttributesToGet=[name]),
        db.refusal("BatchGetItem", RequestItems={"table": {"Keys": [{name: A}]}}),
        db.refusal("BatchGetItem", RequestItems={"table": {"Keys": [{"pk": A}], "AttributesToGet": [name]}}),
        db.refusal("BatchWriteItem", RequestItems={"table": [{"DeleteRequest": {"Key": {name: A}}}]}),
        db.refusal("Query", KeyConditions=condition),
        db.refusal("Query", KeyConditions=on_a, QueryFilter=condition),
        db.refusal("Query", KeyConditions=on_a, ExclusiveStartKey={name: A}),
        db.refusal("Scan", ScanFilter=condition),
        db.refusal("Scan", AttributesToGet=[name]),
        db.refusal("Scan", ExclusiveStartKey={name: A}),
        db.refusal("TransactGetItems", TransactItems=[{"Get": {"TableName": "table", "Key": {name: A}}}]),
        db.refusal("TransactWriteItems", TransactItems=[{"Delete": {"TableName": "table", "Key": {name: A}}}]),
    ]
    assert set(plain) == {problem}


def test_what_is_too_deep_is_reported_before_an_empty_name_in_a_map(db: TableClient) -> None:
    db.create()
    deep: dict[str, Any] = A
    for _ in range(40):
        deep = {"M": {"n": deep}}
    for item in ({"m": {"M": {"": A}}, "deep": deep}, {"deep": deep, "m": {"M": {"": A}}}):
        assert str(db.refusal("PutItem", Item={"pk": A, **item})).startswith(COUNTED + "Nesting Levels")
    assert db.refusal("PutItem", Item={"pk": A, "": A, "deep": deep}) == COUNTED + EMPTY
