"""A small data folder with a record of every kind, what can be read from it, and bytes that change."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablewright.dynamo import DynamoError, InternalServerError
from tablewright.engine import Engine, StorageError
from tests.clocks import Clock
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, attributes, index, key, on_demand

DATABASE = "tablewright.db"
LOG = "tablewright.db-wal"
TABLE = "things"
KEYS = [{"pk": {"S": f"partition-{number % 4}"}, "sk": {"N": str(number)}} for number in range(40)]


def make_folder(folder: Path, clock: Clock) -> None:
    """Fill a folder with a record of every kind, and close it."""
    with Engine.open(folder, clock=clock) as engine:
        engine._background.stop()
        fill(engine, clock)


def fill(engine: Engine, clock: Clock) -> None:
    call = engine.call
    call(
        "CreateTable",
        on_demand(
            TableName=TABLE,
            AttributeDefinitions=attributes("pk", "sk:N", "kind"),
            KeySchema=key("pk", "sk"),
            GlobalSecondaryIndexes=[index("by-kind", "kind", "pk")],
            StreamSpecification=NEW_AND_OLD_IMAGES,
        ),
    )
    call("CreateTable", on_demand(TableName="plain"))
    for name in (TABLE, "plain"):
        recovery = {"PointInTimeRecoveryEnabled": True}
        call("UpdateContinuousBackups", {"TableName": name, "PointInTimeRecoverySpecification": recovery})
    expiry = {"AttributeName": "expires", "Enabled": True}
    call("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": expiry})
    for number, primary in enumerate(KEYS):
        text = "long " * 1500 if number == 7 else f"text {number} " * 4
        item = {
            **primary,
            "kind": {"S": f"kind-{number % 3}"},
            "text": {"S": text},
            "expires": {"N": str(int(clock()) + 86_400 + number)},
        }
        call("PutItem", {"TableName": TABLE, "Item": item})
        call("PutItem", {"TableName": "plain", "Item": {"pk": {"S": f"plain-{number}"}, "text": {"S": text}}})
    clock.now += 10
    for number, primary in enumerate(KEYS[::5]):
        update = {"UpdateExpression": "SET #t = :t", "ExpressionAttributeNames": {"#t": "text"}}
        value = {":t": {"S": f"updated {number}"}}
        call("UpdateItem", {"TableName": TABLE, "Key": primary, **update, "ExpressionAttributeValues": value})
    put = {"Put": {"TableName": "plain", "Item": {"pk": {"S": "transaction"}}}}
    call("TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": "a-token"})
    call("CreateBackup", {"TableName": TABLE, "BackupName": "backup"})


@dataclass(slots=True)
class Seen:
    """What a client gets to see: responses, and the requests that were refused because of damage."""

    responses: dict[str, Any] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def differs_from(self, truth: Seen) -> list[str]:
        """The requests with another response than before."""
        return [name for name, response in self.responses.items() if response != truth.responses[name]]


def look(engine: Engine, clock: Clock) -> Seen:
    """Ask for everything that the folder has."""
    seen = Seen()

    def ask(name: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        try:
            response = engine.call(operation, request)
        except InternalServerError:
            seen.refused.append(name)
            return {}
        except DynamoError as error:
            response = {"error": str(error)}
        seen.responses[name] = response
        return response

    for number, primary in enumerate(KEYS):
        ask(f"get {number}", "GetItem", {"TableName": TABLE, "Key": primary})
        ask(f"get plain {number}", "GetItem", {"TableName": "plain", "Key": {"pk": {"S": f"plain-{number}"}}})
    for name in (TABLE, "plain"):
        ask(f"scan {name}", "Scan", {"TableName": name})
        ask(f"describe {name}", "DescribeTable", {"TableName": name})
    for number in range(4):
        ask(f"query {number}", "Query", {"TableName": TABLE, **equals("pk", f"partition-{number}")})
    for number in range(3):
        by_kind = {"TableName": TABLE, "IndexName": "by-kind", **equals("kind", f"kind-{number}")}
        ask(f"index {number}", "Query", by_kind)
    for stream in ask("streams", "ListStreams", {}).get("Streams", ()):
        arn = stream["StreamArn"]
        description = ask("stream", "DescribeStream", {"StreamArn": arn}).get("StreamDescription", {})
        for shard in description.get("Shards", ()):
            start = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = ask("iterator", "GetShardIterator", start).get("ShardIterator")
            if iterator is not None:
                ask("records", "GetRecords", {"ShardIterator": iterator}).pop("NextShardIterator", None)
    for backup in ask("backups", "ListBackups", {}).get("BackupSummaries", ()):
        restore = {"BackupArn": backup["BackupArn"], "TargetTableName": "from-backup"}
        if "TableDescription" in ask("restore", "RestoreTableFromBackup", restore):
            seen.responses["restore"] = None
            ask("restored", "Scan", {"TableName": "from-backup"})
    earlier = {"SourceTableName": TABLE, "TargetTableName": "earlier", "RestoreDateTime": clock() - 5}
    if "TableDescription" in ask("recover", "RestoreTableToPointInTime", earlier):
        seen.responses["recover"] = None
        ask("recovered", "Scan", {"TableName": "earlier"})
    put = {"Put": {"TableName": "plain", "Item": {"pk": {"S": "transaction"}}}}
    ask("token", "TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": "a-token"})
    return seen


def equals(name: str, value: str) -> dict[str, Any]:
    return {
        "KeyConditionExpression": "#n = :v",
        "ExpressionAttributeNames": {"#n": name},
        "ExpressionAttributeValues": {":v": {"S": value}},
    }


def flip(file: Path, place: int, bits: int = 0x01) -> None:
    """Change one byte of a file."""
    with open(file, "r+b") as opened:
        opened.seek(place)
        (byte,) = opened.read(1)
        opened.seek(place)
        opened.write(bytes([byte ^ bits]))


@dataclass(slots=True)
class Outcome:
    """What became of a folder: whether it was opened, what verify said of it, what a client saw."""

    refusal: str | None = None
    problems: list[str] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)


def outcome(folder: Path, clock: Clock) -> Outcome:
    try:
        with Engine.open(folder, clock=clock) as engine:
            engine._background.stop()
            result = Outcome(problems=engine.verify().problems)
            result.seen = look(engine, clock)
            return result
    except StorageError as error:
        return Outcome(refusal=str(error))


@contextmanager
def copied(folder: Path, to: Path) -> Iterator[Path]:
    shutil.copytree(folder, to)
    try:
        yield to
    finally:
        shutil.rmtree(to)


@contextmanager
def quiet() -> Iterator[None]:
    """Without what a thousand damaged records have to say in the log."""
    logger = logging.getLogger("tablewright.engine")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
