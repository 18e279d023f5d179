"""JSON of the wrong kind, or nested too deeply, is refused before anything else is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import levels
from tablewright.engine.requests import check_request
from tests.engine.requests.refusals import KEY, put, serialization_error

CLASS_CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are "
    "in module java.base of loader 'bootstrap')"
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "TRUE_VALUE cannot be converted to String"),
        (False, "FALSE_VALUE cannot be converted to String"),
        (1, "NUMBER_VALUE cannot be converted to String"),
        (1.5, "DECIMAL_VALUE cannot be converted to String"),
        ([], "Unrecognized collection type class java.lang.String"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
@pytest.mark.parametrize("place", ["TableName", "S", "N", "SS", "ExpressionAttributeNames"])
def test_what_is_not_a_string(place: str, value: Any, message: str) -> None:
    requests: dict[str, dict[str, Any]] = {
        "TableName": {"TableName": value, "Item": KEY},
        "S": put({"a": {"S": value}}),
        "N": put({"a": {"N": value}}),
        "SS": put({"a": {"SS": ["x", value]}}),
        "ExpressionAttributeNames": put(KEY, ExpressionAttributeNames={"#a": value}),
    }
    assert serialization_error("PutItem", requests[place]) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("maybe", "Unexpected token received from parser"),
        (1, "NUMBER_VALUE cannot be converted to Boolean"),
        (0.5, "DECIMAL_VALUE cannot be converted to Boolean"),
        ([], "Unrecognized collection type class java.lang.Boolean"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_what_is_not_a_boolean(value: Any, message: str) -> None:
    assert serialization_error("GetItem", {"ConsistentRead": value}) == message
    assert serialization_error("PutItem", put({"a": {"BOOL": value}})) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1", "STRING_VALUE cannot be converted to {}"),
        (True, "TRUE_VALUE cannot be converted to {}"),
        (False, "FALSE_VALUE cannot be converted to {}"),
        ([], "Unrecognized collection type class java.lang.{}"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_what_is_not_a_number(value: Any, message: str) -> None:
    assert serialization_error("Scan", {"Limit": value}) == message.format("Integer")
    throughput = {"ProvisionedThroughput": {"ReadCapacityUnits": value}}
    assert serialization_error("CreateTable", throughput) == message.format("Long")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "only base-64-encoded strings are convertible to bytes"),
        (23, "only base-64-encoded strings are convertible to bytes"),
        ([], "Unrecognized collection type class java.nio.ByteBuffer"),
        ({}, "Start of structure or map found where not expected"),
        ("YXNkZ", "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
        ("+/+=", "Invalid last non-pad Base64 character dectected"),
        ("=+/=", "Invalid last non-pad Base64 character dectected"),
        ("AB==", "Invalid last non-pad Base64 character dectected"),
        ("A!AA", "Invalid base 64 character: '!'"),
        ("Aä==", "Invalid base 64 character: 'ä'"),
    ],
)
def test_what_is_not_binary(value: Any, message: str) -> None:
    assert serialization_error("PutItem", put({"a": {"B": value}})) == message
    assert serialization_error("PutItem", put({"a": {"BS": ["AA==", value]}})) == message


@pytest.mark.parametrize("scalar", ["a", 1, 1.5, True])
def test_a_scalar_in_place_of_a_list_map_or_structure(scalar: Any) -> None:
    assert serialization_error("PutItem", {"Item": scalar}) == "Unexpected field type"
    assert serialization_error("GetItem", {"AttributesToGet": scalar}) == "Unexpected field type"
    assert serialization_error("CreateTable", {"ProvisionedThroughput": scalar}) == "Unexpected field type"
    assert serialization_error("PutItem", put({"a": {"M": scalar}})) == "Unexpected field type"
    assert serialization_error("PutItem", put({"a": {"L": scalar}})) == "Unexpected field type"
    update = {"AttributeUpdates": {"a": {"Value": scalar}}}
    assert serialization_error("UpdateItem", update) == "Unexpected field type"


@pytest.mark.parametrize("scalar", ["a", 1, 1.5, True])
def test_a_scalar_in_place_of_a_structure_in_a_list_or_map(scalar: Any) -> None:
    message = "Unexpected value type in payload"
    assert serialization_error("PutItem", put({"a": scalar})) == message
    assert serialization_error("PutItem", put({"a": {"L": [scalar]}})) == message
    assert serialization_error("PutItem", put({"a": {"M": {"b": scalar}}})) == message
    assert serialization_error("PutItem", {"Expected": {"a": scalar}}) == message
    assert serialization_error("CreateTable", {"KeySchema": [scalar]}) == message
    assert serialization_error("BatchWriteItem", {"RequestItems": {"abc": [scalar]}}) == message


@pytest.mark.parametrize("scalar", ["a", 1, 1.5, True])
def test_a_scalar_in_place_of_a_list_or_map_in_a_list_or_map(scalar: Any) -> None:
    assert serialization_error("BatchGetItem", {"RequestItems": {"abc": {"Keys": [scalar]}}}) == CLASS_CAST
    assert serialization_error("BatchWriteItem", {"RequestItems": {"abc": scalar}}) == CLASS_CAST


@pytest.mark.parametrize(
    ("operation", "request_", "java_type"),
    [
        ("PutItem", {"Item": []}, "java.util.Map<java.lang.String, {}.AttributeValue>"),
        ("PutItem", {"Item": {"a": []}}, "class {}.AttributeValue"),
        ("PutItem", {"Item": {"a": {"M": []}}}, "java.util.Map<java.lang.String, {}.AttributeValue>"),
        ("PutItem", {"Expected": []}, "java.util.Map<java.lang.String, {}.ExpectedAttributeValue>"),
        ("PutItem", {"Expected": {"a": {"Value": []}}}, "class {}.AttributeValue"),
        ("PutItem", {"ExpressionAttributeNames": []}, "java.util.Map<java.lang.String, java.lang.String>"),
        ("Query", {"KeyConditions": {"a": []}}, "class {}.Condition"),
        ("BatchGetItem", {"RequestItems": []}, "java.util.Map<java.lang.String, {}.KeysAndAttributes>"),
        (
            "BatchGetItem",
            {"RequestItems": {"abc": {"Keys": [[]]}}},
            "java.util.Map<java.lang.String, {}.AttributeValue>",
        ),
        (
            "BatchWriteItem",
            {"RequestItems": []},
            "java.util.Map<java.lang.String, java.util.List<{}.WriteRequest>>",
        ),
        ("BatchWriteItem", {"RequestItems": {"abc": [{"PutRequest": []}]}}, "class {}.PutRequest"),
        ("UpdateTable", {"GlobalSecondaryIndexUpdates": [[]]}, "class {}.GlobalSecondaryIndexUpdate"),
        ("PutItem", [], "class {}.PutItemInput"),
    ],
)
def test_a_list_in_place_of_a_map_or_structure(operation: str, request_: Any, java_type: str) -> None:
    expected = f"Unrecognized collection type {java_type.format('com.amazonaws.dynamodb.v20120810')}"
    assert serialization_error(operation, request_) == expected


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", {"AttributesToGet": {}}),
        ("CreateTable", {"KeySchema": {}}),
        ("PutItem", {"Item": {"a": {"L": {}}}}),
        ("PutItem", {"Item": {"a": {"SS": {}}}}),
        ("BatchWriteItem", {"RequestItems": {"abc": {}}}),
    ],
)
def test_an_object_in_place_of_a_list(operation: str, request_: Any) -> None:
    assert serialization_error(operation, request_) == "Start of structure or map found where not expected"


def test_a_time_is_a_number() -> None:
    message = "STRING_VALUE can not be converted to milliseconds since epoch"
    assert serialization_error("GetShardIterator", {"Timestamp": "now"}) == message


def test_the_first_wrong_value_in_the_request_is_the_one_reported() -> None:
    request = {"Item": {"a": 1}, "TableName": 1}
    assert serialization_error("PutItem", request) == "Unexpected value type in payload"


def test_types_come_before_constraints() -> None:
    request = {"TableName": "", "Item": 1}
    assert serialization_error("PutItem", request) == "Unexpected field type"


def test_a_body_that_is_not_an_object_is_refused() -> None:
    for body in ("text", 1, None):
        assert serialization_error("PutItem", body) == "Unexpected value type in payload"


def nested(depth: int, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "bottom"}
    for _ in range(depth):
        value = {"M": {"a": value}} if kind == "M" else {"L": [value]}
    return value


@pytest.mark.parametrize("kind", ["M", "L"])
def test_documents_of_any_allowed_depth_pass_and_bottomless_ones_are_cut_off(kind: str) -> None:
    request = put({"a": nested(32, kind)})
    assert check_request("PutItem", request) == request
    for operation, member in (("PutItem", "Item"), ("GetItem", "Key")):
        bottomless = {"TableName": "table", member: {"a": nested(10_000, kind)}}
        assert 62 < levels(check_request(operation, bottomless)[member]["a"]) < 70


def test_a_value_that_contains_itself_is_cut_off() -> None:
    value: dict[str, Any] = {"L": []}
    value["L"].append(value)
    assert 62 < levels(check_request("PutItem", put({"a": value}))["Item"]["a"]) < 70
