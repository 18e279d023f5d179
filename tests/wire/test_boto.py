"""boto3 and botocore on an engine in this process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import boto3
import botocore.session
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError
from botocore.stub import Stubber

from tablewright.dynamo import InternalServerError, TransactionInProgressException
from tablewright.engine import Engine
from tablewright.wire import boto
from tests.wire.fakes import FakeEngine

MUSIC: dict[str, Any] = {
    "TableName": "music",
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "song", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "song", "AttributeType": "S"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def database() -> Iterator[Engine]:
    with Engine.open() as engine:
        yield engine


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(*_: object) -> None:
        raise AssertionError("an HTTP request left the process")

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", send)


def test_a_client_is_botocore_s_own(database: Engine) -> None:
    client = boto.client(database)
    assert type(client).__mro__[1].__module__ == "botocore.client"
    client.create_table(**MUSIC)
    client.get_waiter("table_exists").wait(TableName="music")
    client.put_item(TableName="music", Item={"artist": {"S": "a"}, "song": {"S": "b"}, "x": {"B": b"\0\xff"}})
    response = client.get_item(TableName="music", Key={"artist": {"S": "a"}, "song": {"S": "b"}})
    assert response["Item"] == {"artist": {"S": "a"}, "song": {"S": "b"}, "x": {"B": b"\0\xff"}}
    metadata = response["ResponseMetadata"]
    assert metadata["HTTPStatusCode"] == 200
    assert metadata["RetryAttempts"] == 0
    assert len(metadata["RequestId"]) == 52
    assert metadata["HTTPHeaders"]["x-amzn-requestid"] == metadata["RequestId"]


def test_errors_are_botocore_s_exceptions(database: Engine) -> None:
    client = boto.client(database)
    with pytest.raises(client.exceptions.ResourceNotFoundException) as missing:
        client.describe_table(TableName="missing")
    assert missing.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    client.create_table(**MUSIC)
    item = {"artist": {"S": "a"}, "song": {"S": "b"}, "x": {"B": b"\1"}}
    client.put_item(TableName="music", Item=item)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.put_item(
            TableName="music",
            Item=item,
            ConditionExpression="attribute_not_exists(artist)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failed.value.response["Item"] == item
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": "music",
                        "Item": item,
                        "ConditionExpression": "attribute_not_exists(artist)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                }
            ]
        )
    assert cancelled.value.response["CancellationReasons"][0]["Item"] == item


def test_parameters_are_validated_by_botocore(database: Engine) -> None:
    with pytest.raises(ParamValidationError):
        boto.client(database).get_item(TableName="music", Key={"artist": {"S": 1}})


def test_the_resource_layer_is_boto3_s(database: Engine) -> None:
    resource = boto.resource(database)
    table = resource.create_table(**MUSIC)
    table.wait_until_exists()
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"artist": "a", "song": f"{number:03}", "n": number, "b": b"\2", "s": {"x"}})
    page = table.query(
        KeyConditionExpression=Key("artist").eq("a") & Key("song").between("010", "019"),
        FilterExpression=Attr("n").lt(15),
    )
    assert [item["n"] for item in page["Items"]] == [Decimal(number) for number in range(10, 15)]
    assert page["Items"][0]["b"].value == b"\2"
    assert page["Items"][0]["s"] == {"x"}
    updated = table.update_item(
        Key={"artist": "a", "song": "001"},
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": 1},
        ReturnValues="UPDATED_NEW",
    )
    assert updated["Attributes"] == {"n": Decimal(2)}
    assert sum(len(page["Items"]) for page in resource.meta.client.get_paginator("scan").paginate(
        TableName="music", PaginationConfig={"PageSize": 7}
    )) == 60  # fmt: skip


def test_streams_have_a_client_too(database: Engine) -> None:
    client = boto.client(database)
    client.create_table(**MUSIC, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    client.put_item(TableName="music", Item={"artist": {"S": "a"}, "song": {"S": "b"}, "x": {"B": b"\3"}})
    streams = boto.streams_client(database)
    arn = streams.list_streams(TableName="music")["Streams"][0]["StreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]  # fmt: skip
    (record,) = streams.get_records(ShardIterator=iterator)["Records"]
    assert record["dynamodb"]["NewImage"]["x"] == {"B": b"\3"}
    assert record["dynamodb"]["ApproximateCreationDateTime"].tzinfo is not None


def test_every_engine_has_clients_of_its_own(database: Engine) -> None:
    with Engine.open() as other:
        boto.client(database).create_table(**MUSIC)
        assert boto.client(other).list_tables()["TableNames"] == []
        assert boto.client(database).list_tables()["TableNames"] == ["music"]


def test_the_caller_s_configuration_is_kept(database: Engine) -> None:
    config = Config(region_name="eu-west-3", user_agent_extra="mine", read_timeout=7)
    client = boto.client(database, region_name="eu-west-3", config=config)
    assert client.meta.region_name == "eu-west-3"
    assert client.meta.config.read_timeout == 7
    assert boto.client(database).meta.region_name == "us-east-1"


def test_clients_are_in_the_region_of_their_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with Engine.open(region="eu-west-3") as engine:
        assert engine.region == "eu-west-3"
        assert boto.client(engine).meta.region_name == "eu-west-3"
        assert boto.streams_client(engine).meta.region_name == "eu-west-3"
        assert boto.resource(engine).meta.client.meta.region_name == "eu-west-3"
        with boto.patch(engine):
            assert boto3.client("dynamodb").meta.region_name == "eu-west-3"
    assert boto.client(FakeEngine()).meta.region_name == "us-east-1"


def test_a_write_returns_when_it_is_durable() -> None:
    engine = FakeEngine()
    engine.answers["PutItem"] = b"{}"
    boto.client(engine).put_item(TableName="music", Item={})
    assert engine.flushes == 1


def test_a_commit_by_another_thread_is_waited_for() -> None:
    class SlowEngine(FakeEngine):
        def flush(self) -> None:
            threading.Timer(0.05, super().flush).start()

    engine = SlowEngine()
    engine.answers["PutItem"] = b"{}"
    boto.client(engine).put_item(TableName="music", Item={})
    assert engine.flushes == 1


def test_what_botocore_retries_is_retried() -> None:
    engine = FakeEngine()
    client = boto.client(engine, config=Config(retries={"total_max_attempts": 2}))
    for error in (InternalServerError("no"), TransactionInProgressException("wait")):
        engine.calls.clear()
        engine.answers["TransactWriteItems"] = error
        with pytest.raises(ClientError) as caught:
            client.transact_write_items(TransactItems=[{"Delete": {"TableName": "music", "Key": {}}}])
        assert caught.value.response["Error"]["Code"] == error.code
        assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 1
        assert len(engine.calls) == 3  # the short way once, then botocore's two attempts


def test_a_stub_still_wins(database: Engine) -> None:
    client = boto.client(database)
    with Stubber(client) as stub:
        stub.add_response("list_tables", {"TableNames": ["stubbed"]})
        assert client.list_tables()["TableNames"] == ["stubbed"]
    assert client.list_tables()["TableNames"] == []


def test_many_threads_may_share_a_client(database: Engine) -> None:
    client = boto.client(database)
    client.create_table(**MUSIC)

    def write(name: str) -> None:
        for number in range(20):
            client.put_item(TableName="music", Item={"artist": {"S": name}, "song": {"S": str(number)}})

    threads = [threading.Thread(target=write, args=[f"t{number}"]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.scan(TableName="music", Select="COUNT")["Count"] == 80


def test_without_boto3_the_resource_says_what_is_missing(database: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    with pytest.raises(ImportError, match=r"pip install 'tablewright\[boto3\]'"):
        boto.resource(database)
    assert boto.client(database).list_tables()["TableNames"] == []


# -- patch ---------------------------------------------------------------------------------------------


def test_clients_made_inside_and_before_use_the_engine(database: Engine) -> None:
    before = boto3.client("dynamodb", region_name="eu-west-1")
    with boto.patch(database):
        boto3.client("dynamodb").create_table(**MUSIC)
        assert before.list_tables()["TableNames"] == ["music"]
        assert boto3.resource("dynamodb").Table("music").item_count == 0
        assert botocore.session.Session().create_client("dynamodbstreams").list_streams()["Streams"] == []


def test_afterwards_clients_are_as_before(database: Engine) -> None:
    client = boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1}))
    with boto.patch(database):
        assert client.list_tables()["TableNames"] == []
    with pytest.raises(AssertionError, match="left the process"):
        client.list_tables()


def test_retries_inside_a_patch_need_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto3.client("dynamodb", config=Config(retries={"total_max_attempts": 1}))
    monkeypatch.setattr(client._request_signer, "_credentials", None)
    engine = FakeEngine()
    engine.answers["ListTables"] = InternalServerError("no")
    with boto.patch(engine), pytest.raises(ClientError, match="InternalServerError"):
        client.list_tables()


def test_other_services_are_left_alone(database: Engine) -> None:
    with boto.patch(database), pytest.raises(AssertionError, match="left the process"):
        boto3.client("sqs").list_queues()


def test_patches_nest(database: Engine) -> None:
    client = boto3.client("dynamodb")
    with boto.patch(database):
        client.create_table(**MUSIC)
        with Engine.open() as inner, boto.patch(inner):
            assert client.list_tables()["TableNames"] == []
            assert boto.client(database).list_tables()["TableNames"] == ["music"]  # has an engine already
        assert client.list_tables()["TableNames"] == ["music"]


def test_credentials_and_a_region_are_supplied_where_there_are_none(
    database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with boto.patch(database):
        assert boto3.client("dynamodb").list_tables()["TableNames"] == []
        assert boto3.client("dynamodb").meta.region_name == "us-east-1"
    assert "AWS_ACCESS_KEY_ID" not in os.environ
    assert boto3.DEFAULT_SESSION is None
