"""What every request passes before its operation sees it: types, the table name, constraints."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import botocore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablewright.engine.errors import (
    DynamoError,
    SerializationException,
    UnknownOperationException,
    ValidationException,
)
from tablewright.engine.requests import (
    DYNAMODB_OPERATIONS,
    STREAMS_OPERATIONS,
    check_request,
    examine_request,
    table_name_of,
)
from tablewright.engine.requests.attribute_value import AttributeValue
from tablewright.engine.requests.item_inputs import ITEM_INPUTS
from tablewright.engine.requests.shapes import Boolean, List, Map, Number, Shape, String, Struct
from tablewright.engine.requests.table_inputs import STREAM_INPUTS, TABLE_INPUTS
from tablewright.engine.values import NESTED_TOO_DEEPLY

INPUTS = {**ITEM_INPUTS, **TABLE_INPUTS, **STREAM_INPUTS}
KEY = {"pk": {"S": "a"}}
NAME_PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
CLASS_CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are "
    "in module java.base of loader 'bootstrap')"
)


def serialization_error(operation: str, request: Any) -> str | None:
    with pytest.raises(SerializationException) as caught:
        check_request(operation, request)
    return caught.value.message


def validation_error(operation: str, request: Any) -> str:
    with pytest.raises(ValidationException) as caught:
        check_request(operation, request)
    assert caught.value.message is not None
    return caught.value.message


def violation(value: str, path: str, message: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: {message}"


def one_error(value: str, path: str, message: str) -> str:
    return f"1 validation error detected: {violation(value, path, message)}"


def put(item: Any, **members: Any) -> dict[str, Any]:
    return {"TableName": "table", "Item": item, **members}


# --- well-formed requests ----------------------------------------------------------------------------------


def test_a_well_formed_request_is_answered_equal_with_the_same_values_inside() -> None:
    item = {
        "s": {"S": "text"},
        "n": {"N": "1"},
        "b": {"B": "AAEC"},
        "bool": {"BOOL": False},
        "null": {"NULL": True},
        "ss": {"SS": ["a"]},
        "ns": {"NS": ["1", "2"]},
        "bs": {"BS": ["AA=="]},
        "l": {"L": [{"S": "x"}, {"M": {"y": {"L": []}}}]},
        "m": {"M": {"z": {"N": "2"}}},
    }
    request = put(item, ReturnValues="ALL_OLD", ExpressionAttributeNames={"#a": "b"})
    clean = check_request("PutItem", request)
    assert clean == request
    assert clean["Item"] is item


def test_the_top_level_of_the_answer_is_not_the_callers_own() -> None:
    request = put(KEY)
    check_request("PutItem", request)["Item"] = None
    assert request["Item"] is KEY


def test_unknown_members_and_nulls_are_dropped() -> None:
    request = {"TableName": "table", "Key": KEY, "Colour": [1], "ConsistentRead": None}
    assert check_request("GetItem", request) == {"TableName": "table", "Key": KEY}


def test_unknown_types_and_nulls_inside_attribute_values_are_dropped() -> None:
    item = {"a": {"S": "x", "N": None, "Q": 1}, "b": None, "c": {"L": [None]}}
    assert check_request("PutItem", put(item))["Item"] == {"a": {"S": "x"}, "b": {}, "c": {"L": [{}]}}


def test_values_that_need_no_cleaning_stay_the_same_objects_beside_values_that_do() -> None:
    good = {"M": {"x": {"S": "y"}}}
    clean = check_request("PutItem", put({"good": good, "bad": {"BOOL": "true"}}))
    assert clean["Item"]["good"] is good
    assert clean["Item"]["bad"] == {"BOOL": True}


@pytest.mark.parametrize(
    ("text", "truth"),
    [("true", True), ("YES", True), ("1", True), ("False", False), ("no", False), ("0", False)],
)
def test_words_for_booleans_are_understood(text: str, truth: bool) -> None:
    request = {"TableName": "table", "Key": KEY, "ConsistentRead": text}
    assert check_request("GetItem", request)["ConsistentRead"] is truth


def test_decimals_are_floored_where_integers_are_expected() -> None:
    assert check_request("Scan", {"TableName": "table", "Limit": 2.9})["Limit"] == 2


def test_integers_beyond_the_range_of_their_type_become_its_end() -> None:
    assert check_request("Scan", {"TableName": "table", "Limit": 10**30})["Limit"] == 2**31 - 1


def test_attribute_values_of_no_type_or_of_two_are_left_for_the_operation_to_refuse() -> None:
    item = {"none": {}, "two": {"S": "a", "N": "1"}}
    assert check_request("PutItem", put(item))["Item"] == item


def test_operations_without_parameters_take_anything() -> None:
    assert check_request("DescribeLimits", {"What": "ever"}) == {}


# --- operations --------------------------------------------------------------------------------------------


def test_operations_are_split_by_the_target_they_are_called_on() -> None:
    assert {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"} == STREAMS_OPERATIONS
    assert {"PutItem", "CreateTable", "ExecuteStatement", "DescribeLimits"} <= DYNAMODB_OPERATIONS
    assert not DYNAMODB_OPERATIONS & STREAMS_OPERATIONS


def test_an_operation_that_is_not_declared_is_unknown() -> None:
    with pytest.raises(UnknownOperationException):
        check_request("CreateUniverse", {})


# --- JSON of the wrong kind --------------------------------------------------------------------------------


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


# --- depth -------------------------------------------------------------------------------------------------


def nested(levels: int, kind: str) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "bottom"}
    for _ in range(levels):
        value = {"M": {"a": value}} if kind == "M" else {"L": [value]}
    return value


@pytest.mark.parametrize("kind", ["M", "L"])
def test_documents_of_any_allowed_depth_pass_and_bottomless_ones_are_refused(kind: str) -> None:
    request = put({"a": nested(32, kind)})
    assert check_request("PutItem", request) == request
    message = validation_error("PutItem", put({"a": nested(10_000, kind)}))
    assert message == NESTED_TOO_DEEPLY


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {"L": []}
    value["L"].append(value)
    assert "Nesting Levels" in validation_error("PutItem", put({"a": value}))


# --- table names -------------------------------------------------------------------------------------------

TABLE_OPERATIONS = [
    "CreateTable",
    "DescribeTable",
    "DeleteTable",
    "UpdateTable",
    "UpdateTimeToLive",
    "DescribeTimeToLive",
    "DescribeContinuousBackups",
]


@pytest.mark.parametrize("operation", TABLE_OPERATIONS)
def test_table_operations_miss_the_table_name_first(operation: str) -> None:
    request = {"BillingMode": "FREE"}
    message = "The parameter 'TableName' is required but was not present in the request"
    assert validation_error(operation, request) == message


def test_item_operations_miss_the_table_name_among_the_constraints() -> None:
    missing = "Member must not be null"
    assert validation_error("PutItem", {"Item": KEY}) == one_error("null", "tableName", missing)
    assert validation_error("PutItem", {"TableName": None}) == (
        f"2 validation errors detected: {violation('null', 'tableName', missing)}; {violation('null', 'item', missing)}"
    )


@pytest.mark.parametrize("operation", ["PutItem", "Query", *TABLE_OPERATIONS])
def test_a_malformed_table_name_is_reported_alone(operation: str) -> None:
    def error(name: str) -> str:
        return validation_error(operation, {"TableName": name, "ReturnValues": "ALL", "BillingMode": "FREE"})

    assert error("") == one_error("''", "tableName", "Member must have length greater than or equal to 1")
    assert error("ab") == one_error("'ab'", "tableName", "Member must have length greater than or equal to 3")
    long = "a" * 256
    assert error(long) == one_error(f"'{long}'", "tableName", "Member must have length less than or equal to 255")
    assert error("bad table!") == one_error("'bad table!'", "tableName", NAME_PATTERN)
    assert error("x!") == (
        f"2 validation errors detected: {violation(repr('x!'), 'tableName', NAME_PATTERN)}; "
        + violation("'x!'", "tableName", "Member must have length greater than or equal to 3")
    )


def test_a_table_may_be_named_by_its_arn() -> None:
    arn = "arn:aws:dynamodb:eu-west-2:123456789012:table/some.table-1"
    assert check_request("GetItem", {"TableName": arn, "Key": KEY})["TableName"] == arn
    request = {"RequestItems": {arn: {"Keys": [KEY]}}}
    assert check_request("BatchGetItem", request) == request
    assert table_name_of(arn) == "some.table-1"
    assert table_name_of("some.table-1") == "some.table-1"


def test_other_arns_are_not_table_names() -> None:
    arn = "arn:aws:s3:::bucket"
    assert validation_error("DescribeTable", {"TableName": arn}) == one_error(f"'{arn}'", "tableName", NAME_PATTERN)


# --- constraints -------------------------------------------------------------------------------------------


def test_violations_are_listed_together_in_the_order_of_the_service() -> None:
    request = put(KEY, ReturnItemCollectionMetrics="a", ReturnValues="b", ReturnConsumedCapacity="c", Expected={})
    enum = "Member must satisfy enum value set: "
    assert validation_error("PutItem", request) == "3 validation errors detected: " + "; ".join(
        [
            violation("'c'", "returnConsumedCapacity", enum + "[INDEXES, TOTAL, NONE]"),
            violation("'b'", "returnValues", enum + "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"),
            violation("'a'", "returnItemCollectionMetrics", enum + "[SIZE, NONE]"),
        ]
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
            {"TableName": "table", "Key": KEY, "AttributeUpdates": {"Attr": {"Action": "SET"}}},
            one_error(
                "'SET'",
                "attributeUpdates.Attr.member.action",
                "Member must satisfy enum value set: [ADD, PUT, DELETE]",
            ),
        ),
        (
            "Query",
            {"TableName": "table", "KeyConditions": {"Attr": {}}},
            one_error("null", "keyConditions.Attr.member.comparisonOperator", "Member must not be null"),
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


# --- batches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
def test_batches_must_ask_for_something(operation: str) -> None:
    message = f"The requestItems parameter is required for {operation}"
    assert validation_error(operation, {"RequestItems": {}}) == message
    assert validation_error(operation, {}) == one_error("null", "requestItems", "Member must not be null")


def test_a_batch_of_gets_has_at_most_a_hundred_keys_for_a_table() -> None:
    request = {"RequestItems": {"some-table": {"Keys": [KEY] * 101}}}
    assert validation_error("BatchGetItem", request) == (
        "1 validation error detected: Value at 'RequestItems.some-table.member.Keys' failed to satisfy "
        "constraint: Member must have length less than or equal to 100"
    )


def test_a_batch_of_writes_has_at_most_twenty_five_for_a_table() -> None:
    writes = [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}] + [{"DeleteRequest": {"Key": {}}}] * 25
    message = validation_error("BatchWriteItem", {"RequestItems": {"some-table": writes}})
    assert message.startswith(
        "1 validation error detected: Value '{some-table=[WriteRequest(putRequest=PutRequest(item="
        "{pk=com.amazonaws.dynamodb.v20120810.AttributeValue@"
    )
    assert ", WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={})), " in message
    assert message.endswith(
        "]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, "
        "Member must have length greater than or equal to 1]"
    )


def test_tables_of_a_batch_are_named_as_tables_are() -> None:
    message = validation_error("BatchWriteItem", {"RequestItems": {"a;": [{}]}})
    assert message.endswith(
        " at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: "
        "[Member must have length less than or equal to 255, "
        f"Member must have length greater than or equal to 3, {NAME_PATTERN}]"
    )


def test_requests_inside_a_batch_are_found_by_table_and_position() -> None:
    request = {"RequestItems": {"Some": [{"PutRequest": {"Item": {}}}, {"DeleteRequest": {}}]}}
    assert validation_error("BatchWriteItem", request) == one_error(
        "null", "requestItems.Some.member.2.member.deleteRequest.key", "Member must not be null"
    )


# --- nothing is missing ------------------------------------------------------------------------------------


def service_model(service: str) -> dict[str, Any]:
    folder = Path(botocore.__file__).parent / "data" / service / "2012-08-10"
    model: dict[str, Any] = json.loads(gzip.decompress((folder / "service-2.json.gz").read_bytes()))
    return model


def missing_members(declared: Shape, shapes: dict[str, Any], name: str, path: str) -> list[str]:
    """The members and enumerated values that botocore's shape has and the declared one has not."""
    shape = shapes[name]
    if isinstance(declared, AttributeValue):
        return [f"{path}.{member}" for member in shape["members"] if member not in declared.members]
    if isinstance(declared, Struct):
        missing = []
        for member, reference in shape["members"].items():
            if member not in declared.members:
                missing.append(f"{path}.{member}")
            else:
                missing += missing_members(declared.members[member], shapes, reference["shape"], f"{path}.{member}")
        return missing
    if isinstance(declared, List):
        return missing_members(declared.member, shapes, shape["member"]["shape"], f"{path}[]")
    if isinstance(declared, Map):
        return missing_members(declared.value, shapes, shape["value"]["shape"], f"{path}{{}}")
    if isinstance(declared, String):
        return [f"{path}={value}" for value in shape.get("enum", ()) if value not in declared.enum]
    return []


