"""Operations that take long let others have their turn in between, and answer as if they had not."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tablewright.dynamo import DynamoError, InternalServerError
from tablewright.engine import Engine, slices
from tablewright.engine.slices import Outcome, Unfinished
from tablewright.engine.tables import table_description

ITEMS = 400
# Two items of this size are more than a slice.
LARGE = {"S": "y" * 40_000}


@pytest.fixture(params=["in memory", "in a folder"])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine with a table, where every slice is as short as it can be."""
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    with Engine.open(None if request.param == "in memory" else tmp_path / "data") as engine:
        definitions = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "g")]
        key = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
        index = [{"AttributeName": "g", "KeyType": "HASH"}]
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]}
        engine.call(
            "CreateTable",
            {
                "TableName": "rows",
                "AttributeDefinitions": definitions,
                "KeySchema": key,
                "BillingMode": "PAY_PER_REQUEST",
                "GlobalSecondaryIndexes": [{"IndexName": "by-g", "KeySchema": index, "Projection": projection}],
            },
        )
        for first in range(0, ITEMS, 25):
            puts = [{"PutRequest": {"Item": putting(number)["Item"]}} for number in range(first, first + 25)]
            engine.call("BatchWriteItem", {"RequestItems": {"rows": puts}})
        yield engine


def putting(number: int, **more: Any) -> dict[str, Any]:
    item = {"pk": {"S": "p"}, "sk": {"S": f"{number:04}"}, "g": {"S": f"g{number % 3}"}, "n": {"N": str(number)}}
    return {"TableName": "rows", "Item": {**item, **more}}


def resumed(outcome: Outcome | Unfinished, times: int = 10_000) -> Outcome | Unfinished:
    while isinstance(outcome, Unfinished) and times:
        outcome = outcome.resume()
        times -= 1
    return outcome


READS: list[tuple[str, dict[str, Any]]] = [
    ("Scan", {}),
    ("Scan", {"FilterExpression": "n > :n", "ExpressionAttributeValues": {":n": {"N": "350"}}}),
    ("Scan", {"IndexName": "by-g"}),
    ("Scan", {"Limit": 150, "ReturnConsumedCapacity": "INDEXES"}),
    ("Query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}),
    (
        "Query",
        {
            "KeyConditionExpression": "pk = :p AND sk BETWEEN :a AND :b",
            "ExpressionAttributeValues": {":p": {"S": "p"}, ":a": {"S": "0100"}, ":b": {"S": "0299"}},
            "ScanIndexForward": False,
            "ProjectionExpression": "n",
        },
    ),
    (
        "Query",
        {
            "IndexName": "by-g",
            "KeyConditionExpression": "g = :g",
            "ExpressionAttributeValues": {":g": {"S": "g1"}},
            "ScanIndexForward": False,
            "Limit": 100,
        },
    ),
]


@pytest.mark.parametrize(("operation", "request_"), READS)
def test_a_page_that_is_read_in_slices_is_the_same(
    engine: Engine, operation: str, request_: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    request_ = {"TableName": "rows", **request_}
    first = engine.begin(operation, request_)
    assert isinstance(first, Unfinished)
    sliced = resumed(first)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 600.0)
    whole = engine.begin(operation, request_)
    assert sliced == whole


def test_a_statement_is_read_in_slices_as_well(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"Statement": 'SELECT n FROM "rows" WHERE n < 20'}
    first = engine.begin("ExecuteStatement", request)
    assert isinstance(first, Unfinished)
    sliced = resumed(first)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 600.0)
    assert sliced == engine.begin("ExecuteStatement", request)


KEYS = [{"pk": {"S": "p"}, "sk": {"S": f"{number:04}"}} for number in range(20)]
READS_OF_MANY: list[tuple[str, dict[str, Any]]] = [
    ("BatchGetItem", {"RequestItems": {"rows": {"Keys": KEYS, "ProjectionExpression": "x, n"}}}),
    (
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": "rows", "Key": key, "ProjectionExpression": "x, n"}} for key in KEYS]},
    ),
    (
        "ExecuteTransaction",
        {
            "TransactStatements": [
                {"Statement": f"SELECT x, n FROM \"rows\" WHERE pk = 'p' AND sk = '{number:04}'"}
                for number in range(20)
            ]
        },
    ),
    (
        "BatchExecuteStatement",
        {
            "Statements": [
                {"Statement": f"SELECT x, n FROM \"rows\" WHERE pk = 'p' AND sk = '{number:04}'"}
                for number in range(20)
            ]
        },
    ),
]


