"""Broken constraints are listed together, in the order and the words of the service."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.engine.requests import check_request
from tests.engine.requests.refusals import KEY, NAME_PATTERN, one_error, put, validation_error, violation

RETURN_VALUES = "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"


def test_violations_are_listed_together_in_the_order_of_the_service() -> None:
    request = put(KEY, ReturnItemCollectionMetrics="a", ReturnValues="b", ReturnConsumedCapacity="c", Expected={})
    enum = "Member must satisfy enum value set: "
    assert validation_error("PutItem", request) == "3 validation errors detected: " + "; ".join(
        [
            violation("'c'", "returnConsumedCapacity", enum + "[INDEXES, TOTAL, NONE]"),
            "Failed to satisfy constraint: " + enum + RETURN_VALUES,
            violation("'a'", "returnItemCollectionMetrics", enum + "[SIZE, NONE]"),
        ]
    )


def test_an_update_stops_at_the_first_return_value_that_it_does_not_know() -> None:
    request = {"TableName": "table", "Key": KEY, "ReturnConsumedCapacity": "c", "ReturnValues": "b"}
    enum = "Member must satisfy enum value set: "
    assert validation_error("UpdateItem", request) == (
        f"1 validation error detected: Failed to satisfy constraint: {enum}{RETURN_VALUES}"
    )
    request = {**request, "ReturnValues": "NONE", "ReturnItemCollectionMetrics": "a"}
    assert validation_error("UpdateItem", request) == one_error(
        "'c'", "returnConsumedCapacity", enum + "[INDEXES, TOTAL, NONE]"
    )


def test_at_most_ten_violations_are_listed() -> None:
    request = {"TableName": "table", "AttributeDefinitions": [{}] * 20, "KeySchema": []}
    message = validation_error("CreateTable", request)
    assert message.startswith("10 validation errors detected: ")
    assert message.count("failed to satisfy constraint") == 10
    assert "'attributeDefinitions.5.member.attributeType'" in message


@pytest.mark.parametrize(
    ("operation", "request_", "expected"),
    [
        (
            "Query",
            {"TableName": "table", "Select": "SOME"},
            one_error(
                "'SOME'",
                "select",
                "Member must satisfy enum value set: "
                "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]",
            ),
        ),
        (
            "Query",
            {"TableName": "table", "Limit": 0},
            "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1",
        ),
        (
            "Scan",
            {"TableName": "table", "Limit": 0},
            one_error("'0'", "limit", "Member must have value greater than or equal to 1"),
        ),
        (
            "Scan",
            {"TableName": "table", "Segment": -1},
            one_error("'-1'", "segment", "Member must have value greater than or equal to 0"),
        ),
        (
            "Scan",
            {"TableName": "table", "TotalSegments": 1000001},
            one_error("'1000001'", "totalSegments", "Member must have value less than or equal to 1000000"),
        ),
        (
            "GetItem",
            {"TableName": "table", "Key": KEY, "AttributesToGet": []},
            one_error("'[]'", "attributesToGet", "Member must have length greater than or equal to 1"),
        ),
        (
            "UpdateItem",
            {"TableName": "table", "Key": KEY, "AttributeUpdates": {"AttributeName": {"Action": "SET"}}},
            one_error(
                "'SET'",
                "attributeUpdates.AttributeName.member.action",
                "Member must satisfy enum value set: [ADD, PUT, DELETE]",
            ),
        ),
        (
            "Query",
            {"TableName": "table", "KeyConditions": {"AttributeName": {}}},
            one_error("null", "keyConditions.AttributeName.member.comparisonOperator", "Member must not be null"),
        ),
        (
            "TransactWriteItems",
            {"TransactItems": []},
            one_error("'[]'", "transactItems", "Member must have length greater than or equal to 1"),
        ),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {"TableName": "a", "Item": KEY}}], "ClientRequestToken": "x" * 37},
            "2 validation errors detected: "
            + violation(
                "'a'",
                "transactItems.1.member.put.tableName",
                "Member must have length greater than or equal to 3",
            )
            + "; "
            + violation(f"'{'x' * 37}'", "clientRequestToken", "Member must have length less than or equal to 36"),
        ),
        (
            "TransactGetItems",
            {"TransactItems": [{}]},
            one_error("null", "transactItems.1.member.get", "Member must not be null"),
        ),
        (
            "CreateTable",
            {
                "TableName": "table",
                "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "T"}],
                "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            },
            one_error(
                "'T'",
                "attributeDefinitions.1.member.attributeType",
                "Member must satisfy enum value set: [B, N, S]",
            ),
        ),
        (
            "UpdateTable",
            {"TableName": "table", "ProvisionedThroughput": {"ReadCapacityUnits": 0}},
            "2 validation errors detected: "
            + violation("null", "provisionedThroughput.writeCapacityUnits", "Member must not be null")
            + "; "
            + violation(
                "'0'",
                "provisionedThroughput.readCapacityUnits",
                "Member must have value greater than or equal to 1",
            ),
        ),
        (
            "ListTables",
            {"Limit": 101, "ExclusiveStartTableName": "a;"},
            "3 validation errors detected: "
            + violation("'101'", "limit", "Member must have value less than or equal to 100")
            + "; "
            + violation("'a;'", "exclusiveStartTableName", NAME_PATTERN)
            + "; "
            + violation("'a;'", "exclusiveStartTableName", "Member must have length greater than or equal to 3"),
        ),
        (
            "UpdateTimeToLive",
            {"TableName": "table", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": ""}},
            one_error(
                "''",
                "timeToLiveSpecification.attributeName",
                "Member must have length greater than or equal to 1",
            ),
        ),
        (
            "ExecuteStatement",
            {"Statement": "", "Limit": 0},
            "2 validation errors detected: "
            + violation("''", "statement", "Member must have length greater than or equal to 1")
            + "; "
            + violation("'0'", "limit", "Member must have value greater than or equal to 1"),
        ),
        (
            "GetRecords",
            {"Limit": 1},
            one_error("null", "shardIterator", "Member must not be null"),
        ),
    ],
)
def test_broken_constraints(operation: str, request_: dict[str, Any], expected: str) -> None:
    assert validation_error(operation, request_) == expected


def test_structures_are_shown_with_all_their_members() -> None:
    element = {"AttributeName": "a", "KeyType": "HASH"}
    request = {"TableName": "table", "AttributeDefinitions": [], "KeySchema": [element] * 3}
    shown = "KeySchemaElement(attributeName=a, keyType=HASH)"
    assert validation_error("CreateTable", request) == one_error(
        f"'[{shown}, {shown}, {shown}]'", "keySchema", "Member must have length less than or equal to 2"
    )


def test_global_indexes_may_have_keys_of_several_attributes() -> None:
    index = {
        "IndexName": "index",
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in "abcd"],
        "Projection": {"ProjectionType": "ALL"},
    }
    request = {
        "TableName": "table",
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": [index],
    }
    assert check_request("CreateTable", request) == request


def test_a_message_does_not_outgrow_the_request_it_is_about() -> None:
    assert len(validation_error("TransactWriteItems", {"TransactItems": [{}] * 100_000})) < 200_000
    tables: dict[str, Any] = {f"bad name {number}": [{}] * 30 for number in range(1000)}
    assert len(validation_error("BatchWriteItem", {"RequestItems": tables})) < 2_000_000


def test_global_indexes_are_looked_at_before_local_ones() -> None:
    key = [{"AttributeName": "pk", "KeyType": "HASH"}]
    projection = {"ProjectionType": "ALL"}
    request = {
        "TableName": "table",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": key,
        "LocalSecondaryIndexes": [{"IndexName": "aa", "KeySchema": key, "Projection": projection}],
        "GlobalSecondaryIndexes": [{"IndexName": "zz", "KeySchema": key, "Projection": projection}],
    }
    too_short = "Member must have length greater than or equal to 3"
    assert validation_error("CreateTable", request) == "2 validation errors detected: " + "; ".join(
        [
            violation("'zz'", "globalSecondaryIndexes.1.member.indexName", too_short),
            violation("'aa'", "localSecondaryIndexes.1.member.indexName", too_short),
        ]
    )
