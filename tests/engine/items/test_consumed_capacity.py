"""ConsumedCapacity: what each operation costs, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.dynamo import read_units, write_units
from tests.engine.table_client import TableClient

A, B = {"S": "a"}, {"S": "b"}
TOTAL = {"ReturnConsumedCapacity": "TOTAL"}
INDEXES = {"ReturnConsumedCapacity": "INDEXES"}


def units(number: float) -> dict[str, float]:
    return {"CapacityUnits": number}


def text(size: int) -> dict[str, str]:
    return {"S": "x" * size}


def cost(db: TableClient, operation: str, **request: Any) -> Any:
    return db(operation, **{**INDEXES, **request})["ConsumedCapacity"]


def indexes(**figures: float) -> dict[str, Any]:
    return {name: units(number) for name, number in figures.items()}


@pytest.mark.parametrize(
    ("size", "written", "read"),
    [(0, 1, 1), (1, 1, 1), (1024, 1, 1), (1025, 2, 1), (4096, 4, 1), (4097, 5, 2), (409_600, 400, 100)],
)
def test_units(size: int, written: int, read: int) -> None:
    assert write_units(size) == written
    assert read_units(size, True) == read
    assert read_units(size, False) == read / 2


# -- single items -------------------------------------------------------------------------------------------


def test_consumed_capacity_is_returned_only_on_request(db: TableClient) -> None:
    db.create()
    assert db("PutItem", Item={"pk": A}, ReturnConsumedCapacity="NONE") == {}
    assert db("PutItem", Item={"pk": A}, **TOTAL) == {"ConsumedCapacity": {"TableName": "table", **units(1.0)}}
    assert db("PutItem", Item={"pk": A}, **INDEXES) == {
        "ConsumedCapacity": {"TableName": "table", **units(1.0), "Table": units(1.0)}
    }


def test_a_write_costs_the_larger_of_before_and_after(db: TableClient) -> None:
    db.create()
    key = {"pk": A}

    def total(operation: str, **request: Any) -> float:
        return float(db(operation, **request, **TOTAL)["ConsumedCapacity"]["CapacityUnits"])

    assert total("PutItem", Item={**key, "v": text(1024 - 4)}) == 1
    assert total("PutItem", Item={**key, "v": text(3000)}) == 3
    assert total("PutItem", Item=key) == 3
    assert total("PutItem", Item=key) == 1
    set_v = {"Key": key, "UpdateExpression": "SET v = :v", "ExpressionAttributeValues": {":v": text(2000)}}
    assert total("UpdateItem", **set_v) == 2
    assert total("UpdateItem", Key=key, UpdateExpression="REMOVE v") == 2
    assert total("UpdateItem", Key=key) == 1
    db.put(**key, v=text(5000))
    assert total("DeleteItem", Key=key) == 5
    assert total("DeleteItem", Key=key) == 1


def test_a_read_costs_the_whole_item(db: TableClient) -> None:
    db.create()
    db.put(pk=A, v=text(5000))
    for request, expected in (
        ({"Key": {"pk": A}}, 1.0),
        ({"Key": {"pk": A}, "ConsistentRead": True}, 2.0),
        ({"Key": {"pk": A}, "ProjectionExpression": "pk"}, 1.0),
        ({"Key": {"pk": B}}, 0.5),
        ({"Key": {"pk": B}, "ConsistentRead": True}, 1.0),
    ):
        assert cost(db, "GetItem", **request) == {
            "TableName": "table",
            **units(expected),
            "Table": units(expected),
        }


# -- writes to indexes --------------------------------------------------------------------------------------


def indexed(db: TableClient) -> None:
    db.create(
        "pk, sk",
        global_indexes={"all": "g", "keys": "g"},
        local_indexes={"local": "pk, l"},
        projections={"keys": "KEYS_ONLY", "local": ["p"]},
    )


KEY = {"pk": A, "sk": A}


def written(table: float, local: float | None = None, **global_: float) -> dict[str, Any]:
    total = table + (local or 0) + sum(global_.values())
    result: dict[str, Any] = {"TableName": "table", **units(total), "Table": units(table)}
    if local is not None:
        result["LocalSecondaryIndexes"] = indexes(local=local)
    if global_:
        result["GlobalSecondaryIndexes"] = indexes(**global_)
    return result


def test_an_index_costs_what_changes_in_it(db: TableClient) -> None:
    indexed(db)
    item: dict[str, Any] = {**KEY, "g": A, "l": A, "v": text(2000)}
    # Nothing is in an index without its key.
    assert cost(db, "PutItem", Item=KEY) == written(1.0)
    # An entry is made, of the size of what the index projects.
    assert cost(db, "PutItem", Item=item) == written(2.0, 1.0, all=3.0 - 1.0, keys=1.0)
    # The same again changes nothing.
    assert cost(db, "PutItem", Item=item) == written(2.0)
    # What an index does not project costs it nothing.
    assert cost(db, "PutItem", Item={**item, "w": A}) == written(2.0, all=2.0)
    # A new key is a delete and an insert.
    assert cost(db, "PutItem", Item={**item, "g": B}) == written(2.0, all=4.0, keys=2.0)
    assert cost(db, "UpdateItem", Key=KEY, UpdateExpression="REMOVE g") == written(2.0, all=2.0, keys=1.0)
    set_p = {"UpdateExpression": "SET p = :p", "ExpressionAttributeValues": {":p": text(1500)}}
    assert cost(db, "UpdateItem", Key=KEY, **set_p) == written(4.0, 2.0)
    assert cost(db, "DeleteItem", Key=KEY) == written(4.0, 2.0)
    assert cost(db, "DeleteItem", Key=KEY) == written(1.0)


def test_the_order_of_a_set_is_no_change(db: TableClient) -> None:
    indexed(db)
    db.put(**KEY, g=A, s={"SS": ["a", "b"]})
    assert cost(db, "PutItem", Item={**KEY, "g": A, "s": {"SS": ["b", "a"]}}) == written(1.0)


# -- queries and scans --------------------------------------------------------------------------------------


def test_a_page_costs_the_sum_of_its_items(db: TableClient) -> None:
    db.create("pk, sk")
    for number in range(5):
        db.put(pk=A, sk={"S": str(number)}, v=text(2000))
    query = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": A}}
    plain = {"TableName": "table", **units(1.5), "Table": units(1.5)}
    # Five times 2008 bytes are less than twelve KB.
    assert cost(db, "Query", **query) == plain
    assert cost(db, "Scan") == plain
    assert cost(db, "Query", **query, Select="COUNT") == plain
    assert cost(db, "Query", **query, ProjectionExpression="sk") == plain
    filtered = {**query, "FilterExpression": "attribute_exists(nothing)"}
    assert cost(db, "Query", **filtered) == plain
    assert cost(db, "Query", **query, ConsistentRead=True)["CapacityUnits"] == 3.0
    assert cost(db, "Query", **query, Limit=2)["CapacityUnits"] == 0.5
    absent = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": B}}
    assert cost(db, "Query", **absent)["CapacityUnits"] == 0.5
    assert db("Query", **query, **TOTAL)["ConsumedCapacity"] == {"TableName": "table", **units(1.5)}


def test_a_read_of_an_index_costs_the_index(db: TableClient) -> None:
    indexed(db)
    for number in range(3):
        db.put(pk=A, sk={"S": str(number)}, g=A, l=A, v=text(9000))
    by_g = {"KeyConditionExpression": "g = :p", "ExpressionAttributeValues": {":p": A}}
    by_l = {"IndexName": "local", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": A}}
    assert cost(db, "Query", IndexName="all", **by_g) == written(0.0, all=3.5)
    assert cost(db, "Query", IndexName="keys", **by_g) == written(0.0, keys=0.5)
    assert cost(db, "Scan", IndexName="keys") == written(0.0, keys=0.5)
    assert cost(db, "Query", **by_l) == written(0.0, 0.5)
    # What a local index does not have is read from the table, item by item.
    assert cost(db, "Query", **by_l, ProjectionExpression="v") == written(4.5, 0.5)
    assert cost(db, "Query", **by_l, Select="ALL_ATTRIBUTES", ConsistentRead=True) == written(9.0, 1.0)
    assert db("Query", IndexName="all", **by_g, **TOTAL)["ConsumedCapacity"] == {
        "TableName": "table",
        **units(3.5),
    }


# -- batches ------------------------------------------------------------------------------------------------


def test_batches_answer_by_table(db: TableClient) -> None:
    indexed(db)
    db.create(name="other")
    puts = [{"PutRequest": {"Item": {"pk": A, "sk": {"S": name}, "g": A}}} for name in "abc"]
    writes = {"table": puts, "other": [{"PutRequest": {"Item": {"pk": A, "v": text(1500)}}}]}
    assert cost(db, "BatchWriteItem", RequestItems=writes) == [
        written(3.0, all=3.0, keys=3.0),
        {"TableName": "other", **units(2.0), "Table": units(2.0)},
    ]
    reads = {
        "table": {"Keys": [{"pk": A, "sk": {"S": name}} for name in "abx"]},
        "other": {"Keys": [{"pk": A}], "ConsistentRead": True},
    }
    assert db("BatchGetItem", RequestItems=reads, **TOTAL)["ConsumedCapacity"] == [
        {"TableName": "table", **units(1.5)},
        {"TableName": "other", **units(1.0)},
    ]
    assert cost(db, "BatchGetItem", RequestItems=reads)[0]["Table"] == units(1.5)


# -- transactions -------------------------------------------------------------------------------------------


def both(member: str, number: float) -> dict[str, float]:
    return {member: number, "CapacityUnits": number}


def test_a_transaction_costs_double_on_the_table_and_once_on_an_index(db: TableClient) -> None:
    indexed(db)
    db.create(name="other")
    db("PutItem", TableName="other", Item={"pk": A, "v": text(2500)})
    actions: list[dict[str, Any]] = [
        {"Put": {"TableName": "table", "Item": {**KEY, "g": A}}},
        {"Delete": {"TableName": "other", "Key": {"pk": A}}},
        {"ConditionCheck": {"TableName": "other", "Key": {"pk": B}, "ConditionExpression": "attribute_not_exists(pk)"}},
    ]
    write = "WriteCapacityUnits"
    assert cost(db, "TransactWriteItems", TransactItems=actions, ClientRequestToken="token") == [
        {
            "TableName": "table",
            **both(write, 4.0),
            "Table": both(write, 2.0),
            "GlobalSecondaryIndexes": {"all": both(write, 1.0), "keys": both(write, 1.0)},
        },
        {"TableName": "other", **both(write, 8.0), "Table": both(write, 8.0)},
    ]
    # The same once more is a read of what was written then.
    again = db("TransactWriteItems", TransactItems=actions, ClientRequestToken="token", **TOTAL)
    read = "ReadCapacityUnits"
    assert again["ConsumedCapacity"] == [
        {"TableName": "table", **both(read, 2.0)},
        {"TableName": "other", **both(read, 4.0)},
    ]


def test_a_transactional_read_costs_double(db: TableClient) -> None:
    db.create()
    db.put(pk=A, v=text(5000))
    gets = [
        {"Get": {"TableName": "table", "Key": {"pk": A}, "ProjectionExpression": "pk"}},
        {"Get": {"TableName": "table", "Key": {"pk": B}}},
    ]
    read = "ReadCapacityUnits"
    assert cost(db, "TransactGetItems", TransactItems=gets) == [
        {"TableName": "table", **both(read, 6.0), "Table": both(read, 6.0)}
    ]
