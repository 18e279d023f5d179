"""BatchGetItem and BatchWriteItem."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import Item, ResourceNotFoundException
from tablewright.engine.database import Database
from tablewright.engine.items import item_operations
from tablewright.engine.tables.table_schema import Table
from tests.engine.table_client import TableClient

INVALID = "One or more parameter values were invalid: "
MISMATCH = "The provided key element does not match the schema"
DUPLICATES = "Provided list of item keys contains duplicates"
A = {"S": "a"}


def keys(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"pk": {"S": str(number)}} for number in range(start, start + count)]


# -- reading ------------------------------------------------------------------------------------------------


def test_a_batch_reads_from_several_tables(db: TableClient) -> None:
    db.create()
    db.create(name="other")
    db.put(pk=A, v=A, w=A)
    answer = db(
        "BatchGetItem",
        RequestItems={
            "table": {"Keys": [{"pk": A}, {"pk": {"S": "absent"}}], "ProjectionExpression": "v"},
            "other": {"Keys": [{"pk": A}], "ConsistentRead": True},
        },
    )
    assert answer == {"Responses": {"table": [{"v": A}], "other": []}, "UnprocessedKeys": {}}


def test_a_batch_reads_at_most_100_items(db: TableClient) -> None:
    db.create()
    db.create(name="other")
    db("BatchGetItem", RequestItems={"table": {"Keys": keys(60)}, "other": {"Keys": keys(40)}})
    assert db.refusal("BatchGetItem", RequestItems={"table": {"Keys": keys(101)}}) == (
        "1 validation error detected: Value at 'RequestItems.table.member.Keys' failed to satisfy constraint: "
        "Member must have length less than or equal to 100"
    )
    assert db.refusal("BatchGetItem", RequestItems={"table": {"Keys": keys(60)}, "other": {"Keys": keys(41)}}) == (
        "Too many items requested for the BatchGetItem call"
    )


def test_a_batch_names_an_item_once(db: TableClient) -> None:
    db.create("pk, sk", sk="N")
    same = [{"pk": A, "sk": {"N": "1"}}, {"sk": {"N": "1.0"}, "pk": A}]
    # Told without looking at the table.
    for table in ("table", "missing"):
        assert db.refusal("BatchGetItem", RequestItems={table: {"Keys": same}}) == DUPLICATES
    assert db.refusal("BatchGetItem", RequestItems={"table": {"Keys": [{"pk": A}]}}) == MISMATCH


def test_expressions_and_older_parameters_do_not_mix_across_tables(db: TableClient) -> None:
    db.create()
    db.create(name="other")
    assert db.refusal(
        "BatchGetItem",
        RequestItems={
            "table": {"Keys": keys(1), "ProjectionExpression": "v"},
            "other": {"Keys": keys(1), "AttributesToGet": ["v"]},
        },
    ) == (
        "Can not use both expression and non-expression parameters in the same request: Non-expression "
        "parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )


def test_batch_get_checks_in_this_order(db: TableClient) -> None:
    wanted: dict[str, Any] = {
        "Keys": [{"pk": {"N": "x"}}],
        "ExpressionAttributeNames": {"#n": "n"},
        "AttributesToGet": ["a", "a"],
    }

    def refusal() -> str | None:
        return db.refusal("BatchGetItem", RequestItems={"missing": wanted})

    assert refusal() == "ExpressionAttributeNames can only be specified when using expressions"
    del wanted["ExpressionAttributeNames"]
    assert refusal() == INVALID + "Duplicate value in attribute name: a"
    del wanted["AttributesToGet"]
    wanted |= {"ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": "n", "#m": "m"}}
    assert refusal() == "Value provided in ExpressionAttributeNames unused in expressions: keys: {#m}"
    del wanted["ProjectionExpression"], wanted["ExpressionAttributeNames"]
    assert refusal() == "The parameter cannot be converted to a numeric value: x"
    wanted["Keys"] = keys(1)
    error = db.error("BatchGetItem", RequestItems={"missing": wanted})
    assert isinstance(error, ResourceNotFoundException)


def test_what_exceeds_16_mb_is_left_for_another_request(db: TableClient) -> None:
    db.create()
    for key in keys(45):
        db.put(**key, v={"S": "x" * 400_000})
    wanted = {"Keys": keys(45), "ConsistentRead": True, "ProjectionExpression": "pk"}
    answer = db("BatchGetItem", RequestItems={"table": wanted}, ReturnConsumedCapacity="TOTAL")
    # 41 times 400 KB and a little fit into 16 MB.
    assert len(answer["Responses"]["table"]) == 41
    left = answer["UnprocessedKeys"]["table"]
    assert left == {**wanted, "Keys": keys(4, 41)}
    assert answer["ConsumedCapacity"] == [{"TableName": "table", "CapacityUnits": 41 * 98.0}]
    rest = db("BatchGetItem", RequestItems=answer["UnprocessedKeys"])
    assert len(rest["Responses"]["table"]) == 4
    assert rest["UnprocessedKeys"] == {}


def test_what_is_left_keeps_its_table(db: TableClient) -> None:
    db.create()
    db.create(name="other")
    for key in keys(45):
        db.put(**key, v={"S": "x" * 400_000})
    db("PutItem", TableName="other", Item={"pk": A, "v": {"S": "x" * 400_000}})
    answer = db("BatchGetItem", RequestItems={"table": {"Keys": keys(41)}, "other": {"Keys": [{"pk": A}]}})
    assert answer["UnprocessedKeys"] == {"other": {"Keys": [{"pk": A}]}}
    assert answer["Responses"]["other"] == []


# -- writing ------------------------------------------------------------------------------------------------


def put(**item: dict[str, Any]) -> dict[str, Any]:
    return {"PutRequest": {"Item": item}}


def delete(**key: dict[str, Any]) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": key}}


def test_a_batch_writes_to_several_tables(db: TableClient) -> None:
    db.create(global_indexes={"gsi": "g"})
    db.create(name="other")
    db.put(pk={"S": "old"}, g=A)
    request = {"table": [put(pk=A, g=A), delete(pk={"S": "old"})], "other": [put(pk=A, n={"N": "1.0"})]}
    assert db("BatchWriteItem", RequestItems=request) == {"UnprocessedItems": {}}
    assert db("Scan")["Items"] == [{"pk": A, "g": A}]
    assert db("Scan", IndexName="gsi")["Items"] == [{"pk": A, "g": A}]
    assert db("Scan", TableName="other")["Items"] == [{"pk": A, "n": {"N": "1"}}]
    assert db.engine.verify().problems == []


def test_a_batch_writes_at_most_25_items(db: TableClient) -> None:
    db.create()
    db.create(name="other")
    writes = [put(**key) for key in keys(26)]
    db("BatchWriteItem", RequestItems={"table": writes[:20], "other": writes[:5]})
    assert db.refusal("BatchWriteItem", RequestItems={"table": writes[:20], "other": writes[:6]}) == (
        "Too many items requested for the BatchWriteItem call"
    )
    assert "Member must have length less than or equal to 25" in str(
        db.refusal("BatchWriteItem", RequestItems={"table": writes})
    )


@pytest.mark.parametrize("writes", [[put(pk=A), delete(pk=A)], [put(pk=A), put(pk=A, v=A)], [delete(pk=A)] * 2])
def test_a_batch_writes_an_item_once(db: TableClient, writes: list[dict[str, Any]]) -> None:
    db.create()
    assert db.refusal("BatchWriteItem", RequestItems={"table": writes}) == DUPLICATES
    assert db.get(pk=A) is None


def test_a_write_is_a_put_or_a_delete(db: TableClient) -> None:
    db.create()
    message = (
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )
    for write in ({}, {**put(pk=A), **delete(pk=A)}):
        assert db.refusal("BatchWriteItem", RequestItems={"table": [put(pk={"N": "x"}), write]}) == message


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (put(v=A), MISMATCH),
        (put(pk={"N": "1"}), MISMATCH),
        (put(pk={"L": []}), MISMATCH),
        (delete(v=A), MISMATCH),
        (delete(pk=A, v=A), MISMATCH),
        (
            put(pk={"S": ""}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: pk",
        ),
        (put(pk=A, g={"N": "1"}), INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: gsi"),
        (put(pk=A, v={"SS": []}), INVALID + "An string set  may not be empty"),
        (put(pk=A, v={"S": "x" * 409_600}), "Item size has exceeded the maximum allowed size"),
    ],
)
def test_one_bad_write_refuses_the_batch(db: TableClient, write: dict[str, Any], message: str) -> None:
    db.create(global_indexes={"gsi": "g"})
    good = put(pk={"S": "good"})
    assert db.refusal("BatchWriteItem", RequestItems={"table": [good, write]}) == message
    assert db.get(pk={"S": "good"}) is None


def test_a_missing_table_refuses_the_batch(db: TableClient) -> None:
    db.create()
    request = {"table": [put(pk=A)], "missing": [put(pk=A)]}
    assert isinstance(db.error("BatchWriteItem", RequestItems=request), ResourceNotFoundException)
    assert db.get(pk=A) is None


def test_item_collections_of_a_batch(db: TableClient) -> None:
    db.create("pk, sk", local_indexes={"lsi": "pk, l"})
    db.create(name="plain")
    writes = [put(pk=A, sk=A), put(pk=A, sk={"S": "b"}), delete(pk={"S": "c"}, sk=A)]
    answer = db(
        "BatchWriteItem",
        RequestItems={"table": writes, "plain": [put(pk=A)]},
        ReturnItemCollectionMetrics="SIZE",
    )
    assert answer["ItemCollectionMetrics"] == {
        "table": [{"ItemCollectionKey": {"pk": {"S": name}}, "SizeEstimateRangeGB": [0.0, 1.0]} for name in "ac"]
    }


def test_each_item_collection_is_measured_once(db: TableClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring one means reading it, and a request may write to the same one a hundred times."""
    db.create("pk, sk", local_indexes={"lsi": "pk, l"})
    measured: list[str] = []
    measure = item_operations.item_collection_metrics

    def counting(database: Database, table: Table, key: Item) -> dict[str, Any] | None:
        measured.append(key["pk"]["S"])
        return measure(database, table, key)

    monkeypatch.setattr(item_operations, "item_collection_metrics", counting)
    writes = [put(pk={"S": name}, sk={"S": str(number)}) for number in range(10) for name in "ab"]
    db("BatchWriteItem", RequestItems={"table": writes}, ReturnItemCollectionMetrics="SIZE")
    assert measured == ["a", "b"]
    measured.clear()
    actions = [{"Put": {"TableName": "table", **write["PutRequest"]}} for write in writes]
    db("TransactWriteItems", TransactItems=actions, ReturnItemCollectionMetrics="SIZE")
    assert measured == ["a", "b"]
