"""How long a client waits for its gets while another sends the most costly requests that are known.

One server on a data folder. A client gets the same small item over and over, on a connection of its own, from a
process of its own; meanwhile each of the requests below is sent once, and one of them by many clients at once. A figure
is the longest that the client waited.
"""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from typing import Any

from benchmarks.cache import data_folder
from benchmarks.report import Section, progress, verdict
from benchmarks.servers import HEADERS, SCRIPTS, Server, started

PART = "waits"
BAR = 50.0
ITEMS = 200_000
BATCH = 25
CROWDS = (60, 300)
TABLE, WIDE = "Crowd", "Wide"
DIGITS, CAPITALS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# What the service would refuse as well: to find that out is costly enough.
REFUSED = (
    "80,000 attribute definitions",
    "300,000 names that nothing uses",
    "16 MB of empty lists",
    "update, a long list appended to itself 140 times",
    "transaction of 90 statements with 330 conditions each",
)

Json = dict[str, Any]
Costly = tuple[str, str, Json]


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` and `rounds` do not matter here: a request is sent once, and takes as long as it takes."""
    rows = []
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        command = [str(SCRIPTS / "tablewright"), "serve", "--data", str(folder / "data")]
        server = stack.enter_context(started("tablewright, durable file", command))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        fill(server, connection)
        with ProcessPoolExecutor(1, get_context("spawn")) as client:

            def measured(name: str, operation: str, body: Json) -> list[str]:
                content = json.dumps(body, separators=(",", ":"))
                statuses: list[int] = []

                def send() -> None:
                    headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
                    connection.request("POST", "/", content, headers)
                    response = connection.getresponse()
                    response.read()
                    statuses.append(response.status)

                took, waited = watch(client, server, send)
                expected = 400 if name in REFUSED else 200
                if statuses != [expected]:
                    raise RuntimeError(f"{name}: answered with {statuses[0]}, and {expected} was expected")
                return row(name, len(content), took, waited)

            quiet = watch(client, server, lambda: time.sleep(3.0))[1]
            *requests, deletion = costly()
            rows += [measured(*each) for each in requests]
            # Nothing is in the background any more, and the table can be deleted in the end.
            wait_until_active(server, connection)
            for count in CROWDS:
                content = json.dumps({**filtered(), "Limit": 2000}, separators=(",", ":"))

                def arrive(count: int = count, content: str = content) -> None:
                    crowd(server, count, content)

                rows.append(
                    row(
                        f"{count} scans with 140 comparisons at once, of 2,000 items each",
                        count * len(content),
                        *watch(client, server, arrive),
                    )
                )
            rows.append(measured(*deletion))
    return Section(
        PART,
        "What others wait while one request is costly",
        [
            "longest wait of a client that gets one small item over and over, while another client sends the request",
            f"without any other client, its longest wait in three seconds was {quiet * 1e3:.0f} ms",
            f"the table has {ITEMS:,} items, all in one partition, with a local and a global index",
        ],
        ["request", "body", "takes", "longest wait", "bar", ""],
        rows,
    )


def row(name: str, size: int, took: float, waited: float) -> list[str]:
    progress(f"[waits] {name}: {took * 1e3:.0f} ms, longest wait {waited * 1e3:.0f} ms")
    return [
        name,
        f"{size / 1e6:.2f} MB",
        f"{took * 1e3:.0f} ms",
        f"{waited * 1e3:.0f} ms",
        f"≤ {BAR:.0f} ms",
        verdict(waited * 1e3 <= BAR),
    ]


def crowd(server: Server, count: int, content: str) -> None:
    """Send the same scan on so many connections at once, and read all responses."""
    connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=600) for _ in range(count)]
    for connection in connections:
        connection.connect()
    for connection in connections:
        connection.request("POST", "/", content, {**HEADERS, "X-Amz-Target": "DynamoDB_20120810.Scan"})
    statuses = set()
    for connection in connections:
        response = connection.getresponse()
        response.read()
        statuses.add(response.status)
        connection.close()
    if statuses != {200}:
        raise RuntimeError(f"a crowd was answered with {sorted(statuses)}")


def wait_until_active(server: Server, connection: http.client.HTTPConnection) -> None:
    """Return once no table is being restored, and no index filled."""
    while True:
        names = server.call(connection, "ListTables", {})["TableNames"]
        tables = [server.call(connection, "DescribeTable", {"TableName": name})["Table"] for name in names]
        indexes = [index for table in tables for index in table.get("GlobalSecondaryIndexes", ())]
        statuses = {*(table["TableStatus"] for table in tables), *(index["IndexStatus"] for index in indexes)}
        if statuses == {"ACTIVE"}:
            return
        time.sleep(0.5)


def watch(client: ProcessPoolExecutor, server: Server, work: Any) -> tuple[float, float]:
    """Seconds that some work takes, and the longest that the client waits meanwhile."""
    watching = client.submit(keep_getting, server)
    time.sleep(0.5)
    started = time.perf_counter()
    work()
    took = time.perf_counter() - started
    # What the request leaves to be done in the background counts as well.
    time.sleep(1.0)
    stop = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    server.call(stop, "PutItem", {"TableName": WIDE, "Item": {"p": {"S": "stop"}, "s": {"S": "x"}}})
    longest = watching.result(timeout=120)
    server.call(stop, "DeleteItem", {"TableName": WIDE, "Key": {"p": {"S": "stop"}, "s": {"S": "x"}}})
    return took, longest


def keep_getting(server: Server) -> float:
    """Get an item until there is a sign to stop; gives the longest wait in seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    stop = {"TableName": WIDE, "Key": {"p": {"S": "stop"}, "s": {"S": "x"}}}
    longest, number = 0.0, 0
    while True:
        number += 1
        started = time.perf_counter()
        found = server.call(connection, "GetItem", stop)
        waited = time.perf_counter() - started
        if number > 20:
            longest = max(longest, waited)
        if "Item" in found:
            return longest


def fill(server: Server, connection: http.client.HTTPConnection) -> None:
    for name in (TABLE, WIDE):
        server.call(connection, "CreateTable", create(name))
    threads = [threading.Thread(target=fill_part, args=(server, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [{"N": "1"}] * 130_000
    for key, value in {
        "list": {"L": numbers},
        "numbers": {"NS": [str(number) for number in range(80_000)]},
        "text": {"S": "a" * 400_000},
    }.items():
        server.call(connection, "PutItem", {"TableName": WIDE, "Item": {"p": {"S": "a"}, "s": {"S": key}, "v": value}})


def fill_part(server: Server, part: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    for first in range(part * BATCH, ITEMS, 4 * BATCH):
        puts = [{"PutRequest": {"Item": item(number)}} for number in range(first, first + BATCH)]
        server.call(connection, "BatchWriteItem", {"RequestItems": {TABLE: puts}})
        if part == 0 and first % 20_000 == 0:
            progress(f"[waits] loaded {first:,} of {ITEMS:,} items")


def item(number: int) -> Json:
    return {
        "p": {"S": "one"},
        "s": {"S": f"{number:06}"},
        "l": {"S": f"{number % 100:02}"},
        "g": {"S": f"{number % 1000:03}"},
        "n": {"N": str(number)},
    }


def create(name: str) -> Json:
    both = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]
    every = {"ProjectionType": "ALL"}
    local = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": both,
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in "pslg"],
        "LocalSecondaryIndexes": [{"IndexName": "local", "KeySchema": local, "Projection": every}],
        "GlobalSecondaryIndexes": [
            {"IndexName": "global", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": every}
        ],
    }


def filtered() -> Json:
    """A scan that looks at every item for long, and returns none."""
    comparisons = " OR ".join(f"n = :v{number}" for number in range(140))
    values = {f":v{number}": {"N": str(-number)} for number in range(140)}
    return {"TableName": TABLE, "FilterExpression": comparisons, "ExpressionAttributeValues": values}


def costly() -> Iterator[Costly]:
    """The most costly requests that are known, and what each is."""
    table: Json = {"TableName": TABLE}
    one: Json = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "one"}}}
    yield "scan of a page of small items", "Scan", table
    values = {f":v{number}": {"N": str(-number)} for number in range(140)}
    yield "scan, 140 comparisons for each item", "Scan", filtered()
    filters = {f"x{number}": {"ComparisonOperator": "NULL"} for number in range(2000)}
    yield "scan, 2,000 conditions of the older kind", "Scan", {**table, "ScanFilter": filters}
    yield (
        "query of an index, a page backwards",
        "Query",
        {
            **table,
            **one,
            "IndexName": "local",
            "ScanIndexForward": False,
            "ProjectionExpression": "n",
        },
    )
    contains = " OR ".join(f"contains(v, :v{number})" for number in range(140))
    yield (
        "contains, 140 times on long lists and sets",
        "Query",
        {
            "TableName": WIDE,
            "KeyConditionExpression": "p = :p",
            "FilterExpression": contains,
            "ExpressionAttributeValues": {":p": {"S": "a"}, **values},
        },
    )
    appended = ", ".join(f"a{number} = list_append(v, v)" for number in range(140))
    key = {"p": {"S": "a"}, "s": {"S": "list"}}
    yield (
        "update, a long list appended to itself 140 times",
        "UpdateItem",
        {
            "TableName": WIDE,
            "Key": key,
            "UpdateExpression": f"SET {appended}",
        },
    )
    yield (
        "put of a list of 130,000 numbers",
        "PutItem",
        {
            "TableName": WIDE,
            "Item": {**key, "v": {"L": [{"N": "1"}] * 130_000}},
        },
    )
    lists = [
        {"PutRequest": {"Item": {"p": {"S": "b"}, "s": {"S": str(number)}, "v": {"L": [{"N": "1"}] * 58_000}}}}
        for number in range(25)
    ]
    yield "batch of 25 long lists", "BatchWriteItem", {"RequestItems": {WIDE: lists}}
    puts = [
        {"Put": {"TableName": WIDE, "Item": {"p": {"S": "c"}, "s": {"S": str(n)}, "v": {"L": [{"N": "1"}] * 13_000}}}}
        for n in range(100)
    ]
    yield (
        "transaction of 100 lists, with a token",
        "TransactWriteItems",
        {"TransactItems": puts, "ClientRequestToken": "once"},
    )
    definitions = [{"AttributeName": f"a{number}", "AttributeType": "S"} for number in range(80_000)]
    yield (
        "80,000 attribute definitions",
        "CreateTable",
        {
            "TableName": "Definitions",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "a0", "KeyType": "HASH"}],
            "AttributeDefinitions": definitions,
        },
    )
    names = {f"#n{number}": "x" for number in range(300_000)}
    yield (
        "300,000 names that nothing uses",
        "GetItem",
        {
            "TableName": WIDE,
            "Key": key,
            "ProjectionExpression": "v",
            "ExpressionAttributeNames": names,
        },
    )
    yield "16 MB of empty lists", "PutItem", {"TableName": WIDE, "Item": {"p": {"L": [[]] * 5_000_000}}}
    removed = ",".join(f"{first}{second}" for first in "jklmqruvwxyz" for second in f"jklmpqrsuvwxyz{DIGITS}{CAPITALS}")
    removals = [
        {
            "Update": {
                "TableName": WIDE,
                "Key": {"p": {"S": "d"}, "s": {"S": str(number)}},
                "UpdateExpression": f"REMOVE {removed},other{number}",
            }
        }
        for number in range(100)
    ]
    yield "transaction of 100 updates that remove 577 names each", "TransactWriteItems", {"TransactItems": removals}
    distinct = " AND ".join(["x{0}<>x"] * 145)
    checks = [
        {
            "ConditionCheck": {
                "TableName": WIDE,
                "Key": each["Update"]["Key"],
                "ConditionExpression": distinct.format(number),
            }
        }
        for number, each in enumerate(removals)
    ]
    yield "transaction of 100 checks with 145 comparisons each", "TransactWriteItems", {"TransactItems": checks}
    gets = [
        {"Get": {"TableName": WIDE, "Key": each["Update"]["Key"], "ProjectionExpression": f"{removed},other{number}"}}
        for number, each in enumerate(removals)
    ]
    yield "transaction of 100 gets of 577 names each", "TransactGetItems", {"TransactItems": gets}
    conditions = " AND a=1" * 330
    updates = [{"Statement": f"UPDATE {WIDE} SET z=1 WHERE p='d' AND s='{number}'{conditions}"} for number in range(90)]
    yield "transaction of 90 statements with 330 conditions each", "ExecuteTransaction", {"TransactStatements": updates}
    longest = [{"Statement": each["Statement"] + 2 * conditions} for each in updates[:25]]
    yield "batch of 25 statements of 8 KB", "BatchExecuteStatement", {"Statements": longest}
    expected = {f"{number:x}": {"Exists": False} for number in range(8500)}
    yield (
        "put with 8,500 conditions of the older kind",
        "PutItem",
        {"TableName": WIDE, "Item": {"p": {"S": "e"}, "s": {"S": "1"}}, "Expected": expected},
    )
    yield (
        "put with the size of its item collection",
        "PutItem",
        {
            **table,
            "Item": item(1),
            "ReturnItemCollectionMetrics": "SIZE",
        },
    )
    yield "description of a large table", "DescribeTable", table
    yield "backup of a large table", "CreateBackup", {**table, "BackupName": "all"}
    recovery = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    yield "recovery is enabled", "UpdateContinuousBackups", {**table, **recovery}
    yield (
        "restore of a large table",
        "RestoreTableToPointInTime",
        {
            "SourceTableName": TABLE,
            "TargetTableName": "Restored",
            "UseLatestRestorableTime": True,
        },
    )
    yield (
        "time to live is enabled",
        "UpdateTimeToLive",
        {
            **table,
            "TimeToLiveSpecification": {"AttributeName": "n", "Enabled": True},
        },
    )
    yield (
        "an index more",
        "UpdateTable",
        {
            **table,
            "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in "pslg"],
            "GlobalSecondaryIndexUpdates": [
                {
                    "Create": {
                        "IndexName": "more",
                        "KeySchema": [{"AttributeName": "l", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                }
            ],
        },
    )
    yield "deletion of a large table", "DeleteTable", table
