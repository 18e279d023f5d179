"""Tables and items that the tests of copies use."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tablewright.dynamo import Item
from tablewright.engine import Engine

ORDERS: dict[str, Any] = {
    "TableName": "Orders",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "status", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-status",
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-pk-status",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "status", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
USERS: dict[str, Any] = {
    "TableName": "Users",
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 3},
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "B"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "DeletionProtectionEnabled": True,
}


def every_type() -> list[Item]:
    """Items with every type of attribute, at its limits."""
    deep: dict[str, Any] = {"S": "end"}
    for level in range(30):
        deep = {"M": {"down": deep}} if level % 2 else {"L": [deep]}
    values: dict[str, dict[str, Any]] = {
        "text": {"S": "Käse \U0001f9c0 \" \\ \n \x00 ' ;,"},
        "empty": {"S": ""},
        "large": {"S": "x" * (400 * 1024 - 200)},
        "digits": {"N": "12345678901234567890123456789012345678"},
        "fraction": {"N": "-0.00000000000000000000000000000000000012345678901234567890123456789012345678"},
        "huge": {"N": "99999999999999999999999999999999999999" + "0" * 88},
        "tiny": {"N": "1E-130"},
        "zero": {"N": "0"},
        "binary": {"B": b64encode(bytes(range(256))).decode()},
        "no-bytes": {"B": ""},
        "yes": {"BOOL": True},
        "no": {"BOOL": False},
        "null": {"NULL": True},
        "texts": {"SS": ["b", "a", "ä", "10", "9"]},
        "numbers": {"NS": ["10", "9", "-1.5", "12345678901234567890123456789012345678"]},
        "binaries": {"BS": [b64encode(each).decode() for each in (b"\x00", b"\xff\xfe", b"a")]},
        "list": {"L": [{"S": "a"}, {"N": "1"}, {"L": []}, {"M": {}}, {"NULL": True}, {"SS": ["x"]}]},
        "map": {"M": {"a.b": {"S": "dots"}, "n": {"N": "1.5"}}},
        "deep": deep,
    }
    return [
        {"pk": {"S": f"every#{name}"}, "sk": {"N": str(number)}, "status": {"S": "odd"}, name: value}
        for number, (name, value) in enumerate(values.items())
    ]


def orders(number: int, seed: int = 1) -> list[Item]:
    random_ = random.Random(seed)
    return [
        {
            "pk": {"S": f"customer-{each // 5}"},
            "sk": {"N": str(each)},
            "status": {"S": random_.choice(["open", "paid", "sent"])},
            "total": {"N": str(random_.randrange(100_000))},
            "note": {"S": "n" * random_.randrange(200)},
        }
        for each in range(number)
    ]


def fill(engine: Engine, table: str, items: Iterable[Item]) -> None:
    waiting: list[Item] = []
    for item in items:
        waiting.append(item)
        if len(waiting) == 25:
            _write(engine, table, waiting)
            waiting = []
    if waiting:
        _write(engine, table, waiting)


def _write(engine: Engine, table: str, items: list[Item]) -> None:
    requests = [{"PutRequest": {"Item": item}} for item in items]
    assert not engine.call("BatchWriteItem", {"RequestItems": {table: requests}})["UnprocessedItems"]


def items_of(engine: Engine, table: str) -> list[Item]:
    """All items, in an order of their own."""
    found: list[Item] = []
    body: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        response = engine.call("Scan", body)
        found += response["Items"]
        if "LastEvaluatedKey" not in response:
            return sorted(found, key=lambda item: str([item[name] for name in ("pk", "sk", "id") if name in item]))
        body["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def folder_items(folder: Path, table: str) -> list[Item]:
    with Engine.open(folder) as engine:
        return items_of(engine, table)


def data_folder(folder: Path, number: int = 300) -> Path:
    """A data folder with two tables."""
    with Engine.open(folder) as engine:
        engine.call("CreateTable", ORDERS)
        engine.call(
            "UpdateTimeToLive",
            {"TableName": "Orders", "TimeToLiveSpecification": {"AttributeName": "until", "Enabled": True}},
        )
        fill(engine, "Orders", orders(number))
        for item in every_type():
            engine.call("PutItem", {"TableName": "Orders", "Item": item})
        engine.call("CreateTable", USERS)
        fill(engine, "Users", [{"id": {"B": b64encode(bytes([each])).decode()}} for each in range(5)])
    return folder
