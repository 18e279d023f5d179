"""Tags, DescribeLimits, DescribeEndpoints and DescribeContinuousBackups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablewright.dynamo import AccessDeniedException, ResourceNotFoundException, TableNotFoundException
from tablewright.engine import Engine
from tests.engine.table_requests import INVALID, create, on_demand, refusal

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/music"
TOO_MANY = "Number of Tags exceed the current limit for the provided ResourceArn"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as opened:
        create(opened, on_demand())
        yield opened


def tag(engine: Engine, arn: str = ARN, **tags: str) -> None:
    given = [{"Key": name, "Value": value} for name, value in tags.items()]
    assert engine.call("TagResource", {"ResourceArn": arn, "Tags": given}) == {}


def tags_of(engine: Engine, arn: str = ARN) -> dict[str, str]:
    answer = engine.call("ListTagsOfResource", {"ResourceArn": arn})
    assert list(answer) == ["Tags"]
    return {given["Key"]: given["Value"] for given in answer["Tags"]}


def test_tags_are_added_replaced_and_removed(engine: Engine) -> None:
    assert tags_of(engine) == {}
    tag(engine, team="sound", stage="test")
    tag(engine, stage="live", Team="")
    assert tags_of(engine) == {"team": "sound", "stage": "live", "Team": ""}
    engine.call("UntagResource", {"ResourceArn": ARN, "TagKeys": ["team", "never-there"]})
    assert tags_of(engine) == {"stage": "live", "Team": ""}


def test_a_table_has_fifty_tags_and_lists_them_at_once(engine: Engine) -> None:
    tag(engine, **{f"tag{n}": "x" for n in range(50)})
    assert len(tags_of(engine)) == 50
    assert refusal(lambda: tag(engine, tag0="y", another="x")) == TOO_MANY
    tag(engine, tag0="y")
    keys = [f"tag{n}" for n in range(51)]
    assert refusal(lambda: engine.call("UntagResource", {"ResourceArn": ARN, "TagKeys": keys})) == TOO_MANY


def test_a_page_token_that_means_nothing_is_ignored(engine: Engine) -> None:
    tag(engine, a="b")
    answer = engine.call("ListTagsOfResource", {"ResourceArn": ARN, "NextToken": "nonsense"})
    assert answer == {"Tags": [{"Key": "a", "Value": "b"}]}


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([], "Atleast one Tag needs to be provided as Input."),
        ([{"Key": "a#b", "Value": ""}], "The Tag Key provided is invalid, Key: a#b"),
        ([{"Key": "a", "Value": "100%"}], "The Tag Value provided is invalid, Value: 100%"),
        ([{"Key": "AWS:x", "Value": ""}], "Tag Key cannot be prefixed with aws:, Key: AWS:x"),
        (
            [{"Key": "dup", "Value": "1"}, {"Key": "dup", "Value": "2"}],
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found dup",
        ),
    ],
)
def test_tags_are_refused_all_together(engine: Engine, tags: list[dict[str, str]], message: str) -> None:
    given = [*({"Key": "good", "Value": "x"} for _ in tags[:1]), *tags]
    assert refusal(lambda: engine.call("TagResource", {"ResourceArn": ARN, "Tags": given})) == message
    assert tags_of(engine) == {}


def test_letters_of_every_script_make_a_tag(engine: Engine) -> None:
    tags = {"ключ 表": "café + - = . _ : / @ 1"}
    tag(engine, **tags)
    assert tags_of(engine) == tags


def test_untagging_needs_keys(engine: Engine) -> None:
    message = refusal(lambda: engine.call("UntagResource", {"ResourceArn": ARN, "TagKeys": []}))
    assert message == "Atleast one Tag Key needs to be provided as Input."


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        ("music", INVALID + "ARNs must start with 'arn:': music"),
        ("arn:aws", INVALID + "Provided Arn is not a DynamoDB resource arn: arn:aws"),
        (
            f"{ARN}/backup/01",
            f"{INVALID}Provided Arn is not a DynamoDB resource arn: {ARN}/backup/01",
        ),
        (
            f"{ARN}/index/gsi",
            f"{INVALID}Invalid resource arn provided, only table or stream is accepted. "
            f"Provided resource arn: {ARN}/index/gsi",
        ),
        (
            ARN.replace("us-east-1", "eu-west-1"),
            "Invalid TableArn: Invalid ResourceArn provided as input " + ARN.replace("us-east-1", "eu-west-1"),
        ),
    ],
)
def test_an_arn_is_refused_in_the_services_words(engine: Engine, arn: str, message: str) -> None:
    assert refusal(lambda: tags_of(engine, arn)) == message
    assert refusal(lambda: tag(engine, arn, a="b")) == message


@pytest.mark.parametrize("arn", [ARN.replace("music", "nothing"), f"{ARN}/stream/2027-01-01T00:00:00.000"])
def test_what_has_no_tags_is_not_found(engine: Engine, arn: str) -> None:
    message = f"Requested resource not found: ResourceArn: {arn} not found"
    assert refusal(lambda: tags_of(engine, arn), ResourceNotFoundException) == message
    assert refusal(lambda: tag(engine, arn, a="b"), ResourceNotFoundException) == message


@pytest.mark.parametrize(
    "arn",
    [
        ARN.replace("123456789012", "111111111111"),
        "arn:aws:s3:::music",
        "arn:aws:sqs:us-east-1:123456789012:music",
    ],
)
def test_other_accounts_and_services_are_none_of_ours(engine: Engine, arn: str) -> None:
    assert refusal(lambda: tags_of(engine, arn), AccessDeniedException) == "Access is denied"
    assert refusal(lambda: tag(engine, arn, a="b"), AccessDeniedException) == "Access is denied"


@pytest.mark.parametrize(
    ("operation", "request_", "answer"),
    [
        (
            "DescribeLimits",
            {},
            {
                "AccountMaxReadCapacityUnits": 80000,
                "AccountMaxWriteCapacityUnits": 80000,
                "TableMaxReadCapacityUnits": 40000,
                "TableMaxWriteCapacityUnits": 40000,
            },
        ),
        (
            "DescribeEndpoints",
            {},
            {"Endpoints": [{"Address": "dynamodb.us-east-1.amazonaws.com", "CachePeriodInMinutes": 1440}]},
        ),
        (
            "DescribeContinuousBackups",
            {"TableName": "music"},
            {
                "ContinuousBackupsDescription": {
                    "ContinuousBackupsStatus": "ENABLED",
                    "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
                }
            },
        ),
    ],
)
def test_what_the_service_tells_of_itself(
    engine: Engine, operation: str, request_: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert engine.call(operation, request_) == answer


def test_backups_of_a_table_that_is_not_there(engine: Engine) -> None:
    message = refusal(
        lambda: engine.call("DescribeContinuousBackups", {"TableName": "nothing"}), TableNotFoundException
    )
    assert message == "Table not found: nothing"
