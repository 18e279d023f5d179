"""The process that is killed: writes with recovery on, backups and restores, on an engine of its own.

Step n of the writing is one transaction at second n of the engine's clock, and always the same one. So the table has
one possible state for each n, and whoever comes later can tell what a backup or a restored table has to hold.

    A 17             step 17 was acknowledged
    K 17 arn         the backup at-17 was acknowledged
    F arn            about to delete that backup
    R restored-17    the table of that name, with the state of step 17, was acknowledged
    D restored-17    about to delete that table

python -m tests.crash.backup_writer FOLDER SEED
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

from tablewright.engine import Engine
from tablewright.engine.tables import index_backfill
from tests.clocks import Clock

START = 1_800_000_000.0
ITEMS = 7
FILLERS = 60

TABLE: dict[str, Any] = {
    "TableName": "things",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "tint", "AttributeType": "S"},
        {"AttributeName": "step", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-tint",
            "KeySchema": [{"AttributeName": "tint", "KeyType": "HASH"}, {"AttributeName": "step", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-step",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "step", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}, "sk": {"S": "-"}}


def item(name: str, step: int) -> dict[str, Any]:
    made = {**key(name), "step": {"N": str(step)}, "text": {"S": "x" * (step * 37 % 900)}}
    if step % 3:
        made["tint"] = {"S": ("red", "blue")[step % 2]}
    return made


def writes(step: int) -> tuple[list[str], str]:
    """The items that a step puts, and the one that it deletes."""
    return [f"item {step % ITEMS}", f"item {step * 3 % ITEMS + ITEMS}", "last"], f"item {(step + 3) % ITEMS}"


def state(step: int) -> dict[str, dict[str, Any]]:
    """All items after a step."""
    items = {f"filler {number}": item(f"filler {number}", 0) for number in range(FILLERS)}
    for each in range(1, step + 1):
        put, deleted = writes(each)
        items |= {name: item(name, each) for name in put}
        items.pop(deleted, None)
    return items


def prepare(engine: Engine) -> int:
    """Make what is not there yet; gives the last step that was made."""
    if "things" not in engine.call("ListTables", {})["TableNames"]:
        engine.call("CreateTable", TABLE)
    for number in range(FILLERS):
        engine.call("PutItem", {"TableName": "things", "Item": item(f"filler {number}", 0)})
    recovery = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "things", "PointInTimeRecoverySpecification": recovery})
    last = engine.call("GetItem", {"TableName": "things", "Key": key("last")}).get("Item")
    return 0 if last is None else int(last["step"]["N"])


def write(engine: Engine, step: int) -> None:
    put, deleted = writes(step)
    actions: list[dict[str, Any]] = [{"Put": {"TableName": "things", "Item": item(name, step)}} for name in put]
    actions.append({"Delete": {"TableName": "things", "Key": key(deleted)}})
    engine.call("TransactWriteItems", {"TransactItems": actions})


def main(folder: str, seed: int) -> None:
    # Many steps to be killed between, and many checkpoints to be killed in.
    index_backfill._CHUNK = 10
    choices = random.Random(seed)
    clock = Clock(START)
    engine = Engine.open(folder, clock=clock, entropy=random.Random(seed))
    if seed % 2:
        engine._storage.checkpoint_pages = 40

    def tell(line: str) -> None:
        # One write to the pipe: whole, or not at all.
        os.write(1, f"{line}\n".encode())

    tables = engine.call("ListTables", {})["TableNames"]
    step = prepare(engine)
    backups = [each["BackupArn"] for each in engine.call("ListBackups", {})["BackupSummaries"]]
    restored = [name for name in tables if name != "things"]
    while True:
        step += 1
        clock.now = START + step
        write(engine, step)
        tell(f"A {step}")
        wish = choices.random()
        if wish < 0.15:
            answer = engine.call("CreateBackup", {"TableName": "things", "BackupName": f"at-{step}"})
            backups.append(answer["BackupDetails"]["BackupArn"])
            tell(f"K {step} {backups[-1]}")
        elif wish < 0.30:
            then = step - choices.randrange(min(step, 20))
            if restore(engine, then, {"SourceTableName": "things", "RestoreDateTime": START + then}):
                restored.append(f"restored-{then}")
                tell(f"R restored-{then}")
        elif wish < 0.40 and backups:
            arn = choices.choice(backups)
            described = engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
            then = int(described["BackupDetails"]["BackupName"].removeprefix("at-"))
            if restore(engine, then, {"BackupArn": arn}):
                restored.append(f"restored-{then}")
                tell(f"R restored-{then}")
        while len(backups) > 5:
            arn = backups.pop(0)
            tell(f"F {arn}")
            engine.call("DeleteBackup", {"BackupArn": arn})
        while len(restored) > 3:
            # It may still be filled; nobody else finishes it while this one waits.
            engine.sweep()
            name = restored.pop(0)
            tell(f"D {name}")
            engine.call("DeleteTable", {"TableName": name})


def restore(engine: Engine, step: int, source: dict[str, Any]) -> bool:
    name = f"restored-{step}"
    if name in engine.call("ListTables", {})["TableNames"]:
        return False
    operation = "RestoreTableFromBackup" if "BackupArn" in source else "RestoreTableToPointInTime"
    engine.call(operation, {"TargetTableName": name, **source})
    return True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
