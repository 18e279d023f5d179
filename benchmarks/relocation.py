"""A relocation from server to server while somebody writes: how fast it copies and follows, and what the writer waits.

    writer, with the switch ──▶ source, data folder ── `tablewright relocate start` ──▶ target, data folder

Each round is a relocation of its own: it copies, catches up with what was written while its process was stopped,
follows for a while, and moves the tables. What the writer was told is compared with what is there then.
"""

import asyncio
import http.client
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import servers, workload
from benchmarks.cache import data_folder
from benchmarks.report import Section, progress, rate, verdict

if TYPE_CHECKING:
    from tablewright.transfer import Relocation, RelocationState

PART = "relocation"
# As many are there first, and written again while the process of the relocation is stopped.
ITEMS = 10_000
# A round takes up to twenty seconds.
MAX_ROUNDS = 3
# Of the writer, a second.
WRITES = 400
# Looks at the lag before the cut.
LAGS = 10
LOOK = 0.02
# For a round: longer is a failure.
WITHIN = 120.0
# What a writer may wait at the cut, in seconds.
BAR = 1.0
RATES = COPY, COMPARE, CATCH_UP = "items copied", "items compared", "records applied, catching up"
TIMES = LAG, BEFORE, CUT, TOLD = (
    "lag",
    "longest time between two writes, before the cut",
    "longest time between two writes, at the cut",
    "held, as `tablewright relocate cut` says",
)


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` does not matter here: each round moves the same items."""
    figures: dict[str, list[float]] = {}
    rounds = min(rounds, MAX_ROUNDS)
    for turn in range(rounds):
        with data_folder() as folder:
            found = run(folder, ITEMS)
        for name, values in found.items():
            figures.setdefault(name, []).extend(values)
        progress(
            f"[relocation] {turn + 1}/{rounds}: {found[COPY][0]:,.0f} items/s, a writer held for {found[CUT][0]:.2f} s"
        )
    return section(figures, rounds)


def section(figures: dict[str, list[float]], rounds: int) -> Section:
    rows = [[name, rate(statistics.median(figures[name])), "", "", ""] for name in RATES]
    for name in TIMES:
        most = max(figures[name])
        bar = [f"≤ {BAR:.0f} s", verdict(most <= BAR)] if name == CUT else ["", ""]
        rows.append([name, f"{statistics.median(figures[name]):.2f} s", f"{most:.2f} s", *bar])
    return Section(
        PART,
        "A relocation under load",
        [
            f"{ITEMS:,} items of about 500 bytes, and a thread that puts {WRITES} of them a second and has the switch; "
            f"two servers on data folders, `tablewright relocate start` and the writer on one machine; {rounds} rounds",
            "compared: all items of both places, once, before a cut",
            f"catching up: {ITEMS:,} items were written while `start` was stopped, and the writer goes on",
            "lag: from the acknowledgement of a write until it is read in the target, at times at random",
            "writes are those that were acknowledged, and all of them were found in the target",
        ],
        ["", "median", "most", "bar", ""],
        rows,
    )


def run(folder: Path, items: int) -> dict[str, list[float]]:
    """One relocation: its figures, in seconds or a second."""
    with ExitStack() as stack:
        source, target = (stack.enter_context(_served(folder / name)) for name in ("source", "target"))
        source.call("CreateTable", workload.create_table(index=False))
        for batch in workload.batches(items):
            source.call("BatchWriteItem", batch)
        writer = Writer(source, target, items)
        stack.callback(writer.end)
        command = [sys.executable, "-m", "tablewright", "relocate", "start", source.url, target.url]
        mover = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(mover.wait, WITHIN)
        # Also where it is stopped.
        stack.callback(mover.kill)
        figures = asyncio.run(_relocated(source, target, items, writer, mover))
        for n, revision in writer.acknowledged.items():
            assert _revision(target, n) >= revision, f"write {revision} of item {n} was lost"
    return figures


async def _relocated(
    source: "Place", target: "Place", items: int, writer: "Writer", mover: subprocess.Popen[bytes]
) -> dict[str, list[float]]:
    from tablewright.transfer import open_relocation

    async with open_relocation(source.url, target.url) as relocation, asyncio.timeout(WITHIN):
        began, _ = await _until(relocation, lambda state: bool(state.streams))
        copied, state = await _until(relocation, lambda state: state.phase == "following")
        number = state.progress["items"]
        verified, state = await _until(relocation, lambda state: state.verified)
        compared = state.progress["compared"] // 2

        mover.send_signal(signal.SIGSTOP)
        applied = state.progress["records"]
        for start in range(items, 2 * items, workload.BATCH):
            puts = [{"PutRequest": {"Item": workload.item(n)}} for n in range(start, start + workload.BATCH)]
            source.call("BatchWriteItem", {"RequestItems": {workload.TABLE: puts}})
        mover.send_signal(signal.SIGCONT)
        behind = time.perf_counter()
        caught_up, state = await _until(relocation, lambda state: state.progress["records"] >= applied + items)
        records = state.progress["records"] - applied

        lags = [_lag(target, writer) for _ in range(LAGS)]
        asked = time.perf_counter()
        answer = await relocation.ask("cut")
        cut = time.perf_counter()
        assert answer["done"], answer
        await relocation.ask("finish")
    writer.end()
    return {
        COPY: [number / (copied - began)],
        COMPARE: [compared / (verified - copied)],
        CATCH_UP: [records / (caught_up - behind)],
        LAG: lags,
        BEFORE: [writer.longest(caught_up, asked)],
        CUT: [writer.longest(asked, cut)],
        TOLD: [answer["held"]],
    }


async def _until(
    relocation: "Relocation", condition: "Callable[[RelocationState], bool]"
) -> "tuple[float, RelocationState]":
    """When it was seen that a relocation is so far, and how far it was then."""
    while True:
        state = await relocation.status()
        if state is not None and condition(state):
            return time.perf_counter(), state
        await asyncio.sleep(LOOK)


def _lag(target: "Place", writer: "Writer") -> float:
    """Seconds from the acknowledgement of the last write until it is read in the target."""
    time.sleep(random.uniform(0.0, 0.3))
    n, revision, at = writer.last
    while _revision(target, n) < revision:
        time.sleep(0.002)
    return time.perf_counter() - at


def _revision(place: "Place", n: int) -> int:
    return int(place.call("GetItem", workload.get(n, 0))["Item"]["revision"]["N"])


@dataclass(frozen=True, slots=True)
class Place:
    """A server on a data folder, and a connection to it."""

    server: servers.Server
    connection: http.client.HTTPConnection

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def call(self, operation: str, body: workload.Json) -> Any:
        return self.server.call(self.connection, operation, body)


@contextmanager
def _served(folder: Path) -> Iterator[Place]:
    with servers.started(folder.name, [sys.executable, "-m", "tablewright", "serve", "--data", str(folder)]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            yield Place(server, connection)
        finally:
            connection.close()


class Writer:
    """A thread that puts items at random, at a bounded rate, wherever the tables are."""

    def __init__(self, source: Place, target: Place, items: int) -> None:
        from tablewright.store import EndpointBackend, SwitchedBackend

        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        first, second = (EndpointBackend("us-east-1", place.url, keys) for place in (source, target))
        self._backend = SwitchedBackend(first, second)
        self._items = items
        self._ended = threading.Event()
        self._times: list[float] = []
        # The last write of each item that was acknowledged, and the last of all with its time.
        self.acknowledged: dict[int, int] = {}
        self.last = (0, 0, 0.0)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def longest(self, began: float, ended: float) -> float:
        """The longest time between two acknowledged writes, the first of which was then."""
        return max(after - before for before, after in pairwise(self._times) if began <= before < ended)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._backend.close()

    def _run(self) -> None:
        from tablewright.store import OutcomeUnknown, Request

        chance = random.Random(0)
        revision = 0
        due = time.perf_counter()
        while not self._ended.wait(max(0.0, due - time.perf_counter())):
            # What it could not write while it was held is left out.
            due = max(due, time.perf_counter()) + 1 / WRITES
            revision += 1
            n = chance.randrange(self._items)
            try:
                self._backend.call(Request("PutItem", workload.put(n, revision)))
            except OutcomeUnknown:
                continue
            at = time.perf_counter()
            self._times.append(at)
            self.acknowledged[n] = revision
            self.last = (n, revision, at)
