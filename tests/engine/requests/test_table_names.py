"""When the name of a table is looked at, and what may be one."""

from __future__ import annotations

import pytest

from tablewright.engine.requests import check_request, table_name_of
from tests.engine.requests.refusals import KEY, NAME_PATTERN, one_error, validation_error, violation

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


@pytest.mark.parametrize("operation", ["GetItem", "Query", *TABLE_OPERATIONS])
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
