"""A table on disk, someone who waits for its commits, and a disk that refuses on demand."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

from tablewright.dynamo import InternalServerError
from tablewright.engine import Engine
from tests.engine.table_requests import NEW_AND_OLD_IMAGES, attributes, index, on_demand


def create(engine: Engine, name: str = "things") -> None:
    engine.call("CreateTable", definition(name))


def definition(name: str) -> dict[str, Any]:
    """A table with an index and a stream, so that a write is more than one row."""
    return on_demand(
        TableName=name,
        AttributeDefinitions=attributes("pk", "kind"),
        GlobalSecondaryIndexes=[index("by-kind", "kind")],
        StreamSpecification=NEW_AND_OLD_IMAGES,
    )


def putting(key: str, size: int = 0, table: str = "things") -> dict[str, Any]:
    return {"TableName": table, "Item": {"pk": {"S": key}, "kind": {"S": "k"}, "text": {"S": "x" * size}}}


def put(engine: Engine, key: str, size: int = 0, table: str = "things") -> None:
    engine.call("PutItem", putting(key, size, table))


def keys(engine: Engine, table: str = "things") -> set[str]:
    request: dict[str, Any] = {"TableName": table}
    found: set[str] = set()
    while True:
        page = engine.call("Scan", request)
        found |= {item["pk"]["S"] for item in page["Items"]}
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class Disk:
    """Lets the engine's statements through until it is told to refuse some."""

    def __init__(self, engine: Engine) -> None:
        self._execute = engine._storage.execute
        self._refused: str | None = None
        self.error: BaseException = sqlite3.OperationalError("disk I/O error")
        engine._storage.execute = self

    def __call__(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        if self._refused is not None and statement.startswith(self._refused):
            raise self.error
        return self._execute(statement, *parameters)

    def refuse(self, start: str) -> None:
        self._refused = start

    def recover(self) -> None:
        self._refused = None


class Waiter:
    """Someone who waits for a commit, as the server does."""

    def __init__(self, engine: Engine, operation: str, request: dict[str, Any]) -> None:
        self._answers: list[InternalServerError | None] = []
        self._answered = threading.Event()
        _, commit = engine.execute(operation, request)
        assert commit is not None
        commit.when_durable(self._hear)

    def _hear(self, answer: InternalServerError | None) -> None:
        self._answers.append(answer)
        self._answered.set()

    @property
    def told(self) -> list[InternalServerError | None]:
        """What it has heard; the disk may still be at work."""
        assert self._answered.wait(30)
        return self._answers

    @property
    def was_refused(self) -> bool:
        return len(self.told) == 1 and isinstance(self.told[0], InternalServerError)


def fill_disk(engine: Engine) -> None:
    (pages,) = engine._storage.execute("PRAGMA page_count").fetchone()
    engine._storage.execute(f"PRAGMA max_page_count = {pages + 2}")


def free_disk(engine: Engine) -> None:
    engine._storage.execute("PRAGMA max_page_count = 1000000")