@pytest.mark.parametrize(("operation", "request_"), READS_OF_MANY)
def test_many_large_items_are_read_in_slices_and_a_transaction_at_one_instant(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    for number in range(20):
        engine.call("PutItem", putting(number, x=LARGE))
    expected = engine.call(operation, request_)
    outcome = engine.begin(operation, request_)
    assert isinstance(outcome, Unfinished)
    slices = 0
    while isinstance(outcome, Unfinished):
        slices += 1
        if "Transact" in operation:
            for number in range(20):
                engine.call("PutItem", putting(number, n={"N": str(-slices)}))
        outcome = outcome.resume()
    found = orjson.loads(outcome[0])
    # All of it is of one instant: before the first of these writes, or between two of them.
    assert found == expected or len({each["Item"]["n"]["N"] for each in found["Responses"]}) == 1


@pytest.mark.parametrize("forward", [True, False])
def test_what_others_change_in_between_is_read_once_or_not_at_all(engine: Engine, forward: bool) -> None:
    query = {
        "TableName": "rows",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ScanIndexForward": forward,
    }
    outcome = engine.begin("Query", query)
    assert isinstance(outcome, Unfinished)
    here = 0 if forward else ITEMS - 1
    engine.call("PutItem", putting(here, n={"N": "-1"}))
    for number in range(ITEMS // 2, ITEMS // 2 + 40):
        engine.call("DeleteItem", {"TableName": "rows", "Key": {"pk": {"S": "p"}, "sk": {"S": f"{number:04}"}}})
    engine.call("PutItem", putting(9999 if forward else -1))
    last = resumed(outcome)
    assert not isinstance(last, Unfinished)
    items = orjson.loads(last[0])["Items"]
    keys = [item["sk"]["S"] for item in items]
    assert keys == sorted(keys, reverse=not forward)
    assert len(keys) == len(set(keys)) == ITEMS - 40 + 1
    # It had been read before.
    assert items[0]["n"] == {"N": str(here)}


def test_a_batch_is_written_in_slices_and_all_of_it_is_there(engine: Engine) -> None:
    writes = [{"PutRequest": {"Item": putting(number, x=LARGE)["Item"]}} for number in range(25)]
    outcome = engine.begin("BatchWriteItem", {"RequestItems": {"rows": writes}})
    assert isinstance(outcome, Unfinished)
    assert engine.call("GetItem", {"TableName": "rows", "Key": {"pk": {"S": "p"}, "sk": {"S": "0000"}}})
    last = resumed(outcome)
    assert not isinstance(last, Unfinished)
    engine.flush()
    found = engine.call("Scan", {"TableName": "rows", "FilterExpression": "attribute_exists(x)"})
    assert found["Count"] == 25


def test_a_batch_whose_first_half_was_rolled_back_is_not_acknowledged(engine: Engine) -> None:
    writes = [{"PutRequest": {"Item": putting(number, x=LARGE)["Item"]}} for number in range(25)]
    outcome: Outcome | Unfinished = engine.begin("BatchWriteItem", {"RequestItems": {"rows": writes}})
    # All of it is checked first, an item in each slice.
    outcome = resumed(outcome, 15)
    assert isinstance(outcome, Unfinished)
    with pytest.raises(InternalServerError), engine._storage.turn():
        engine._storage.write()("INSERT INTO nothing VALUES (1)")
    with pytest.raises(InternalServerError):
        resumed(outcome)


def test_a_batch_that_is_wrong_writes_nothing(engine: Engine) -> None:
    writes = [{"PutRequest": {"Item": putting(number, x=LARGE)["Item"]}} for number in range(24)]
    writes.append({"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": "1"}}}})
    outcome: Outcome | Unfinished = engine.begin("BatchWriteItem", {"RequestItems": {"rows": writes}})
    with pytest.raises(DynamoError, match="does not match the schema"):
        resumed(outcome)
    assert engine.call("Scan", {"TableName": "rows", "FilterExpression": "attribute_exists(x)"})["Count"] == 0


def test_nothing_comes_between_the_conditions_and_the_writes_of_a_transaction(engine: Engine) -> None:
    actions = [{"Put": putting(number, x=LARGE)} for number in range(20)]
    outcome: Outcome | Unfinished = engine.begin("TransactWriteItems", {"TransactItems": actions})
    while isinstance(outcome, Unfinished):
        found = engine.call("Scan", {"TableName": "rows", "FilterExpression": "attribute_exists(x)"})
        assert found["Count"] == 0
        outcome = outcome.resume()
    engine.flush()
    found = engine.call("Scan", {"TableName": "rows", "FilterExpression": "attribute_exists(x)"})
    assert found["Count"] == 20


