"""What is really in a table, past all models."""

from __future__ import annotations

from typing import Any

from tablewright.model import Table
from tablewright.store.flow import Request
from tests.systems.harness import Served

Item = dict[str, dict[str, Any]]


def ask(served: Served, operation: str, table: Table, **body: Any) -> dict[str, Any]:
    """One request of DynamoDB's about a table of a system."""
    name = served.runtime.settings.table_prefix + table.name
    backend = served.runtime.blocking._backend
    return backend.call(Request(operation, {"TableName": name, **body}))


def items(served: Served, table: Table) -> list[Item]:
    """Every item of a table."""
    found: list[Item] = []
    start: dict[str, Any] = {}
    while True:
        answer = ask(served, "Scan", table, ConsistentRead=True, **start)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return found
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
