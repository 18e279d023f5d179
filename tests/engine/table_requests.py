"""Short ways to write the requests of the operations on tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablewright.dynamo import DynamoError, ValidationException
from tablewright.engine import Engine

INVALID = "One or more parameter values were invalid: "
NEW_IMAGE = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
NEW_AND_OLD_IMAGES = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def attributes(*names: str) -> list[dict[str, str]]:
    """Definitions; ``"pk"`` is text, ``"n:N"`` a number."""
    return [{"AttributeName": name.partition(":")[0], "AttributeType": name.partition(":")[2] or "S"} for name in names]


def key(*names: str) -> list[dict[str, str]]:
    """A key schema: the first name is HASH, further ones RANGE, unless they say otherwise (``"b:HASH"``)."""
    return [
        {
            "AttributeName": name.partition(":")[0],
            "KeyType": name.partition(":")[2] or ("RANGE" if position else "HASH"),
        }
        for position, name in enumerate(names)
    ]


def capacity(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def index(name: str, *names: str, **members: Any) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": key(*names), "Projection": {"ProjectionType": "ALL"}, **members}


def on_demand(**members: Any) -> dict[str, Any]:
    """A CreateTable request for the on-demand table ``music`` with the key ``pk``."""
    return {
        "TableName": "music",
        "AttributeDefinitions": attributes("pk"),
        "KeySchema": key("pk"),
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }


def provisioned(read: int = 5, write: int = 5, **members: Any) -> dict[str, Any]:
    request = on_demand(ProvisionedThroughput=capacity(read, write), **members)
    del request["BillingMode"]
    return request


def with_index(request: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The table with the global index ``gsi`` over ``g``."""
    return {
        **request,
        "AttributeDefinitions": attributes("pk", "g"),
        "GlobalSecondaryIndexes": [index("gsi", "g", **members)],
    }


def index_update(**members: Any) -> list[dict[str, Any]]:
    return [{"Update": {"IndexName": "gsi", **members}}]


def index_creation(name: str = "new", *names: str, **members: Any) -> list[dict[str, Any]]:
    return [{"Create": index(name, *(names or ("n",)), **members)}]


def index_deletion(name: str = "gsi") -> list[dict[str, Any]]:
    return [{"Delete": {"IndexName": name}}]


def create(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = engine.call("CreateTable", request)["TableDescription"]
    return told


def describe(engine: Engine, name: str = "music") -> dict[str, Any]:
    table: dict[str, Any] = engine.call("DescribeTable", {"TableName": name})["Table"]
    return table


def update(engine: Engine, **members: Any) -> dict[str, Any]:
    told: dict[str, Any] = engine.call("UpdateTable", {"TableName": "music", **members})["TableDescription"]
    return told


def refusal(call: Callable[[], object], kind: type[DynamoError] = ValidationException) -> str | None:
    """The message with which a call is refused."""
    with pytest.raises(kind) as caught:
        call()
    return caught.value.message
