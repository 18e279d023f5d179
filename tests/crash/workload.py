"""Mixed writes by several workers, each of which tells what it is about to do and what was acknowledged.

Every item carries a version that only ever grows, and belongs to one worker, which has one operation under way
at a time. So whoever listens knows of each item exactly which two states it can be in: the last that was
acknowledged, and the one that was under way.

    B left w1-3 5000017      about to make this the item's version (0: about to delete it)
    A left w1-3 5000017      done, acknowledged
    C 812                    the shared counter was acknowledged at this value
    S left p1-0 5000009      a reader saw this version
    E ...                    something is wrong already

Items named ``t...`` are written as expired long ago: they may be gone at any moment after that.
Items named ``p...`` are in both tables, written by transactions only, always with the same version.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

# An operation and its request, to its response; raises ``Gone`` when there is nobody to answer any more.
Call = Callable[[str, dict[str, Any]], dict[str, Any]]
Tell = Callable[[str], None]

GROUPS = ("red", "green", "blue", "grey")
FILLERS = 150
ITEMS = 6
WORKERS = 4
EXPIRED = 3600

_TABLES: tuple[dict[str, Any], ...] = (
    {
        "TableName": "left",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "tint", "AttributeType": "S"},
            {"AttributeName": "version", "AttributeType": "N"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-tint",
                "KeySchema": [
                    {"AttributeName": "tint", "KeyType": "HASH"},
                    {"AttributeName": "version", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    },
    {
        "TableName": "right",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "version", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "by-version",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "version", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    },
)
_EXTRA_INDEX = {
    "IndexName": "extra",
    "KeySchema": [
        {"AttributeName": "tint", "KeyType": "HASH"},
        {"AttributeName": "pk", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}


class Gone(Exception):
    """Whoever answers the calls was killed."""


def prepare(call: Call) -> None:
    """Make the tables, with items that nobody touches, unless an earlier round has."""
    existing = call("ListTables", {})["TableNames"]
    for table in _TABLES:
        if table["TableName"] not in existing:
            call("CreateTable", table)
    expiry = call("DescribeTimeToLive", {"TableName": "left"})["TimeToLiveDescription"]
    if expiry["TimeToLiveStatus"] == "DISABLED":
        specification = {"AttributeName": "expires", "Enabled": True}
        call("UpdateTimeToLive", {"TableName": "left", "TimeToLiveSpecification": specification})
    for start in range(0, FILLERS, 25):
        fillers = [
            {"PutRequest": {"Item": {"pk": {"S": f"filler {number}"}, "tint": {"S": GROUPS[number % 4]}}}}
            for number in range(start, start + 25)
        ]
        call("BatchWriteItem", {"RequestItems": {"left": fillers}})


def key(table: str, name: str) -> dict[str, Any]:
    return {"pk": {"S": name}} if table == "left" else {"pk": {"S": name}, "sk": {"N": "0"}}


class Worker:
    """Writes to items of its own until it is killed, or who answers it is."""

    def __init__(self, call: Call, tell: Tell, number: int, first_version: int, seed: int) -> None:
        self._call = call
        self._tell = tell
        self._number = number
        self._version = first_version
        self._random = random.Random(seed * 1000 + number)
        self._current: dict[str, int] = {}
        self._steps: list[Callable[[], None]] = [
            self._put,
            self._update,
            self._claim,
            self._delete,
            self._batch,
            self._transact,
            self._transact,
            self._put_expired,
            self._count,
        ]

    def run(self) -> None:
        for prefix in "wp":
            for number in range(ITEMS):
                name = f"{prefix}{self._number}-{number}"
                item = self._call("GetItem", {"TableName": "left", "Key": key("left", name)}).get("Item")
                self._current[name] = 0 if item is None else int(item["version"]["N"])
        while True:
            self._version += 1
            self._random.choice(self._steps)()

    def _name(self, prefix: str) -> str:
        return f"{prefix}{self._number}-{self._random.randrange(ITEMS)}"

    def _item(self, table: str, name: str) -> dict[str, Any]:
        item = {
            **key(table, name),
            "version": {"N": str(self._version)},
            "text": {"S": "x" * self._random.randrange(1500)},
        }
        if table == "left" and self._random.random() < 0.8:
            item["tint"] = {"S": self._random.choice(GROUPS)}
        return item

    def _do(self, operation: str, request: dict[str, Any], *places: tuple[str, str], version: int) -> None:
        """One operation between the announcement and the acknowledgement."""
        told = "".join(f"B {table} {name} {version}\n" for table, name in places)
        self._tell(told)
        self._call(operation, request)
        self._tell(told.replace("B ", "A "))
        for _, name in places:
            self._current[name] = version

    def _put(self) -> None:
        name = self._name("w")
        request = {"TableName": "left", "Item": self._item("left", name)}
        self._do("PutItem", request, ("left", name), version=self._version)

    def _update(self) -> None:
        name = self._name("w")
        request = {
            "TableName": "left",
            "Key": key("left", name),
            "UpdateExpression": "SET version = :v, tint = :t ADD updates :one REMOVE notes",
            "ExpressionAttributeValues": {
                ":v": {"N": str(self._version)},
                ":t": {"S": self._random.choice(GROUPS)},
                ":one": {"N": "1"},
            },
        }
        self._do("UpdateItem", request, ("left", name), version=self._version)

    def _claim(self) -> None:
        """A put on the condition that the item is as it was left."""
        name = self._name("w")
        request = {"TableName": "left", "Item": self._item("left", name), **self._unchanged(name)}
        self._do("PutItem", request, ("left", name), version=self._version)

    def _unchanged(self, name: str) -> dict[str, Any]:
        before = self._current[name]
        if not before:
            return {"ConditionExpression": "attribute_not_exists(pk)"}
        return {
            "ConditionExpression": "version = :before",
            "ExpressionAttributeValues": {":before": {"N": str(before)}},
        }

    def _delete(self) -> None:
        name = self._name("w")
        request = {"TableName": "left", "Key": key("left", name)}
        self._do("DeleteItem", request, ("left", name), version=0)

    def _batch(self) -> None:
        names = [f"w{self._number}-{number}" for number in self._random.sample(range(ITEMS), 3)]
        writes = [{"PutRequest": {"Item": self._item("left", name)}} for name in names]
        request = {"RequestItems": {"left": writes}}
        self._do("BatchWriteItem", request, *[("left", name) for name in names], version=self._version)

    def _transact(self) -> None:
        """Both halves of a pair: put, or (every other pair) deleted."""
        number = self._random.randrange(ITEMS)
        name = f"p{self._number}-{number}"
        places = [("left", name), ("right", name)]
        delete = number % 2 == 1 and self._random.random() < 0.3
        request: dict[str, Any] = {
            "TransactItems": [
                {
                    "Delete" if delete else "Put": {
                        "TableName": table,
                        **({"Key": key(table, name)} if delete else {"Item": self._item(table, name)}),
                        **self._unchanged(name),
                    }
                }
                for table, _ in places
            ]
        }
        if self._random.random() < 0.3:
            request["ClientRequestToken"] = f"{self._number} {self._version}"
        self._do("TransactWriteItems", request, *places, version=0 if delete else self._version)

    def _put_expired(self) -> None:
        name = self._name("t")
        item = {**self._item("left", name), "expires": {"N": str(int(time.time()) - EXPIRED)}}
        self._do("PutItem", {"TableName": "left", "Item": item}, ("left", name), version=self._version)

    def _count(self) -> None:
        request = {
            "TableName": "right",
            "Key": key("right", "counter"),
            "UpdateExpression": "ADD version :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        }
        response = self._call("UpdateItem", request)
        self._tell(f"C {response['Attributes']['version']['N']}\n")


def read(call: Call, tell: Tell, seed: int) -> None:
    """Read pairs that are never deleted, and tell what was seen."""
    choices = random.Random(seed)
    while True:
        name = f"p{choices.randrange(WORKERS)}-{choices.randrange(0, ITEMS, 2)}"
        gets = [{"Get": {"TableName": table, "Key": key(table, name)}} for table in ("left", "right")]
        seen = [
            int(response["Item"]["version"]["N"]) if "Item" in response else 0
            for response in call("TransactGetItems", {"TransactItems": gets})["Responses"]
        ]
        if seen[0] != seen[1]:
            tell(f"E {name} was seen half written: {seen}\n")
        tell(f"S left {name} {seen[0]}\n")


def change_indexes(call: Call) -> None:
    """Add an index, wait until it is filled, drop it, and so on."""
    while True:
        description = call("DescribeTable", {"TableName": "left"})["Table"]
        statuses = {index["IndexName"]: index["IndexStatus"] for index in description["GlobalSecondaryIndexes"]}
        change: dict[str, Any] = {}
        if "extra" not in statuses:
            change = {"Create": _EXTRA_INDEX}
        elif statuses["extra"] == "ACTIVE":
            change = {"Delete": {"IndexName": "extra"}}
        if change:
            call(
                "UpdateTable",
                {
                    "TableName": "left",
                    "AttributeDefinitions": _TABLES[0]["AttributeDefinitions"],
                    "GlobalSecondaryIndexUpdates": [change],
                },
            )
        time.sleep(0.005)


def start(call: Call, tell: Tell, first_version: int, seed: int) -> list[threading.Thread]:
    """Everybody at once; a thread that fails says so."""
    jobs: list[Callable[[], None]] = [Worker(call, tell, number, first_version, seed).run for number in range(WORKERS)]
    jobs.append(lambda: read(call, tell, seed))
    jobs.append(lambda: change_indexes(call))

    def watched(job: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                job()
            except Gone:
                pass
            except Exception as error:
                tell(f"E {error!r}\n")

        return run

    threads = [threading.Thread(target=watched(job), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    return threads
