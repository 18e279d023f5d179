"""A short way to speak with an engine in a test: create a table, call operations on it, look at what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import DynamoError, ValidationException
from tablewright.engine import Engine
from tests.clocks import Clock

Item = dict[str, dict[str, Any]]
Request = dict[str, Any]


class TableClient:
    """An engine, with a table ``table`` made by the test."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self.clock = clock

    def create(
        self,
        key: str = "pk",
        name: str = "table",
        *,
        global_indexes: dict[str, str] | None = None,
        local_indexes: dict[str, str] | None = None,
        projections: dict[str, Any] | None = None,
        **attributes: str,
    ) -> None:
        """A table whose keys are written ``pk`` or ``pk, sk``, for multi-attribute keys ``a+b, c+d``.

        Attributes are strings unless said otherwise; a projection is ALL unless ``projections`` has a type or
        a list of attributes for the index.
        """
        indexes = {**(global_indexes or {}), **(local_indexes or {})}
        used = {name for keys in (key, *indexes.values()) for name, _ in _elements(keys)}
        request: Request = {
            "TableName": name,
            "KeySchema": _schema(key),
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": attributes.get(name, "S")} for name in sorted(used)
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }
        for member, group in (
            ("GlobalSecondaryIndexes", global_indexes),
            ("LocalSecondaryIndexes", local_indexes),
        ):
            if group:
                request[member] = [
                    {
                        "IndexName": index,
                        "KeySchema": _schema(keys),
                        "Projection": _projection((projections or {}).get(index, "ALL")),
                    }
                    for index, keys in group.items()
                ]
        self("CreateTable", **request)

    def __call__(self, operation: str, **request: Any) -> Any:
        if operation not in ("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"):
            request.setdefault("TableName", "table")
        return self.engine.call(operation, request)

    def put(self, **attributes: dict[str, Any]) -> None:
        self("PutItem", Item=attributes)

    def get(self, **key: dict[str, Any]) -> Item | None:
        return self("GetItem", Key=key).get("Item")  # type: ignore[no-any-return]

    def stream_records(self) -> list[dict[str, Any]]:
        """What the stream of the table has, from its beginning."""
        arn = self("DescribeTable")["Table"]["LatestStreamArn"]
        records = []
        for shard in self("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]:
            place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            start = self("GetShardIterator", **place)["ShardIterator"]
            records += self("GetRecords", ShardIterator=start)["Records"]
        return records

    def error(self, operation: str, **request: Any) -> DynamoError:
        with pytest.raises(DynamoError) as caught:
            self(operation, **request)
        return caught.value

    def refusal(self, operation: str, **request: Any) -> str | None:
        """The message of the ValidationException that the request gets."""
        error = self.error(operation, **request)
        assert isinstance(error, ValidationException)
        assert error.body()["__type"] == "com.amazon.coral.validate#ValidationException"
        return error.message


def _elements(keys: str) -> list[tuple[str, str]]:
    partition, _, sort = keys.partition(",")
    return [(name.strip(), "HASH") for name in partition.split("+")] + [
        (name.strip(), "RANGE") for name in sort.split("+") if name.strip()
    ]


def _schema(keys: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in _elements(keys)]


def _projection(projection: str | list[str]) -> dict[str, Any]:
    if isinstance(projection, str):
        return {"ProjectionType": projection}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": projection}
