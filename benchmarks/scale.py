"""What a read costs at ten million items against ten thousand, and how much memory the process takes.

Each size is a data folder of its own, in a process of its own, filled through BatchWriteItem and read through
`engine.call` at random over all its items; the two are measured in turns.
"""

import random
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import workload
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, verdict

if TYPE_CHECKING:
    from tablewright import Engine

PART = "scale"
SMALL, LARGE = 10_000, 10_000_000
# Batches: loading is not what is measured.
IN_A_COMMIT = 20
OPERATIONS = ["get", "query"]
COST_BAR, MEMORY_BAR = 1.4, 200.0


def measure(seconds: float, rounds: int) -> Section:
    costs: dict[str, dict[int, list[float]]] = {name: {SMALL: [], LARGE: []} for name in OPERATIONS}
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        workers = {}
        for size in (SMALL, LARGE):
            worker = ProcessPoolExecutor(1, get_context("spawn"), Worker.start, (folder / str(size),))
            workers[size] = stack.enter_context(worker)
            stack.callback(worker.submit, Worker.stop)
            progress(f"[scale] loading {size:,} items")
            loaded = worker.submit(Worker.fill, size).result()
            progress(f"[scale] {size / loaded:,.0f} items/s")
        for operation in OPERATIONS:
            for turn in range(rounds):
                for size, worker in workers.items():
                    cost = worker.submit(Worker.run, operation, size, seconds, turn).result()
                    costs[operation][size].append(cost)
                    progress(f"[scale] {operation} {turn + 1}/{rounds} at {size:,}: {cost:.1f} µs")
        resident, peak = workers[LARGE].submit(memory).result()
        bare = workers[SMALL].submit(memory).result()[0]
    return section(costs, resident, peak, bare)


class Worker:
    """What the process of one size does; its engine lives as long as the process."""

    engine: "Engine"

    @classmethod
    def start(cls, folder: Path) -> None:
        from tablewright import Engine

        cls.engine = Engine.open(folder)
        cls.engine.call("CreateTable", workload.create_table(index=False))

    @classmethod
    def stop(cls) -> None:
        cls.engine.close()

    @classmethod
    def fill(cls, size: int) -> float:
        """Seconds that the load took."""
        started = time.perf_counter()
        for number, batch in enumerate(workload.batches(size), 1):
            cls.engine.execute("BatchWriteItem", batch)
            if number % IN_A_COMMIT == 0:
                cls.engine.flush()
            if number % 20_000 == 0:
                progress(f"[scale] {number * workload.BATCH:,} of {size:,}")
        cls.engine.flush()
        return time.perf_counter() - started

    @classmethod
    def run(cls, operation: str, size: int, seconds: float, seed: int) -> float:
        """Microseconds of one call, the median over slices of a hundred."""
        name, make = workload.OPERATIONS[operation]
        chance = random.Random(seed)
        slices = []
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            requests = [make(chance.randrange(size), 0) for _ in range(100)]
            started = time.perf_counter()
            for request in requests:
                cls.engine.call(name, request)
            slices.append((time.perf_counter() - started) / len(requests))
        return statistics.median(slices) * 1e6


def memory() -> tuple[float, float]:
    """Resident memory of this process in MB, now and at its peak."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resident, peak = (int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return resident, peak


def section(costs: dict[str, dict[int, list[float]]], resident: float, peak: float, bare: float) -> Section:
    rows = []
    for operation, by_size in costs.items():
        small, large = (statistics.median(by_size[size]) for size in (SMALL, LARGE))
        growth = compare(by_size[LARGE], by_size[SMALL])
        label = "query of ten" if operation == "query" else operation
        rows.append(
            [
                label,
                f"{small:.1f} µs",
                f"{large:.1f} µs",
                f"{growth:.2f}",
                f"≤ {COST_BAR}",
                verdict(growth <= COST_BAR),
            ]
        )
    rows.append(
        [
            "resident memory",
            f"{bare:.0f} MB",
            f"{resident:.0f} MB (peak {peak:.0f} MB)",
            f"{resident / bare:.2f}",
            f"≤ {MEMORY_BAR:.0f} MB",
            verdict(resident <= MEMORY_BAR),
        ]
    )
    return Section(
        PART,
        "Ten million items",
        [
            "`engine.call` on a durable file, at random over all items of about 500 bytes",
            "memory is that of the process after it has loaded its items and answered the reads",
        ],
        ["", f"{SMALL:,} items", f"{LARGE:,} items", "ratio", "bar", ""],
        rows,
    )
