"""A metered engine notes what every request consumed, to the unit, and answers as if it did not."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import METER_VARIABLE, DynamoError, Engine

A, B, C = {"S": "a"}, {"S": "b"}, {"S": "c"}

TABLE: dict[str, Any] = {
    "TableName": "table",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "g", "l")],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
}


def key(sk: str = "1", pk: str = "a") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def put(sk: str, **more: Any) -> dict[str, Any]:
    return {"TableName": "table", "Item": {**key(sk), **more}}


OF_A = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": A}}

TRANSACTION: tuple[str, dict[str, Any]] = (
    "TransactWriteItems",
    {
        "TransactItems": [
            {"Put": put("4", l=B)},
            {
                "ConditionCheck": {
                    "TableName": "table",
                    "Key": key("1"),
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ],
        "ClientRequestToken": "token",
    },
)

# Something of every operation that consumes capacity.
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", put("1", g=A, l=A)),
    ("PutItem", put("2", g=B, v={"S": "x" * 5000})),
    ("PutItem", put("1", g=B, l=A)),
    ("GetItem", {"TableName": "table", "Key": key("2")}),
    ("GetItem", {"TableName": "table", "Key": key("9"), "ConsistentRead": True}),
    (
        "UpdateItem",
        {
            "TableName": "table",
            "Key": key("1"),
            "UpdateExpression": "SET g = :g, w = :g",
            "ExpressionAttributeValues": {":g": C},
        },
    ),
    ("Query", {"TableName": "table", **OF_A}),
    ("Query", {"TableName": "table", "IndexName": "local", "Select": "ALL_ATTRIBUTES", **OF_A}),
    (
        "Query",
        {
            "TableName": "table",
            "IndexName": "global",
            "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": C},
        },
    ),
    ("Scan", {"TableName": "table", "ConsistentRead": True}),
    ("BatchGetItem", {"RequestItems": {"table": {"Keys": [key("1"), key("2"), key("7")]}}}),
    (
        "BatchWriteItem",
        {
            "RequestItems": {
                "table": [{"PutRequest": {"Item": {**key("3"), "g": A}}}, {"DeleteRequest": {"Key": key("2")}}]
            }
        },
    ),
    TRANSACTION,
    TRANSACTION,  # again, with the same token
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "table", "Key": key("4")}}]}),
    ("ExecuteStatement", {"Statement": "SELECT * FROM \"table\" WHERE pk = 'a'"}),
    ("ExecuteStatement", {"Statement": "INSERT INTO \"table\" VALUE {'pk': 'a', 'sk': '5', 'g': 'z'}"}),
    (
        "BatchExecuteStatement",
        {
            "Statements": [
                {"Statement": "INSERT INTO \"table\" VALUE {'pk': 'a', 'sk': '5'}"},
                {"Statement": "INSERT INTO \"table\" VALUE {'pk': 'a', 'sk': '6'}"},
            ]
        },
    ),
    (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": "DELETE FROM \"table\" WHERE pk = 'a' AND sk = '6'"}]},
    ),
    ("DeleteItem", {"TableName": "table", "Key": key("1")}),
    ("DeleteItem", {"TableName": "table", "Key": key("1")}),
]


class Ledger:
    """What a metered engine noted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        return self.lines[-1]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setenv(METER_VARIABLE, str(tmp_path / "run.jsonl"))
    return Ledger(tmp_path / "run.jsonl")


@pytest.fixture
def metered(ledger: Ledger) -> Iterator[Engine]:
    with Engine.open() as engine:
        engine.call("CreateTable", TABLE)
        yield engine


