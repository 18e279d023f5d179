"""Create, get and list of Service Desk at sixteen connections, beside the same calls by hand on PostgreSQL.

Both are one process of uvicorn, with httptools and uvloop, and both are durable. Service Desk verifies tokens, limits
rates, masks secrets, counts and logs; the peer (``postgres_desk``) does none of that. It has a database server beside
its process, on the cores that are left.
"""

import os
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from benchmarks import packages, postgres
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, rate, ratio, verdict
from benchmarks.servers import processor_seconds
from benchmarks.services import CONNECTIONS, Call, Generator, Target, running, service_desk_calls, systems_target

PART = "services_postgres"
TITLE = f"Service Desk beside FastAPI, asyncpg and PostgreSQL, {CONNECTIONS} connections"
COLUMNS = ["call", "Service Desk", "p99", "processor", "by hand on PostgreSQL", "p99", "processor", "ratio", "ahead"]
ROOT = Path(__file__).resolve().parent.parent


def measure(seconds: float, rounds: int) -> Section:
    programs = postgres.find()
    if programs is None or not packages.install("asyncpg"):
        missing = "PostgreSQL (on Debian: apt-get install postgresql)" if programs is None else "asyncpg"
        progress(f"[{PART}] {missing} is missing")
        return Section(PART, TITLE, [f"not measured here: {missing} is missing"], COLUMNS, [])
    calls = service_desk_calls()
    rates: dict[tuple[str, str], list[float]] = {}
    tails: dict[tuple[str, str], list[float]] = {}
    costs: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(data_folder()))
        ours = systems_target(stack, folder / "systems", "servicedesk")
        socket_folder = stack.enter_context(postgres.started(programs))
        command = [sys.executable, "-m", "benchmarks.postgres_desk", str(socket_folder)]
        port = stack.enter_context(running(command, dict(os.environ), cwd=ROOT))
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60))
        theirs = Target("peer", port, client, "", remove="/servicedesk")
        folders = {ours.name: folder / "systems", theirs.name: socket_folder}
        generator = Generator(stack)
        for call in calls:
            for turn in range(rounds):
                progress(f"[{PART}] {call.name} {turn + 1}/{rounds}")
                for target in (ours, theirs) if turn % 2 else (theirs, ours):
                    requests = target.cycles(call)
                    began, before = time.perf_counter(), processor_seconds(folders[target.name])
                    result = generator.send(target, call, requests, seconds)
                    used = processor_seconds(folders[target.name]) - before
                    rates.setdefault((target.name, call.name), []).append(result.rate)
                    # With those of the warm-up, which were as many in a second.
                    calls_made = result.rate * (time.perf_counter() - began)
                    costs.setdefault((target.name, call.name), []).append(used / calls_made)
                    tails.setdefault((target.name, call.name), []).append(result.p99)

    def row(call: Call) -> list[str]:
        cells = [call.name]
        for target in (ours, theirs):
            cells.append(rate(statistics.median(rates[target.name, call.name])))
            cells.append(f"{statistics.median(tails[target.name, call.name]) * 1e3:.1f} ms")
            cells.append(f"{statistics.median(costs[target.name, call.name]) * 1e6:.0f} us")
        share = compare(rates[ours.name, call.name], rates[theirs.name, call.name])
        return [*cells, ratio(share), verdict(share > 1)]

    return Section(
        PART,
        TITLE,
        [
            "requests per second; each is one process of uvicorn (httptools, uvloop), and durable; the load generator, "
            "and PostgreSQL's own processes, have the other core",
            "by hand: FastAPI, a pool of asyncpg on a Unix socket, no authentication; Service Desk verifies a token "
            "with each call, masks secrets and counts",
            "both have an index for each read: by caller, by number, the queue, that of an agent, and full text (GIN "
            "there; FTS5 here, maintained by a consumer of the stream, in the same process)",
            "processor: the time that a call takes of all processors, with PostgreSQL's processes and background work",
            f"PostgreSQL {postgres.version(programs)} with its own durability: {_settings()}",
        ],
        COLUMNS,
        [row(call) for call in calls],
    )


def _settings() -> str:
    names = ("fsync", "synchronous_commit", "shared_buffers")
    return ", ".join(f"{name} {postgres.SETTINGS[name]}" for name in names)
