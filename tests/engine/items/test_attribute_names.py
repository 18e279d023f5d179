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
    ],
    ids=["too long", "too long in a map", "empty"],
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
