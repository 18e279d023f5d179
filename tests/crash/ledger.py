"""What a killed process had said, held against what it left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablewright.engine import Engine
from tests.crash.workload import FILLERS, GROUPS, WORKERS

Place = tuple[str, str]
# Versions grow from one life of the writer to the next.
LIFE = 1_000_000


class Ledger:
    """Knows of every item what was acknowledged and what was under way; over any number of crashes."""

    def __init__(self) -> None:
        self.acknowledged: dict[Place, int] = {}
        self.under_way: dict[Place, int] = {}
        self.seen: dict[Place, int] = {}
        self.counter = 0
        self.writes = 0
        self.problems: list[str] = []
        self._streams = {table: _Stream(table) for table in ("left", "right")}

    def note(self, line: str) -> None:
        kind, *words = line.split()
        if kind == "C":
            self.counter = max(self.counter, int(words[0]))
            self.writes += 1
        elif kind == "E":
            self.problems.append(line)
        else:
            place, version = (words[0], words[1]), int(words[2])
            if kind == "B":
                self.under_way[place] = version
            elif kind == "A":
                self.acknowledged[place] = version
                self.under_way.pop(place, None)
                self.writes += 1
            else:
                self.seen[place] = max(version, self.seen.get(place, 0))

    def check(self, engine: Engine) -> None:
        """Everything that must hold of a folder after a crash; then go on from what is there."""
        assert self.problems == []
        report = engine.verify()
        assert report.ok, report.problems
        items = {table: scan(engine, table) for table in ("left", "right")}
        self._check_items(items)
        self._check_pairs(items)
        for table, stream in self._streams.items():
            stream.check(engine, items[table])
        check_indexes(engine, items)

    def _check_items(self, items: dict[str, dict[str, Any]]) -> None:
        found = {
            (table, name): int(item["version"]["N"])
            for table, named in items.items()
            for name, item in named.items()
            if not name.startswith("filler") and name != "counter"
        }
        for place in self.acknowledged.keys() | self.under_way.keys() | found.keys():
            allowed = {self.acknowledged.get(place, 0), self.under_way.get(place)}
            if place[1].startswith("t"):
                allowed.add(0)
            assert found.get(place, 0) in allowed, f"{place} is at {found.get(place, 0)}, not in {allowed}"
            # What is there now has been seen, here.
            self.acknowledged[place] = found.get(place, 0)
        self.under_way.clear()
        for place, version in self.seen.items():
            assert found.get(place, 0) >= version, f"{place} was seen at {version}, is at {found.get(place)}"
        counter = int(items["right"]["counter"]["version"]["N"]) if "counter" in items["right"] else 0
        assert self.counter <= counter <= self.counter + WORKERS
        self.counter = counter
        fillers = sum(name.startswith("filler") for name in items["left"])
        assert fillers in (0, FILLERS) or not self.acknowledged

    @staticmethod
    def _check_pairs(items: dict[str, dict[str, Any]]) -> None:
        halves = {
            table: {name: item["version"] for name, item in named.items() if name.startswith("p")}
            for table, named in items.items()
        }
        assert halves["left"] == halves["right"], "a transaction is there by half"


class _Stream:
    """Follows a table's stream from crash to crash, as a consumer would."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._after: str | None = None
        self._images: dict[str, Any] = {}

    def check(self, engine: Engine, items: dict[str, Any]) -> None:
        """The last record of each item is the item."""
        self._read(engine)
        assert self._images == items

    def _read(self, engine: Engine) -> None:
        description = engine.call("DescribeTable", {"TableName": self._table})["Table"]
        arn = description["LatestStreamArn"]
        described = engine.call("DescribeStream", {"StreamArn": arn})
        (shard,) = described["StreamDescription"]["Shards"]
        request = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        if self._after is not None:
            request.update(ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=self._after)
        iterator = engine.call("GetShardIterator", request)["ShardIterator"]
        while records := (page := engine.call("GetRecords", {"ShardIterator": iterator}))["Records"]:
            for record in records:
                change = record["dynamodb"]
                name = change["Keys"]["pk"]["S"]
                there = name in self._images
                assert there == (record["eventName"] != "INSERT"), f"{record} does not follow"
                if "OldImage" in change:
                    assert change["OldImage"] == self._images[name]
                if record["eventName"] == "REMOVE":
                    del self._images[name]
                else:
                    self._images[name] = change["NewImage"]
                self._after = change["SequenceNumber"]
            iterator = page["NextShardIterator"]


def scan(engine: Engine, table: str, **request: Any) -> dict[str, Any]:
    """All items, by the name in their key."""
    items: dict[str, Any] = {}
    start: dict[str, Any] = {}
    while True:
        page = engine.call("Scan", {"TableName": table, **request, **start})
        items.update((item["pk"]["S"], item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return items
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def check_indexes(engine: Engine, items: dict[str, dict[str, Any]]) -> None:
    """Queries of the indexes give exactly what follows from the items."""
    for tint in GROUPS:
        expected = {
            name: item for name, item in items["left"].items() if item.get("tint") == {"S": tint} and "version" in item
        }
        found = query(engine, "left", "by-tint", "tint", tint)
        assert {item["pk"]["S"]: item for item in found} == expected
        order = [int(item["version"]["N"]) for item in found]
        assert order == sorted(order)
    # An index that was being added is filled by whoever opens the folder next.
    engine.sweep()
    table = engine.call("DescribeTable", {"TableName": "left"})["Table"]
    statuses = {index["IndexName"]: index["IndexStatus"] for index in table["GlobalSecondaryIndexes"]}
    assert statuses.get("extra", "ACTIVE") == "ACTIVE"
    now = scan(engine, "left")
    if "extra" in statuses:
        for tint in GROUPS:
            names = [item["pk"]["S"] for item in query(engine, "left", "extra", "tint", tint)]
            assert names == sorted(name for name, item in now.items() if item.get("tint") == {"S": tint})
    for name, item in items["right"].items():
        assert [found["version"] for found in query(engine, "right", "by-version", "pk", name)] == [item["version"]]
    report = engine.verify()
    assert report.ok, report.problems


def query(engine: Engine, table: str, index: str, attribute: str, value: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        request = {
            "TableName": table,
            "IndexName": index,
            "KeyConditionExpression": f"{attribute} = :v",
            "ExpressionAttributeValues": {":v": {"S": value}},
        }
        page = engine.call("Query", {**request, **start})
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def check_folder(folder: Path, ledger: Ledger) -> None:
    """Open a folder that a killed process left, and compare it with what that process said."""
    with Engine.open(folder) as engine:
        # Items that have expired must not go away between one look and the next.
        engine._background.stop()
        if {"left", "right"} <= set(engine.call("ListTables", {})["TableNames"]):
            ledger.check(engine)
        else:
            assert not ledger.acknowledged
            assert engine.verify().ok
