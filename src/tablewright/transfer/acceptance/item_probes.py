"""Items: values and their limits, conditions, updates, reads, batches."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from decimal import Decimal
from typing import Any

from tablewright.dynamo import same_item
from tablewright.store import ServiceError
from tablewright.transfer.acceptance.probe_tables import ProbeTables, expect, key

_AT_ONCE = 10
_DIGITS = "12345678901234567890123456789012345678"


async def values(tables: ProbeTables) -> None:
    table = await tables.create("values")
    nested: dict[str, Any] = {"S": "end"}
    for _ in range(30):
        nested = {"M": {"in": nested}}
    given: dict[str, Any] = {
        "text": {"S": "Käse \U0001f9c0"},
        "empty": {"S": ""},
        "binary": {"B": b64encode(bytes(range(256))).decode()},
        "nothing": {"B": ""},
        "yes": {"BOOL": True},
        "null": {"NULL": True},
        "texts": {"SS": ["a", "b"]},
        "numbers": {"NS": ["1", "2.5"]},
        "binaries": {"BS": ["AQ==", "Ag=="]},
        "list": {"L": [{"S": "a"}, {"L": []}, {"M": {}}]},
        "nested": nested,
    }
    for name, value in given.items():
        await tables.put(table, name, value=value)
        found = await tables.get(table, name)
        expect(
            found is not None and same_item(found, {**key(name), "value": value}),
            f"a value is not read back as it was written: {name}",
        )


async def numbers(tables: ProbeTables) -> None:
    table = await tables.create("numbers")
    for text in (_DIGITS, f"-0.{_DIGITS}", "9.9E125", "1E-130"):
        await tables.put(table, text, value={"N": text})
        found = await tables.get(table, text)
        kept = None if found is None else Decimal(found["value"]["N"])
        expect(kept == Decimal(text), f"{text} is read back as {kept}")
    too_many = {**key("more"), "value": {"N": _DIGITS + "9"}}
    await tables.refused("PutItem", "ValidationException", TableName=table, Item=too_many)


async def item_size(tables: ProbeTables) -> None:
    table = await tables.create("size")
    # Names count: pk, sk, and value.
    room = 400 * 1024 - len("pk") - len("sk") - len("value") - len("large") - len("-")
    await tables.put(table, "large", value={"S": "x" * room})
    more = {**key("large"), "value": {"S": "x" * (room + 1)}}
    await tables.refused("PutItem", "ValidationException", TableName=table, Item=more)


async def conditions(tables: ProbeTables) -> None:
    table = await tables.create("conditions")
    await tables.put(table, "a", status={"S": "open"})
    error = await tables.refused(
        "PutItem",
        "ConditionalCheckFailedException",
        TableName=table,
        Item=key("a"),
        ConditionExpression="attribute_not_exists(pk) OR #s = :s",
        ExpressionAttributeNames={"#s": "status"},
        ExpressionAttributeValues={":s": {"S": "closed"}},
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    expect("Item" in error.details, "a failed condition does not return the item (ReturnValuesOnConditionCheckFailure)")

    async def create() -> bool:
        try:
            await tables.call("PutItem", TableName=table, Item=key("b"), ConditionExpression="attribute_not_exists(pk)")
        except ServiceError as failed:
            if failed.code != "ConditionalCheckFailedException":
                raise
            return False
        return True

    won = await asyncio.gather(*(create() for _ in range(_AT_ONCE)))
    expect(sum(won) == 1, f"{sum(won)} of {_AT_ONCE} concurrent writers created the same item")


async def updates(tables: ProbeTables) -> None:
    table = await tables.create("updates")

    async def update(expression: str, values: dict[str, Any]) -> dict[str, Any]:
        response = await tables.call(
            "UpdateItem",
            TableName=table,
            Key=key("a"),
            UpdateExpression=expression,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
        )
        found: dict[str, Any] = response["Attributes"]
        return found

    one, text = {"N": "1"}, {"L": [{"S": "x"}]}
    await update("SET m = :m, l = :l", {":m": {"M": {"n": one}}, ":l": text})
    found = await update(
        "SET m.n = m.n + :one, l = list_append(l, :l), k = if_not_exists(k, :one) ADD s :s",
        {":one": one, ":l": text, ":s": {"SS": ["x"]}},
    )
    expected = {"m": {"M": {"n": {"N": "2"}}}, "l": {"L": [{"S": "x"}] * 2}, "k": one, "s": {"SS": ["x"]}}
    expect({name: found.get(name) for name in expected} == expected, f"an update results in {found}")
    await asyncio.gather(*(update("ADD c :one", {":one": one}) for _ in range(_AT_ONCE)))
    count = (await tables.get(table, "a") or {}).get("c")
    expect(count == {"N": str(_AT_ONCE)}, f"{_AT_ONCE} concurrent increments result in {count}")


async def consistent_reads(tables: ProbeTables) -> None:
    table = await tables.create("consistent")
    for number in range(30):
        await tables.put(table, "a", value={"N": str(number)})
        found = await tables.get(table, "a")
        expect(found is not None and found["value"] == {"N": str(number)}, "a consistent read returns an old item")


async def queries(tables: ProbeTables) -> None:
    table = await tables.create("queries")
    for name in ("b-2", "a-1", "b-10", "b-1"):
        await tables.put(table, "a", name)
    body: dict[str, Any] = {
        "TableName": table,
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :b)",
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":b": {"S": "b-"}},
        "ScanIndexForward": False,
        "Limit": 2,
    }
    first = await tables.call("Query", **body)
    rest = await tables.call("Query", **body, ExclusiveStartKey=first["LastEvaluatedKey"])
    found = [item["sk"]["S"] for page in (first, rest) for item in page["Items"]]
    expect(found == ["b-2", "b-10", "b-1"], f"a query in reverse order returns {found}")


async def scans(tables: ProbeTables) -> None:
    table = await tables.create("scans")
    for number in range(20):
        await tables.put(table, f"p{number}")
    found: list[str] = []
    for segment in range(4):
        page = await tables.call("Scan", TableName=table, Segment=segment, TotalSegments=4, ConsistentRead=True)
        found += [item["pk"]["S"] for item in page["Items"]]
    expect(sorted(found) == sorted(f"p{number}" for number in range(20)), "segments do not return every item once")


async def batches(tables: ProbeTables) -> None:
    table = await tables.create("batches")
    for begin in range(0, 100, 25):
        puts = [{"PutRequest": {"Item": key(f"p{number}")}} for number in range(begin, begin + 25)]
        response = await tables.call("BatchWriteItem", RequestItems={table: puts})
        expect(not response.get("UnprocessedItems"), "a small batch is not processed completely")
    keys = [key(f"p{number}") for number in range(100)]
    response = await tables.call("BatchGetItem", RequestItems={table: {"Keys": keys, "ConsistentRead": True}})
    got = len(response["Responses"].get(table, []))
    expect(got == 100, f"a batch of 100 keys returns {got} items")
    puts = [{"PutRequest": {"Item": key(f"q{number}")}} for number in range(26)]
    await tables.refused("BatchWriteItem", "ValidationException", RequestItems={table: puts})


async def capacity(tables: ProbeTables) -> None:
    table = await tables.create("capacity")
    response = await tables.call("PutItem", TableName=table, Item=key("a"), ReturnConsumedCapacity="TOTAL")
    units = response.get("ConsumedCapacity", {}).get("CapacityUnits")
    expect(units == 1, f"a small put consumes {units} units")


async def partiql(tables: ProbeTables) -> None:
    table = await tables.create("partiql")
    await tables.call("ExecuteStatement", Statement=f"INSERT INTO \"{table}\" VALUE {{'pk': 'a', 'sk': '-', 'n': 1}}")
    found = await tables.call("ExecuteStatement", Statement=f"SELECT n FROM \"{table}\" WHERE pk = 'a'")
    expect(found["Items"] == [{"n": {"N": "1"}}], f"a statement returns {found['Items']}")
