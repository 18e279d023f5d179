"""One engine, many threads and tasks: nothing lost, nothing half seen, one commit for many."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tablewright.dynamo import ConditionalCheckFailedException, InternalServerError, TransactionCanceledException
from tablewright.engine import Engine
from tablewright.engine.storage.data_folder import WriteAheadLog
from tests.engine.table_requests import on_demand
from tests.threads import run_threads

THREADS = 16


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(None if request.param == "memory" else tmp_path / "data") as opened:
        create(opened, "things")
        create(opened, "others")
        yield opened


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "data") as opened:
        create(opened, "things")
        yield opened


def create(engine: Engine, name: str) -> None:
    engine.call("CreateTable", on_demand(TableName=name))


def putting(key: str, **attributes: str) -> dict[str, Any]:
    item = {"pk": {"S": key}, **{name: {"S": value} for name, value in attributes.items()}}
    return {"TableName": "things", "Item": item}


def counting(key: str = "counter") -> dict[str, Any]:
    return {
        "TableName": "things",
        "Key": {"pk": {"S": key}},
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
        "ReturnValues": "UPDATED_NEW",
    }


def getting(key: str = "counter") -> dict[str, Any]:
    return {"TableName": "things", "Key": {"pk": {"S": key}}}


def count(engine: Engine, key: str = "counter") -> int:
    return number(engine.call("GetItem", getting(key)).get("Item"))


def number(item: dict[str, Any] | None) -> int:
    return 0 if item is None else int(item["n"]["N"])


class Commits:
    """Counts the commits of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.number = 0
        engine._storage._connection.set_trace_callback(self._trace)

    def _trace(self, statement: str) -> None:
        self.number += statement == "COMMIT"


# -- threads -------------------------------------------------------------------------------------------------


def test_no_increment_is_lost(engine: Engine) -> None:
    seen: list[int] = []

    def increment() -> None:
        for _ in range(500):
            seen.append(number(engine.call("UpdateItem", counting())["Attributes"]))

    run_threads(*[increment] * THREADS)
    assert count(engine) == THREADS * 500
    assert sorted(seen) == list(range(1, THREADS * 500 + 1))
    assert engine.verify().ok


def test_one_of_many_conditional_puts_wins(engine: Engine) -> None:
    winners: list[tuple[int, int]] = []
    losers: Counter[int] = Counter()

    def claimant(thread: int) -> Callable[[], None]:
        def claim() -> None:
            for item in range(30):
                request = putting(f"prize {item}", owner=str(thread))
                try:
                    engine.call("PutItem", {**request, "ConditionExpression": "attribute_not_exists(pk)"})
                    winners.append((item, thread))
                except ConditionalCheckFailedException:
                    losers[thread] += 1

        return claim

    run_threads(*[claimant(thread) for thread in range(THREADS)])
    assert sorted(item for item, _ in winners) == list(range(30))
    assert losers.total() == 30 * (THREADS - 1)
    for item, thread in winners:
        assert engine.call("GetItem", getting(f"prize {item}"))["Item"]["owner"] == {"S": str(thread)}


def test_optimistic_locking_loses_nothing(engine: Engine) -> None:
    """Read, compute, write if unchanged; again if not: as many versions as successes."""
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "counter"}, "n": {"N": "0"}}})

    def increment() -> None:
        for _ in range(20):
            while True:
                before = count(engine)
                with suppress(ConditionalCheckFailedException):
                    engine.call(
                        "PutItem",
                        {
                            "TableName": "things",
                            "Item": {"pk": {"S": "counter"}, "n": {"N": str(before + 1)}},
                            "ConditionExpression": "n = :before",
                            "ExpressionAttributeValues": {":before": {"N": str(before)}},
                        },
                    )
                    break

    run_threads(*[increment] * 8)
    assert count(engine) == 8 * 20


def test_a_transaction_is_never_seen_half_done(engine: Engine) -> None:
    """Every way of reading, while pairs of items change together."""
    writing = [True]

    def pair(version: int) -> dict[str, Any]:
        return {
            "TransactItems": [
                {"Put": {"TableName": "things", "Item": {"pk": {"S": key}, "n": {"N": str(version)}}}}
                for key in ("left", "right")
            ]
        }

    engine.call("TransactWriteItems", pair(0))

    def write() -> None:
        try:
            for version in range(1, 300):
                engine.call("TransactWriteItems", pair(version))
        finally:
            writing[0] = False

    wanted = [getting("left"), getting("right")]
    reads: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "Scan": lambda: list(engine.call("Scan", {"TableName": "things"})["Items"]),
        "TransactGetItems": lambda: [
            response["Item"]
            for response in engine.call("TransactGetItems", {"TransactItems": [{"Get": get} for get in wanted]})[
                "Responses"
            ]
        ],
        "BatchGetItem": lambda: list(
            engine.call("BatchGetItem", {"RequestItems": {"things": {"Keys": [get["Key"] for get in wanted]}}})[
                "Responses"
            ]["things"]
        ),
    }
    halves: list[tuple[str, list[int]]] = []

    def reader(name: str) -> Callable[[], None]:
        def read() -> None:
            latest = 0
            while writing[0]:
                versions = [number(item) for item in reads[name]()]
                if len(versions) != 2 or versions[0] != versions[1] or versions[0] < latest:
                    halves.append((name, versions))
                latest = versions[0]

        return read

    run_threads(write, *[reader(name) for name in reads])
    assert halves == []