def test_other_tasks_run_while_one_awaits_a_long_scan(engine: Engine) -> None:
    async def scenario() -> list[str]:
        order = []

        async def scanning() -> None:
            await engine.call_async("Scan", {"TableName": "rows"})
            order.append("scan")

        async def getting() -> None:
            await engine.call_async("GetItem", {"TableName": "rows", "Key": {"pk": {"S": "p"}, "sk": {"S": "0001"}}})
            order.append("get")

        await asyncio.gather(scanning(), getting())
        return order

    assert asyncio.run(scenario()) == ["get", "scan"]


def test_a_batch_that_is_cancelled_leaves_no_commit_open(engine: Engine) -> None:
    writes = [{"PutRequest": {"Item": putting(number, x=LARGE)["Item"]}} for number in range(25)]

    async def scenario() -> None:
        task = asyncio.create_task(engine.call_async("BatchWriteItem", {"RequestItems": {"rows": writes}}))
        for _ in range(18):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert engine._storage.open_commit is None


def test_the_items_of_a_table_are_counted_in_slices(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_description, "_COUNTED_AT_ONCE", 50)
    first = engine.begin("DescribeTable", {"TableName": "rows"})
    assert isinstance(first, Unfinished)
    last = resumed(first)
    assert not isinstance(last, Unfinished)
    table = orjson.loads(last[0])["Table"]
    assert table["ItemCount"] == table["GlobalSecondaryIndexes"][0]["ItemCount"] == ITEMS
    first = engine.begin("DescribeTable", {"TableName": "rows"})
    engine.call("DeleteTable", {"TableName": "rows"})
    with pytest.raises(DynamoError, match="Table: rows not found"):
        resumed(first)


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        ("UpdateTable", {"DeletionProtectionEnabled": False}),
        ("DeleteTable", {}),
        ("CreateBackup", {"BackupName": "all"}),
    ],
)
def test_a_table_that_was_never_counted_is_counted_in_slices_by_whatever_describes_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, operation: str, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(table_description, "_COUNTED_AT_ONCE", 50)
    monkeypatch.setattr(table_description, "_MEASURED_ROWS", 10)
    counted: list[int] = [0]
    execute = engine._storage.execute

    def counting(statement: str, *parameters: Any) -> Any:
        counted[-1] += statement.startswith("SELECT count(*), max(")
        return execute(statement, *parameters)

    monkeypatch.setattr(engine._storage, "execute", counting)
    outcome = engine.begin(operation, {"TableName": "rows", **more})
    while isinstance(outcome, Unfinished):
        counted.append(0)
        outcome = outcome.resume()
    # The last few of the table, and the first of its index.
    assert max(counted) <= 2
    assert sum(counted) >= 2 * ITEMS // 50


