"""A request whose expressions are known is answered as it was when they were not, whatever its values are."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tablewright.dynamo import DynamoError
from tablewright.engine import Engine
from tablewright.engine.items import item_operations, query_scan
from tests.engine.table_requests import attributes, index, key, on_demand

NAMES = {"#n": "n", "#t": "text"}
UPDATE: dict[str, Any] = {
    "UpdateExpression": "SET #t = :t, n = if_not_exists(#n, :n) + :one",
    "ConditionExpression": "size(#t) < :n",
    "ExpressionAttributeNames": NAMES,
    "ExpressionAttributeValues": {":t": {"S": "b"}, ":n": {"N": "10"}, ":one": {"N": "1"}},
    "ReturnValues": "ALL_NEW",
}
CONDITION: dict[str, Any] = {
    "ConditionExpression": "begins_with(#t, :t) AND #n IN (:n, :one)",
    "ExpressionAttributeNames": NAMES,
    "ExpressionAttributeValues": {":t": {"S": "x"}, ":n": {"N": "10"}, ":one": {"N": "1"}},
    "ReturnValues": "ALL_OLD",
}
QUERY: dict[str, Any] = {
    "KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
    "FilterExpression": "n BETWEEN :low AND :high",
    "ProjectionExpression": "sk, #n, #t",
    "ExpressionAttributeNames": NAMES,
    "ExpressionAttributeValues": {
        ":p": {"S": "a"},
        ":s": {"S": "1"},
        ":low": {"N": "1"},
        ":high": {"N": "3"},
    },
}

# What differs from a request that was good.
VALUES: list[dict[str, Any]] = [
    {},
    {":n": {"N": "3"}},
    {":n": {"N": "+3.0"}},
    {":n": {"N": "x"}},
    {":n": {"S": "x"}},
    {":t": {"SS": ["a", "a"]}},
    {":t": {"SS": ["b", "a"]}},
    {":t": {"NULL": False}},
    {":t": {"S": "ä" * 500}},
    {":one": {"S": "1"}, ":t": {"N": "1e999"}},
    {":unused": {"S": "x"}},
    {":low": {"N": "9"}},
    {":low": {"S": "a"}, ":high": {"S": "b"}},
    {":p": {"N": "1"}},
    {":p": {"S": ""}},
    {":s": {"BOOL": True}},
]
MORE: list[dict[str, Any]] = [
    {"ExpressionAttributeNames": {**NAMES, "#x": "x"}},
    {"ExpressionAttributeNames": {**NAMES, "#t": "other"}},
    {"ExpressionAttributeNames": {}},
    {"ReturnValues": "ALL"},
    {"Expected": {"n": {"Exists": False}}},
    {"ConditionExpression": "#t = :t OR #n = :n"},
    {"Key": {"pk": {"S": "a"}}},
    {"Key": {"pk": {"S": "a"}, "sk": {"N": "1"}}},
    {"TableName": "missing"},
    {"IndexName": "by-text"},
    {"IndexName": "missing"},
    {"ConsistentRead": True, "IndexName": "by-text"},
    {"Select": "COUNT"},
    {"Limit": 1},
    {"ExclusiveStartKey": {"pk": {"S": "a"}, "sk": {"S": "10"}}},
    {"ScanIndexForward": False, "ReturnConsumedCapacity": "TOTAL"},
]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open() as engine:
        engine.call(
            "CreateTable",
            on_demand(
                TableName="rows",
                AttributeDefinitions=attributes("pk", "sk", "text"),
                KeySchema=key("pk", "sk"),
                GlobalSecondaryIndexes=[index("by-text", "text", "sk")],
            ),
        )
        for number in range(9, 13):
            item = {"pk": {"S": "a"}, "sk": {"S": f"{number}"}, "n": {"N": f"{number - 9}"}, "text": {"S": "x"}}
            engine.call("PutItem", {"TableName": "rows", "Item": item})
        yield engine


def requests(operation: str) -> Iterator[dict[str, Any]]:
    primary = {"pk": {"S": "a"}, "sk": {"S": "10"}}
    members: dict[str, Any] = {
        "Query": QUERY,
        "UpdateItem": {"Key": primary, **UPDATE},
        "DeleteItem": {"Key": primary, **CONDITION},
        "PutItem": {"Item": {**primary, "n": {"N": "1"}, "text": {"S": "new"}}, **CONDITION},
    }
    known = {"TableName": "rows", **members[operation]}
    for values in VALUES:
        yield {**known, "ExpressionAttributeValues": {**known["ExpressionAttributeValues"], **values}}
    for more in MORE:
        yield {**known, **more}
    yield {name: member for name, member in known.items() if name != "ExpressionAttributeValues"}
    yield {name: member for name, member in known.items() if name != "ExpressionAttributeNames"}


def answer(engine: Engine, operation: str, request: dict[str, Any]) -> Any:
    try:
        return engine.call(operation, deepcopy(request))
    except DynamoError as error:
        return error.body()


@pytest.mark.parametrize(
    ("operation", "shapes"),
    [
        ("UpdateItem", item_operations._UPDATES),
        ("PutItem", item_operations._CONDITIONS),
        ("DeleteItem", item_operations._CONDITIONS),
        ("Query", query_scan._QUERIES),
    ],
)
def test_a_request_of_a_known_shape_is_answered_as_one_of_an_unknown_shape(
    engine: Engine, operation: str, shapes: Any
) -> None:
    first, *others = requests(operation)
    for request in others:
        before = engine.call("GetItem", {"TableName": "rows", "Key": {"pk": {"S": "a"}, "sk": {"S": "10"}}})["Item"]
        shapes._known.clear()
        unknown = answer(engine, operation, request)
        engine.call("PutItem", {"TableName": "rows", "Item": before})
        shapes._known.clear()
        answer(engine, operation, first)
        assert len(shapes._known) == 1
        engine.call("PutItem", {"TableName": "rows", "Item": before})
        assert answer(engine, operation, request) == unknown
        engine.call("PutItem", {"TableName": "rows", "Item": before})


def test_shapes_are_bounded_in_number_and_in_size(engine: Engine) -> None:
    shapes: Any = item_operations._UPDATES
    about: dict[str, Any] = {"TableName": "rows", "Key": {"pk": {"S": "a"}, "sk": {"S": "10"}}}
    shapes._known.clear()
    engine.call("UpdateItem", {**about, "UpdateExpression": f"REMOVE {'y' * 600}"})
    assert not shapes._known
    for number in range(300):
        engine.call("UpdateItem", {**about, "UpdateExpression": f"REMOVE y{number}"})
    assert len(shapes._known) == 256
