"""A table with a past, of an engine whose clock is moved by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tablewright.engine import Engine
from tablewright.store import EmbeddedBackend
from tablewright.studio.studio_database import StudioDatabase

BEGIN = 1_800_000_000.0


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> float:
        return self.now


def key(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def item(number: int, status: str) -> dict[str, Any]:
    return {
        "pk": {"S": "all"},
        "n": {"N": str(number)},
        "status": {"S": status},
        "rank": {"N": str(-number)},
        "about": {"S": f"item {number}"},
    }


@contextmanager
def past_tables() -> Iterator[StudioDatabase]:
    """``kept`` gets an open item every ten seconds; 60 s after the last, the first is done and the second deleted.

    It has a global index of what is open and a local one, both of keys only; ``other`` has no past.
    """
    clock = Clock()
    with Engine.open(None, clock=clock) as engine:
        projected = {"Projection": {"ProjectionType": "KEYS_ONLY"}}
        create = {
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in (("pk", "S"), ("n", "N"), ("status", "S"), ("rank", "N"))
            ],
            "KeySchema": key("pk", "n"),
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by_status",
                    "KeySchema": key("status", "n"),
                    **projected,
                }
            ],
            "LocalSecondaryIndexes": [{"IndexName": "by_rank", "KeySchema": key("pk", "rank"), **projected}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        for name in ("kept", "other"):
            engine.call("CreateTable", {"TableName": name, **create})
        recovery = {"PointInTimeRecoveryEnabled": True}
        engine.call("UpdateContinuousBackups", {"TableName": "kept", "PointInTimeRecoverySpecification": recovery})
        for number in range(10):
            clock.now += 10
            engine.call("PutItem", {"TableName": "kept", "Item": item(number, "open")})
        clock.now += 60
        engine.call("PutItem", {"TableName": "kept", "Item": item(0, "done")})
        engine.call("DeleteItem", {"TableName": "kept", "Key": {"pk": {"S": "all"}, "n": {"N": "1"}}})
        clock.now += 10
        yield StudioDatabase("memory", EmbeddedBackend(engine, owned=False), may_write=True)