@pytest.mark.parametrize("measured", [10, 50_000])
def test_the_items_of_a_table_are_measured_in_slices(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, measured: int
) -> None:
    """All of them, or samples of them, and those that its indexes point to."""
    monkeypatch.setattr(table_description, "_MEASURED_ROWS", measured)
    monkeypatch.setattr(table_description, "_MEASURED_AT_ONCE", 50)
    monkeypatch.setattr(table_description, "_COUNTED_AT_ONCE", 50)
    sizes: list[int] = [0]
    execute = engine._storage.execute

    def measuring(statement: str, *parameters: Any) -> Any:
        sizes[-1] += "size" in statement
        return execute(statement, *parameters)

    monkeypatch.setattr(engine._storage, "execute", measuring)
    outcome = engine.begin("DescribeTable", {"TableName": "rows"})
    while isinstance(outcome, Unfinished):
        sizes.append(0)
        outcome = outcome.resume()
    # The last few of the table, and the first of its index.
    assert max(sizes) <= 2
    assert sum(sizes) >= ITEMS + min(ITEMS // 50, table_description._SAMPLES)
    item_bytes = 1 + 2 + 2 + 4 + 1 + 2 + 1 + 2
    table = orjson.loads(outcome[0])["Table"]
    assert table["TableSizeBytes"] == pytest.approx(ITEMS * (item_bytes + 1), rel=0.1)


def test_a_table_whose_index_is_deleted_meanwhile_is_counted_again_in_slices(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_description, "_COUNTED_AT_ONCE", 50)
    monkeypatch.setattr(table_description, "_MEASURED_ROWS", 10)
    engine.call("DescribeTable", {"TableName": "rows"})
    outcome = resumed(engine.begin("DescribeTable", {"TableName": "rows"}), ITEMS // 50 + 2)
    deleting = [{"Delete": {"IndexName": "by-g"}}]
    counted: list[int] = []
    execute = engine._storage.execute

    def counting(statement: str, *parameters: Any) -> Any:
        counted[-1] += statement.startswith("SELECT count(*), max(")
        return execute(statement, *parameters)

    monkeypatch.setattr(engine._storage, "execute", counting)
    counted.append(0)
    engine.call("UpdateTable", {"TableName": "rows", "GlobalSecondaryIndexUpdates": deleting})
    counted.clear()
    while isinstance(outcome, Unfinished):
        counted.append(0)
        outcome = outcome.resume()
    assert max(counted) <= 1
    assert sum(counted) >= ITEMS // 50
    table = orjson.loads(outcome[0])["Table"]
    assert (table["ItemCount"], "GlobalSecondaryIndexes" in table) == (ITEMS, False)


def test_few_items_that_are_costly_to_filter_are_read_in_slices(engine: Engine) -> None:
    """Each of them is smaller than a slice, and all of them would be fetched together."""
    long_list = {"L": [{"N": str(number % 7)} for number in range(7000)]}
    for number in range(8):
        engine.call("PutItem", putting(number, pk={"S": "costly"}, l=long_list))
    query = {
        "TableName": "rows",
        "KeyConditionExpression": "pk = :p",
        "FilterExpression": "contains(l, :n)",
        "ExpressionAttributeValues": {":p": {"S": "costly"}, ":n": {"N": "9"}},
    }
    outcome: Outcome | Unfinished = engine.begin("Query", query)
    slices_done = 1
    while isinstance(outcome, Unfinished):
        outcome = outcome.resume()
        slices_done += 1
    assert slices_done >= 8
    assert orjson.loads(outcome[0]) == {"Count": 0, "ScannedCount": 8, "Items": []}


def test_members_are_checked_for_a_slice_and_the_others_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    results, rest = slices.first_results([1, 2, 3], str)
    assert results == ["1"]
    assert rest is not None
    assert rest() == ["2", "3"]
    monkeypatch.setattr(slices, "SLICE_SECONDS", 1000.0)
    assert slices.first_results([1, 2, 3], str) == (["1", "2", "3"], None)
    results, rest = slices.first_results([1, 2, 3], str, lambda member: member == 2)
    assert results == ["1"]
    assert rest is not None
    assert rest() == ["2", "3"]


CONDITIONS = " AND ".join(f"x{number} = 1" for number in range(100))
REFUSED: list[tuple[str, dict[str, Any]]] = [
    (
        "ExecuteTransaction",
        {
            "TransactStatements": [
                {"Statement": f"UPDATE \"rows\" SET n = 1 WHERE pk = 'p' AND sk = '{number:04}' AND {CONDITIONS}"}
                for number in range(90)
            ]
        },
    ),
    (
        "ExecuteTransaction",
        {
            "TransactStatements": [
                *({"Statement": f"DELETE FROM \"rows\" WHERE pk = '{n}' AND {CONDITIONS}"} for n in range(90)),
                {"Statement": "DELETE"},
            ]
        },
    ),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {
                    "ConditionCheck": {
                        "TableName": "rows",
                        "Key": {"pk": {"S": "p"}, "sk": {"S": f"{number:04}"}},
                        "ConditionExpression": " AND ".join(f"x{each} = y{number}" for each in range(100)),
                    }
                }
                for number in range(90)
            ]
        },
    ),
]


@pytest.mark.parametrize("slice_seconds", [60.0, 0.0], ids=["at once", "in slices"])
@pytest.mark.parametrize(("operation", "request_"), REFUSED)
def test_what_a_refused_transaction_had_is_freed_without_garbage_collection(
    engine: Engine, operation: str, request_: dict[str, Any], slice_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would look at all of it, in one go."""
    monkeypatch.setattr("tablewright.engine.slices.SLICE_SECONDS", slice_seconds)
    engine.meter(lambda record: None)
    with pytest.raises(DynamoError):
        engine.call(operation, request_)
    gc.collect()
    gc.disable()
    try:
        with suppress(DynamoError):
            engine.call(operation, request_)
        # Each of the statements has thousands of objects.
        assert gc.collect() < 1000
    finally:
        gc.enable()
