"""PutItem, GetItem, DeleteItem: what is stored, what comes back, and what is refused in which order."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tablewright.dynamo import ConditionalCheckFailedException, ResourceNotFoundException
from tablewright.engine.items import item_operations
from tests.engine.table_client import TableClient

INVALID = "One or more parameter values were invalid: "
COUNTED = "1 validation error detected: "
MISMATCH = "The provided key element does not match the schema"
EMPTY_KEY = (
    "One or more parameter values are not valid. "
    "The AttributeValue for a key attribute cannot contain an empty {} value. {}"
)
A = {"S": "a"}


# -- what is kept -------------------------------------------------------------------------------------------


def test_an_item_comes_back_as_it_was_put(db: TableClient) -> None:
    db.create("pk, sk", sk="N")
    item = {
        "pk": A,
        "sk": {"N": "-1.5"},
        "b": {"B": "AQI="},
        "yes": {"BOOL": True},
        "none": {"NULL": True},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2"]},
        "bs": {"BS": ["AQ==", "Ag=="]},
        "deep": {"M": {"list": {"L": [{"S": ""}, {"M": {}}, {"L": []}]}}},
        "näme": {"S": "ü€😀\u0000"},
    }
    assert db("PutItem", Item=item) == {}
    assert db.get(pk=A, sk={"N": "-1.50"}) == item


def test_numbers_are_kept_in_canonical_form(db: TableClient) -> None:
    db.create(pk="N")
    db.put(pk={"N": "1e1"}, n={"N": "+0012.300"}, s={"NS": ["1.0", "2e1"]}, l={"L": [{"N": "0e9"}]})
    assert db.get(pk={"N": "10.0"}) == {
        "pk": {"N": "10"},
        "n": {"N": "12.3"},
        "s": {"NS": ["1", "20"]},
        "l": {"L": [{"N": "0"}]},
    }


def test_a_put_replaces_the_whole_item(db: TableClient) -> None:
    db.create()
    db.put(pk=A, old=A)
    db.put(pk=A, new=A)
    assert db.get(pk=A) == {"pk": A, "new": A}


def test_a_table_can_be_named_by_its_arn(db: TableClient) -> None:
    db.create()
    db.put(pk=A)
    arn = db("DescribeTable")["Table"]["TableArn"]
    assert db("GetItem", TableName=arn, Key={"pk": A}) == {"Item": {"pk": A}}


def test_what_is_not_there(db: TableClient) -> None:
    db.create()
    assert db("GetItem", Key={"pk": A}) == {}
    assert db("DeleteItem", Key={"pk": A}, ReturnValues="ALL_OLD") == {}
    for operation in ("GetItem", "DeleteItem", "UpdateItem"):
        error = db.error(operation, TableName="other", Key={"pk": A})
        assert isinstance(error, ResourceNotFoundException)
        assert error.message == "Requested resource not found"


def test_requests_are_not_changed_and_responses_are_the_callers_own(db: TableClient) -> None:
    db.create()
    request = {"TableName": "table", "Item": {"pk": A, "m": {"M": {"n": {"N": "1.0"}}}}}
    before = copy.deepcopy(request)
    db.engine.call("PutItem", request)
    assert request == before
    request["Item"]["m"]["M"]["n"]["N"] = "2"  # type: ignore[index]
    found = db.get(pk=A)
    assert found == {"pk": A, "m": {"M": {"n": {"N": "1"}}}}
    found["m"]["M"].clear()
    assert db.get(pk=A) == {"pk": A, "m": {"M": {"n": {"N": "1"}}}}
    update = {
        "TableName": "table",
        "Key": {"pk": A},
        "UpdateExpression": "SET l = list_append(:l, :l), m.x = :l",
        "ExpressionAttributeValues": {":l": {"L": [{"N": "1.0"}]}},
        "ReturnValues": "ALL_NEW",
    }
    before = copy.deepcopy(update)
    db.engine.call("UpdateItem", update)["Attributes"]["l"]["L"].clear()
    assert update == before
    stored = db.get(pk=A)
    assert stored is not None
    assert stored["l"] == {"L": [{"N": "1"}, {"N": "1"}]}


# -- return values and conditions ---------------------------------------------------------------------------


def test_the_old_item_comes_back_when_asked_for(db: TableClient) -> None:
    db.create()
    assert db("PutItem", Item={"pk": A, "v": A}, ReturnValues="ALL_OLD") == {}
    assert db("PutItem", Item={"pk": A}, ReturnValues="ALL_OLD") == {"Attributes": {"pk": A, "v": A}}
    assert db("DeleteItem", Key={"pk": A}, ReturnValues="ALL_OLD") == {"Attributes": {"pk": A}}
    assert db.get(pk=A) is None


@pytest.mark.parametrize("returned", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_put_and_delete_return_only_the_old_item(db: TableClient, returned: str) -> None:
    db.create()
    message = COUNTED + "ReturnValues can only be ALL_OLD or NONE"
    assert db.refusal("PutItem", Item={"pk": A}, ReturnValues=returned) == message
    assert db.refusal("DeleteItem", Key={"pk": A}, ReturnValues=returned) == message


def test_a_condition_is_about_the_item_as_it_is(db: TableClient) -> None:
    db.create()
    absent = {"ConditionExpression": "attribute_not_exists(pk)"}
    db("PutItem", Item={"pk": A, "n": {"N": "1"}}, **absent)
    error = db.error("PutItem", Item={"pk": A}, **absent)
    assert isinstance(error, ConditionalCheckFailedException)
    assert error.body() == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
    }
    assert db.get(pk=A) == {"pk": A, "n": {"N": "1"}}
    for operation, request in (
        ("PutItem", {"Item": {"pk": A}}),
        ("DeleteItem", {"Key": {"pk": A}}),
        ("UpdateItem", {"Key": {"pk": A}}),
    ):
        failure = db.error(operation, **request, **absent, ReturnValuesOnConditionCheckFailure="ALL_OLD")
        assert failure.body()["Item"] == {"pk": A, "n": {"N": "1"}}
        missing = {"pk": {"S": "missing"}}
        nothing = db.error(
            operation,
            **dict.fromkeys(request, missing),
            ConditionExpression="attribute_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        assert "Item" not in nothing.body()
    assert db.get(pk={"S": "missing"}) is None


def test_expected_is_the_older_condition(db: TableClient) -> None:
    db.create()
    db("PutItem", Item={"pk": A, "n": {"N": "1"}}, Expected={"pk": {"Exists": False}})
    assert isinstance(
        db.error("DeleteItem", Key={"pk": A}, Expected={"n": {"Value": {"N": "2"}}}),
        ConditionalCheckFailedException,
    )
    db("DeleteItem", Key={"pk": A}, Expected={"n": {"Value": {"N": "1.0"}}})
    assert db.get(pk=A) is None


# -- keys ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
@pytest.mark.parametrize(
    "key",
    [
        {},
        {"pk": A},
        {"sk": {"N": "1"}},
        {"pk": A, "sk": A},
        {"pk": {"N": "1"}, "sk": {"N": "1"}},
        {"pk": A, "sk": {"NULL": True}},
        {"pk": A, "other": {"N": "1"}},
        {"pk": A, "sk": {"N": "1"}, "other": A},
    ],
)
def test_a_key_has_the_key_attributes_and_nothing_else(db: TableClient, operation: str, key: dict[str, Any]) -> None:
    db.create("pk, sk", sk="N")
    assert db.refusal(operation, Key=key) == MISMATCH


def test_an_item_without_its_key(db: TableClient) -> None:
    db.create("pk, sk", sk="N")
    assert db.refusal("PutItem", Item={}) == INVALID + "Missing the key pk in the item"
    assert db.refusal("PutItem", Item={"pk": A}) == INVALID + "Missing the key sk in the item"
    assert db.refusal("PutItem", Item={"pk": A, "sk": A}) == (
        INVALID + "Type mismatch for key sk expected: N actual: S"
    )
    assert db.refusal("PutItem", Item={"pk": {"L": []}, "sk": {"N": "1"}}) == (
        INVALID + "Type mismatch for key pk expected: S actual: L"
    )


@pytest.mark.parametrize(("tag", "kind"), [("S", "string"), ("B", "binary")])
def test_a_key_is_not_empty(db: TableClient, tag: str, kind: str) -> None:
    db.create("pk, sk", pk=tag, sk=tag)
    full = {"S": "a"} if tag == "S" else {"B": "AQ=="}
    for key, name in (({"pk": {tag: ""}, "sk": full}, "pk"), ({"pk": full, "sk": {tag: ""}}, "sk")):
        message = EMPTY_KEY.format(kind, f"Key: {name}")
        assert db.refusal("PutItem", Item=key) == message
        for operation in ("GetItem", "DeleteItem", "UpdateItem"):
            assert db.refusal(operation, Key=key) == message


def test_key_sizes_are_counted_in_bytes(db: TableClient) -> None:
    db.create("pk, sk")
    longest = {"pk": {"S": "é" * 1024}, "sk": {"S": "é" * 512}}
    db.put(**longest)
    assert db.get(**longest) == longest
    for key, message in (
        (
            {**longest, "pk": {"S": "é" * 1024 + "x"}},
            "Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            {**longest, "sk": {"S": "é" * 512 + "x"}},
            "Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        ),
    ):
        assert db.refusal("PutItem", Item=key) == INVALID + message
        for operation in ("GetItem", "DeleteItem", "UpdateItem"):
            assert db.refusal(operation, Key=key) == INVALID + message


def test_binary_key_sizes_are_those_of_the_bytes(db: TableClient) -> None:
    db.create(pk="B")
    db.put(pk={"B": "AAAA" * 682})
    assert db.refusal("PutItem", Item={"pk": {"B": "AAAA" * 683}}) == (
        INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
    )


# -- index keys ---------------------------------------------------------------------------------------------


def test_an_index_key_has_its_type(db: TableClient) -> None:
    db.create("pk, sk", global_indexes={"zzz": "g", "aaa": "g, h"}, local_indexes={"mmm": "pk, h"}, g="N")
    key = {"pk": A, "sk": A}
    # Of several indexes the first by name is reported.
    assert db.refusal("PutItem", Item={**key, "g": A}) == (
        INVALID + "Type mismatch for Index Key g Expected: N Actual: S IndexName: aaa"
    )
    assert db.refusal("PutItem", Item={**key, "h": {"M": {}}}) == (
        INVALID + "Type mismatch for Index Key h Expected: S Actual: M IndexName: aaa"
    )
    assert db.refusal("PutItem", Item={**key, "h": {"S": ""}}) == (
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: aaa, IndexKey: h"
    )
    assert db.refusal("PutItem", Item={**key, "h": {"S": "x" * 1025}}) == (
        INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
    )
    db.put(**key)


def test_the_key_of_the_table_is_checked_before_those_of_indexes(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    assert db.refusal("PutItem", Item={"g": {"N": "1"}}) == INVALID + "Missing the key pk in the item"


# -- sizes --------------------------------------------------------------------------------------------------


def test_an_item_may_have_400_kb(db: TableClient) -> None:
    db.create()
    room = 400 * 1024 - len("pk") - len("a") - len("v")
    db.put(pk=A, v={"S": "x" * room})
    assert db.refusal("PutItem", Item={"pk": A, "v": {"S": "x" * (room + 1)}}) == (
        "Item size has exceeded the maximum allowed size"
    )


# -- the order of checks ------------------------------------------------------------------------------------


def test_put_checks_values_then_parameters_then_expressions_then_the_table(db: TableClient) -> None:
    request: dict[str, Any] = {
        "TableName": "missing",
        "Item": {"v": {"N": "x"}},
        "ReturnValues": "ALL_NEW",
        "Expected": {"a": {}},
        "ConditionExpression": "bad syntax(",
        "ExpressionAttributeNames": {"#unused": "a"},
    }
    assert db.refusal("PutItem", **request) == COUNTED + "The parameter cannot be converted to a numeric value: x"
    request["Item"] = {"v": {"S": "x" * 500_000}}
    assert db.refusal("PutItem", **request) == (
        COUNTED + "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
    )
    expected = request.pop("Expected")
    assert db.refusal("PutItem", **request) == COUNTED + "ReturnValues can only be ALL_OLD or NONE"
    del request["ReturnValues"]
    assert db.refusal("PutItem", **request) == "Item size has exceeded the maximum allowed size"
    request["Item"] = {}
    assert str(db.refusal("PutItem", **request)).startswith(COUNTED + "Invalid ConditionExpression: Syntax error")
    request["ConditionExpression"] = "attribute_exists(pk)"
    assert db.refusal("PutItem", **request) == (
        COUNTED + "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}"
    )
    del request["ExpressionAttributeNames"]
    assert isinstance(db.error("PutItem", **request), ResourceNotFoundException)
    del request["ConditionExpression"]
    assert db.refusal("PutItem", **request, Expected=expected) == (
        COUNTED + INVALID + "Value must be provided when Exists is null for Attribute: a"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"SS": []}, INVALID + "An string set  may not be empty"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
    ],
)
def test_malformed_values_are_counted_by_writes_of_one_item_only(
    db: TableClient, value: dict[str, Any], message: str
) -> None:
    db.create()
    assert db.refusal("PutItem", Item={"pk": A, "v": value}) == COUNTED + message
    assert db.refusal("UpdateItem", Key={"pk": value}) == COUNTED + message
    assert db.refusal("DeleteItem", Key={"pk": value}) == COUNTED + message
    assert db.refusal("GetItem", Key={"pk": value}) == message


def test_get_checks_the_key_before_its_expressions_and_these_before_the_table(db: TableClient) -> None:
    request: dict[str, Any] = {
        "TableName": "missing",
        "Key": {"pk": {"N": "x"}},
        "ProjectionExpression": "",
        "AttributesToGet": ["a", "a"],
        "ExpressionAttributeNames": {},
    }
    assert str(db.refusal("GetItem", **request)).startswith("Can not use both expression and non-expression")
    del request["AttributesToGet"]
    assert db.refusal("GetItem", **request) == "The parameter cannot be converted to a numeric value: x"
    request["Key"] = {}
    assert db.refusal("GetItem", **request) == "ExpressionAttributeNames must not be empty"
    del request["ExpressionAttributeNames"]
    assert db.refusal("GetItem", **request) == ("Invalid ProjectionExpression: The expression can not be empty;")
    del request["ProjectionExpression"]
    assert db.refusal("GetItem", **request, AttributesToGet=["a", "a"]) == (
        INVALID + "Duplicate value in attribute name: a"
    )
    assert isinstance(db.error("GetItem", **request), ResourceNotFoundException)


def test_delete_checks_the_key_before_its_condition(db: TableClient) -> None:
    request: dict[str, Any] = {
        "TableName": "missing",
        "Key": {"pk": {}},
        "Expected": {"a": {}},
    }
    assert db.refusal("DeleteItem", **request) == (
        COUNTED + "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
    )
    request["Key"] = {}
    assert db.refusal("DeleteItem", **request) == (
        COUNTED + INVALID + "Value must be provided when Exists is null for Attribute: a"
    )
    assert isinstance(db.error("DeleteItem", TableName="missing", Key={}), ResourceNotFoundException)


# -- projections --------------------------------------------------------------------------------------------


def test_a_projection_gives_what_is_there(db: TableClient) -> None:
    db.create()
    db.put(pk=A, m={"M": {"x": A, "y": A}}, l={"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}, v=A)
    project = {"Key": {"pk": A}}
    assert db("GetItem", **project, ProjectionExpression="v, absent") == {"Item": {"v": A}}
    assert db("GetItem", **project, ProjectionExpression="m.x, l[2], l[0]") == {
        "Item": {"m": {"M": {"x": A}}, "l": {"L": [{"N": "0"}, {"N": "2"}]}}
    }
    assert db("GetItem", **project, ProjectionExpression="absent") == {"Item": {}}
    assert db("GetItem", **project, AttributesToGet=["pk", "m.x"]) == {"Item": {"pk": A}}
    assert db("GetItem", **project, AttributesToGet=["missing"]) == {"Item": {}}


def test_a_path_does_not_go_into_a_key(db: TableClient) -> None:
    db.create("pk, sk", global_indexes={"gsi": "g"})
    message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
    key = {"pk": A, "sk": A}
    assert db.refusal("GetItem", Key=key, ProjectionExpression="v, sk.x") == message + "Key: sk"
    assert db.refusal("GetItem", Key=key, ProjectionExpression="g[0]") == message + "IndexKey: g"


# -- item collections ---------------------------------------------------------------------------------------


def test_item_collection_metrics_are_for_tables_with_local_indexes(db: TableClient) -> None:
    db.create("pk, sk", local_indexes={"lsi": "pk, l"})
    db.create(name="plain", global_indexes={"gsi": "g"})
    metrics = {"ItemCollectionKey": {"pk": A}, "SizeEstimateRangeGB": [0.0, 1.0]}
    key = {"pk": A, "sk": A}
    for operation, subject in (("PutItem", "Item"), ("UpdateItem", "Key"), ("DeleteItem", "Key")):
        answer = db(operation, **{subject: key}, ReturnItemCollectionMetrics="SIZE")
        assert answer == {"ItemCollectionMetrics": metrics}
        assert db(operation, **{subject: key}, ReturnItemCollectionMetrics="NONE") == {}
        assert db(operation, TableName="plain", **{subject: {"pk": A}}, ReturnItemCollectionMetrics="SIZE") == {}


def test_the_size_of_a_large_item_collection_is_estimated_from_some_of_its_items(
    db: TableClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.create("pk, sk", local_indexes={"lsi": "pk, l"})
    for first in range(0, 3_000, 25):
        items = [{"pk": A, "sk": {"S": str(number)}, "x": A} for number in range(first, first + 25)]
        db("BatchWriteItem", RequestItems={"table": [{"PutRequest": {"Item": item}} for item in items]})
    monkeypatch.setattr(item_operations, "_SAMPLED_ROWS", 1_000)
    # The range in bytes.
    monkeypatch.setattr(item_operations, "_RANGE_BITS", 0)
    low, high = db("DeleteItem", Key={"pk": A, "sk": {"S": "none"}}, ReturnItemCollectionMetrics="SIZE")[
        "ItemCollectionMetrics"
    ]["SizeEstimateRangeGB"]
    exact = db("DescribeTable")["Table"]["TableSizeBytes"]
    assert high == low + 1
    assert 0.85 * exact < low < 1.15 * exact
