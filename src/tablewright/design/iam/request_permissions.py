"""The permissions that a request needs: actions, resources and condition keys, as in IAM.

    for needed in request_permissions("TransactWriteItems", body, tables):
        is_allowed(policy, needed.action, needed.resource, needed.context)

A transaction has no permission of its own: each of its actions takes one. A batch takes one for each table. A read of
an index is on the index, one of a stream on the stream. ``dynamodb:LeadingKeys`` are the partition keys that a request
names, of the table or the index; a Scan names none. ``dynamodb:Attributes`` are the attributes that it names.

What cannot be limited to a table (ListTables, ListStreams, ListBackups) is on the resource ``*``. PartiQL is not
supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["KnownTables", "Permission", "request_permissions"]

_OF_ACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}
_OF_ITEMS = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"})
_ANYWHERE = frozenset({"ListTables", "ListStreams", "ListBackups", "DescribeLimits", "DescribeEndpoints"})
_EXPRESSIONS = ("ProjectionExpression", "ConditionExpression", "UpdateExpression", "FilterExpression")
_EQUALITY = re.compile(r"([#\w]+)\s*=\s*(:\w+)")
_NAME = re.compile(r"(?<![:\w.\]])#?[A-Za-z_]\w*(?!\s*\()")
_WORDS = frozenset({"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"})


@dataclass(frozen=True, slots=True)
class Permission:
    """An action on a resource, and the condition keys of the request."""

    action: str
    resource: str
    context: Mapping[str, list[str]] = field(default_factory=dict)


class KnownTables(Protocol):
    """What must be known about tables to name the resources and keys of a request."""

    def arn(self, table: str) -> str: ...

    def partition_keys(self, table: str, index: str | None) -> list[str]: ...


def request_permissions(operation: str, body: Mapping[str, Any], tables: KnownTables) -> Iterator[Permission]:
    """The permissions for a request; all of them are needed."""
    if operation in ("TransactWriteItems", "TransactGetItems"):
        for member in body["TransactItems"]:
            ((kind, action),) = member.items()
            yield _on_items(_OF_ACTION[kind], action, tables, {"dynamodb:EnclosingOperation": [operation]})
    elif operation in ("BatchGetItem", "BatchWriteItem"):
        for table, part in body["RequestItems"].items():
            yield _of_batch(operation, table, part, tables)
    elif operation in _OF_ITEMS:
        yield _on_items(operation, body, tables, {})
    elif operation in ("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"):
        raise ValueError(f"the permissions of {operation} are not supported")
    elif operation in _ANYWHERE:
        yield Permission(f"dynamodb:{operation}", "*")
    elif "ShardIterator" in body:
        # The stream is a part of the iterator.
        yield Permission(f"dynamodb:{operation}", body["ShardIterator"].partition("|")[0])
    else:
        place = body.get("StreamArn") or body.get("ResourceArn") or tables.arn(body["TableName"])
        yield Permission(f"dynamodb:{operation}", place)


def _on_items(
    action: str, body: Mapping[str, Any], tables: KnownTables, context: Mapping[str, list[str]]
) -> Permission:
    table, index = body["TableName"], body.get("IndexName")
    arn = tables.arn(table)
    keys = tables.partition_keys(table, index)
    values = [*_leading_values(body, keys)]
    known = {
        **context,
        "dynamodb:Attributes": sorted(_attributes(body)),
        "dynamodb:ReturnValues": [body.get("ReturnValues", "NONE")],
        "dynamodb:ReturnConsumedCapacity": [body.get("ReturnConsumedCapacity", "NONE")],
    }
    if values:
        known["dynamodb:LeadingKeys"] = values
    if "Select" in body:
        known["dynamodb:Select"] = [body["Select"]]
    return Permission(f"dynamodb:{action}", arn if index is None else f"{arn}/index/{index}", known)


def _of_batch(operation: str, table: str, part: Any, tables: KnownTables) -> Permission:
    keys = tables.partition_keys(table, None)
    if operation == "BatchGetItem":
        items: list[Mapping[str, Any]] = part["Keys"]
        attributes = _attributes(part)
    else:
        requests = [next(iter(each.values())) for each in part]
        items = [each.get("Item") or each.get("Key") for each in requests]
        attributes = set()
    attributes |= {name for item in items for name in item}
    context = {
        "dynamodb:LeadingKeys": [_text(item[name]) for item in items for name in keys if name in item],
        "dynamodb:Attributes": sorted(attributes),
    }
    return Permission(f"dynamodb:{operation}", tables.arn(table), context)


def _leading_values(body: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    item = body.get("Key") or body.get("Item") or {}
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    wanted = {names.get(name, name): value for name, value in _EQUALITY.findall(body.get("KeyConditionExpression", ""))}
    for key in keys:
        if key in item:
            yield _text(item[key])
        elif key in wanted:
            yield _text(values[wanted[key]])
        elif key in body.get("KeyConditions", {}):
            yield from map(_text, body["KeyConditions"][key]["AttributeValueList"])


def _attributes(body: Mapping[str, Any]) -> set[str]:
    """The top-level attributes that a request names."""
    names = body.get("ExpressionAttributeNames", {})
    found = {*(body.get("Key") or {}), *(body.get("Item") or {}), *(body.get("AttributesToGet") or ())}
    for member in (*_EXPRESSIONS, "KeyConditionExpression"):
        for name in _NAME.findall(body.get(member) or ""):
            if name.upper() not in _WORDS:
                found.add(names.get(name, name))
    return found


def _text(value: Mapping[str, Any]) -> str:
    return str(next(iter(value.values())))
