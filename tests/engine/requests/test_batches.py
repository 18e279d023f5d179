"""The constraints of batches: how much they may ask for, and where a mistake in one is."""

from __future__ import annotations

from typing import Any

from tests.engine.requests.refusals import KEY, NAME_PATTERN, one_error, validation_error


def test_batches_must_ask_for_something() -> None:
    empty: dict[str, Any] = {"RequestItems": {}}
    assert validation_error("BatchGetItem", empty) == (
        "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )
    assert validation_error("BatchWriteItem", empty) == "The requestItems parameter is required for BatchWriteItem"
    for operation in ("BatchGetItem", "BatchWriteItem"):
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
