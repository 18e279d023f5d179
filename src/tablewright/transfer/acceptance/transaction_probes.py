"""Transactions: all or nothing, reasons, idempotency, isolation."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from uuid import uuid4

from tablewright.dynamo import Item
from tablewright.store import ServiceError
from tablewright.transfer.acceptance.probe_tables import ProbeTables, expect, key

_ACCOUNTS, _TRANSFERS = 4, 24
_START = 100


async def atomic(tables: ProbeTables) -> None:
    table = await tables.create("transactions")
    await tables.put(table, "there")
    puts: list[dict[str, Any]] = [
        {"Put": {"TableName": table, "Item": key("new")}},
        {
            "Put": {
                "TableName": table,
                "Item": key("there"),
                "ConditionExpression": "attribute_not_exists(pk)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        },
    ]
    error = await tables.refused("TransactWriteItems", "TransactionCanceledException", TransactItems=puts)
    reasons = error.details.get("CancellationReasons", [])
    codes = [reason.get("Code") for reason in reasons]
    expect(codes == ["None", "ConditionalCheckFailed"], f"the reasons of a cancelled transaction are {codes}")
    expect("Item" in reasons[1], "a cancelled transaction does not return the item that a condition failed on")
    expect(await tables.get(table, "new") is None, "a part of a cancelled transaction was executed")


async def tokens(tables: ProbeTables) -> None:
    table = await tables.create("tokens")
    update = {
        "TableName": table,
        "Key": key("a"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    # A new one for each check: an endpoint knows the token of an earlier check, which was for another table.
    token = uuid4().hex
    for _ in range(2):
        await tables.call("TransactWriteItems", TransactItems=[{"Update": update}], ClientRequestToken=token)
    count = (await tables.get(table, "a") or {}).get("n")
    expect(count == {"N": "1"}, f"a transaction sent twice with the same token results in {count}")


async def limits(tables: ProbeTables) -> None:
    table = await tables.create("large-transactions")
    hundred = [{"Put": {"TableName": table, "Item": key(f"p{number}")}} for number in range(100)]
    await tables.call("TransactWriteItems", TransactItems=hundred)
    large = [
        {"Put": {"TableName": table, "Item": {**key(f"l{number}"), "value": {"S": "x" * 390_000}}}}
        for number in range(11)
    ]
    await tables.call("TransactWriteItems", TransactItems=large[:10])
    try:
        await tables.call("TransactWriteItems", TransactItems=large)
    except ServiceError as error:
        expect(error.code == "ValidationException", f"more than 4 MB is refused with {error.code}")
    else:
        expect(False, "a transaction of more than 4 MB is accepted")


async def isolation(tables: ProbeTables) -> None:
    """Money moves between accounts, while concurrent readers add up the balances."""
    table = await tables.create("isolation")
    names = [f"account-{number}" for number in range(_ACCOUNTS)]
    for name in names:
        await tables.put(table, name, money={"N": str(_START)})
    chance = random.Random(1)

    async def transfer() -> None:
        one, other = chance.sample(names, 2)
        for attempt in range(100):
            try:
                await tables.call("TransactWriteItems", TransactItems=[_move(table, one, -1), _move(table, other, 1)])
            except ServiceError as error:
                if error.code != "TransactionCanceledException":
                    raise
                await asyncio.sleep(0.002 * attempt)
            else:
                return

    async def add_up() -> None:
        gets = [{"Get": {"TableName": table, "Key": key(name)}} for name in names]
        for _ in range(10):
            try:
                response = await tables.call("TransactGetItems", TransactItems=gets)
            except ServiceError as error:
                if error.code != "TransactionCanceledException":
                    raise
                continue
            total = _total([each.get("Item") for each in response["Responses"]])
            expect(total == _ACCOUNTS * _START, f"a transaction reads {total} where {_ACCOUNTS * _START} are")

    await asyncio.gather(*(transfer() for _ in range(_TRANSFERS)), add_up(), add_up())
    total = _total([await tables.get(table, name) for name in names])
    expect(total == _ACCOUNTS * _START, f"concurrent transactions leave {total} of {_ACCOUNTS * _START}")


def _move(table: str, name: str, amount: int) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": table,
            "Key": key(name),
            "UpdateExpression": "ADD money :amount",
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
        }
    }


def _total(accounts: list[Item | None]) -> int:
    return sum(int(each["money"]["N"]) for each in accounts if each is not None)
