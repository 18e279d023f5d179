"""UpdateItem: what it makes of an item, what it returns, and what it may not do."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import ConditionalCheckFailedException, ResourceNotFoundException
from tests.engine.table_client import TableClient
from tests.engine.table_requests import attributes, index_creation

INVALID = "One or more parameter values were invalid: "
COUNTED = "1 validation error detected: "
A = {"S": "a"}
KEY = {"pk": A}
ONE = {":v": {"N": "1"}}


def test_an_update_with_only_a_key_makes_the_item(db: TableClient) -> None:
    db.create()
    assert db("UpdateItem", Key=KEY) == {}
    assert db.get(pk=A) == {"pk": A}
    db.put(pk=A, v=A)
    assert db("UpdateItem", Key=KEY, ReturnValues="ALL_NEW") == {"Attributes": {"pk": A, "v": A}}
    assert db("UpdateItem", Key=KEY, ReturnValues="UPDATED_NEW") == {}
    assert db("UpdateItem", Key=KEY, AttributeUpdates={}) == {}


def test_an_update_of_nothing_makes_an_item(db: TableClient) -> None:
    db.create()
    db("UpdateItem", Key=KEY, UpdateExpression="SET n = :v", ExpressionAttributeValues=ONE)
    assert db.get(pk=A) == {"pk": A, "n": {"N": "1"}}


def test_the_condition_is_about_the_item_and_not_about_the_key_of_a_new_one(db: TableClient) -> None:
    db.create()
    error = db.error("UpdateItem", Key=KEY, ConditionExpression="attribute_exists(pk)")
    assert isinstance(error, ConditionalCheckFailedException)
    assert db.get(pk=A) is None


@pytest.mark.parametrize(
    ("returned", "of_a_new_item", "of_an_old_item"),
    [
        ("NONE", None, None),
        ("ALL_OLD", None, {"pk": A, "n": {"N": "1"}, "keep": A}),
        ("UPDATED_OLD", None, {"n": {"N": "1"}}),
        (
            "ALL_NEW",
            {"pk": A, "n": {"N": "1"}, "new": A},
            {"pk": A, "n": {"N": "2"}, "new": A, "keep": A},
        ),
        ("UPDATED_NEW", {"n": {"N": "1"}, "new": A}, {"n": {"N": "2"}, "new": A}),
    ],
)
def test_return_values(db: TableClient, returned: str, of_a_new_item: Any, of_an_old_item: Any) -> None:
    db.create()
    request: dict[str, Any] = {
        "Key": KEY,
        "UpdateExpression": "ADD n :v SET #n = :a",
        "ExpressionAttributeNames": {"#n": "new"},
        "ExpressionAttributeValues": {**ONE, ":a": A},
        "ReturnValues": returned,
    }
    assert db("UpdateItem", **request).get("Attributes") == of_a_new_item
    db.put(pk=A, n={"N": "1"}, keep=A)
    assert db("UpdateItem", **request).get("Attributes") == of_an_old_item


def test_updated_values_are_fragments(db: TableClient) -> None:
    db.create()
    db.put(pk=A, m={"M": {"x": A, "y": A}})
    request: dict[str, Any] = {
        "Key": KEY,
        "UpdateExpression": "SET m.x = :v",
        "ExpressionAttributeValues": ONE,
    }
    assert db("UpdateItem", **request, ReturnValues="UPDATED_NEW") == {"Attributes": {"m": {"M": {"x": {"N": "1"}}}}}
    removed = db("UpdateItem", Key=KEY, UpdateExpression="REMOVE m", ReturnValues="UPDATED_NEW")
    assert removed == {}
    absent = db("UpdateItem", Key=KEY, UpdateExpression="REMOVE m", ReturnValues="UPDATED_OLD")
    assert absent == {}


def test_the_older_updates(db: TableClient) -> None:
    db.create()
    db.put(pk=A, n={"N": "1"}, ss={"SS": ["a", "b"]}, gone=A)
    updates: dict[str, Any] = {
        "n": {"Action": "ADD", "Value": {"N": "2.50"}},
        "ss": {"Action": "DELETE", "Value": {"SS": ["a"]}},
        "gone": {"Action": "DELETE"},
        "put": {"Value": A},
    }
    answer = db("UpdateItem", Key=KEY, AttributeUpdates=updates, ReturnValues="UPDATED_NEW")
    assert answer == {"Attributes": {"n": {"N": "3.5"}, "ss": {"SS": ["b"]}, "put": A}}
    db("UpdateItem", Key=KEY, AttributeUpdates={"ss": {"Action": "DELETE", "Value": {"SS": ["b", "c"]}}})
    assert db.get(pk=A) == {"pk": A, "n": {"N": "3.5"}, "put": A}
    mismatch = {"put": {"Action": "ADD", "Value": {"N": "1"}}}
    assert db.refusal("UpdateItem", Key=KEY, AttributeUpdates=mismatch) == ("Type mismatch for attribute to update")


# -- what an update may not do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": {":v": A}},
        {"UpdateExpression": "REMOVE pk"},
        {"UpdateExpression": "ADD pk :v", "ExpressionAttributeValues": ONE},
        {"AttributeUpdates": {"pk": {"Value": A}}},
        {"AttributeUpdates": {"pk": {"Action": "DELETE"}}},
    ],
)
def test_a_key_does_not_change(db: TableClient, change: dict[str, Any]) -> None:
    db.create()
    assert db.refusal("UpdateItem", Key=KEY, **change) == (
        INVALID + "Cannot update attribute pk. This attribute is part of the key"
    )


def test_a_path_into_a_key_is_a_change_of_the_key(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    update = {"UpdateExpression": "SET {}.x = :v", "ExpressionAttributeValues": {":v": A}}
    into_key = {**update, "UpdateExpression": "SET pk.x = :v"}
    assert db.refusal("UpdateItem", Key=KEY, **into_key) == (
        INVALID + "Cannot update attribute pk. This attribute is part of the key"
    )
    into_index_key = {**update, "UpdateExpression": "SET g.x = :v"}
    assert db.refusal("UpdateItem", Key=KEY, **into_index_key) == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g"
    )


def test_an_index_key_keeps_its_type(db: TableClient) -> None:
    db.create(global_indexes={"zzz": "g", "aaa": "g"})
    mismatch = INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: aaa"
    given = {"UpdateExpression": "SET g = :v", "ExpressionAttributeValues": ONE}
    assert db.refusal("UpdateItem", Key=KEY, **given) == mismatch
    assert db.refusal("UpdateItem", Key=KEY, AttributeUpdates={"g": {"Value": {"N": "1"}}}) == mismatch
    db.put(pk=A, n={"N": "1"})
    computed = "The update expression attempted to update the secondary index key to unsupported type"
    assert db.refusal("UpdateItem", Key=KEY, UpdateExpression="SET g = n") == computed


@pytest.mark.parametrize(("tag", "kind"), [("S", "string"), ("B", "binary")])
def test_an_index_key_is_not_updated_to_nothing(db: TableClient, tag: str, kind: str) -> None:
    db.create(global_indexes={"gsi": "g"}, g=tag)
    empty = {"UpdateExpression": "SET g = :v", "ExpressionAttributeValues": {":v": {tag: ""}}}
    assert db.refusal("UpdateItem", Key=KEY, **empty) == (
        "One or more parameter values are not valid. The update expression attempted to update a secondary "
        "index key to a value that is not supported. The AttributeValue for a key attribute cannot contain "
        f"an empty {kind} value."
    )
    assert db.get(pk=A) is None


def test_an_old_item_that_does_not_fit_a_new_index_can_be_updated(db: TableClient) -> None:
    db.create()
    db.put(pk=A, g={"N": "1"}, h={"S": "x" * 70_000})
    db(
        "UpdateTable",
        AttributeDefinitions=attributes("g", "h"),
        GlobalSecondaryIndexUpdates=index_creation("by_g", "g"),
    )
    db.engine.sweep()
    db("UpdateItem", Key=KEY, UpdateExpression="SET n = :v", ExpressionAttributeValues=ONE)
    db(
        "UpdateTable",
        AttributeDefinitions=attributes("h"),
        GlobalSecondaryIndexUpdates=index_creation("by_h", "h"),
    )
    db.engine.sweep()
    db("UpdateItem", Key=KEY, UpdateExpression="SET n = n + :v", ExpressionAttributeValues=ONE)
    assert db.engine.verify().problems == []
    assert db("Scan", IndexName="by_h")["Count"] == 0


def test_what_an_update_makes_is_checked_as_a_whole(db: TableClient) -> None:
    db.create()
    deep: dict[str, Any] = {"M": {}}
    for _ in range(30):
        deep = {"M": {"a": deep}}
    db.put(pk=A, m=deep, n={"N": "9" * 38})
    path = ".".join(["m", *"a" * 30, "b"])
    assert (
        db.refusal(
            "UpdateItem",
            Key=KEY,
            UpdateExpression=f"SET {path} = :v",
            ExpressionAttributeValues={":v": {"L": [A]}},
        )
        == "Nesting Levels have exceeded supported limits"
    )


# -- sizes --------------------------------------------------------------------------------------------------

TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
LIMIT = 400 * 1024


def _grow_to(db: TableClient, key: dict[str, Any], size: int) -> None:
    """Put an item of exactly that size."""
    overhead = sum(len(name) + len(value["S"]) for name, value in key.items()) + len("v")
    db.put(**key, v={"S": "x" * (size - overhead)})


def _set(text: str) -> dict[str, Any]:
    return {"UpdateExpression": "SET w = :w", "ExpressionAttributeValues": {":w": {"S": text}}}


def test_an_update_counts_what_it_says_and_not_what_it_leaves_alone(db: TableClient) -> None:
    """Three bytes for the update and nineteen for a value that it writes, against three for this key."""
    db.create()
    most = LIMIT - 3 - 19 - len("w")
    db("UpdateItem", Key=KEY, **_set("x" * most))
    assert db.get(**KEY) == {**KEY, "w": {"S": "x" * most}}
    other = {"pk": {"S": "b"}}
    assert db.refusal("UpdateItem", Key=other, **_set("x" * (most + 1))) == TOO_LARGE
    assert db.get(**other) is None
    # It is refused before its condition is looked at.
    failing = {**_set("x" * (most + 1)), "ConditionExpression": "attribute_exists(nothing)"}
    assert db.refusal("UpdateItem", Key=other, **failing) == TOO_LARGE
    # An item that is nearly full can still be changed in other places.
    _grow_to(db, KEY, LIMIT - 2)
    db("UpdateItem", Key=KEY, **_set("x"))
    # A transaction and the older parameters count the item that comes out, and nothing else.
    update = {"TableName": "table", "Key": other, **_set("x" * (LIMIT - len("pkbw")))}
    db("TransactWriteItems", TransactItems=[{"Update": update}])
    value = {"w": {"Value": {"S": "y" * (LIMIT - len("pkbw"))}}}
    db("UpdateItem", Key=other, AttributeUpdates=value)
    value = {"w": {"Value": {"S": "y" * (LIMIT - len("pkbw") + 1)}}}
    assert db.refusal("UpdateItem", Key=other, AttributeUpdates=value) == TOO_LARGE


def test_with_a_long_key_the_item_itself_is_what_counts(db: TableClient) -> None:
    db.create()
    key = {"pk": {"S": "k" * 100}}
    set_one = {"UpdateExpression": "SET w = :w", "ExpressionAttributeValues": {":w": {"S": ""}}}
    _grow_to(db, key, LIMIT - 1)
    db("UpdateItem", Key=key, **set_one)
    _grow_to(db, key, LIMIT)
    assert db.refusal("UpdateItem", Key=key, **set_one) == TOO_LARGE


# -- the order of checks ------------------------------------------------------------------------------------


def test_update_checks_parameters_then_the_key_then_the_older_ones_then_expressions(db: TableClient) -> None:
    request: dict[str, Any] = {
        "TableName": "missing",
        "Key": {"pk": {"N": "x"}},
        "AttributeUpdates": {"a": {"Action": "PUT"}},
        "Expected": {"a": {}},
        "UpdateExpression": "",
    }
    assert str(db.refusal("UpdateItem", **request)).startswith(COUNTED + "Can not use both expression")
    del request["UpdateExpression"]
    assert db.refusal("UpdateItem", **request) == (COUNTED + "The parameter cannot be converted to a numeric value: x")
    request["Key"] = {}
    assert db.refusal("UpdateItem", **request) == (
        COUNTED + INVALID + "Only DELETE action is allowed when no attribute value is specified"
    )
    del request["AttributeUpdates"]
    assert db.refusal("UpdateItem", **request) == (
        COUNTED + INVALID + "Value must be provided when Exists is null for Attribute: a"
    )
    del request["Expected"]
    assert db.refusal("UpdateItem", **request, UpdateExpression="") == (
        COUNTED + "Invalid UpdateExpression: The expression can not be empty;"
    )
    assert isinstance(db.error("UpdateItem", **request), ResourceNotFoundException)


def test_the_key_is_checked_before_what_would_change(db: TableClient) -> None:
    db.create()
    assert db.refusal("UpdateItem", Key={}, UpdateExpression="REMOVE pk") == (
        "The provided key element does not match the schema"
    )


# -- where there is no item -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        {"UpdateExpression": "REMOVE x"},
        {"UpdateExpression": "REMOVE x.y, z[0]"},
        {"UpdateExpression": "DELETE x :s", "ExpressionAttributeValues": {":s": {"SS": ["a"]}}},
        {"UpdateExpression": "REMOVE y DELETE x.y :s", "ExpressionAttributeValues": {":s": {"SS": ["a"]}}},
        {"AttributeUpdates": {"x": {"Action": "DELETE"}}},
        {"AttributeUpdates": {"x": {"Action": "DELETE", "Value": {"SS": ["a"]}}, "y": {"Action": "DELETE"}}},
    ],
)
def test_an_update_that_only_removes_makes_no_item(db: TableClient, request_: dict[str, Any]) -> None:
    db.create()
    db("UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    for returned in ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"):
        answer = db("UpdateItem", Key=KEY, ReturnValues=returned, ReturnConsumedCapacity="TOTAL", **request_)
        assert answer == {"ConsumedCapacity": {"TableName": "table", "CapacityUnits": 1.0}}
    condition = {"ConditionExpression": "attribute_exists(pk)"}
    if "UpdateExpression" in request_:
        assert db.error("UpdateItem", Key=KEY, **request_, **condition).code == "ConditionalCheckFailedException"
        update = {"TableName": "table", "Key": KEY, **request_}
        assert db("TransactWriteItems", TransactItems=[{"Update": update}]) == {}
    assert db.get(**KEY) is None
    assert db("Scan")["Count"] == 0
    assert db.stream_records() == []


@pytest.mark.parametrize("request_", [{}, {"AttributeUpdates": {}}])
def test_an_update_without_any_action_makes_the_item(db: TableClient, request_: dict[str, Any]) -> None:
    db.create()
    assert db("UpdateItem", Key=KEY, ReturnValues="ALL_NEW", **request_) == {"Attributes": KEY}
    assert db.get(**KEY) == KEY


def test_a_path_into_nothing_is_invalid_where_there_is_an_item(db: TableClient) -> None:
    db.create()
    db.put(**KEY)
    invalid = "The document path provided in the update expression is invalid for update"
    assert db.refusal("UpdateItem", Key=KEY, UpdateExpression="REMOVE x.y") == invalid
    mixed = {"UpdateExpression": "REMOVE x.y SET v = :v", "ExpressionAttributeValues": {":v": {"S": "v"}}}
    assert db.refusal("UpdateItem", Key={"pk": {"S": "none"}}, **mixed) == invalid
