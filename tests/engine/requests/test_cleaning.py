"""A well-formed request is answered as it is, without what the service drops and with what it converts."""

from __future__ import annotations

import pytest

from tablewright.dynamo import UnknownOperationException
from tablewright.engine.operations import HANDLERS
from tablewright.engine.requests import DYNAMODB_OPERATIONS, STREAMS_OPERATIONS, check_request
from tests.engine.requests.refusals import KEY, put


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


def test_operations_are_split_by_the_target_they_are_called_on() -> None:
    assert {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"} == STREAMS_OPERATIONS
    assert {"PutItem", "CreateTable", "ExecuteStatement", "DescribeLimits"} <= DYNAMODB_OPERATIONS
    assert not DYNAMODB_OPERATIONS & STREAMS_OPERATIONS


def test_an_operation_that_is_not_declared_is_unknown() -> None:
    with pytest.raises(UnknownOperationException, match="does not support the operation CreateUniverse"):
        check_request("CreateUniverse", {})


def test_every_declared_operation_has_a_handler() -> None:
    assert set(HANDLERS) == DYNAMODB_OPERATIONS | STREAMS_OPERATIONS
