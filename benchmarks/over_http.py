"""Sixteen connections against each server: get, put, update, query of ten items, transaction of two."""

import http.client
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context

from benchmarks import dynamodb_local, load, servers, workload
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, rate, ratio, verdict
from benchmarks.servers import Server

PART = "http"
CONNECTIONS = 16
ITEMS = 16_000
CYCLE = 200
# Seconds of load before the first round of an operation; a Java machine goes on compiling for that long.
WARM_UP, JAVA_WARM_UP = 1.0, 10.0
OPERATIONS = ["get", "put", "update", "query", "transact"]
OURS = "tablewright"
BAR, AIM = 1.0, 2.0


def measure(seconds: float, rounds: int) -> Section:
    rates: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        running = []
        for name, command in servers.commands(folder).items():
            progress(f"[http] starting {name}")
            try:
                server = stack.enter_context(servers.started(name, command))
                fill(server)
            except (OSError, RuntimeError) as problem:
                if name.startswith(OURS):
                    raise
                progress(f"[http] {name} is left out: {problem}")
                continue
            running.append(server)
        generator = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        for operation in OPERATIONS:
            rates[operation] = {server.name: [] for server in running}
            for server in running:
                progress(f"[http] {operation}: warming up {server.name}")
                seconds_before = JAVA_WARM_UP if server.name in dynamodb_local.NAMES else WARM_UP
                one = load.Load(server.port, requests(server, operation, 0), seconds_before)
                generator.submit(load.run, one).result()
            for turn in range(rounds):
                for server in running:
                    one = load.Load(server.port, requests(server, operation, turn), seconds)
                    result = generator.submit(load.run, one).result()
                    if result.failed:
                        if server.name.startswith(OURS):
                            raise RuntimeError(f"{operation} failed: {result.first_failure}")
                        progress(f"[http] {operation}: {server.name} does not have it")
                        continue
                    rates[operation][server.name].append(result.rate)
                    progress(
                        f"[http] {operation} {turn + 1}/{rounds} {server.name}: {rate(result.rate)}, "
                        f"p50 {result.p50 * 1e3:.2f} ms, p99 {result.p99 * 1e3:.2f} ms"
                    )
    return section(rates)


def fill(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    server.call(connection, "CreateTable", workload.create_table(index=False))
    deadline = time.monotonic() + 20
    while True:
        table = server.call(connection, "DescribeTable", {"TableName": workload.TABLE})["Table"]
        if table["TableStatus"] == "ACTIVE":
            break
        if time.monotonic() > deadline:
            raise RuntimeError("its table does not become active")
        time.sleep(0.05)
    if server.name == dynamodb_local.ON_FILE:
        # Each item of a batch is a commit of its own there, with several syncs; a transaction is one.
        for transaction in workload.transactions(ITEMS):
            server.call(connection, "TransactWriteItems", transaction)
    else:
        for batch in workload.batches(ITEMS):
            server.call(connection, "BatchWriteItem", batch)
    connection.close()


def requests(server: Server, operation: str, seed: int) -> list[list[bytes]]:
    """A cycle for each connection. The connections' items are disjoint, so that no two transactions meet."""
    share = ITEMS // CONNECTIONS
    cycles = []
    for start in range(0, ITEMS, share):
        # The last partition of a share is left out, since a transaction reaches one partition further.
        numbers = range(start, start + share - workload.PER_PARTITION)
        name, bodies = workload.cycle(operation, numbers, CYCLE, seed)
        cycles.append([server.request(name, body) for body in bodies])
    return cycles


def section(rates: dict[str, dict[str, list[float]]]) -> Section:
    names = list(next(iter(rates.values())))
    ours = names[0]
    rows = []
    for operation, by_server in rates.items():
        cells, leads = [], []
        for name in names:
            values = by_server[name]
            if not values or not min(values):
                cells.append("not there" if not values else "none in time")
            elif name.startswith(OURS):
                cells.append(rate(statistics.median(values)))
            else:
                leads.append(compare(by_server[ours], values))
                cells.append(f"{rate(statistics.median(values))} ({ratio(leads[-1])})")
        lead = min(leads)
        rows.append([operation, *cells, ratio(lead), verdict(lead > BAR), verdict(lead >= AIM)])
    return Section(
        PART,
        f"HTTP, {CONNECTIONS} connections",
        [
            "requests per second; in brackets, the ratio of Tablewright's durable server to that peer",
            "Tablewright syncs the disk before it answers a write, and so does DynamoDB Local on a file, in SQLite's"
            " rollback journal; dynoxide's file is in SQLite's WAL mode, without a sync for each commit; dynalite and"
            " moto keep nothing",
            f"DynamoDB Local {dynamodb_local.VERSION} with {' '.join(dynamodb_local.JVM)}; before an operation is"
            f" measured, it runs for {JAVA_WARM_UP:g} s there, and for {WARM_UP:g} s on the others",
            f"query answers {workload.PER_PARTITION} items of about 500 bytes; transact writes two items;"
            f" {ITEMS:,} items",
        ],
        ["", *names, "to the fastest peer", "ahead of all", "aim: 2×"],  # noqa: RUF001
        rows,
    )
