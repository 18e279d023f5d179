"""The two layers of checks that requests pass: newer words, and older ones for what the newer layer cannot read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.requests.refusals import KEY, NAME_PATTERN, one_error, validation_error, violation
from tests.engine.table_client import TableClient

A = {"S": "a"}
SUBJECTS: dict[str, dict[str, Any]] = {"PutItem": {"Item": KEY}, "UpdateItem": {"Key": KEY}, "DeleteItem": {"Key": KEY}}
TOO_SHORT = "Member must have length greater than or equal to 1"
MISSING = "Member must not be null"
RETURN_VALUES = "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
CAPACITY = violation("'X'", "returnConsumedCapacity", "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]")
METRICS = violation("'Y'", "returnItemCollectionMetrics", "Member must satisfy enum value set: [SIZE, NONE]")
OPERATOR = violation("'XOR'", "conditionalOperator", "Member must satisfy enum value set: [OR, AND]")
NESTED = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
NEWER_OPERATOR = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = A
    for _ in range(levels):
        value = {"M": {"n": value}}
    return value


# -- writes of one item ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", SUBJECTS)
def test_an_empty_table_name_is_reported_alone_and_without_its_value(operation: str) -> None:
    request = {"TableName": "", **SUBJECTS[operation], "ReturnValues": "X", "ReturnConsumedCapacity": "X"}
    assert validation_error(operation, request) == (
        f"1 validation error detected: Value at 'TableName' failed to satisfy constraint: {TOO_SHORT}"
    )
    request["TableName"] = "bad name"
    assert validation_error(operation, request) == one_error("'bad name'", "tableName", NAME_PATTERN)


@pytest.mark.parametrize("operation", SUBJECTS)
def test_an_operator_between_conditions_that_is_none(operation: str) -> None:
    expected = {"a": {"Exists": False}, "b": {"Exists": False}}
    request = {"TableName": "table", **SUBJECTS[operation], "Expected": expected, "ConditionalOperator": "XOR"}
    assert validation_error(operation, request) == f"1 validation error detected: {NEWER_OPERATOR}"


def test_a_request_without_its_key_is_refused_in_older_words_all_together() -> None:
    update: dict[str, Any] = {"UpdateExpression": "SET a = :a", "ExpressionAttributeValues": {":a": A}}
    name, key = violation("''", "tableName", TOO_SHORT), violation("null", "key", MISSING)
    assert validation_error("UpdateItem", {"TableName": "", **update}) == f"2 validation errors detected: {name}; {key}"
    several = {"TableName": "", **update, "ReturnConsumedCapacity": "X", "ReturnValues": "Z"}
    values = violation("'Z'", "returnValues", RETURN_VALUES)
    assert validation_error("UpdateItem", several) == (
        f"4 validation errors detected: {CAPACITY}; {name}; {values}; {key}"
    )
    older = {"TableName": "table", "Expected": {"a": {}, "b": {}}, "ConditionalOperator": "XOR"}
    assert validation_error("UpdateItem", older) == f"2 validation errors detected: {OPERATOR}; {key}"


def test_a_request_with_a_value_beyond_62_levels_is_refused_in_older_words(db: TableClient) -> None:
    values = one_error("'X'", "returnValues", RETURN_VALUES)
    newer_values = "1 validation error detected: Failed to satisfy constraint: Member must satisfy enum value set: "
    for levels in (62, 63, 100):
        condition = {
            "ConditionExpression": "d = :d",
            "ExpressionAttributeValues": {":d": deep(levels)},
        }
        for places in (
            {"Key": KEY, **condition},
            {"Key": KEY, "Expected": {"d": {"Value": deep(levels)}}},
            {"Key": {"pk": deep(levels)}},
        ):
            request = {"TableName": "missing", **places}
            refused = str(db.refusal("DeleteItem", **request, ReturnValues="X"))
            assert refused == values if levels > 62 else refused.startswith(newer_values)
        count = "" if levels > 62 else "1 validation error detected: "
        subject = {"TableName": "missing", "Key": KEY, **condition}
        assert db.refusal("DeleteItem", **subject, ReturnValues="UPDATED_NEW") == (
            f"{count}ReturnValues can only be ALL_OLD or NONE"
        )
        named = f"ExpressionAttributeValues contains invalid value: {NESTED} for key :d"
        assert db.refusal("DeleteItem", **subject) == (named if levels > 62 else count + NESTED)
        expected = {"a": {"Value": deep(levels)}, "b": {"Exists": False}}
        for operation, given in SUBJECTS.items():
            request = {"TableName": "missing", **given, "Expected": expected, "ConditionalOperator": "XOR"}
            assert db.refusal(operation, **request) == (
                f"1 validation error detected: {OPERATOR if levels > 62 else NEWER_OPERATOR}"
            )


# -- the others -----------------------------------------------------------------------------------------------


def test_a_query_reports_the_operator_between_its_conditions_before_all_else() -> None:
    conditions = {"b": {"ComparisonOperator": "NULL"}, "c": {"ComparisonOperator": "NULL"}}
    request = {"TableName": "table", "QueryFilter": conditions, "ConditionalOperator": "XOR", "Select": "X"}
    assert validation_error("Query", request) == NEWER_OPERATOR
    scan = {"TableName": "table", "ScanFilter": conditions, "ConditionalOperator": "XOR"}
    assert validation_error("Scan", scan) == f"1 validation error detected: {OPERATOR}"


def test_a_batch_of_gets_is_shown_as_json_where_it_names_no_table() -> None:
    request = {"RequestItems": {"bad!name": {"Keys": [{"pk": {"S": "a"}}]}}}
    names = violation(
        """'{"bad!name":{"Keys":[{"pk":{"S":"a"}}]}}'""",
        "requestItems",
        "Map keys must satisfy constraint: [Member must have length less than or equal to 255, "
        f"Member must have length greater than or equal to 3, {NAME_PATTERN}]",
    )
    assert validation_error("BatchGetItem", request) == f"1 validation error detected: {names}"
    both = {**request, "ReturnConsumedCapacity": "X"}
    assert validation_error("BatchGetItem", both) == f"2 validation errors detected: {names}; {CAPACITY}"


def test_a_batch_of_writes_reports_what_it_is_to_return_before_what_it_writes() -> None:
    request = {"RequestItems": {"bad!name": [{"PutRequest": {"Item": KEY}}]}, "ReturnConsumedCapacity": "X"}
    assert validation_error("BatchWriteItem", request) == f"1 validation error detected: {CAPACITY}"
    request["ReturnItemCollectionMetrics"] = "Y"
    assert validation_error("BatchWriteItem", request) == f"2 validation errors detected: {CAPACITY}; {METRICS}"


def test_a_transaction_reports_its_token_first() -> None:
    request: dict[str, Any] = {
        "TransactItems": [{"Put": {"TableName": "table", "Item": KEY}}],
        "ClientRequestToken": "x" * 37,
        "ReturnConsumedCapacity": "X",
        "ReturnItemCollectionMetrics": "Y",
    }
    token = violation(f"'{'x' * 37}'", "clientRequestToken", "Member must have length less than or equal to 36")
    assert validation_error("TransactWriteItems", request) == (
        f"3 validation errors detected: {token}; {CAPACITY}; {METRICS}"
    )


# -- the actions of a transaction, one after the other --------------------------------------------------------

SYNTAX = 'Invalid ConditionExpression: Syntax error; token: "=", near: "= = b"'
LONG = "a = :v" + " AND a = :v" * 373
EMPTY_NAME = "Empty attribute name"


def _put(item: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"Put": {"TableName": "missing", "Item": {**KEY, **item}, **members}}


def _delete(key: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"Delete": {"TableName": "missing", "Key": key, **members}}


def _check(value: dict[str, Any]) -> dict[str, Any]:
    check = {"ConditionExpression": "d = :deep", "ExpressionAttributeValues": {":deep": value}}
    return {"ConditionCheck": {"TableName": "missing", "Key": KEY, **check}}


UNUSED = {
    "Update": {
        "TableName": "missing",
        "Key": KEY,
        "UpdateExpression": "SET a = :v",
        "ExpressionAttributeValues": {":v": A, ":u": A},
    }
}
WRONG = {"ConditionExpression": "a = = b"}


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ([_put({"d": deep(40)}), _put({"": A})], NESTED),
        ([_put({"": A}), _put({"d": deep(100)})], EMPTY_NAME),
        ([_put({"": A, "d": deep(100)})], EMPTY_NAME),
        ([_put({"d": deep(100), "": A})], EMPTY_NAME),
        ([_put({"m": {"M": {"": A}}, "d": deep(40)})], NESTED),
        ([_put({"": A}), _check(deep(100))], EMPTY_NAME),
        (
            [_check(deep(40)), _put({"": A})],
            f"ExpressionAttributeValues contains invalid value: {NESTED} for key :deep",
        ),
        ([_delete({"pk": deep(40)}), _put({}, **WRONG)], NESTED),
        ([_put({}, **WRONG), _delete({"pk": deep(100)})], SYNTAX),
        ([_delete({"pk": deep(100)}, **WRONG)], SYNTAX),
        (
            [_delete({"pk": deep(100)}, ConditionExpression=LONG, ExpressionAttributeValues={":v": A})],
            "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; expression size: 4109",
        ),
        (
            [UNUSED, _delete({"pk": deep(100)})],
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}",
        ),
        ([_delete({"pk": deep(100)})], NESTED),
    ],
)
def test_a_transaction_reports_the_first_problem_of_its_first_faulty_action(
    db: TableClient, actions: list[dict[str, Any]], problem: str
) -> None:
    assert db.refusal("TransactWriteItems", TransactItems=actions) == problem
