"""What PutItem, UpdateItem and DeleteItem refuse in the form of a request, they count: ``1 validation error detected``.

Reads, batches and transactions answer with the same words and no count.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.table_client import TableClient

INVALID = "One or more parameter values were invalid: "
COUNTED = "1 validation error detected: "
A = {"S": "a"}
SUBJECTS: dict[str, dict[str, Any]] = {
    "PutItem": {"Item": {"pk": A}},
    "UpdateItem": {"Key": {"pk": A}},
    "DeleteItem": {"Key": {"pk": A}},
}


@pytest.fixture(autouse=True)
def table(db: TableClient) -> None:
    db.create()


def refusals(db: TableClient, **request: Any) -> set[str | None]:
    """What the three writes of one item say, each with its item or key."""
    return {db.refusal(operation, **subject, **request) for operation, subject in SUBJECTS.items()}


def test_a_name_or_value_that_is_not_used(db: TableClient) -> None:
    condition = {"ConditionExpression": "attribute_exists(pk)"}
    unused = "Value provided in ExpressionAttribute{} unused in expressions: keys: {{{}}}"
    names = {"ExpressionAttributeNames": {"#a": "a"}}
    assert refusals(db, **condition, **names) == {COUNTED + unused.format("Names", "#a")}
    values = {"ExpressionAttributeValues": {":a": A}}
    assert refusals(db, **condition, **values) == {COUNTED + unused.format("Values", ":a")}
    assert db.refusal("Scan", FilterExpression="attribute_exists(v)", **names) == unused.format("Names", "#a")
    check = {"TableName": "table", "Key": {"pk": A}, **condition, **names}
    assert db.refusal("TransactWriteItems", TransactItems=[{"ConditionCheck": check}]) == unused.format("Names", "#a")


def test_an_empty_expression_and_an_empty_map_of_values(db: TableClient) -> None:
    empty = "Invalid {}: The expression can not be empty;"
    assert refusals(db, ConditionExpression="") == {COUNTED + empty.format("ConditionExpression")}
    assert db.refusal("UpdateItem", Key={"pk": A}, UpdateExpression="") == COUNTED + empty.format("UpdateExpression")
    assert db.refusal("Scan", FilterExpression="") == empty.format("FilterExpression")
    request = {"ConditionExpression": "pk = :v", "ExpressionAttributeValues": {}}
    assert refusals(db, **request) == {COUNTED + "ExpressionAttributeValues must not be empty"}
    request = {"FilterExpression": "v = :v", "ExpressionAttributeValues": {}}
    assert db.refusal("Scan", **request) == "ExpressionAttributeValues must not be empty"


def test_a_malformed_value_of_an_expression_is_counted_without_its_name(db: TableClient) -> None:
    empty = INVALID + "An number set  may not be empty"
    values: dict[str, Any] = {"ExpressionAttributeValues": {":v": {"NS": []}}}
    assert refusals(db, ConditionExpression="v = :v", **values) == {COUNTED + empty}
    assert db.refusal("UpdateItem", Key={"pk": A}, UpdateExpression="ADD v :v", **values) == COUNTED + empty
    named = f"ExpressionAttributeValues contains invalid value: {empty} for key :v"
    assert db.refusal("Scan", FilterExpression="v = :v", **values) == named


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: v"),
        ({}, "Value must be provided when Exists is null for Attribute: v"),
        ({"Exists": False, "Value": A}, "Value cannot be used when Exists is false for Attribute: v"),
        (
            {"Exists": True, "ComparisonOperator": "EQ", "AttributeValueList": [A]},
            "Exists and ComparisonOperator cannot be used together for Attribute: v",
        ),
        (
            {"Exists": True, "AttributeValueList": [A]},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: v",
        ),
    ],
)
def test_an_expectation_that_makes_no_sense(db: TableClient, expected: dict[str, Any], problem: str) -> None:
    assert refusals(db, Expected={"v": expected}) == {COUNTED + INVALID + problem}


def test_parameters_that_do_not_mix_and_mistakes_in_an_expression(db: TableClient) -> None:
    mixed = refusals(db, ConditionExpression="a", Expected={"a": {"Exists": False}})
    assert mixed == {
        COUNTED + "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
    }
    assert refusals(db, ConditionExpression="a") == {
        COUNTED + 'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "a"'
    }


def test_an_expression_over_4096_bytes(db: TableClient) -> None:
    too_long = "Expression size has exceeded the maximum allowed size;"
    condition, values = "v = :v".ljust(4097), {"ExpressionAttributeValues": {":v": A}}
    assert refusals(db, ConditionExpression=condition, **values) == {
        COUNTED + f"Invalid ConditionExpression: {too_long}"
    }
    request = {"KeyConditionExpression": "pk = :v".ljust(4097), **values}
    assert db.refusal("Query", **request) == f"Invalid KeyConditionExpression: {too_long}"
    assert db.refusal("Scan", ProjectionExpression="v".ljust(4097)) == f"Invalid ProjectionExpression: {too_long}"
    # Two say how long it is.
    sized = f"{too_long} expression size: 4097"
    assert db.refusal("Scan", FilterExpression=condition, **values) == f"Invalid FilterExpression: {sized}"
    check = {"TableName": "table", "Key": {"pk": A}, "ConditionExpression": condition, **values}
    assert db.refusal("TransactWriteItems", TransactItems=[{"ConditionCheck": check}]) == (
        f"Invalid ConditionExpression: {sized}"
    )
    update = {"TableName": "table", "Key": {"pk": A}, "UpdateExpression": "SET v = :v".ljust(4097), **values}
    assert db.refusal("TransactWriteItems", TransactItems=[{"Update": update}]) == (
        f"Invalid UpdateExpression: {too_long}"
    )
