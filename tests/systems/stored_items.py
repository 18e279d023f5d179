"""What is really in a table, past all models."""

from __future__ import annotations

from typing import Any

from tablewright.model import Table
from tablewright.store.flow.driver import Request
from tests.systems.harness import Served

Item = dict[str, dict[str, Any]]


def ask(served: Served, operation: str, table: Table, **body: Any) -> dict[str, Any]:
    """One request of DynamoDB's about a table of a system."""
    name = served.runtime.settings.table_prefix + table.name
    backend = served.runtime.sync_store.backend
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


def spoil(served: Served, table: Table, key: Item, **attributes: dict[str, Any]) -> None:
    """Write attributes of an item that is there, as another program might, whatever the model says of them."""
    names = {f"#{name}": name for name in attributes}
    ask(
        served,
        "UpdateItem",
        table,
        Key=key,
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in attributes),
        ConditionExpression=f"attribute_exists({table.partition})",
        ExpressionAttributeNames=names,
        ExpressionAttributeValues={f":{name}": value for name, value in attributes.items()},
    )
