"""The systems over HTTP at sixteen connections, beside an empty route of the same framework with the same auth.

`tablewright up` runs on a data folder, durable; the empty route runs in a process of its own, in the same rounds. A
call of a system should cost at most as much again as the framework itself does: half of the empty route's rate.
"""

import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from uuid import uuid4

import httpx

from benchmarks import load
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, rate, ratio, verdict

PART = "services"
CONNECTIONS = 16
CYCLE = 100
BAR = 0.5
EVERY_GROUP = ["Admins", "Members", "Services", "Customers", "Operators", "Engineers"]
_ADDRESS = re.compile(r"up at http://[^:]+:(\d+)")

BARE = """
import sys
from typing import Annotated
import uvicorn
from fastapi import FastAPI
from tablewright.runtime.dependencies import allow
from tablewright.runtime.identity import Caller
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime

app = FastAPI()
app.state.runtime = Runtime.open(Settings(data=sys.argv[1], memory=False, rate_limit=1e9, rate_burst=10**9), [])

@app.get("/")
async def empty(caller: Annotated[Caller, allow("Members")]) -> dict[str, str]:
    return {}

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(f"up at http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}", flush=True)

Server(uvicorn.Config(app, port=0, log_level="error", access_log=False)).run()
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a system: how its requests are made, given a client to set the stage with."""

    system: str
    name: str
    requests: Callable[[httpx.Client, int], "Requests"]


def measure(seconds: float, rounds: int) -> Section:
    rates: dict[tuple[str, str], list[float]] = {}
    tails: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(data_folder()))
        environment = {
            **os.environ,
            "TABLEWRIGHT_RATE_LIMIT": "1000000000",
            "TABLEWRIGHT_RATE_BURST": "1000000000",
            "TABLEWRIGHT_LOG_LEVEL": "WARNING",
        }
        up = [sys.executable, "-m", "tablewright", "up", "--port", "0", "--data", str(folder / "systems")]
        port = stack.enter_context(running(up, environment))
        bare = stack.enter_context(running([sys.executable, "-c", BARE, str(folder / "bare")], environment))
        tokens = {port: token(folder / "systems"), bare: token(folder / "bare")}
        generator = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        headers = {"Authorization": f"Bearer {tokens[port]}"}
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60))
        empty = [[rendered("GET", "/", None, tokens[bare])] for _ in range(CONNECTIONS)]
        for call in calls():
            for turn in range(rounds):
                progress(f"[services] {call.system}: {call.name} {turn + 1}/{rounds}")
                cycles = []
                for connection in range(CONNECTIONS):
                    made = call.requests(client, connection)
                    cycles.append([rendered(*request, tokens[port]) for request in made])
                for target, cycle, key in (
                    (bare, empty, ("", call.system + call.name)),
                    (port, cycles, (call.system, call.name)),
                ):
                    result = generator.submit(load.run, load.Load(target, cycle, seconds)).result()
                    if result.failed:
                        raise RuntimeError(f"{call.system}, {call.name} failed: {result.first_failure}")
                    rates.setdefault(key, []).append(result.rate)
                    tails.setdefault(key, []).append(result.p99)
    rows = []
    for call in calls():
        ours, theirs = rates[call.system, call.name], rates["", call.system + call.name]
        share = compare(ours, theirs)
        rows.append(
            [
                call.system,
                call.name,
                rate(statistics.median(ours)),
                f"{statistics.median(tails[call.system, call.name]) * 1e3:.1f} ms",
                rate(statistics.median(theirs)),
                ratio(share),
                verdict(share >= BAR),
            ]
        )
    return Section(
        PART,
        f"The systems over HTTP, {CONNECTIONS} connections",
        [
            "requests per second of each call, embedded and durable, with p99; beside an empty route of FastAPI with"
            " the same authentication, taken in the same rounds",
            "one process of uvicorn each; the load generator has the other core",
        ],
        ["system", "call", "rate", "p99", "empty route", "ratio", "bar: half"],
        rows,
    )


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert process.stdout is not None
        found = _ADDRESS.search(process.stdout.readline())
        if found is None:
            raise RuntimeError(f"{' '.join(command[:4])} did not start")
        yield int(found[1])
    finally:
        process.terminate()
        process.wait(30)


