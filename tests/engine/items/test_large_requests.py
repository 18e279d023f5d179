"""What a large body says is looked at beside the storage; the answer is the same, errors and their order included."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tablewright.dynamo import DynamoError, ValidationException
from tablewright.engine import Engine, slices
from tablewright.engine.slices import IS_LARGE, Unfinished
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, attributes, key, on_demand

TABLE = "rows"
LARGE = {"S": "x" * 140_000}
OLDER = {f"x{each}": {"ComparisonOperator": "NULL"} for each in range(600)}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        definitions = attributes("pk", "sk")
        create = on_demand(TableName=TABLE, AttributeDefinitions=definitions, KeySchema=key("pk", "sk"))
        engine.call("CreateTable", {**create, "StreamSpecification": NEW_AND_OLD_IMAGES})
        for number in range(4):
            engine.call("PutItem", {"TableName": TABLE, "Item": {**primary(number), "n": {"N": "1"}, "v": LARGE}})
        yield engine


def primary(number: int) -> dict[str, Any]:
    return {"pk": {"S": "a"}, "sk": {"S": str(number)}}


def about(number: int, **more: Any) -> dict[str, Any]:
    return {"TableName": TABLE, "Key": primary(number), **more}


def asked(engine: Engine, operation: str, request: dict[str, Any], *, is_large: bool) -> tuple[Any, int]:
    """The response or the error, and how often something was done beside the storage."""
    beside = 0
    try:
        checked = engine.check(operation, request)
        if is_large:
            checked[IS_LARGE] = True
        outcome = engine.begin(operation, checked)
        while isinstance(outcome, Unfinished):
            if outcome.beside is not None:
                beside += 1
                outcome.beside()
            outcome = outcome.resume()
    except DynamoError as error:
        return error.body(), beside
    return outcome[0], beside


ONE = {":v": {"N": "1"}}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", about(0, ProjectionExpression="n")),
    ("GetItem", about(0, ProjectionExpression="n, n")),
    ("GetItem", about(9, AttributesToGet=["n"])),
    ("PutItem", {"TableName": TABLE, "Item": {**primary(0), "w": {"N": "2"}}, "ReturnValues": "ALL_OLD"}),
    ("PutItem", {"TableName": TABLE, "Item": primary(0), "Expected": {"n": {"Value": {"N": "2"}}}}),
    ("PutItem", {"TableName": TABLE, "Item": primary(0), "Expected": {"n": {"Exists": False, "Value": {"N": "2"}}}}),
    ("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": "a"}}, "ConditionExpression": "nonsense("}),
    ("UpdateItem", about(1, UpdateExpression="SET n = n + :v", ExpressionAttributeValues=ONE, ReturnValues="ALL_NEW")),
    ("UpdateItem", about(8, UpdateExpression="SET n = :v", ExpressionAttributeValues=ONE, ReturnValues="ALL_NEW")),
    ("UpdateItem", about(1, UpdateExpression="ADD n :v", ExpressionAttributeValues={":v": {"SS": ["a"]}})),
    ("UpdateItem", about(1, UpdateExpression="SET n = :v", ExpressionAttributeValues={":v": {"N": "x"}})),
    (
        "UpdateItem",
        about(1, AttributeUpdates={"n": {"Action": "PUT", "Value": {"N": "7"}}}, ReturnValues="UPDATED_NEW"),
    ),
    ("UpdateItem", {**about(1, UpdateExpression="SET pk = :v", ExpressionAttributeValues=ONE), "TableName": "missing"}),
    ("DeleteItem", about(2, ReturnValues="ALL_OLD")),
    ("DeleteItem", about(2, ReturnValues="ALL_NEW")),
    ("DeleteItem", about(2, ConditionExpression="n = :v", ExpressionAttributeValues={":v": {"N": "5"}})),
    ("Query", {"TableName": TABLE, "KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": ONE}),
    ("Query", {"TableName": TABLE}),
    ("Scan", {"TableName": TABLE, "ScanFilter": OLDER, "AttributesToGet": ["n"]}),
    ("Scan", {"TableName": TABLE, "Segment": 1}),
]


@pytest.mark.parametrize(("operation", "request_"), REQUESTS)
def test_a_large_request_is_answered_as_a_small_one(engine: Engine, operation: str, request_: dict[str, Any]) -> None:
    with Engine.open() as other:
        definitions = attributes("pk", "sk")
        create = on_demand(TableName=TABLE, AttributeDefinitions=definitions, KeySchema=key("pk", "sk"))
        other.call("CreateTable", create)
        for number in range(4):
            other.call("PutItem", {"TableName": TABLE, "Item": {**primary(number), "n": {"N": "1"}, "v": LARGE}})
        small, _ = asked(other, operation, deepcopy(request_), is_large=False)
    large, beside = asked(engine, operation, deepcopy(request_), is_large=True)
    assert large == small
    assert beside


def test_many_conditions_of_the_older_kind_are_read_beside_the_storage_however_small_the_body_is(
    engine: Engine,
) -> None:
    request = {"TableName": TABLE, "ScanFilter": OLDER, "AttributesToGet": ["n"]}
    small, beside = asked(engine, "Scan", request, is_large=False)
    assert beside
    assert small.count(b'"n"') == 4


def test_large_items_of_a_page_are_measured_beside_the_storage(engine: Engine) -> None:
    for request in ({}, {"ProjectionExpression": "v"}, {"FilterExpression": "attribute_exists(v)"}, {"Limit": 3}):
        response, beside = asked(engine, "Scan", {"TableName": TABLE, **request}, is_large=False)
        assert beside >= 2
        assert response == engine.execute("Scan", {"TableName": TABLE, **request})[0]
    first = engine.call("Scan", {"TableName": TABLE, "Limit": 3})
    assert first["LastEvaluatedKey"] == primary(2)
    rest = engine.call("Scan", {"TableName": TABLE, "ExclusiveStartKey": first["LastEvaluatedKey"]})
    assert [item["sk"]["S"] for item in first["Items"] + rest["Items"]] == ["0", "1", "2", "3"]
    assert "LastEvaluatedKey" not in rest


def test_stream_records_with_large_images_are_read_in_slices(engine: Engine) -> None:
    for number in range(3):
        engine.call("DeleteItem", about(number))
    (stream,) = engine.call("ListStreams", {})["Streams"]
    (shard,) = engine.call("DescribeStream", {"StreamArn": stream["StreamArn"]})["StreamDescription"]["Shards"]
    where = {"StreamArn": stream["StreamArn"], "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = engine.call("GetShardIterator", where)["ShardIterator"]
    _, beside = asked(engine, "GetRecords", {"ShardIterator": iterator}, is_large=False)
    assert beside == 7
    kinds = [record["eventName"] for record in engine.call("GetRecords", {"ShardIterator": iterator})["Records"]]
    assert kinds == ["INSERT"] * 4 + ["REMOVE"] * 3
    page = engine.call("GetRecords", {"ShardIterator": iterator, "Limit": 5})
    assert len(page["Records"]) == 5
    more = engine.call("GetRecords", {"ShardIterator": page["NextShardIterator"]})
    assert [record["eventName"] for record in more["Records"]] == ["REMOVE"] * 2


def test_a_cancelled_transaction_shows_no_more_than_fits_into_a_response(engine: Engine) -> None:
    checks = []
    for number in range(11):
        put = {"TableName": TABLE, "Item": {**primary(number), "v": {"S": "x" * 390_000}}}
        engine.call("PutItem", put)
        condition = {
            "ConditionExpression": "attribute_not_exists(pk)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        checks.append({"ConditionCheck": {"TableName": TABLE, "Key": primary(number), **condition}})
    cancelled, _ = asked(engine, "TransactWriteItems", {"TransactItems": checks[:10]}, is_large=False)
    assert [reason["Code"] for reason in cancelled["CancellationReasons"]] == ["ConditionalCheckFailed"] * 10
    with pytest.raises(ValidationException, match=r"^ValidationException: Payload in response is too large\.42901"):
        engine.call("TransactWriteItems", {"TransactItems": checks})


def test_a_new_index_is_filled_by_so_many_bytes_at_a_time(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine._background.stop()
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    index = {"IndexName": "by-n", "KeySchema": key("n"), "Projection": {"ProjectionType": "ALL"}}
    more = {"AttributeDefinitions": attributes("n:N"), "GlobalSecondaryIndexUpdates": [{"Create": index}]}
    for number in range(4, 8):
        engine.call("PutItem", {"TableName": TABLE, "Item": {**primary(number), "n": {"N": "1"}, "v": LARGE}})
    engine.call("UpdateTable", {"TableName": TABLE, **more})

    def status() -> str:
        (description,) = engine.call("DescribeTable", {"TableName": TABLE})["Table"]["GlobalSecondaryIndexes"]
        return str(description["IndexStatus"])

    assert status() == "CREATING"
    engine.sweep()
    assert status() == "ACTIVE"
    query = {"IndexName": "by-n", "KeyConditionExpression": "n = :v", "ExpressionAttributeValues": ONE}
    assert engine.call("Query", {"TableName": TABLE, **query, "Select": "COUNT"})["Count"] == 8
    assert engine.verify().problems == []


NUMBERS = ", ".join(map(str, range(600)))
STATEMENTS = [
    f"""SELECT n FROM "rows" WHERE pk = 'a' AND sk = 'none' AND l = [{NUMBERS}]""",
    f"""SELECT n FROM "rows" WHERE pk = 'a' AND sk = 'none' AND l = [{NUMBERS}""",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_long_statement_is_read_beside_the_storage(engine: Engine, statement: str) -> None:
    answer, beside = asked(engine, "ExecuteStatement", {"Statement": statement}, is_large=False)
    assert beside == 1
    if statement.endswith("]"):
        assert answer == b'{"Items":[]}'
    else:
        assert "Statement wasn't well formed" in answer["message"]
    for operation, member in (("BatchExecuteStatement", "Statements"), ("ExecuteTransaction", "TransactStatements")):
        assert asked(engine, operation, {member: [{"Statement": statement}]}, is_large=False)[1] == 1