def test_transfers_keep_the_sum(engine: Engine) -> None:
    """Transactions with conditions over two tables, from many threads: money is neither made nor lost."""
    accounts = [(table, f"account {position}") for position in range(4) for table in ("things", "others")]
    for table, name in accounts:
        engine.call("PutItem", {"TableName": table, "Item": {"pk": {"S": name}, "n": {"N": "10"}}})

    def move(table: str, name: str, amount: int) -> dict[str, Any]:
        return {
            "Update": {
                "TableName": table,
                "Key": {"pk": {"S": name}},
                "UpdateExpression": "ADD n :amount",
                "ConditionExpression": "n >= :least",
                "ExpressionAttributeValues": {":amount": {"N": str(amount)}, ":least": {"N": str(-amount)}},
            }
        }

    outcomes: Counter[str] = Counter()

    def transferrer(seed: int) -> Callable[[], None]:
        def transfer() -> None:
            choices = random.Random(seed)
            for _ in range(60):
                source, target = choices.sample(accounts, 2)
                amount = choices.randint(1, 8)
                try:
                    engine.call(
                        "TransactWriteItems",
                        {"TransactItems": [move(*source, -amount), move(*target, amount)]},
                    )
                    outcomes["done"] += 1
                except TransactionCanceledException:
                    outcomes["cancelled"] += 1

        return transfer

    run_threads(*[transferrer(seed) for seed in range(8)])
    balances = [
        number(item) for table in ("things", "others") for item in engine.call("Scan", {"TableName": table})["Items"]
    ]
    assert sum(balances) == 80
    assert min(balances) >= 0
    assert outcomes["done"] > 0
    assert engine.verify().ok


def test_tables_come_and_go_while_others_are_used(engine: Engine) -> None:
    def come_and_go(name: str) -> Callable[[], None]:
        def work() -> None:
            for _ in range(10):
                create(engine, name)
                engine.call("PutItem", {**putting("x"), "TableName": name})
                engine.call("DeleteTable", {"TableName": name})

        return work

    def increment() -> None:
        for _ in range(100):
            engine.call("UpdateItem", counting())

    run_threads(come_and_go("first"), come_and_go("second"), increment, increment)
    assert count(engine) == 200
    assert engine.call("ListTables", {})["TableNames"] == ["others", "things"]
    assert engine.verify().ok


# -- asyncio -------------------------------------------------------------------------------------------------


def test_hundreds_of_tasks_lose_nothing(engine: Engine) -> None:
    async def main() -> list[dict[str, Any]]:
        return await asyncio.gather(*[engine.call_async("UpdateItem", counting()) for _ in range(400)])

    responses = asyncio.run(main())
    assert sorted(number(response["Attributes"]) for response in responses) == list(range(1, 401))
    assert count(engine) == 400


def test_a_task_that_is_cancelled_takes_no_other_with_it(engine: Engine) -> None:
    async def main() -> None:
        cancelled = asyncio.create_task(engine.call_async("UpdateItem", counting("cancelled")))
        others = [asyncio.create_task(engine.call_async("UpdateItem", counting())) for _ in range(20)]
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(*others)
        with suppress(asyncio.CancelledError):
            await cancelled

    asyncio.run(main())
    assert count(engine) == 20
    assert engine.verify().ok


def test_errors_reach_the_task_that_caused_them(engine: Engine) -> None:
    async def main() -> list[Any]:
        claim = {**putting("prize"), "ConditionExpression": "attribute_not_exists(pk)"}
        calls = [engine.call_async("PutItem", claim) for _ in range(50)]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    outcomes = Counter(type(outcome) for outcome in asyncio.run(main()))
    assert outcomes == {dict: 1, ConditionalCheckFailedException: 49}


def test_threads_and_tasks_share_an_engine(engine: Engine) -> None:
    def in_a_thread() -> None:
        for _ in range(150):
            engine.call("UpdateItem", counting())

    def in_an_event_loop() -> None:
        async def task() -> None:
            for _ in range(10):
                await engine.call_async("UpdateItem", counting())

        async def main() -> None:
            await asyncio.gather(*[task() for _ in range(20)])

        asyncio.run(main())

    run_threads(*[in_a_thread] * 4, *[in_an_event_loop] * 2)
    assert count(engine) == 4 * 150 + 2 * 20 * 10
    assert engine.verify().ok


