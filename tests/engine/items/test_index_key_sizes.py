"""What is too large for the key of an index is refused on every way to write, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablewright.dynamo import DynamoError, TransactionCanceledException
from tests.engine.table_client import TableClient

Item = dict[str, dict[str, Any]]
A = {"S": "a"}
HASH_TOO_LARGE = (
    "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
)
RANGE_TOO_LARGE = (
    "One or more parameter values were invalid: "
    "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)
TOGETHER = "Aggregate size for {} key attributes {} of index {} has exceeded limit {} bytes, with actual size {} bytes"


def _update(item: Item) -> dict[str, Any]:
    changed = {name: value for name, value in item.items() if name != "pk"}
    return {
        "Key": {"pk": item["pk"]},
        "UpdateExpression": "SET " + ", ".join(f"{name} = :{name}" for name in changed),
        "ExpressionAttributeValues": {f":{name}": value for name, value in changed.items()},
    }


WRITES: dict[str, Callable[[TableClient, Item], DynamoError]] = {
    "PutItem": lambda db, item: db.error("PutItem", Item=item),
    "UpdateItem": lambda db, item: db.error("UpdateItem", **_update(item)),
    "AttributeUpdates": lambda db, item: db.error(
        "UpdateItem",
        Key={"pk": item["pk"]},
        AttributeUpdates={name: {"Value": value} for name, value in item.items() if name != "pk"},
    ),
    "BatchWriteItem": lambda db, item: db.error(
        "BatchWriteItem", RequestItems={"table": [{"PutRequest": {"Item": item}}]}
    ),
    "transaction, put": lambda db, item: db.error(
        "TransactWriteItems", TransactItems=[{"Put": {"TableName": "table", "Item": item}}]
    ),
    "transaction, update": lambda db, item: db.error(
        "TransactWriteItems", TransactItems=[{"Update": {"TableName": "table", **_update(item)}}]
    ),
    "PartiQL": lambda db, item: db.error(
        "ExecuteStatement",
        Statement=f'INSERT INTO "table" VALUE {{{", ".join(f"{name!r}: ?" for name in item)}}}',
        Parameters=list(item.values()),
    ),
}


UPDATES = ("UpdateItem", "AttributeUpdates", "transaction, update")


def text(size: int) -> dict[str, str]:
    return {"S": "x" * size}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({"h": text(2049)}, HASH_TOO_LARGE),
        ({"r": text(1025)}, RANGE_TOO_LARGE),
        ({"h": {"S": "é" * 1025}}, HASH_TOO_LARGE),
        ({"a": text(2049), "b": A}, HASH_TOO_LARGE),
        ({"a": text(1500), "b": text(549)}, TOGETHER.format("HASH", "a, b", "multi", 2048, 2049)),
        ({"c": text(1023), "d": {"N": "10"}}, TOGETHER.format("RANGE", "c, d", "multi", 1024, 1025)),
        ({"a": {"S": "é" * 256}, "b": {"S": "é" * 1000}}, TOGETHER.format("HASH", "a, b", "multi", 2048, 2512)),
    ],
    ids=["hash", "range", "bytes", "one of two", "hash together", "range together", "bytes together"],
)
def test_an_index_key_that_is_too_large_is_refused(db: TableClient, write: str, attributes: Item, problem: str) -> None:
    db.create(global_indexes={"plain": "h, r", "multi": "a+b, c+d"}, d="N")
    error = WRITES[write](db, {"pk": A, **attributes})
    if write in UPDATES:
        problem = "The update expression attempted to update the secondary index key beyond allowed size limits"
    if isinstance(error, TransactionCanceledException):
        assert error.extra["CancellationReasons"] == [{"Code": "ValidationError", "Message": problem}]
    else:
        assert (error.code, error.message) == ("ValidationException", problem)
    assert db("Scan")["Count"] == 0


def test_keys_of_the_largest_size_are_in_the_index(db: TableClient) -> None:
    db.create(global_indexes={"plain": "h, r", "multi": "a+b, c+d"}, d="N")
    largest = {"h": text(2048), "r": text(1024), "a": text(1500), "b": text(548), "c": text(1022), "d": {"N": "10"}}
    db.put(pk=A, **largest)
    assert [db("Scan", IndexName=index)["Count"] for index in ("plain", "multi")] == [1, 1]


def test_an_item_older_than_the_index_may_be_too_large_for_it(db: TableClient) -> None:
    db.create()
    large = {"pk": A, "a": text(1500), "b": text(1500)}
    db.put(**large)
    db(
        "UpdateTable",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "a", "b")],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "multi",
                    "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in ("a", "b")],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    db.engine.sweep()
    assert db("Scan", IndexName="multi")["Count"] == 0
    # It can be changed elsewhere, and not to a key that is too large again.
    db("UpdateItem", Key={"pk": A}, **{k: v for k, v in _update({"pk": A, "v": A}).items() if k != "Key"})
    assert db.refusal("PutItem", Item=large) == TOGETHER.format("HASH", "a, b", "multi", 2048, 3000)
    assert db.engine.verify().ok
