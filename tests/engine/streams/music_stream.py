"""A table with a stream, and short ways to write to the one and read the other."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import (
    DynamoError,
)
from tablewright.engine import Engine
from tests.engine.table_requests import on_demand

HOUR = 3600.0
START = 1_800_000_000.25


def create(engine: Engine, view: str | None = "NEW_AND_OLD_IMAGES", name: str = "music") -> str:
    """A table, with a stream of that view type; the stream's ARN."""
    request = on_demand(TableName=name)
    if view is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    description = engine.call("CreateTable", request)["TableDescription"]
    return str(description.get("LatestStreamArn"))


def put(engine: Engine, key: str, table: str = "music", **attributes: str) -> None:
    item = {"pk": {"S": key}, **{name: {"S": value} for name, value in attributes.items()}}
    engine.call("PutItem", {"TableName": table, "Item": item})


def delete(engine: Engine, key: str) -> None:
    engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": key}}})


def describe(engine: Engine, arn: str, **parameters: Any) -> dict[str, Any]:
    description: dict[str, Any] = engine.call("DescribeStream", {"StreamArn": arn, **parameters})["StreamDescription"]
    return description


def iterator(engine: Engine, arn: str, kind: str = "TRIM_HORIZON", shard: int = -1, **parameters: Any) -> str:
    shard_id = describe(engine, arn)["Shards"][shard]["ShardId"]
    request = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": kind, **parameters}
    return str(engine.call("GetShardIterator", request)["ShardIterator"])


def records(engine: Engine, shard_iterator: str, **parameters: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.call("GetRecords", {"ShardIterator": shard_iterator, **parameters})["Records"]
    return found


def keys(found: list[dict[str, Any]]) -> list[str]:
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in found]


def disable(engine: Engine, arn: str) -> None:
    """End the stream by way of its table, which need not survive it."""
    engine.call("DeleteTable", {"TableName": arn.split("/")[1]})


def message(error: pytest.ExceptionInfo[DynamoError]) -> str | None:
    return error.value.message
