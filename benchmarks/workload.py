"""The data and the requests that all targets get: one table of orders, items of about 500 bytes."""

import random
from collections.abc import Iterator
from typing import Any

TABLE = "Orders"
INDEX = "ByGroup"
PER_PARTITION = 10
BATCH = 25
TRANSACTION = 100

Json = dict[str, Any]


def create_table(*, index: bool) -> Json:
    attributes = ["pk", "sk", *(["gk"] if index else [])]
    request: Json = {
        "TableName": TABLE,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if index:
        request["GlobalSecondaryIndexes"] = [
            {
                "IndexName": INDEX,
                "KeySchema": [
                    {"AttributeName": "gk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    return request


def key(n: int) -> Json:
    """The key of item `n`: ten consecutive items share a partition."""
    return {
        "pk": {"S": f"customer-{n // PER_PARTITION:06}"},
        "sk": {"S": f"2026-03-{n % PER_PARTITION + 1:02}#{n:07}"},
    }


def item(n: int, revision: int = 0) -> Json:
    return {
        **key(n),
        "gk": {"S": group(n)},
        "status": {"S": "shipped"},
        "total": {"N": f"{n % 1000}.25"},
        "revision": {"N": str(revision)},
        "gift": {"BOOL": False},
        "address": {"M": {"street": {"S": "12 Long Lane"}, "city": {"S": "Springfield"}, "zip": {"S": "01101"}}},
        "lines": {"L": [{"M": {"sku": {"S": f"SKU-{n % 97:04}"}, "count": {"N": "2"}}}]},
        "note": {"S": "leave it with the neighbours " * 7},
    }


def group(n: int) -> str:
    """The index partition of item `n`; as in the table, ten items share one, but ten that lie apart."""
    return f"group-{n // 1000}-{n % 100}"


def batches(count: int) -> Iterator[Json]:
    """BatchWriteItem requests that write items 0 to `count`."""
    for start in range(0, count, BATCH):
        puts = [{"PutRequest": {"Item": item(n)}} for n in range(start, min(start + BATCH, count))]
        yield {"RequestItems": {TABLE: puts}}


def transactions(count: int) -> Iterator[Json]:
    """TransactWriteItems requests that write the same."""
    for start in range(0, count, TRANSACTION):
        puts = [{"Put": put(n, 0)} for n in range(start, min(start + TRANSACTION, count))]
        yield {"TransactItems": puts}


def get(n: int, _: int) -> Json:
    return {"TableName": TABLE, "Key": key(n)}


def put(n: int, revision: int) -> Json:
    return {"TableName": TABLE, "Item": item(n, revision)}


def update(n: int, _: int) -> Json:
    return {
        "TableName": TABLE,
        "Key": key(n),
        "UpdateExpression": "SET #s = :s, revision = revision + :one",
        "ExpressionAttributeNames": {"#s": "status"},
        "ExpressionAttributeValues": {":s": {"S": "delivered"}, ":one": {"N": "1"}},
    }


def query(n: int, _: int) -> Json:
    """All ten items of item `n`'s partition."""
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": key(n)["pk"]},
    }


def query_index(n: int, _: int) -> Json:
    """All ten items of item `n`'s group."""
    return {
        "TableName": TABLE,
        "IndexName": INDEX,
        "KeyConditionExpression": "gk = :gk",
        "ExpressionAttributeValues": {":gk": {"S": group(n)}},
    }


def transact(n: int, revision: int) -> Json:
    """Two puts into two partitions."""
    pair = (n, n + PER_PARTITION)
    return {"TransactItems": [{"Put": {"TableName": TABLE, "Item": item(each, revision)}} for each in pair]}


OPERATIONS = {
    "get": ("GetItem", get),
    "put": ("PutItem", put),
    "update": ("UpdateItem", update),
    "query": ("Query", query),
    "query on GSI": ("Query", query_index),
    "transact": ("TransactWriteItems", transact),
}


def cycle(operation: str, numbers: range, count: int, seed: int) -> tuple[str, list[Json]]:
    """The operation's name, and requests for `count` of the items, or for all, to be sent over and over.

    Each item comes twice, with different content, so that no write of the cycle leaves its item as it was.
    """
    name, make = OPERATIONS[operation]
    chosen = random.Random(seed).sample(numbers, min(count, len(numbers)))
    return name, [make(n, revision) for revision, n in enumerate([*chosen, *chosen], 1)]
