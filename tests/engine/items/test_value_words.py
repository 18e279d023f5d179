"""Malformed numbers and sets: refused wherever a value can stand, in the words that each operation has for them.

PutItem, UpdateItem and DeleteItem answer in the newer words and count; GetItem, BatchGetItem and Query in the newer
words alone; batches of writes, transactions and Scan in the older ones, which name an expression value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.table_client import TableClient

Value = dict[str, Any]
Send = Callable[[TableClient, Value], str | None]

A = {"S": "a"}
INVALID = "One or more parameter values were invalid: "
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
NOT_NUMERIC = "The parameter cannot be converted to a numeric value"

# A malformed value, then what is said of it in the newer words and in the older ones.
MALFORMED: list[tuple[Value, str, str]] = [
    ({"N": "abc"}, f"{NOT_NUMERIC}: abc", f"{NOT_NUMERIC}: abc"),
    ({"N": ""}, f"{NOT_NUMERIC}: ", NOT_NUMERIC),
    ({"N": "1e126"}, OVERFLOW, OVERFLOW),
    ({"N": "1e2147483647"}, OVERFLOW, UNDERFLOW),
    ({"NS": ["1", "abc"]}, f"{NOT_NUMERIC}: abc", f"{NOT_NUMERIC}: abc"),
    ({"M": {"x": {"L": [{"N": ""}]}}}, f"{NOT_NUMERIC}: ", NOT_NUMERIC),
    (
        {"SS": ["b", "a", "b"]},
        INVALID + 'Input collection ["a", "b", "b"] contains duplicates.',
        INVALID + "Input collection [b, a, b] contains duplicates.",
    ),
    (
        {"SS": ["d", "b", "d", "c", "a"]},
        INVALID + 'Input collection ["b", "d", "d", "c", "a"] contains duplicates.',
        INVALID + "Input collection [d, b, d, c, a] contains duplicates.",
    ),
    (
        {"BS": ["/w==", "AA==", "AA=="]},
        INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
        INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
    ),
    (
        {"NS": ["2", "1", "2.0"]},
        INVALID + "Input collection contains duplicates.",
        "Input collection contains duplicates",
    ),
    ({"SS": []}, INVALID + "An string set  may not be empty", INVALID + "An string set  may not be empty"),
]
CONDITION = "attribute_not_exists(pk) OR v = :v"


def _transact(kind: str, **member: Any) -> Callable[[TableClient], str | None]:
    return lambda db: db.refusal("TransactWriteItems", TransactItems=[{kind: {"TableName": "table", **member}}])


COUNTED: dict[str, Send] = {
    "PutItem, item": lambda db, v: db.refusal("PutItem", Item={"pk": A, "v": v}),
    "PutItem, key": lambda db, v: db.refusal("PutItem", Item={"pk": v}),
    "PutItem, condition": lambda db, v: db.refusal(
        "PutItem", Item={"pk": A}, ConditionExpression=CONDITION, ExpressionAttributeValues={":v": v}
    ),
    "PutItem, Expected": lambda db, v: db.refusal("PutItem", Item={"pk": A}, Expected={"v": {"Value": v}}),
    "UpdateItem, value": lambda db, v: db.refusal(
        "UpdateItem", Key={"pk": A}, UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": v}
    ),
    "UpdateItem, AttributeUpdates": lambda db, v: db.refusal(
        "UpdateItem", Key={"pk": A}, AttributeUpdates={"v": {"Value": v}}
    ),
    "UpdateItem, key": lambda db, v: db.refusal("UpdateItem", Key={"pk": v}),
    "DeleteItem, condition": lambda db, v: db.refusal(
        "DeleteItem", Key={"pk": A}, ConditionExpression=CONDITION, ExpressionAttributeValues={":v": v}
    ),
    "DeleteItem, key": lambda db, v: db.refusal("DeleteItem", Key={"pk": v}),
}
NEWER: dict[str, Send] = {
    "GetItem": lambda db, v: db.refusal("GetItem", Key={"pk": v}),
    "BatchGetItem": lambda db, v: db.refusal("BatchGetItem", RequestItems={"table": {"Keys": [{"pk": v}]}}),
    "Query, key": lambda db, v: db.refusal(
        "Query", KeyConditionExpression="pk = :v", ExpressionAttributeValues={":v": v}
    ),
    "Query, filter": lambda db, v: db.refusal(
        "Query",
        KeyConditionExpression="pk = :p",
        FilterExpression="v = :v",
        ExpressionAttributeValues={":p": A, ":v": v},
    ),
    "Query, KeyConditions": lambda db, v: db.refusal(
        "Query", KeyConditions={"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [v]}}
    ),
    "Query, QueryFilter": lambda db, v: db.refusal(
        "Query",
        KeyConditions={"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [A]}},
        QueryFilter={"v": {"ComparisonOperator": "EQ", "AttributeValueList": [v]}},
    ),
}
OLDER: dict[str, Send] = {
    "BatchWriteItem, put": lambda db, v: db.refusal(
        "BatchWriteItem", RequestItems={"table": [{"PutRequest": {"Item": {"pk": A, "v": v}}}]}
    ),
    "BatchWriteItem, delete": lambda db, v: db.refusal(
        "BatchWriteItem", RequestItems={"table": [{"DeleteRequest": {"Key": {"pk": v}}}]}
    ),
    "Scan, ScanFilter": lambda db, v: db.refusal(
        "Scan", ScanFilter={"v": {"ComparisonOperator": "EQ", "AttributeValueList": [v]}}
    ),
    "TransactWriteItems, put": lambda db, v: _transact("Put", Item={"pk": A, "v": v})(db),
    "TransactWriteItems, delete": lambda db, v: _transact("Delete", Key={"pk": v})(db),
    "TransactGetItems": lambda db, v: db.refusal(
        "TransactGetItems", TransactItems=[{"Get": {"TableName": "table", "Key": {"pk": v}}}]
    ),
}
NAMED: dict[str, Send] = {
    "Scan, filter": lambda db, v: db.refusal("Scan", FilterExpression="v = :v", ExpressionAttributeValues={":v": v}),
    "TransactWriteItems, update": lambda db, v: _transact(
        "Update", Key={"pk": A}, UpdateExpression="SET v = :v", ExpressionAttributeValues={":v": v}
    )(db),
    "TransactWriteItems, check": lambda db, v: _transact(
        "ConditionCheck", Key={"pk": A}, ConditionExpression=CONDITION, ExpressionAttributeValues={":v": v}
    )(db),
}


@pytest.fixture(autouse=True)
def table(db: TableClient) -> None:
    db.create()


@pytest.mark.parametrize("surface", [*COUNTED, *NEWER, *OLDER, *NAMED])
def test_a_malformed_value_is_refused_in_the_words_of_the_operation(db: TableClient, surface: str) -> None:
    send = {**COUNTED, **NEWER, **OLDER, **NAMED}[surface]
    for value, newer, older in MALFORMED:
        if surface in COUNTED:
            expected = f"1 validation error detected: {newer}"
        elif surface in NEWER:
            expected = newer
        elif surface in OLDER:
            expected = older
        else:
            expected = f"ExpressionAttributeValues contains invalid value: {older} for key :v"
        assert send(db, value) == expected, value
    assert db("Scan")["Count"] == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1e99999999999", OVERFLOW),
        ("-1e99999999999", OVERFLOW),
        ("1e-99999999999", UNDERFLOW),
        ("1e2147483648", OVERFLOW),
        ("1e-2147483648", UNDERFLOW),
        ("1e-131", UNDERFLOW),
        ("0e126", OVERFLOW),
        ("0e-131", UNDERFLOW),
        ("1e9223372036854775807", OVERFLOW),
        ("1e9223372036854775808", f"{NOT_NUMERIC}: 1e9223372036854775808"),
        ("1.2.3", f"{NOT_NUMERIC}: 1.2.3"),
        (" 1", f"{NOT_NUMERIC}:  1"),
        ("1 ", f"{NOT_NUMERIC}: 1 "),
        ("1e", f"{NOT_NUMERIC}: 1e"),
        ("NaN", f"{NOT_NUMERIC}: NaN"),
        ("1" * 40, "Attempting to store more than 38 significant digits in a Number"),
    ],
)
def test_a_number_that_cannot_be_stored(db: TableClient, text: str, problem: str) -> None:
    item = {"pk": A, "n": {"N": text}}
    assert db.refusal("PutItem", Item=item) == f"1 validation error detected: {problem}"


def test_zero_with_an_exponent_in_range_is_zero(db: TableClient) -> None:
    db.put(pk=A, high={"N": "0e125"}, low={"N": "-0e-130"}, fraction={"N": "0.000"})
    assert db.get(pk=A) == {"pk": A, "high": {"N": "0"}, "low": {"N": "0"}, "fraction": {"N": "0"}}


def test_the_members_of_a_set_come_back_in_order(db: TableClient) -> None:
    """Texts and binaries by their bytes, numbers by their value."""
    sets: dict[str, Value] = {
        "texts": {"SS": ["b", "", "\U0001f600", "a", "\ufffd"]},
        "numbers": {"NS": ["10", "-1", "9", "0.5"]},
        "binaries": {"BS": ["/w==", "AA==", ""]},
        "nested": {"L": [{"M": {"x": {"SS": ["z", "y"]}}}]},
    }
    ordered: dict[str, Value] = {
        "pk": A,
        "texts": {"SS": ["", "a", "b", "\ufffd", "\U0001f600"]},
        "numbers": {"NS": ["-1", "0.5", "9", "10"]},
        "binaries": {"BS": ["", "AA==", "/w=="]},
        "nested": {"L": [{"M": {"x": {"SS": ["y", "z"]}}}]},
    }
    db.put(pk=A, **sets)
    assert db.get(pk=A) == ordered
    added = db(
        "UpdateItem",
        Key={"pk": A},
        UpdateExpression="ADD texts :s, numbers :n DELETE binaries :b SET #new = :s",
        ExpressionAttributeNames={"#new": "new"},
        ExpressionAttributeValues={":s": {"SS": ["c", "0"]}, ":n": {"NS": ["2", "-5"]}, ":b": {"BS": ["AA=="]}},
        ReturnValues="UPDATED_NEW",
    )
    assert added["Attributes"] == {
        "texts": {"SS": ["", "0", "a", "b", "c", "\ufffd", "\U0001f600"]},
        "numbers": {"NS": ["-5", "-1", "0.5", "2", "9", "10"]},
        "binaries": {"BS": ["", "/w=="]},
        "new": {"SS": ["0", "c"]},
    }
