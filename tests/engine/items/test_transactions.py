"""TransactWriteItems and TransactGetItems: all or nothing, once."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import (
    IdempotentParameterMismatchException,
    ResourceNotFoundException,
    TransactionCanceledException,
)
from tests.engine.table_client import TableClient

KEY_MISMATCH = "The provided key element does not match the schema"
INVALID = "One or more parameter values were invalid: "
MISMATCH = "The provided key element does not match the schema"
A, B, C = ({"S": name} for name in "abc")
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}


def put(**item: dict[str, Any]) -> dict[str, Any]:
    return {"Put": {"TableName": "table", "Item": item}}


def delete(**key: dict[str, Any]) -> dict[str, Any]:
    return {"Delete": {"TableName": "table", "Key": key}}


def update(expression: str, values: dict[str, Any] | None = None, **key: dict[str, Any]) -> dict[str, Any]:
    action: dict[str, Any] = {"TableName": "table", "Key": key, "UpdateExpression": expression}
    if values is not None:
        action["ExpressionAttributeValues"] = values
    return {"Update": action}


def check(expression: str, **key: dict[str, Any]) -> dict[str, Any]:
    return {"ConditionCheck": {"TableName": "table", "Key": key, "ConditionExpression": expression}}


def under(action: dict[str, Any], expression: str, **more: Any) -> dict[str, Any]:
    """The action, with a condition."""
    ((kind, body),) = action.items()
    return {kind: {**body, "ConditionExpression": expression, **more}}


def get(table: str = "table", projection: str | None = None, **key: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"TableName": table, "Key": key}
    if projection is not None:
        body["ProjectionExpression"] = projection
    return {"Get": body}


def reasons(db: TableClient, *actions: dict[str, Any], operation: str = "TransactWriteItems") -> list[dict[str, Any]]:
    """Why the transaction is cancelled."""
    error = db.error(operation, TransactItems=list(actions))
    assert isinstance(error, TransactionCanceledException)
    found: list[dict[str, Any]] = error.body()["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in found)
    assert error.message == (f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]")
    assert error.body()["Message"] == error.message
    return found


# -- writing ------------------------------------------------------------------------------------------------


def test_all_actions_are_applied(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    db.put(pk=B, g=B)
    db.put(pk={"S": "checked"})
    answer = db(
        "TransactWriteItems",
        TransactItems=[
            put(pk=A, g=A),
            update("SET g = :g", {":g": C}, pk=C),
            delete(pk=B),
            check("attribute_exists(pk)", pk={"S": "checked"}),
        ],
    )
    assert answer == {}
    found = db("Scan", IndexName="gsi")["Items"]
    assert sorted(found, key=str) == [{"pk": A, "g": A}, {"pk": C, "g": C}]
    assert db.engine.verify().problems == []


def test_nothing_is_applied_when_one_condition_fails(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    db.put(pk=B, v=A)
    assert reasons(
        db,
        put(pk=A, g=A),
        under(delete(pk=B), "attribute_not_exists(v)", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
        under(
            update("SET v = :v", {":v": A}, pk=C), "attribute_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD"
        ),
        check("attribute_exists(pk)", pk={"S": "d"}),
        under(put(pk={"S": "e"}), "attribute_not_exists(pk)"),
    ) == [{"Code": "None"}, {**FAILED, "Item": {"pk": B, "v": A}}, FAILED, FAILED, {"Code": "None"}]
    assert db("Scan")["Items"] == [{"pk": B, "v": A}]
    assert db("Scan", IndexName="gsi")["Count"] == 0


@pytest.mark.parametrize(
    "second",
    [put(pk=A), delete(pk=A), update("REMOVE v", pk=A), check("attribute_exists(pk)", pk=A)],
)
def test_an_item_is_in_a_transaction_once(db: TableClient, second: dict[str, Any]) -> None:
    db.create()
    assert db.refusal("TransactWriteItems", TransactItems=[put(pk=A), second]) == (
        "Transaction request cannot include multiple operations on one item"
    )
    assert db.get(pk=A) is None


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (put(v=A), INVALID + "Missing the key pk in the item"),
        (put(pk={"N": "1"}), INVALID + "Type mismatch for key pk expected: S actual: N"),
        (
            put(pk=A, g={"N": "1"}),
            INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: gsi",
        ),
        (delete(v=A), "The provided key element does not match the schema"),
        (
            update("SET pk = :v", {":v": A}, pk=B),
            INVALID + "Cannot update attribute pk. This attribute is part of the key",
        ),
        (
            update("SET g = :v", {":v": {"N": "1"}}, pk=C),
            INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: gsi",
        ),
        (
            update("SET v = w", pk={"S": "d"}),
            "The provided expression refers to an attribute that does not exist in the item",
        ),
    ],
)
def test_an_action_that_is_not_valid_is_a_reason(db: TableClient, action: dict[str, Any], problem: str) -> None:
    db.create(global_indexes={"gsi": "g"})
    invalid = {"Code": "ValidationError", "Message": problem}
    assert reasons(db, put(pk={"S": "e"}), action, put(pk={"S": "f"})) == [{"Code": "None"}, invalid, {"Code": "None"}]
    assert db("Scan")["Count"] == 0


def test_nothing_is_a_reason_after_the_first_action_that_is_not_valid(db: TableClient) -> None:
    db.create()
    none, invalid = {"Code": "None"}, {"Code": "ValidationError", "Message": KEY_MISMATCH}
    failing = check("attribute_exists(pk)", pk=C)
    missing = update("SET v = w", pk=B)
    # What does not fit the table is found before any condition is looked at.
    assert reasons(db, failing, delete(v=A), delete(w=A), missing) == [none, invalid, none, none]
    # What is not valid for an item is found in its turn.
    absent = {
        "Code": "ValidationError",
        "Message": "The provided expression refers to an attribute that does not exist in the item",
    }
    again = check("attribute_exists(pk)", pk={"S": "d"})
    assert reasons(db, failing, missing, update("SET v = w", pk=A), again) == [FAILED, absent, none, none]


def test_an_empty_key_refuses_the_request(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    fails = check("attribute_exists(pk)", pk=B)
    invalid = "One or more parameter values are not valid."
    empty = "The AttributeValue for a key attribute cannot contain an empty string value."
    for action in (put(pk={"S": ""}), delete(pk={"S": ""}), update("REMOVE v", pk={"S": ""})):
        message = db.refusal("TransactWriteItems", TransactItems=[fails, action])
        assert message == f"{invalid} {empty} Key: pk"
    assert db.refusal("TransactWriteItems", TransactItems=[fails, put(pk=A, g={"S": ""})]) == (
        f"{invalid} A value specified for a secondary index key is not supported. {empty} IndexName: gsi, IndexKey: g"
    )
    assert str(
        db.refusal("TransactWriteItems", TransactItems=[fails, update("SET g = :g", {":g": {"S": ""}}, pk=A)])
    ).startswith("One or more parameter values are not valid. The update expression attempted")


def test_sizes(db: TableClient) -> None:
    db.create()
    room = 409_600 - len("pkav")
    # What a put makes is known before the transaction is.
    assert db.refusal("TransactWriteItems", TransactItems=[put(pk=A, v={"S": "x" * (room + 1)})]) == (
        "Item size has exceeded the maximum allowed size"
    )
    # An update is measured flat: its actions cost nothing here.
    db("TransactWriteItems", TransactItems=[update("SET v = :v", {":v": {"S": "x" * room}}, pk=A)])
    assert reasons(db, update("SET v = :v", {":v": {"S": "x" * (room + 1)}}, pk=A)) == [
        {
            "Code": "ValidationError",
            "Message": "Item size to update has exceeded the maximum allowed size",
        }
    ]
    large = [put(pk={"S": str(number)}, v={"S": "x" * 400_000}) for number in range(11)]
    db("TransactWriteItems", TransactItems=large[:10])
    too_large = "Transaction payload size cannot exceed 4MB. Payload Size: "
    assert db.refusal("TransactWriteItems", TransactItems=large) == f"{too_large}{11 * 400_004 + 1}"
    # Expressions, names and values count as well.
    updates = [update("SET v = :v", {":v": {"S": "x" * 400_000}}, pk={"S": str(number)}) for number in range(11)]
    updates[0]["Update"] |= {"ConditionExpression": "#n <> :v", "ExpressionAttributeNames": {"#n": "name"}}
    size = 11 * (400_000 + len("pk0") + len("SET v = :v")) + 1 + len("#n <> :v") + len("name")
    assert db.refusal("TransactWriteItems", TransactItems=updates) == f"{too_large}{size}"


def test_what_is_wrong_with_an_action_alone_refuses_the_request(db: TableClient) -> None:
    db.create()

    def refusal(*actions: dict[str, Any]) -> str | None:
        return db.refusal("TransactWriteItems", TransactItems=list(actions))

    assert refusal({}) == "TransactItems can only contain one of Check, Put, Update or Delete"
    assert refusal({**put(pk=A), **delete(pk=B)}) == (
        "TransactItems can only contain one of Check, Put, Update or Delete"
    )
    assert refusal(put(pk=A, n={"N": "x"})) == "The parameter cannot be converted to a numeric value: x"
    # The count is that of writes of one item alone.
    assert refusal(put(pk=A, s={"SS": []})) == INVALID + "An string set  may not be empty"
    assert str(refusal(update("SET", pk=A))).startswith("Invalid UpdateExpression: Syntax error")
    assert refusal(update("", pk=A)) == "Invalid UpdateExpression: The expression can not be empty;"
    assert refusal(update("REMOVE v", {":v": A}, pk=A)) == (
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
    )
    unknown = {"Put": {"TableName": "missing", "Item": {"pk": A}}}
    error = db.error("TransactWriteItems", TransactItems=[put(v=A), unknown])
    assert isinstance(error, ResourceNotFoundException)


def test_conditions_see_the_items_before_the_transaction(db: TableClient) -> None:
    db.create()
    db.put(pk=A, n={"N": "1"})
    db(
        "TransactWriteItems",
        TransactItems=[
            under(update("SET n = n + :one", {":one": {"N": "1"}}, pk=A), "n = :one"),
            check("attribute_not_exists(pk)", pk=B),
        ],
    )
    assert db.get(pk=A) == {"pk": A, "n": {"N": "2"}}


def test_item_collections_of_a_transaction(db: TableClient) -> None:
    db.create("pk, sk", local_indexes={"lsi": "pk, l"})
    answer = db(
        "TransactWriteItems",
        TransactItems=[
            put(pk=A, sk=A),
            delete(pk=A, sk=B),
            check("attribute_not_exists(pk)", pk=B, sk=B),
        ],
        ReturnItemCollectionMetrics="SIZE",
    )
    assert answer == {
        "ItemCollectionMetrics": {"table": [{"ItemCollectionKey": {"pk": A}, "SizeEstimateRangeGB": [0.0, 1.0]}]}
    }


# -- once ---------------------------------------------------------------------------------------------------

COUNT = update("ADD n :n", {":n": {"N": "1"}}, pk=A)


def test_a_token_makes_a_transaction_happen_once_in_ten_minutes(db: TableClient) -> None:
    db.create()
    request = {"TransactItems": [COUNT], "ClientRequestToken": "token"}
    db("TransactWriteItems", **request)
    db.clock.now += 599
    db("TransactWriteItems", **request)
    assert db.get(pk=A) == {"pk": A, "n": {"N": "1"}}
    db.clock.now += 2
    db("TransactWriteItems", **request)
    assert db.get(pk=A) == {"pk": A, "n": {"N": "2"}}
    db("TransactWriteItems", TransactItems=[COUNT], ClientRequestToken="another")
    assert db.get(pk=A) == {"pk": A, "n": {"N": "3"}}


def test_a_token_stands_for_one_request(db: TableClient) -> None:
    db.create()
    db("TransactWriteItems", TransactItems=[COUNT], ClientRequestToken="token")
    error = db.error("TransactWriteItems", TransactItems=[put(pk=B)], ClientRequestToken="token")
    assert isinstance(error, IdempotentParameterMismatchException)
    assert db.get(pk=B) is None
    # The order of members is no difference, and neither is what the response should hold.
    ((kind, body),) = COUNT.items()
    reordered = {kind: dict(reversed(body.items()))}
    db(
        "TransactWriteItems",
        TransactItems=[reordered],
        ClientRequestToken="token",
        ReturnConsumedCapacity="TOTAL",
    )
    assert db.get(pk=A) == {"pk": A, "n": {"N": "1"}}


def test_a_cancelled_transaction_can_be_tried_again_with_its_token(db: TableClient) -> None:
    db.create()
    request = {"TransactItems": [under(COUNT, "attribute_exists(pk)")], "ClientRequestToken": "token"}
    assert isinstance(db.error("TransactWriteItems", **request), TransactionCanceledException)
    db.put(pk=A)
    db("TransactWriteItems", **request)
    assert db.get(pk=A) == {"pk": A, "n": {"N": "1"}}


# -- reading ------------------------------------------------------------------------------------------------


def test_a_read_answers_in_order(db: TableClient) -> None:
    db.create()
    db.create(name="other")
    db.put(pk=A, v=A)
    db("PutItem", TableName="other", Item={"pk": A})
    answer = db(
        "TransactGetItems",
        TransactItems=[get(pk=B), get(pk=A), get("other", pk=A), get(projection="v", pk=C)],
    )
    assert answer == {"Responses": [{}, {"Item": {"pk": A, "v": A}}, {"Item": {"pk": A}}, {}]}


def test_a_projection_that_finds_nothing_leaves_no_item(db: TableClient) -> None:
    db.create()
    db.put(pk=A, v=A)
    assert db("TransactGetItems", TransactItems=[get(projection="w", pk=A)]) == {"Responses": [{}]}
    assert db("TransactGetItems", TransactItems=[get(projection="v", pk=A)]) == {"Responses": [{"Item": {"v": A}}]}


def test_reads_that_are_refused(db: TableClient) -> None:
    db.create("pk, sk")
    good = get(pk=A, sk=A)
    mismatch = {"Code": "ValidationError", "Message": MISMATCH}
    assert reasons(db, good, get(pk=A), operation="TransactGetItems") == [{"Code": "None"}, mismatch]
    # Unlike a write, a read collects an empty key like any other.
    (reason,) = reasons(db, get(pk={"S": ""}, sk=A), operation="TransactGetItems")
    assert reason["Code"] == "ValidationError"
    assert db.refusal("TransactGetItems", TransactItems=[good, good]) == (
        "Transaction request cannot include multiple operations on one item"
    )
    assert str(db.refusal("TransactGetItems", TransactItems=[get(projection="!", pk=A)])).startswith(
        "Invalid ProjectionExpression: Syntax error"
    )
    error = db.error("TransactGetItems", TransactItems=[get("missing", pk=A)])
    assert isinstance(error, ResourceNotFoundException)


def test_a_read_is_4_mb_at_most(db: TableClient) -> None:
    db.create()
    for number in range(11):
        db.put(pk={"S": str(number)}, v={"S": "x" * 400_000})
    gets = [get(pk={"S": str(number)}) for number in range(11)]
    assert len(db("TransactGetItems", TransactItems=gets[:10])["Responses"]) == 10
    assert "exceeding the 4MB limit" in str(db.refusal("TransactGetItems", TransactItems=gets))
