"""Support under load: tickets a second, each with its event and its idempotency record, and how far metrics are behind.

Sixteen connections create tickets, every request with a key of its own, on a durable `tablewright up` that counts them
from the stream meanwhile. When the load ends, the time is taken until the metrics have all of them.
"""

import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from uuid import uuid4

import httpx

from benchmarks import load
from benchmarks.cache import data_folder
from benchmarks.report import Section, progress, rate
from benchmarks.services import CONNECTIONS, rendered, running, token

PART = "support"
# More than any connection sends in a round, so that no key comes twice.
_KEYS = 1_500
_MAX_LAG = 120.0
# Longer than a batch waits for more.
_QUIET = 7.0


def measure(seconds: float, rounds: int) -> Section:
    rates, tails, lags = [], [], []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(data_folder()))
        environment = {
            **os.environ,
            "TABLEWRIGHT_RATE_LIMIT": "1000000000",
            "TABLEWRIGHT_RATE_BURST": "1000000000",
            "TABLEWRIGHT_LOG_LEVEL": "WARNING",
        }
        command = [sys.executable, "-m", "tablewright", "up", "--port", "0", "--data", str(folder)]
        port = stack.enter_context(running([*command, "--system", "support"], environment))
        bearer = token(folder)
        generator = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        headers = {"Authorization": f"Bearer {bearer}"}
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60))
        for turn in range(rounds):
            cycles = [[_request(bearer, connection) for _ in range(_KEYS)] for connection in range(CONNECTIONS)]
            before = _counted(client)
            result = generator.submit(load.run, load.Load(port, cycles, max(seconds, 2.0))).result()
            ended = time.monotonic()
            if result.failed:
                raise RuntimeError(f"creating tickets failed: {result.first_failure}")
            lags.append(_lag(client, before + result.answered, ended))
            rates.append(result.rate)
            tails.append(result.p99)
            progress(f"[support] {turn + 1}/{rounds}: {rate(result.rate)}, metrics {lags[-1]:.1f} s behind")
    rows = [
        ["tickets created", f"{rate(statistics.median(rates))}", f"{statistics.median(tails) * 1e3:.0f} ms"],
        ["metrics behind the last of them", f"{statistics.median(lags):.1f} s", ""],
    ]
    notes = [
        f"{CONNECTIONS} connections, durable; a ticket is four items in one transaction: the ticket, its event, the"
        " event's counter, and the idempotency record with the response",
        "metrics are counted in the same process, in batches of 100 records or 5 seconds",
    ]
    return Section(PART, "Support under load", notes, ["", "Tablewright", "p99"], rows)


def _request(bearer: str, connection: int) -> bytes:
    body = {"customer_id": f"cust_{connection}", "symptom_text": "The pump stops after ten minutes"}
    request = rendered("POST", "/support/tickets", body, bearer)
    return request.replace(b"\r\n", f"\r\nIdempotency-Key: {uuid4().hex}\r\n".encode(), 1)


def _counted(client: httpx.Client) -> int:
    return sum(client.get("/support/metrics").json()["tickets_by_status"].values())


def _lag(client: httpx.Client, wanted: int, ended: float) -> float:
    """Seconds from the end of the load until nothing more was counted, which takes a batch's window to tell."""
    counted, last = -1, ended
    while (now := time.monotonic()) - last < _QUIET or counted < wanted:
        if now - ended > _MAX_LAG:
            raise RuntimeError(f"the metrics are more than {_MAX_LAG:.0f} s behind")
        found = _counted(client)
        if found != counted:
            counted, last = found, time.monotonic()
        time.sleep(0.05)
    return last - ended
