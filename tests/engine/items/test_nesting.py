"""Documents nest 32 levels deep: where a deeper one is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import TransactionCanceledException, ValidationException
from tests.engine.table_client import TableClient

COUNTED = "1 validation error detected: "
WHERE_SENT = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
WHERE_WRITTEN = "Nesting Levels have exceeded supported limits"
A = {"S": "a"}
KEY = {"pk": A}

NAMED = f"ExpressionAttributeValues contains invalid value: {WHERE_SENT} for key :v"


def nested(levels: int, bottom: dict[str, Any] = A) -> dict[str, Any]:
    """A value that many levels deep; the attribute itself is the first."""
    value = bottom
    for _ in range(levels - 1):
        value = {"M": {"a": value}}
    return value


@pytest.fixture(autouse=True)
def table(db: TableClient) -> None:
    db.create()


def test_an_item_may_have_32_levels(db: TableClient) -> None:
    db.put(pk=A, v=nested(32))
    assert db.get(pk=A) == {"pk": A, "v": nested(32)}


@pytest.mark.parametrize("levels", [33, 40, 63, 64, 100, 10_000])
def test_a_deeper_item_is_refused_before_the_table_is_looked_up(db: TableClient, levels: int) -> None:
    item = {"pk": A, "v": nested(levels)}
    # The writes of one item read no more than 62 levels, and leave the rest to an older layer of checks.
    assert db.refusal("PutItem", TableName="missing", Item=item) == (COUNTED if levels <= 63 else "") + WHERE_SENT
    assert db.refusal("BatchWriteItem", RequestItems={"missing": [{"PutRequest": {"Item": item}}]}) == WHERE_SENT
    put = {"Put": {"TableName": "missing", "Item": item}}
    assert db.refusal("TransactWriteItems", TransactItems=[put]) == WHERE_SENT


def test_a_deeper_value_of_an_expression_is_refused_before_the_table_is_looked_up(db: TableClient) -> None:
    values = {"ExpressionAttributeValues": {":v": nested(33)}}
    update = {"TableName": "missing", "Key": KEY, "UpdateExpression": "SET v = :v"}
    assert db.refusal("UpdateItem", **update, **values) == COUNTED + WHERE_SENT
    condition = {"TableName": "missing", "ConditionExpression": "v = :v"}
    assert db.refusal("PutItem", **condition, Item=KEY, **values) == COUNTED + WHERE_SENT
    assert db.refusal("DeleteItem", **condition, Key=KEY, **values) == COUNTED + WHERE_SENT
    assert db.refusal("Scan", TableName="missing", FilterExpression="v = :v", **values) == NAMED


def test_a_path_that_leads_too_deep_is_refused_when_the_item_is_written(db: TableClient) -> None:
    db.put(pk=A, v=nested(31, {"M": {}}))
    path = ".".join(["v", *"a" * 30, "b"])
    update = {"UpdateExpression": f"SET {path} = :v", "ExpressionAttributeValues": {":v": nested(2)}}
    assert db.refusal("UpdateItem", Key=KEY, **update) == WHERE_WRITTEN


def test_a_transaction_looks_at_the_values_of_an_update_when_the_item_is_written(db: TableClient) -> None:
    values = {"ExpressionAttributeValues": {":v": nested(33)}}
    update = {"TableName": "table", "Key": KEY, "UpdateExpression": "SET v = :v", **values}
    error = db.error("TransactWriteItems", TransactItems=[{"Update": update}])
    assert isinstance(error, TransactionCanceledException)
    assert error.extra["CancellationReasons"] == [{"Code": "ValidationError", "Message": WHERE_WRITTEN}]


def test_a_transaction_compares_with_values_of_32_levels_of_their_own(db: TableClient) -> None:
    values = {"ExpressionAttributeValues": {":v": nested(33)}}
    check = {"TableName": "table", "Key": KEY, "ConditionExpression": "v = :v", **values}
    error = db.error("TransactWriteItems", TransactItems=[{"ConditionCheck": check}])
    assert error.extra["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed"
    check["ConditionExpression"] = "v <> :v"
    db("TransactWriteItems", TransactItems=[{"ConditionCheck": check}])
    for levels in (34, 40, 100):
        check["ExpressionAttributeValues"] = {":v": nested(levels)}
        assert db.refusal("TransactWriteItems", TransactItems=[{"ConditionCheck": check}]) == NAMED


def execute(db: TableClient, statement: str, parameter: dict[str, Any]) -> dict[str, Any]:
    return db.engine.call("ExecuteStatement", {"Statement": statement, "Parameters": [parameter]})


def test_a_parameter_may_have_a_level_more_because_it_may_be_an_item(db: TableClient) -> None:
    execute(db, 'INSERT INTO "table" VALUE ?', {"M": {"pk": A, "v": nested(32)}})
    assert db.get(pk=A) == {"pk": A, "v": nested(32)}
    found = 'SELECT * FROM "table" WHERE v = ?'
    assert execute(db, found, nested(33)) == {"Items": []}
    with pytest.raises(ValidationException) as caught:
        execute(db, found, nested(34))
    assert caught.value.message == WHERE_SENT


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO \"table\" VALUE {'pk': 'b', 'v': ?}", "UPDATE \"table\" SET v = ? WHERE pk = 'a'"],
)
def test_a_parameter_that_lands_too_deep_is_refused_when_the_item_is_written(db: TableClient, statement: str) -> None:
    db.put(pk=A)
    with pytest.raises(ValidationException) as caught:
        execute(db, statement, nested(33))
    assert caught.value.message == WHERE_WRITTEN
    member = {"Statement": statement, "Parameters": [nested(33)]}
    with pytest.raises(TransactionCanceledException) as cancelled:
        db.engine.call("ExecuteTransaction", {"TransactStatements": [member]})
    assert cancelled.value.extra["CancellationReasons"] == [{"Code": "ValidationError", "Message": WHERE_WRITTEN}]
