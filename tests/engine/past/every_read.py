"""All ways to read a table, so that two tables can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Call = Callable[[str, dict[str, Any]], dict[str, Any]]


def every_read(call: Call, table: str, keys: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Each read of a table, named, with its pages; ``keys`` are those to get, whether or not there are items."""
    description = call("DescribeTable", {"TableName": table})["Table"]
    indexes = [*description.get("LocalSecondaryIndexes", ()), *description.get("GlobalSecondaryIndexes", ())]
    sources = [("", description["KeySchema"]), *((index["IndexName"], index["KeySchema"]) for index in indexes)]
    for key in keys:
        request = {"TableName": table, "Key": key, "ReturnConsumedCapacity": "TOTAL"}
        yield f"get {key}", unnamed(call("GetItem", request))
    chosen = keys[:20]
    yield "batch", unordered(call("BatchGetItem", {"RequestItems": {table: {"Keys": chosen}}})["Responses"][table])
    gets = [{"Get": {"TableName": table, "Key": key}} for key in chosen]
    yield "transaction", call("TransactGetItems", {"TransactItems": gets})["Responses"]
    for name, schema in sources:
        source = {"TableName": table, "ReturnConsumedCapacity": "INDEXES"} | ({"IndexName": name} if name else {})
        items: list[dict[str, Any]] = []
        for limit in (None, 1, 3):
            found = list(pages(call, "Scan", source | ({} if limit is None else {"Limit": limit})))
            items = items or [item for page in found for item in page["Items"]]
            yield f"scan {name} by {limit}", found
        for segment in range(3):
            segments = {"Segment": segment, "TotalSegments": 3, "Limit": 2}
            yield f"segment {segment} {name}", list(pages(call, "Scan", source | segments))
        counted = {"FilterExpression": "size(pk) > :zero", "ExpressionAttributeValues": {":zero": {"N": "0"}}}
        yield f"count {name}", list(pages(call, "Scan", source | counted | {"Select": "COUNT"}))
        yield f"keys {name}", list(pages(call, "Scan", source | {"ProjectionExpression": "pk"}))
        partition = schema[0]["AttributeName"]
        values = {str(item[partition]): item[partition] for item in items}
        for value in values.values():
            condition = {
                "KeyConditionExpression": "#p = :p",
                "ExpressionAttributeNames": {"#p": partition},
                "ExpressionAttributeValues": {":p": value},
            }
            for forward in (True, False):
                for limit in (None, 1, 2):
                    request = source | condition | {"ScanIndexForward": forward}
                    found = list(pages(call, "Query", request | ({} if limit is None else {"Limit": limit})))
                    yield f"query {name} {value} {forward} by {limit}", found
            if len(schema) > 1:
                between = condition | {
                    "KeyConditionExpression": "#p = :p AND #s BETWEEN :a AND :b",
                    "ExpressionAttributeNames": {"#p": partition, "#s": schema[1]["AttributeName"]},
                    "ExpressionAttributeValues": {":p": value, ":a": {"N": "1"}, ":b": {"N": "2"}},
                }
                yield f"between {name} {value}", list(pages(call, "Query", source | between))
    statement = call("ExecuteStatement", {"Statement": f'SELECT * FROM "{table}"'})
    yield "select", statement["Items"]


def pages(call: Call, operation: str, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while True:
        page = unnamed(call(operation, request))
        yield page
        if "LastEvaluatedKey" not in page:
            return
        request = request | {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def unnamed(response: dict[str, Any]) -> dict[str, Any]:
    """A response without the name of its table."""
    if "ConsumedCapacity" in response:
        consumed = {name: value for name, value in response["ConsumedCapacity"].items() if name != "TableName"}
        return {**response, "ConsumedCapacity": consumed}
    return response


def unordered(items: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, items))
