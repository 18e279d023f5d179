"""boto3 without a socket: Tablewright's transport against moto's, each in a process of its own, in turns."""

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import workload
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, rate, ratio, verdict

PART = "in_process"
SMALL, LARGE = 1_000, 50_000
PEER = "moto"
TARGETS = ["tablewright, memory", "tablewright, durable file", PEER]
OPERATIONS = ["put", "get", "update", "query on GSI"]
BAR, LARGE_BAR = 2.0, 20.0
METHODS = {
    "PutItem": "put_item",
    "GetItem": "get_item",
    "UpdateItem": "update_item",
    "Query": "query",
}


def measure(seconds: float, rounds: int) -> Section:
    rates: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        workers = {}
        for target in TARGETS:
            worker = ProcessPoolExecutor(1, get_context("spawn"), Worker.start, (target, folder))
            workers[target] = stack.enter_context(worker)
            stack.callback(worker.submit, Worker.stop)
        for size in (SMALL, LARGE):
            for target, worker in workers.items():
                progress(f"[in_process] {target}: loading {size:,} items")
                worker.submit(Worker.fill, size).result()
            for operation in OPERATIONS if size == SMALL else OPERATIONS[-1:]:
                name = f"{operation}, {size:,} items"
                rates[name] = {target: [] for target in TARGETS}
                for turn in range(rounds):
                    for target, worker in workers.items():
                        value = worker.submit(Worker.run, operation, size, seconds, turn).result()
                        rates[name][target].append(value)
                        progress(f"[in_process] {name} {turn + 1}/{rounds} {target}: {rate(value)}")
    return section(rates)


class Worker:
    """What one target's process does; its client lives as long as the process."""

    client: Any
    stack: ExitStack

    @classmethod
    def start(cls, target: str, folder: Path) -> None:
        cls.stack = ExitStack()
        cls.client = cls.stack.enter_context(opened(target, folder))
        cls.client.create_table(**workload.create_table(index=True))
        cls.client.get_waiter("table_exists").wait(TableName=workload.TABLE)

    @classmethod
    def stop(cls) -> None:
        cls.stack.close()

    @classmethod
    def fill(cls, size: int) -> None:
        for batch in workload.batches(size):
            cls.client.batch_write_item(**batch)

    @classmethod
    def run(cls, operation: str, size: int, seconds: float, seed: int) -> float:
        """Calls per second."""
        name, requests = workload.cycle(operation, range(size), 500, seed)
        call = getattr(cls.client, METHODS[name])
        count = 0
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            call(**requests[count % len(requests)])
            count += 1
        return count / elapsed


@contextmanager
def opened(target: str, folder: Path) -> Iterator[Any]:
    if target == PEER:
        import boto3
        from moto import mock_aws

        with mock_aws():
            yield boto3.client("dynamodb", region_name="us-east-1")
    else:
        from tablewright import Engine
        from tablewright.wire import boto

        with Engine.open(folder / "in-process" if "file" in target else None) as engine:
            yield boto.client(engine)


def section(rates: dict[str, dict[str, list[float]]]) -> Section:
    rows = []
    for name, by_target in rates.items():
        bar = LARGE_BAR if f"{LARGE:,}" in name else BAR
        leads = [compare(by_target[target], by_target[PEER]) for target in TARGETS[:-1]]
        cells = [rate(statistics.median(values)) for values in by_target.values()]
        rows.append([name, *cells, *map(ratio, leads), ratio(bar), verdict(min(leads) >= bar)])
    return Section(
        PART,
        "boto3 in process",
        [
            "calls per second of one thread with a boto3 client; no socket in any target",
            "the table has one global secondary index with all attributes; a query on it answers ten items",
        ],
        ["", *TARGETS, "memory to moto", "durable to moto", "bar", "both"],
        rows,
    )
