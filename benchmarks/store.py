"""The store: get, put and a query of ten items, in three comparisons.

- embedded, in a data folder and in memory, against boto3 with each local peer, of which the fastest counts;
- in memory, against `engine.call` with the very requests that the store makes: what the store itself costs;
- on one endpoint, which is our own server, against PynamoDB and pydynox.

Each target is a process of its own, with one thread that makes one call after the other, in turns with the others.
"""

import statistics
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import packages, servers
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, rate, ratio, verdict

if TYPE_CHECKING:
    from benchmarks.store_targets import Place, Target

PART = "store"
ITEMS = 5_000
WARM_UP = 0.1
OPERATIONS = ["get", "put", "query"]
BAR, COST_BAR = 15.0, 2.0

FOLDER, MEMORY, ASYNC, ENGINE = "data folder", "memory", "AsyncStore, memory", "engine.call"
ENDPOINT, PYNAMODB, PYDYNOX = "own server", "PynamoDB", "pydynox"
BOTO3 = "boto3 with "
OURS = "tablewright, memory"

Rates = dict[str, dict[str, list[float]]]


def measure(seconds: float, rounds: int, items: int = ITEMS) -> Section:
    rates: Rates = {operation: {} for operation in OPERATIONS}
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        workers = {}
        for name, (kind, place) in targets(stack, folder).items():
            worker = stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"), Worker.start, (kind, place)))
            progress(f"[store] {name}: loading {items:,} items")
            worker.submit(Worker.fill, items).result()
            stack.callback(worker.submit, Worker.stop)
            workers[name] = worker
        for operation in OPERATIONS:
            rates[operation] = {name: [] for name in workers}
            for turn in range(rounds):
                for name, worker in workers.items():
                    value = worker.submit(Worker.run, operation, items, seconds, turn).result()
                    rates[operation][name].append(value)
                    progress(f"[store] {operation} {turn + 1}/{rounds} {name}: {rate(value)}")
    return section(rates)


def targets(stack: ExitStack, folder: Path) -> "dict[str, tuple[type[Target], Place]]":
    """All targets that there are here; the servers of those that need one are started."""
    # Here, because the processes of all parts import this module, and that of `scale` is weighed.
    from benchmarks.store_targets import (
        AsyncStoreTarget,
        Boto3Target,
        EngineTarget,
        Place,
        PydynoxTarget,
        PynamodbTarget,
        StoreTarget,
    )

    found: dict[str, tuple[type[Target], Place]] = {
        FOLDER: (StoreTarget, Place(folder=folder / "store")),
        MEMORY: (StoreTarget, Place()),
        ASYNC: (AsyncStoreTarget, Place()),
        ENGINE: (EngineTarget, Place()),
    }
    for name, command in servers.commands(folder).items():
        if name.startswith("tablewright") and name != OURS:
            continue
        progress(f"[store] starting {name}")
        try:
            server = stack.enter_context(servers.started(name, command))
        except (OSError, RuntimeError) as problem:
            if name == OURS:
                raise
            progress(f"[store] {name} is left out: {problem}")
            continue
        place = Place(f"http://127.0.0.1:{server.port}")
        if name != OURS:
            found[BOTO3 + name] = Boto3Target, place
            continue
        found[ENDPOINT] = StoreTarget, place
        found[PYNAMODB] = PynamodbTarget, place
        if packages.install("pydynox"):
            found[PYDYNOX] = PydynoxTarget, place
    return found


class Worker:
    """What one target's process does; the target lives as long as the process."""

    target: "Target"

    @classmethod
    def start(cls, kind: "type[Target]", place: "Place") -> None:
        cls.target = kind(place)

    @classmethod
    def stop(cls) -> None:
        cls.target.close()

    @classmethod
    def fill(cls, size: int) -> None:
        cls.target.fill(size)

    @classmethod
    def run(cls, operation: str, size: int, seconds: float, seed: int) -> float:
        """Calls per second, once the first of them have connected and filled caches."""
        calls = cls.target.calls(operation, size, seed)
        cls.target.run(calls, WARM_UP)
        return cls.target.run(calls, seconds)


def section(rates: Rates) -> Section:
    rows = []
    for operation, by_target in rates.items():
        label = "query of ten" if operation == "query" else operation
        # Where no peer could be had, there is no such row.
        peers = sorted(
            (name for name in by_target if name.startswith(BOTO3)),
            key=lambda name: statistics.median(by_target[name]),
        )
        for fastest in peers[-1:]:
            for ours in (FOLDER, MEMORY, ASYNC):
                lead = compare(by_target[ours], by_target[fastest])
                rows.append(_row(by_target, f"{label}, {ours}", ours, fastest, ratio(lead), ratio(BAR), lead >= BAR))
        cost = compare(by_target[ENGINE], by_target[MEMORY])
        bar = f"≤ {COST_BAR:g}"
        rows.append(_row(by_target, f"{label}, {MEMORY}: cost", MEMORY, ENGINE, f"{cost:.2f}", bar, cost <= COST_BAR))
        for peer in (PYNAMODB, PYDYNOX):
            if peer in by_target:
                lead = compare(by_target[ENDPOINT], by_target[peer])
                rows.append(_row(by_target, f"{label}, {ENDPOINT}", ENDPOINT, peer, ratio(lead), "", None))
    return Section(
        PART,
        "The store",
        [
            "calls per second of one thread, one call after the other; items of about 500 bytes",
            "a store validates what it reads and makes keys and expressions in the call; boto3 and `engine.call` are"
            " given the requests that the store would make, and answer plain dictionaries",
            "boto3's client without parameter validation; of the local peers, each in memory, dynoxide and DynamoDB"
            " Local also on a file, the one that is fastest in the row",
            "in a data folder a put is on disk when it returns; of the peers, only DynamoDB Local on a file syncs a"
            " write before it answers",
            "cost: how much longer a call of the store takes than `engine.call` with the same request",
            "own server: store, PynamoDB and pydynox as clients of Tablewright's server, in memory; PynamoDB's HTTP"
            " client is botocore, pydynox's is native code",
        ],
        ["", "store", "other", "ratio", "bar", ""],
        rows,
    )


def _row(
    by_target: dict[str, list[float]],
    label: str,
    ours: str,
    other: str,
    figure: str,
    bar: str,
    reached: bool | None,
) -> list[str]:
    mine, theirs = (rate(statistics.median(by_target[name])) for name in (ours, other))
    return [label, mine, f"{other}: {theirs}", figure, bar, "" if reached is None else verdict(reached)]
