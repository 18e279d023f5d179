"""Sixteen connections against each server, or 256: get, put, update, query of ten items, transaction of two."""

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
BAR = 1.0
AIMS = {"get": 3.0, "put": 3.0, "update": 3.0, "query": 2.0, "transact": 2.0}

Results = dict[str, dict[str, list[load.Result]]]


def measure(seconds: float, rounds: int) -> Section:
    return measure_with(CONNECTIONS, PART, seconds, rounds)


def measure_with(connections: int, part: str, seconds: float, rounds: int) -> Section:
    results: Results = {}
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
            results[operation] = {server.name: [] for server in running}
            for server in running:
                progress(f"[http] {operation}: warming up {server.name}")
                seconds_before = JAVA_WARM_UP if server.name in dynamodb_local.NAMES else WARM_UP
                one = load.Load(server.port, requests(server, operation, 0, connections), seconds_before)
                generator.submit(load.run, one).result()
                server.wait_until_quiet()
            for turn in range(rounds):
                for server in running:
                    one = load.Load(server.port, requests(server, operation, turn, connections), seconds)
                    result = generator.submit(load.run, one).result()
                    server.wait_until_quiet()
                    if result.failed:
                        if server.name.startswith(OURS):
                            raise RuntimeError(f"{operation} failed: {result.first_failure}")
                        progress(f"[http] {operation}: {server.name} does not have it")
                        continue
                    results[operation][server.name].append(result)
                    progress(
                        f"[http] {operation} {turn + 1}/{rounds} {server.name}: {rate(result.rate)}, "
                        f"p50 {result.p50 * 1e3:.2f} ms, p99 {result.p99 * 1e3:.2f} ms"
                    )
    return section(results, connections, part)


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


def requests(server: Server, operation: str, seed: int, connections: int = CONNECTIONS) -> list[list[bytes]]:
    """A cycle for each connection. The connections' items are disjoint, so that no two transactions meet."""
    share = ITEMS // connections
    cycles = []
    for start in range(0, connections * share, share):
        # The last partition of a share is left out, since a transaction reaches one partition further.
        numbers = range(start, start + share - workload.PER_PARTITION)
        name, bodies = workload.cycle(operation, numbers, CYCLE, seed)
        cycles.append([server.request(name, body) for body in bodies])
    return cycles


def section(results: Results, connections: int, part: str) -> Section:
    names = list(next(iter(results.values())))
    rows = []
    for operation, by_server in results.items():
        rates = {name: [result.rate for result in by_server[name]] for name in names}
        mine = rates[names[0]]
        cells, leads, peers_p50 = [], [], []
        for name in names:
            values = rates[name]
            if not values or not min(values):
                cells.append("not supported" if not values else "timed out")
            elif name.startswith(OURS):
                cells.append(rate(statistics.median(values)))
            else:
                leads.append(compare(mine, values))
                peers_p50.append(statistics.median(result.p50 for result in by_server[name]))
                cells.append(f"{rate(statistics.median(values))} ({ratio(leads[-1])})")
        lead, p99 = min(leads), statistics.median(result.p99 for result in by_server[names[0]])
        waits = f"{p99 * 1e3:.1f} ms to {min(peers_p50) * 1e3:.1f} ms, {verdict(p99 <= min(peers_p50))}"
        aim = f"{verdict(lead >= AIMS[operation])} ({AIMS[operation]:g}×)"  # noqa: RUF001
        rows.append([operation, *cells, ratio(lead), verdict(lead > BAR), aim, waits])
    return Section(
        part,
        f"HTTP, {connections} connections",
        [
            "requests per second; in brackets, the ratio of Tablewright's durable server to that peer",
            "last column: the p99 of Tablewright's durable server to the least p50 of a peer",
            "Tablewright syncs the disk before it answers a write, and so does DynamoDB Local on a file, in SQLite's"
            " rollback journal; dynoxide's file is in SQLite's WAL mode, without a sync for each commit; dynalite and"
            " moto keep nothing",
            f"DynamoDB Local {dynamodb_local.VERSION} with {' '.join(dynamodb_local.JVM)}; before an operation is"
            f" measured, it runs for {JAVA_WARM_UP:g} s there, and for {WARM_UP:g} s on the others",
            "each is measured once the one before it has done all that it was asked for",
            f"query answers {workload.PER_PARTITION} items of about 500 bytes; transact writes two items;"
            f" {ITEMS:,} items",
        ],
        ["", *names, "to the fastest peer", "ahead of all", "aim", "p99"],
        rows,
    )