@pytest.fixture
def plain(metered: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.delenv(METER_VARIABLE)
    with Engine.open() as engine:
        engine.call("CreateTable", TABLE)
        yield engine


def places(figures: dict[str, Any]) -> Counter[tuple[str, str | None]]:
    """Units of a ConsumedCapacity by table and index."""
    found: Counter[tuple[str, str | None]] = Counter({(figures["TableName"], None): figures["Table"]["CapacityUnits"]})
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for name, units in figures.get(member, {}).items():
            found[figures["TableName"], name] = units["CapacityUnits"]
    # A batch has what failed in its sum alone.
    found[figures["TableName"], None] += figures["CapacityUnits"] - sum(found.values())
    return +found


@pytest.mark.requirement("X5")
def test_charges_are_exactly_what_is_consumed_and_answers_stay_the_same(
    ledger: Ledger, metered: Engine, plain: Engine
) -> None:
    for operation, request in REQUESTS:
        told = plain.call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"})
        consumed = told.pop("ConsumedCapacity", [])
        assert metered.call(operation, request) == told
        expected: Counter[tuple[str, str | None]] = Counter()
        for figures in [consumed] if isinstance(consumed, dict) else consumed:
            expected += places(figures)
        noted: Counter[tuple[str, str | None]] = Counter()
        for table, index, _, _, units in ledger.last["charges"]:
            noted[table, index] += units
        assert noted == expected, operation
        assert ledger.last["operation"] == operation
    assert len(ledger.lines) == len(REQUESTS)


@pytest.mark.parametrize("mode", ["NONE", "TOTAL", "INDEXES"])
def test_a_caller_who_asks_gets_what_it_asked_for(metered: Engine, plain: Engine, mode: str) -> None:
    for operation, request in REQUESTS:
        asked = {**request, "ReturnConsumedCapacity": mode}
        assert metered.call(operation, asked) == plain.call(operation, asked)


def test_a_charge_names_the_partition_key_of_its_table_or_index(ledger: Ledger, metered: Engine) -> None:
    metered.call("PutItem", put("1", g=A, l=B))
    assert ledger.last["charges"] == [
        ["table", None, "write", "a", 1.0],
        ["table", "global", "write", "a", 1.0],
        ["table", "local", "write", "a", 1.0],
    ]
    metered.call("PutItem", put("1", g=B))
    # An entry that moves leaves one key and comes to another.
    assert ledger.last["charges"] == [
        ["table", None, "write", "a", 1.0],
        ["table", "global", "write", "a", 1.0],
        ["table", "global", "write", "b", 1.0],
        ["table", "local", "write", "a", 1.0],
    ]
    metered.call("Query", {"TableName": "table", **OF_A})
    assert ledger.last["charges"] == [["table", None, "read", "a", 0.5]]
    metered.call("Scan", {"TableName": "table"})
    assert ledger.last["charges"] == [["table", None, "read", None, 0.5]]


def test_a_transaction_that_is_sent_again_reads(ledger: Ledger, metered: Engine) -> None:
    request = {"TransactItems": [{"Put": put("1")}], "ClientRequestToken": "again"}
    for expected in ("write", "read"):
        metered.call("TransactWriteItems", request)
        assert [charge[2] for charge in ledger.last["charges"]] == [expected]


@pytest.mark.parametrize(
    ("operation", "request_", "code", "units"),
    [
        (
            "PutItem",
            {**put("1", v={"S": "y" * 3000}), "ConditionExpression": "attribute_not_exists(pk)"},
            "ConditionalCheckFailedException",
            3.0,
        ),
        (
            "UpdateItem",
            {
                "TableName": "table",
                "Key": key("1"),
                "UpdateExpression": "REMOVE v",
                "ConditionExpression": "attribute_not_exists(pk)",
            },
            "ConditionalCheckFailedException",
            2.0,
        ),
        (
            "DeleteItem",
            {"TableName": "table", "Key": key("9"), "ConditionExpression": "attribute_exists(pk)"},
            "ConditionalCheckFailedException",
            1.0,
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {**put("1"), "ConditionExpression": "attribute_not_exists(pk)"}},
                    {"Put": put("8")},
                ]
            },
            "TransactionCanceledException",
            6.0,
        ),
        (
            "ExecuteStatement",
            {"Statement": "INSERT INTO \"table\" VALUE {'pk': 'a', 'sk': '1'}"},
            "DuplicateItemException",
            2.0,
        ),
    ],
)
def test_a_write_whose_condition_fails_is_charged(
    ledger: Ledger, metered: Engine, operation: str, request_: dict[str, Any], code: str, units: float
) -> None:
    metered.call("PutItem", put("1", v={"S": "x" * 2000}))
    with pytest.raises(DynamoError) as refusal:
        metered.call(operation, request_)
    assert refusal.value.code == ledger.last["refused"] == code
    assert sum(charge[4] for charge in ledger.last["charges"]) == units


def test_a_request_that_is_wrong_consumes_nothing(ledger: Ledger, metered: Engine) -> None:
    with pytest.raises(DynamoError):
        metered.call("GetItem", {"TableName": "table", "Key": {"pk": A}})
    assert not ledger.path.read_text()


def test_reading_a_stream_is_counted(ledger: Ledger, metered: Engine) -> None:
    arn = metered.call("DescribeTable", {"TableName": "table"})["Table"]["LatestStreamArn"]
    (shard,) = metered.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    iterator = metered.call(
        "GetShardIterator",
        {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"},
    )["ShardIterator"]
    metered.call("GetRecords", {"ShardIterator": iterator})
    assert [(line["operation"], line["charges"]) for line in ledger.lines] == [("GetRecords", [])]


def test_the_pattern_that_is_served_is_noted(ledger: Ledger, metered: Engine) -> None:
    metered.call("PutItem", put("1"), pattern="Thing.create")
    metered.call("PutItem", put("1"))
    assert [line["pattern"] for line in ledger.lines] == ["Thing.create", ""]


def test_many_threads_and_engines_share_a_file(ledger: Ledger, metered: Engine) -> None:
    with Engine.open() as other:
        other.call("CreateTable", TABLE)

        def work(engine: Engine, name: str) -> None:
            for number in range(50):
                engine.call("PutItem", put(f"{name}-{number}"))

        threads = [
            threading.Thread(target=work, args=(engine, f"{number}"))
            for number in range(4)
            for engine in (metered, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(ledger.lines) == 400


def test_nothing_is_noted_unless_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(METER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    with Engine.open() as engine:
        engine.call("CreateTable", TABLE)
        engine.call("PutItem", put("1"))
    assert list(tmp_path.iterdir()) == []
