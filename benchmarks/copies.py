"""Copies of a table from one server to another: `tablewright copy`, and the loop over boto3 that people write."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks import servers
from benchmarks.report import Section, progress

PART = "copy"
ITEMS = 20_000
MEMORY_ITEMS = 100_000
SEGMENTS = 4
_TABLE = "Orders"

# Four threads, each with a segment of the scan; what is left unprocessed is sent again by boto3's batch writer.
BOTO3 = """
import sys
from concurrent.futures import ThreadPoolExecutor
import boto3

source_url, target_url, name, new, segments = *sys.argv[1:5], int(sys.argv[5])
source, target = boto3.client("dynamodb", endpoint_url=source_url), boto3.client("dynamodb", endpoint_url=target_url)
found = source.describe_table(TableName=name)["Table"]
target.create_table(
    TableName=new,
    BillingMode="PAY_PER_REQUEST",
    AttributeDefinitions=found["AttributeDefinitions"],
    KeySchema=found["KeySchema"],
)


def copy(segment):
    here = boto3.session.Session().resource("dynamodb", endpoint_url=source_url).Table(name)
    there = boto3.session.Session().resource("dynamodb", endpoint_url=target_url).Table(new)
    more = {}
    with there.batch_writer() as batch:
        while True:
            page = here.scan(Segment=segment, TotalSegments=segments, ConsistentRead=True, **more)
            for item in page["Items"]:
                batch.put_item(item)
            if "LastEvaluatedKey" not in page:
                return
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


with ThreadPoolExecutor(segments) as pool:
    list(pool.map(copy, range(segments)))
"""
# The command, and the most memory that its process had.
COPY = """
import resource, sys
from tablewright.cli import main

status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` does not matter here: each run copies the same items."""
    serve = [sys.executable, "-m", "tablewright", "serve", "--memory"]
    times: dict[str, list[float]] = {"`tablewright copy`, verified": [], "`--no-verify`": [], "boto3, 4 threads": []}
    with servers.started("source", serve) as one, servers.started("target", serve) as other:
        source, target = f"http://127.0.0.1:{one.port}", f"http://127.0.0.1:{other.port}"
        fill(source, ITEMS)
        for turn in range(rounds):
            for number, name in enumerate(times):
                new = f"Copy-{turn}-{number}"
                run = _boto3(source, target, new) if number == 2 else _copy(source, target, new, number)[0]
                times[name].append(run)
            progress(f"[copy] {turn + 1}/{rounds}")
        small = _copy(source, target, "Copy-small", 0)[1]
        fill(source, MEMORY_ITEMS)
        large = _copy(source, target, "Copy-large", 0)[1]
    rates = {name: ITEMS / statistics.median(values) for name, values in times.items()}
    plain = rates["boto3, 4 threads"]
    return Section(
        PART,
        "Copies from server to server",
        [
            f"{ITEMS:,} items of about 200 bytes, {SEGMENTS} segments, two servers in memory on the same machine; the"
            f" whole life of the process, median of {rounds}",
            "the peer is the loop of scans and batch writers over boto3 that people write, which neither compares nor"
            " can be resumed",
            f"memory of `tablewright copy`: {small // 1024} MB at the most for {ITEMS:,} items,"
            f" {large // 1024} MB for {MEMORY_ITEMS:,}",
        ],
        ["", "items a second", "against boto3"],
        [[name, f"{rate:,.0f}", f"{rate / plain:.1f}x"] for name, rate in rates.items()],
    )


def fill(url: str, number: int) -> None:
    """A table of so many items, in place of the one that is there."""
    import boto3

    client: Any = boto3.client("dynamodb", endpoint_url=url, region_name="us-east-1", **_KEYS)
    if _TABLE in client.list_tables()["TableNames"]:
        client.delete_table(TableName=_TABLE)
    client.create_table(
        TableName=_TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    for batch in _batches(number):
        client.batch_write_item(RequestItems={_TABLE: batch})


_KEYS = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}


def _batches(number: int) -> Iterator[list[dict[str, Any]]]:
    for begin in range(0, number, 25):
        yield [
            {
                "PutRequest": {
                    "Item": {
                        "pk": {"S": f"customer-{each // 10}"},
                        "sk": {"S": f"order-{each:08}"},
                        "total": {"N": str(each)},
                        "note": {"S": "n" * 140},
                    }
                }
            }
            for each in range(begin, min(begin + 25, number))
        ]


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def _copy(source: str, target: str, new: str, number: int) -> tuple[float, int]:
    """Seconds, and kilobytes of memory."""
    options = ["--rename", f"{_TABLE}={new}", "--table", _TABLE, *(["--no-verify"] if number else [])]
    command = [sys.executable, "-c", COPY, "copy", source, target, "--segments", str(SEGMENTS), *options]
    started = time.perf_counter()
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=True)
    return time.perf_counter() - started, int(done.stderr.split()[-1])


def _boto3(source: str, target: str, new: str) -> float:
    command = [sys.executable, "-c", BOTO3, source, target, _TABLE, new, str(SEGMENTS)]
    started = time.perf_counter()
    subprocess.run(command, env=_environment(), check=True)
    return time.perf_counter() - started