# -- group commit --------------------------------------------------------------------------------------------


def test_threads_that_write_at_once_share_syncs(on_disk: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = []
    sync = WriteAheadLog.sync

    def slow_sync(log: WriteAheadLog) -> None:
        syncs.append(log)
        time.sleep(0.001)
        sync(log)

    monkeypatch.setattr(WriteAheadLog, "sync", slow_sync)

    def write(thread: int) -> Callable[[], None]:
        def work() -> None:
            for position in range(50):
                on_disk.call("PutItem", putting(f"{thread} {position}"))

        return work

    run_threads(*[write(thread) for thread in range(THREADS)])
    assert len(on_disk.call("Scan", {"TableName": "things"})["Items"]) == THREADS * 50
    assert 0 < len(syncs) < THREADS * 50


def test_tasks_that_are_ready_together_share_one_commit(on_disk: Engine) -> None:
    commits = Commits(on_disk)

    async def main() -> None:
        await asyncio.gather(*[on_disk.call_async("PutItem", putting(str(task))) for task in range(200)])

    asyncio.run(main())
    assert len(on_disk.call("Scan", {"TableName": "things"})["Items"]) == 200
    assert commits.number == 1


def test_a_write_alone_is_committed_by_itself(on_disk: Engine) -> None:
    commits = Commits(on_disk)
    for position in range(5):
        on_disk.call("PutItem", putting(str(position)))
    assert commits.number == 5


def test_reading_what_is_durable_commits_nothing(on_disk: Engine) -> None:
    on_disk.call("PutItem", putting("x"))
    commits = Commits(on_disk)
    on_disk.call("GetItem", getting("x"))
    on_disk.call("Scan", {"TableName": "things"})
    assert commits.number == 0


# -- what is seen is durable ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "request_members"),
    [
        ("GetItem", {"Key": {"pk": {"S": "x"}}}),
        ("GetItem", {"Key": {"pk": {"S": "another"}}}),
        ("Scan", {}),
        ("DescribeTable", {}),
    ],
)
def test_a_read_waits_for_the_write_that_it_may_have_seen(
    on_disk: Engine, operation: str, request_members: dict[str, Any]
) -> None:
    # On a slow one, a read waits only for what it has read.
    on_disk._storage.syncs.are_slow = False
    _, written = on_disk.execute("PutItem", putting("x"))
    _, read = on_disk.execute(operation, {"TableName": "things", **request_members})
    assert written is not None
    assert read is written
    assert not written.done
    on_disk.call(operation, {"TableName": "things", **request_members})
    assert written.done


def test_nothing_that_was_seen_or_acknowledged_is_lost_when_commits_fail(on_disk: Engine) -> None:
    """Commits fail at random: the counter is what was acknowledged, and nobody ever saw it higher."""
    storage = on_disk._storage
    execute = storage.execute
    choices = random.Random(7)
    healthy = [False]

    def unreliable(statement: str, *parameters: Any) -> sqlite3.Cursor:
        if statement == "COMMIT" and not healthy[0] and choices.random() < 0.4:
            raise sqlite3.OperationalError("disk I/O error")
        return execute(statement, *parameters)

    storage.execute = unreliable
    acknowledged: list[int] = []
    refused: list[None] = []
    seen: list[int] = []
    writing = [True]

    def increment() -> None:
        for _ in range(100):
            try:
                acknowledged.append(number(on_disk.call("UpdateItem", counting())["Attributes"]))
            except InternalServerError:
                refused.append(None)

    def increment_in_tasks() -> None:
        async def task() -> None:
            for _ in range(10):
                try:
                    response = await on_disk.call_async("UpdateItem", counting())
                    acknowledged.append(number(response["Attributes"]))
                except InternalServerError:
                    refused.append(None)

        async def main() -> None:
            await asyncio.gather(*[task() for _ in range(20)])

        asyncio.run(main())

    def write() -> None:
        try:
            run_threads(*[increment] * 6, increment_in_tasks)
        finally:
            writing[0] = False

    def read() -> None:
        while writing[0]:
            with suppress(InternalServerError):
                seen.append(count(on_disk))
            with suppress(InternalServerError):
                try:
                    on_disk.call(
                        "PutItem",
                        {
                            **putting("counter"),
                            "ConditionExpression": "n < :zero",
                            "ExpressionAttributeValues": {":zero": {"N": "0"}},
                            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                        },
                    )
                except ConditionalCheckFailedException as error:
                    seen.append(number(error.extra.get("Item")))

    run_threads(write, read, read)
    healthy[0] = True
    final = count(on_disk)
    assert refused
    assert sorted(acknowledged) == list(range(1, final + 1))
    assert max(seen) <= final
    assert on_disk.verify().ok