def token(folder: Path) -> str:
    groups = [argument for group in EVERY_GROUP for argument in ("--group", group)]
    command = [sys.executable, "-m", "tablewright", "token", "--user", "bench", "--data", str(folder), *groups]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def rendered(method: str, path: str, body: object, bearer: str) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {bearer}"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


def calls() -> list[Call]:
    return [
        Call("servicedesk", "create ticket", _new_tickets),
        Call("servicedesk", "get ticket", _tickets),
        Call("servicedesk", "list tickets", _ticket_lists),
        Call("support", "create ticket", _new_support_tickets),
        Call("support", "get ticket", _support_tickets),
        Call("calls", "create call", _new_calls),
        Call("calls", "get call", _calls),
        Call("calls", "upcoming calls", _upcoming),
        Call("tasks", "create task", _new_tasks),
        Call("tasks", "get task", _tasks),
    ]


Requests = list[tuple[str, str, object]]


def _made(client: httpx.Client, requests: Requests, name: str, number: int = 5) -> list[str]:
    """Ids of things that were made by the first of some requests."""
    method, path, body = requests[0]
    found = []
    for _ in range(number):
        answer = client.request(method, path, json=body)
        answer.raise_for_status()
        found.append(str(answer.json()[name]))
    return found


def _new_tickets(client: httpx.Client, connection: int) -> Requests:
    body = {"caller_id": f"caller-{connection}-{uuid4().hex}", "issue_description": "My laptop won't turn on"}
    return [("POST", "/servicedesk/tickets", body)]


def _tickets(client: httpx.Client, connection: int) -> Requests:
    made = _made(client, _new_tickets(client, connection), "ticket_id")
    return [("GET", f"/servicedesk/tickets/{ticket}", None) for ticket in made]


def _ticket_lists(client: httpx.Client, connection: int) -> Requests:
    body = {"caller_id": uuid4().hex, "issue_description": "My laptop won't turn on"}
    _made(client, [("POST", "/servicedesk/tickets", body)], "ticket_id", 10)
    return [("GET", f"/servicedesk/tickets?caller={body['caller_id']}", None)]


def _new_support_tickets(client: httpx.Client, connection: int) -> Requests:
    body = {"customer_id": f"cust_{connection}", "symptom_text": "The pump stops after ten minutes"}
    return [("POST", "/support/tickets", body)]


def _support_tickets(client: httpx.Client, connection: int) -> Requests:
    made = _made(client, _new_support_tickets(client, connection), "ticket_id")
    return [("GET", f"/support/tickets/{ticket}", None) for ticket in made]


def _new_calls(client: httpx.Client, connection: int) -> Requests:
    # Without an id of its own each call gets one.
    body = {"userId": f"u-{connection}", "providerId": "p-1", "scheduledFor": 1_900_000_000_000 + connection}
    return [("POST", "/calls/calls", body)]


def _calls(client: httpx.Client, connection: int) -> Requests:
    return [("GET", f"/calls/calls/{call}", None) for call in _made(client, _new_calls(client, connection), "callId")]


def _upcoming(client: httpx.Client, connection: int) -> Requests:
    body = {"userId": uuid4().hex, "providerId": "p-1", "scheduledFor": 1_900_000_000_000}
    _made(client, [("POST", "/calls/calls", body)], "callId", 10)
    return [("GET", f"/calls/users/{body['userId']}/calls/upcoming?limit=10", None)]


def _new_tasks(client: httpx.Client, connection: int) -> Requests:
    body = {"title": "Fix the login page", "description": "It asks for the password twice.", "priority": "LOW"}
    return [("POST", "/tasks/tasks", body)]


def _tasks(client: httpx.Client, connection: int) -> Requests:
    return [("GET", f"/tasks/tasks/{task}", None) for task in _made(client, _new_tasks(client, connection), "taskId")]
