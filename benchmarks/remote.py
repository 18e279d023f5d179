"""The store on an endpoint, against other clients of DynamoDB: Tablewright's server in memory, reached by all of them.

- get and put, 64 at a time, with the server 2 ms away in each direction: against aiodynamo and aiobotocore;
- get and put, one after the other on one thread, with the server next door: against pydynox and PynamoDB;
- a scan of 100,000 orders, 2 ms away: into entities, and into dictionaries by aiodynamo;
- the memory of the store's process, before and after all of that.

Each client is a process of its own, measured in turns with the others.
"""

import statistics
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from benchmarks import packages, servers
from benchmarks import store as sequential
from benchmarks.report import Section, compare, progress, rate, ratio, verdict
from benchmarks.servers import SCRIPTS

if TYPE_CHECKING:
    from benchmarks.remote_targets import AsyncTarget

PART = "remote"
SECONDS_AWAY = 0.002
IN_FLIGHT = 64
ITEMS = 100_000
SCANS = 3
GROWTH_BAR = 10.0

STORE, AIODYNAMO, AIOBOTOCORE = "store", "aiodynamo", "aiobotocore"
PYDYNOX, PYNAMODB = "pydynox", "PynamoDB"
BARS = {AIODYNAMO: 1.5, AIOBOTOCORE: 3.0, PYDYNOX: 1.5, PYNAMODB: 3.0}
SCAN_BAR = 2.0

Rates = dict[str, list[float]]


def measure(seconds: float, rounds: int, items: int = ITEMS) -> Section:
    from benchmarks.delayed_way import delayed

    with ExitStack() as stack:
        server = stack.enter_context(
            servers.started("tablewright, memory", [str(SCRIPTS / "tablewright"), "serve", "--memory"])
        )
        near, far = f"http://127.0.0.1:{server.port}", stack.enter_context(delayed(server, SECONDS_AWAY))
        blocking = blocking_targets(stack, near)
        progress(f"[remote] loading {items:,} items")
        blocking[STORE].submit(sequential.Worker.fill, items).result()
        awaited = async_targets(stack, f"http://127.0.0.1:{far.port}")
        sizes = [_run(awaited[STORE], "resident")]
        rows: list[list[str]] = []
        for operation in ("get", "put"):
            rates: Rates = {name: [] for name in awaited}
            for turn in range(rounds):
                for name, worker in awaited.items():
                    rates[name].append(_run(worker, "rate", operation, items, seconds, turn))
                    progress(f"[remote] {operation}, {IN_FLIGHT} at a time, {name}: {rate(rates[name][-1])}")
            rows += _rows(f"{operation}, {IN_FLIGHT} at a time", rates, BARS)
            sizes.append(_run(awaited[STORE], "resident"))
        for operation in ("get", "put"):
            rates = {name: [] for name in blocking}
            for turn in range(rounds):
                for name, worker in blocking.items():
                    arguments = (operation, items, seconds, turn)
                    rates[name].append(worker.submit(sequential.Worker.run, *arguments).result())
                    progress(f"[remote] {operation}, one after the other, {name}: {rate(rates[name][-1])}")
            rows += _rows(f"{operation}, one after the other", rates, BARS)
        scans: Rates = {name: [] for name in (STORE, AIODYNAMO) if name in awaited}
        for _ in range(SCANS):
            for name in scans:
                scans[name].append(_run(awaited[name], "scan_rate"))
                progress(f"[remote] scan, {name}: {rate(scans[name][-1])}")
            sizes.append(_run(awaited[STORE], "resident"))
        rows += _rows(f"items of a scan of {items:,}", scans, {AIODYNAMO: SCAN_BAR})
        # From the first round on, everything is there that stays.
        rows.append(_memory("memory after gets and puts", sizes[1], sizes[2]))
        rows.append(_memory("memory after scans", sizes[3], sizes[-1]))
    return Section(
        PART,
        "A store on an endpoint",
        [
            "calls or items per second; Tablewright's server, in memory, is the endpoint of all clients",
            f"{IN_FLIGHT} at a time, and the scan: on uvloop, with the server {SECONDS_AWAY * 1000:g} ms away in each"
            " direction; one after the other: one thread, with the server next door",
            "the store makes and validates entities, keys and expressions; aiodynamo and pydynox make Python values,"
            " aiobotocore leaves DynamoDB's own; pydynox is native code",
            f"memory: growth of the process of the store, in MB, after {rounds} rounds more, or {SCANS - 1} scans more",
        ],
        ["", "store", "other", "ratio", "bar", ""],
        rows,
    )


def _rows(label: str, rates: Rates, bars: dict[str, float]) -> list[list[str]]:
    rows = []
    for name, theirs in rates.items():
        if name != STORE:
            lead, bar = compare(rates[STORE], theirs), bars[name]
            mine = rate(statistics.median(rates[STORE]))
            other = f"{name}: {rate(statistics.median(theirs))}"
            rows.append([label, mine, other, ratio(lead), ratio(bar), verdict(lead >= bar)])
    return rows


def _memory(label: str, before: float, after: float) -> list[str]:
    growth = after - before
    return [
        label,
        f"{after:.0f} MB",
        f"{before:.0f} MB",
        f"{growth:+.1f} MB",
        f"≤ {GROWTH_BAR:g} MB",
        verdict(growth <= GROWTH_BAR),
    ]


def blocking_targets(stack: ExitStack, endpoint: str) -> dict[str, ProcessPoolExecutor]:
    from benchmarks.store_targets import Place, PydynoxTarget, PynamodbTarget, StoreTarget

    kinds: dict[str, Any] = {STORE: StoreTarget, PYNAMODB: PynamodbTarget}
    if packages.install("pydynox"):
        kinds[PYDYNOX] = PydynoxTarget
    workers = {}
    for name, kind in kinds.items():
        arguments = (kind, Place(endpoint))
        worker = ProcessPoolExecutor(1, get_context("spawn"), sequential.Worker.start, arguments)
        workers[name] = stack.enter_context(worker)
        stack.callback(worker.submit, sequential.Worker.stop)
    return workers


def async_targets(stack: ExitStack, endpoint: str) -> dict[str, ProcessPoolExecutor]:
    from benchmarks.remote_targets import AiobotocoreTarget, AiodynamoTarget, StoreTarget

    kinds: dict[str, type[AsyncTarget]] = {STORE: StoreTarget}
    if packages.install("aiodynamo") and packages.install("aiohttp"):
        kinds[AIODYNAMO] = AiodynamoTarget
    if packages.install_alone("aiobotocore"):
        kinds[AIOBOTOCORE] = AiobotocoreTarget
    workers = {}
    for name, kind in kinds.items():
        worker = ProcessPoolExecutor(1, get_context("spawn"), Worker.start, (kind, endpoint))
        workers[name] = stack.enter_context(worker)
        stack.callback(worker.submit, Worker.stop)
    return workers


class Worker:
    """What the process of one asynchronous client does; the client lives as long as the process."""

    target: "AsyncTarget"

    @classmethod
    def start(cls, kind: "type[AsyncTarget]", endpoint: str) -> None:
        cls.target = kind(endpoint, IN_FLIGHT)

    @classmethod
    def stop(cls) -> None:
        cls.target.stop()

    @classmethod
    def run(cls, method: str, *arguments: Any) -> float:
        result: float = getattr(cls.target, method)(*arguments)
        return result


def _run(worker: ProcessPoolExecutor, method: str, *arguments: Any) -> float:
    return worker.submit(Worker.run, method, *arguments).result()