@pytest.mark.parametrize("operation", sorted(INPUTS))
def test_every_member_that_clients_know_is_declared(operation: str) -> None:
    model = service_model("dynamodbstreams" if operation in STREAMS_OPERATIONS else "dynamodb")
    name = model["operations"][operation]["input"]["shape"]
    assert missing_members(INPUTS[operation].shape, model["shapes"], name, operation) == []


# --- any request -------------------------------------------------------------------------------------------

JUNK = st.sampled_from([None, True, 0, 1, 2.5, "", "a", "AA==", [], {}, [None], {"S": "a"}, {"TableName": 1}])
CONTENTS = {
    "S": st.text(max_size=3),
    "N": st.just("1"),
    "B": st.sampled_from(["", "AAAA", "AA==", "A"]),
    "BOOL": st.booleans(),
    "NULL": st.just(True),
    "SS": st.lists(st.text(max_size=2), max_size=2),
    "BS": st.lists(st.just("AAA="), max_size=2),
}
ATTRIBUTE_VALUES = st.recursive(
    st.sampled_from(sorted(CONTENTS)).flatmap(lambda tag: st.fixed_dictionaries({tag: CONTENTS[tag] | JUNK})),
    lambda values: (
        st.fixed_dictionaries({"L": st.lists(values, max_size=2)})
        | st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=2), values, max_size=2)})
    ),
    max_leaves=4,
)


