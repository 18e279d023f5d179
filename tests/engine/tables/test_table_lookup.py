"""A table by its ARN: that of this region and account is the same as its name, any other is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablewright.dynamo import AccessDeniedException, DynamoError, ResourceNotFoundException, ValidationException
from tablewright.engine import Engine
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, on_demand

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/music"
KEY = {"pk": {"S": "a"}}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as opened:
        opened.call("CreateTable", on_demand(TableName="music", StreamSpecification=NEW_AND_OLD_IMAGES))
        yield opened


def requests(table: str) -> list[tuple[str, dict[str, Any]]]:
    """Every operation that takes a table by its ARN."""
    values = {":p": {"S": "a"}}
    return [
        ("PutItem", {"TableName": table, "Item": KEY}),
        ("GetItem", {"TableName": table, "Key": KEY}),
        ("UpdateItem", {"TableName": table, "Key": KEY}),
        ("DeleteItem", {"TableName": table, "Key": KEY}),
        ("Query", {"TableName": table, "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values}),
        ("Scan", {"TableName": table}),
        ("BatchGetItem", {"RequestItems": {table: {"Keys": [KEY]}}}),
        ("BatchWriteItem", {"RequestItems": {table: [{"PutRequest": {"Item": KEY}}]}}),
        ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": table, "Key": KEY}}]}),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": table, "Item": KEY}}]}),
        ("ExecuteStatement", {"Statement": f'SELECT * FROM "{table}"'}),
        ("DescribeTable", {"TableName": table}),
        ("DescribeTimeToLive", {"TableName": table}),
        ("DescribeContinuousBackups", {"TableName": table}),
    ]


NAMES = [operation for operation, _ in requests(ARN)]


def refusal(engine: Engine, number: int, arn: str) -> DynamoError:
    operation, request = requests(arn)[number]
    with pytest.raises(DynamoError) as caught:
        engine.call(operation, request)
    return caught.value


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_an_arn_is_as_good_as_a_name(engine: Engine, number: int) -> None:
    engine.call(*requests(ARN)[number])


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_an_arn_of_another_account_is_denied(engine: Engine, number: int) -> None:
    error = refusal(engine, number, ARN.replace("123456789012", "111111111111"))
    assert (type(error), error.message) == (AccessDeniedException, "Access is denied")


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
@pytest.mark.parametrize(
    ("part", "other", "what"), [("us-east-1", "eu-west-1", "region"), ("arn:aws:", "arn:aws-cn:", "partition")]
)
def test_an_arn_of_another_region_is_invalid(engine: Engine, number: int, part: str, other: str, what: str) -> None:
    arn = ARN.replace(part, other)
    error = refusal(engine, number, arn)
    assert type(error) is ValidationException
    assert error.message == f"1 validation error detected: Invalid AWS {what} in '{arn}'"


def test_nothing_of_a_batch_is_written_when_one_of_its_tables_is_elsewhere(engine: Engine) -> None:
    elsewhere = ARN.replace("123456789012", "111111111111")
    put = [{"PutRequest": {"Item": KEY}}]
    with pytest.raises(AccessDeniedException):
        engine.call("BatchWriteItem", {"RequestItems": {"music": put, elsewhere: put}})
    assert engine.call("Scan", {"TableName": "music"})["Count"] == 0


def test_the_stream_of_another_account_is_denied(engine: Engine) -> None:
    arn = engine.call("DescribeTable", {"TableName": "music"})["Table"]["LatestStreamArn"]
    engine.call("DescribeStream", {"StreamArn": arn})
    with pytest.raises(AccessDeniedException):
        engine.call("DescribeStream", {"StreamArn": arn.replace("123456789012", "111111111111")})
    with pytest.raises(ResourceNotFoundException):
        engine.call("DescribeStream", {"StreamArn": arn.replace("us-east-1", "eu-west-1")})
