"""Writes of large items are planned while others write, and hold at the instant in which they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tablewright.dynamo import DynamoError, InternalServerError, TransactionCanceledException
from tablewright.engine import Engine
from tablewright.engine.slices import LARGE_ITEM, Unfinished

LARGE = {"S": "y" * LARGE_ITEM}
MEDIUM = {"S": "y" * 40_000}
INDEX = {
    "IndexName": "by-n",
    "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}
DEFINITIONS = [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}]

Request = dict[str, Any]


@pytest.fixture(params=["plain", "with index, stream and recovery"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    derived = request.param != "plain"
    with Engine.open(tmp_path / "data") as engine:
        more: Request = {"AttributeDefinitions": DEFINITIONS[:1]}
        if derived:
            more = {
                "AttributeDefinitions": DEFINITIONS,
                "GlobalSecondaryIndexes": [INDEX],
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            }
        key = [{"AttributeName": "pk", "KeyType": "HASH"}]
        engine.call("CreateTable", {"TableName": "rows", "BillingMode": "PAY_PER_REQUEST", "KeySchema": key, **more})
        if derived:
            recovery = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
            engine.call("UpdateContinuousBackups", {"TableName": "rows", **recovery})
        for number in range(4):
            put(engine, number, 0)
        yield engine
        engine.flush()
        assert not engine.verify().problems


def put(engine: Engine, number: int, n: int, large: Request = LARGE) -> None:
    engine.call("PutItem", {"TableName": "rows", "Item": {"pk": {"S": str(number)}, "n": {"N": str(n)}, "x": large}})


def value(engine: Engine, number: int) -> int:
    item = engine.call("GetItem", {"TableName": "rows", "Key": {"pk": {"S": str(number)}}})["Item"]
    assert len(item["x"]["S"]) >= len(MEDIUM["S"])
    return int(item["n"]["N"])


def adding(number: int, at_most: int = 100) -> Request:
    return {
        "TableName": "rows",
        "Key": {"pk": {"S": str(number)}},
        "UpdateExpression": "SET n = n + :one",
        "ConditionExpression": "n < :most",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":most": {"N": str(at_most)}},
    }


def transaction(at_most: int = 100, **more: Any) -> Request:
    return {"TransactItems": [{"Update": adding(number, at_most)} for number in range(4)], **more}


def run(engine: Engine, operation: str, request: Request, between: Callable[[int], None]) -> Request:
    """Run an operation, with something else before each slice but the first."""
    outcome = engine.begin(operation, engine.check(operation, request))
    slices = 0
    while isinstance(outcome, Unfinished):
        between(slices)
        slices += 1
        outcome = outcome.resume()
    assert slices
    engine.flush()
    response: Request = orjson.loads(outcome[0])
    return response


def at(moment: int, work: Callable[[], Any]) -> Callable[[int], None]:
    def between(slices: int) -> None:
        if slices == moment:
            work()

    return between


@pytest.mark.parametrize("moment", range(4))
def test_no_update_is_lost(engine: Engine, moment: int) -> None:
    response = run(
        engine,
        "TransactWriteItems",
        transaction(ReturnConsumedCapacity="TOTAL"),
        at(moment, lambda: engine.call("UpdateItem", adding(1))),
    )
    assert [value(engine, number) for number in range(4)] == [1, 2, 1, 1]
    assert response["ConsumedCapacity"][0]["CapacityUnits"] >= 4 * 2 * 129


def test_an_update_by_itself_is_not_lost_either(engine: Engine) -> None:
    request = {**adding(1), "ReturnValues": "ALL_NEW", "ReturnConsumedCapacity": "INDEXES"}
    response = run(engine, "UpdateItem", request, at(0, lambda: put(engine, 1, 10)))
    assert response["Attributes"]["n"] == {"N": "11"}
    assert response["ConsumedCapacity"]["Table"]["CapacityUnits"] == 129
    assert value(engine, 1) == 11


def test_constant_changes_do_not_starve_a_planned_write(engine: Engine) -> None:
    others = 0

    def between(_: int) -> None:
        nonlocal others
        others += 1
        engine.call("UpdateItem", adding(2))

    run(engine, "TransactWriteItems", transaction(), between)
    assert others < 20
    assert [value(engine, number) for number in range(4)] == [1, 1, 1 + others, 1]


@pytest.mark.parametrize("moment", range(4))
def test_a_condition_holds_when_the_transaction_is_made(engine: Engine, moment: int) -> None:
    with pytest.raises(TransactionCanceledException) as refused:
        run(engine, "TransactWriteItems", transaction(at_most=5), at(moment, lambda: put(engine, 0, 9)))
    codes = [reason["Code"] for reason in refused.value.extra["CancellationReasons"]]
    assert codes == ["ConditionalCheckFailed", "None", "None", "None"]
    assert [value(engine, number) for number in range(4)] == [9, 0, 0, 0]
    # And one that failed at first is looked at again.
    run(engine, "TransactWriteItems", transaction(at_most=5), at(moment, lambda: put(engine, 0, 3)))
    assert [value(engine, number) for number in range(4)] == [4, 1, 1, 1]


@pytest.mark.parametrize("large", [LARGE, MEDIUM])
def test_puts_deletes_and_checks_are_planned_as_well(engine: Engine, large: Request) -> None:
    check = {"TableName": "rows", "Key": {"pk": {"S": "2"}}, "ConditionExpression": "n = :n"}
    members = [
        {"Put": {"TableName": "rows", "Item": {"pk": {"S": "0"}, "n": {"N": "7"}, "x": large}}},
        {"Delete": {"TableName": "rows", "Key": {"pk": {"S": "1"}}}},
        {"ConditionCheck": {**check, "ExpressionAttributeValues": {":n": {"N": "5"}}}},
        {"Put": {"TableName": "rows", "Item": {"pk": {"S": "new"}, "x": large}}},
    ]
    run(engine, "TransactWriteItems", {"TransactItems": members}, at(0, lambda: put(engine, 2, 5)))
    found = engine.call("Scan", {"TableName": "rows", "ProjectionExpression": "pk, n"})["Items"]
    assert sorted((item["pk"]["S"], item.get("n", {}).get("N")) for item in found) == [
        ("0", "7"),
        ("2", "5"),
        ("3", "0"),
        ("new", None),
    ]


def test_a_request_with_the_same_token_is_done_once(engine: Engine) -> None:
    request = transaction(ClientRequestToken="once")
    run(engine, "TransactWriteItems", request, at(1, lambda: engine.call("TransactWriteItems", request)))
    assert [value(engine, number) for number in range(4)] == [1, 1, 1, 1]
    statements = [{"Statement": f"UPDATE \"rows\" SET n = n + 1 WHERE pk = '{number}'"} for number in range(4)]
    twice = {"TransactStatements": statements, "ClientRequestToken": "once"}
    run(engine, "ExecuteTransaction", twice, at(1, lambda: engine.call("ExecuteTransaction", twice)))
    assert [value(engine, number) for number in range(4)] == [2, 2, 2, 2]


@pytest.mark.parametrize("operation", ["TransactWriteItems", "UpdateItem", "ExecuteStatement"])
def test_a_table_that_changes_meanwhile_gets_entries_of_what_is_written(engine: Engine, operation: str) -> None:
    request = {
        "TransactWriteItems": transaction(),
        "UpdateItem": adding(1),
        "ExecuteStatement": {"Statement": "UPDATE \"rows\" SET n = n + 1 WHERE pk = '1'"},
    }[operation]
    index = {**INDEX, "IndexName": "another"}
    change = {
        "TableName": "rows",
        "AttributeDefinitions": DEFINITIONS,
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    }
    run(engine, operation, request, at(0, lambda: engine.call("UpdateTable", change)))
    assert value(engine, 1) == 1


def test_a_table_that_is_deleted_meanwhile_is_not_there(engine: Engine) -> None:
    for request in (transaction(), adding(1)):
        operation = "TransactWriteItems" if "TransactItems" in request else "UpdateItem"
        with pytest.raises(DynamoError) as refused:
            run(engine, operation, request, at(0, lambda: engine.call("DeleteTable", {"TableName": "rows"})))
        assert refused.value.code == "ResourceNotFoundException"
        key = [{"AttributeName": "pk", "KeyType": "HASH"}]
        engine.call(
            "CreateTable",
            {
                "TableName": "rows",
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": key,
                "AttributeDefinitions": DEFINITIONS[:1],
            },
        )
        for number in range(4):
            put(engine, number, 0)


def test_a_write_that_was_planned_from_what_is_rolled_back_is_not_made(engine: Engine) -> None:
    # It would commit what is to be rolled back.
    engine._background.stop()
    request = {"TableName": "rows", "Item": {"pk": {"S": "1"}, "n": {"N": "50"}, "x": LARGE}}
    engine.execute("PutItem", request)

    def roll_back() -> None:
        with pytest.raises(InternalServerError), engine._storage.turn():
            engine._storage.write()("INSERT INTO nothing VALUES (1)")

    with pytest.raises(InternalServerError):
        run(engine, "UpdateItem", adding(1), at(0, roll_back))
    assert value(engine, 1) == 0