def about(shape: Shape) -> st.SearchStrategy[Any]:
    """Values that are of the shape, or nearly."""
    valid: st.SearchStrategy[Any]
    if isinstance(shape, Struct):
        members = {name: about(member) for name, member in shape.members.items()}
        valid = st.fixed_dictionaries(
            {name: member for name, member in members.items() if name in shape.required},
            optional={name: member for name, member in members.items() if name not in shape.required},
        )
    elif isinstance(shape, List):
        valid = st.lists(about(shape.member), max_size=3)
    elif isinstance(shape, Map):
        valid = st.dictionaries(st.sampled_from(["abc", "table", "a;"]), about(shape.value), max_size=2)
    elif isinstance(shape, AttributeValue):
        valid = ATTRIBUTE_VALUES
    elif isinstance(shape, String):
        valid = st.sampled_from([*shape.enum, "table", "x" * (shape.min or 3)])
    elif isinstance(shape, Number):
        valid = st.integers(-1, 5)
    else:
        valid = st.booleans() if isinstance(shape, Boolean) else st.integers(0, 9)
    return st.integers(0, 29).flatmap(lambda chance: valid if chance else JUNK)


@pytest.mark.parametrize("operation", sorted(INPUTS))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_quick_answer_is_the_careful_one_and_clean_requests_stay_as_they_are(
    operation: str, data: st.DataObject
) -> None:
    request = data.draw(about(INPUTS[operation].shape))
    try:
        clean = check_request(operation, request)
    except DynamoError:
        return
    assert examine_request(operation, request) == clean
    assert check_request(operation, clean) == clean
