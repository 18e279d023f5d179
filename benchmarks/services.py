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
from typing import Any
from uuid import uuid4

import httpx
import uvicorn
from fastapi import FastAPI

from benchmarks import load
from benchmarks.cache import data_folder
from benchmarks.report import Section, compare, progress, rate, ratio, verdict

PART = "services"
ROOT = Path(__file__).resolve().parent.parent
CONNECTIONS = 16
BAR = 0.5
ROLE = "bench:Members"
# More than a connection can send in one measurement.
_MOST_CALLS = 5_000
_ADDRESS = re.compile(r"up at http://[^:]+:(\d+)")


def bare_route(data: str) -> FastAPI:
    """An empty route with the systems' authentication, and nothing else of them."""
    from tablewright.runtime.http.dependencies import allow
    from tablewright.runtime.identity.access import Role
    from tablewright.runtime.internal_tables import internal_table
    from tablewright.runtime.settings import Settings
    from tablewright.runtime.system import Runtime

    app = FastAPI()
    settings = Settings.model_validate({"data": data, "rate_limit": 1e9, "rate_burst": 10**9})
    app.state.runtime = runtime = Runtime.open(settings, [])
    # Every call looks into the deny list.
    runtime.sync_store.ensure_tables(internal_table)
    app.state.admit = None

    @app.get("/", dependencies=[allow(Role(ROLE))])
    async def empty() -> dict[str, str]:
        return {}

    return app


def serve(app: FastAPI) -> None:
    """Serve an application as ``tablewright up`` does, and print where it is."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[Any] | None = None) -> None:
            await super().startup(sockets)
            print(f"up at http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}", flush=True)

    Server(uvicorn.Config(app, port=0, log_level="error", access_log=False, server_header=False)).run()


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a system: how its requests are made, given what sends others that have to come before."""

    system: str
    name: str
    requests: Callable[["Send", int], list["Request"]]


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load: ``remove`` is what its addresses do not begin with, though those of a call do."""

    name: str
    port: int
    client: httpx.Client
    token: str
    remove: str = ""

    def cycles(self, call: Call) -> list[list[bytes]]:
        """The requests of each connection."""
        made = [call.requests(self._request, connection) for connection in range(CONNECTIONS)]
        return [[rendered(*self._own(request), self.token) for request in requests] for requests in made]

    def _own(self, request: "Request") -> "Request":
        method, path, body = request
        return method, path.removeprefix(self.remove), body

    def _request(self, request: "Request") -> Any:
        method, path, body = self._own(request)
        response = self.client.request(method, path, json=body)
        response.raise_for_status()
        return response.json()


class Generator:
    """The load generator, in a process of its own."""

    def __init__(self, stack: ExitStack) -> None:
        self._process = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))

    def run(self, target: Target, call: Call, seconds: float) -> load.Result:
        return self.send(target, call, target.cycles(call), seconds)

    def send(self, target: Target, call: Call, cycles: list[list[bytes]], seconds: float) -> load.Result:
        """Send requests that were prepared before, for some seconds."""
        result = self._process.submit(load.run, load.Load(target.port, cycles, seconds)).result()
        if result.failed:
            raise RuntimeError(f"{target.name}: {call.name} failed: {result.first_failure}")
        return result


def measure(seconds: float, rounds: int) -> Section:
    rates: dict[tuple[str, str], list[float]] = {}
    tails: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(data_folder()))
        ours = systems_target(stack, folder / "systems")
        command = [sys.executable, "-m", "benchmarks.services", str(folder / "bare")]
        port = stack.enter_context(running(command, dict(os.environ), cwd=ROOT))
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}"))
        bare = Target("empty route", port, client, token(folder / "bare"))
        empty = Call("", "empty route", lambda request, connection: [("GET", "/", None)])
        generator = Generator(stack)
        for call in calls():
            for turn in range(rounds):
                progress(f"[services] {call.system}: {call.name} {turn + 1}/{rounds}")
                for target, made, key in (
                    (bare, empty, ("", call.system + call.name)),
                    (ours, call, (call.system, call.name)),
                ):
                    result = generator.run(target, made, seconds)
                    rates.setdefault(key, []).append(result.rate)
                    tails.setdefault(key, []).append(result.p99)
    rows = []
    for call in calls():
        measured, empty_rates = rates[call.system, call.name], rates["", call.system + call.name]
        share = compare(measured, empty_rates)
        rows.append(
            [
                call.system,
                call.name,
                rate(statistics.median(measured)),
                f"{statistics.median(tails[call.system, call.name]) * 1e3:.1f} ms",
                rate(statistics.median(empty_rates)),
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


def systems_target(stack: ExitStack, data: Path, *systems: str) -> Target:
    """`tablewright up` with some systems, or all, for a caller whom nothing limits."""
    environment = {
        **os.environ,
        "TABLEWRIGHT_RATE_LIMIT": "1000000000",
        "TABLEWRIGHT_RATE_BURST": "1000000000",
        "TABLEWRIGHT_LOG_LEVEL": "WARNING",
    }
    chosen = [argument for system in systems for argument in ("--system", system)]
    up = [sys.executable, "-m", "tablewright", "up", "--port", "0", "--data", str(data), *chosen]
    port = stack.enter_context(running(up, environment))
    bearer = token(data)
    headers = {"Authorization": f"Bearer {bearer}"}
    client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60))
    return Target("systems", port, client, bearer)


@contextmanager
def running(command: list[str], environment: dict[str, str], cwd: Path | None = None) -> Iterator[int]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=cwd
    )
    try:
        assert process.stdout is not None
        # It may say other things before.
        found = next(filter(None, map(_ADDRESS.search, process.stdout)), None)
        if found is None:
            raise RuntimeError(f"{' '.join(command[:4])} did not start")
        yield int(found[1])
    finally:
        process.terminate()
        process.wait(30)


def token(folder: Path) -> str:
    from tablewright.systems import roles

    named = [ROLE, *(role.name for role in roles())]
    options = [argument for name in named for argument in ("--role", name)]
    command = [sys.executable, "-m", "tablewright", "token", "--user", "bench", "--data", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def rendered(method: str, path: str, body: object, bearer: str) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {bearer}"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


def service_desk_calls() -> list[Call]:
    return [
        Call("servicedesk", "create ticket", _new_tickets),
        Call("servicedesk", "get ticket", _tickets),
        Call("servicedesk", "list tickets", _ticket_lists),
    ]


def calls() -> list[Call]:
    return [
        *service_desk_calls(),
        Call("support", "create ticket", _new_support_tickets),
        Call("support", "get ticket", _support_tickets),
        Call("calls", "create call", _new_calls),
        Call("calls", "get call", _calls),
        Call("calls", "upcoming calls", _upcoming),
        Call("tasks", "create task", _new_tasks),
        Call("tasks", "get task", _tasks),
    ]


Request = tuple[str, str, object]
Send = Callable[[Request], Any]


def _made(send: Send, requests: list[Request], name: str, number: int = 5) -> list[str]:
    """Ids of what is created by some requests, sent one after the other, and again from the first."""
    return [str(send(requests[each % len(requests)])[name]) for each in range(number)]


def _new_tickets(send: Send, connection: int) -> list[Request]:
    body = {"caller_id": f"caller-{connection}-{uuid4().hex}", "issue_description": "My laptop won't turn on"}
    return [("POST", "/servicedesk/tickets", body)]


def _tickets(send: Send, connection: int) -> list[Request]:
    made = _made(send, _new_tickets(send, connection), "ticket_id")
    return [("GET", f"/servicedesk/tickets/{ticket}", None) for ticket in made]


def _ticket_lists(send: Send, connection: int) -> list[Request]:
    body = {"caller_id": uuid4().hex, "issue_description": "My laptop won't turn on"}
    _made(send, [("POST", "/servicedesk/tickets", body)], "ticket_id", 10)
    return [("GET", f"/servicedesk/tickets?caller={body['caller_id']}", None)]


def _new_support_tickets(send: Send, connection: int) -> list[Request]:
    body = {"customer_id": f"cust_{connection}", "symptom_text": "The pump stops after ten minutes"}
    return [("POST", "/support/tickets", body)]


def _support_tickets(send: Send, connection: int) -> list[Request]:
    made = _made(send, _new_support_tickets(send, connection), "ticket_id")
    return [("GET", f"/support/tickets/{ticket}", None) for ticket in made]


def _new_calls(send: Send, connection: int) -> list[Request]:
    # Without an id of its own each call gets one; nobody has two at one time.
    run = uuid4().hex[:8]
    people = ({"userId": f"u-{run}-{number}", "providerId": f"p-{run}-{number}"} for number in range(_MOST_CALLS))
    return [("POST", "/calls/calls", {**each, "scheduledFor": 1_900_000_000_000}) for each in people]


def _calls(send: Send, connection: int) -> list[Request]:
    return [("GET", f"/calls/calls/{call}", None) for call in _made(send, _new_calls(send, connection), "callId")]


def _upcoming(send: Send, connection: int) -> list[Request]:
    user, hours = uuid4().hex, [1_900_000_000_000 + hour * 3_600_000 for hour in range(10)]
    bodies = [{"userId": user, "providerId": user, "scheduledFor": hour} for hour in hours]
    _made(send, [("POST", "/calls/calls", body) for body in bodies], "callId", len(bodies))
    return [("GET", f"/calls/users/{user}/calls/upcoming?limit=10", None)]


def _new_tasks(send: Send, connection: int) -> list[Request]:
    body = {"title": "Fix the login page", "description": "It asks for the password twice.", "priority": "LOW"}
    return [("POST", "/tasks/tasks", body)]


def _tasks(send: Send, connection: int) -> list[Request]:
    return [("GET", f"/tasks/tasks/{task}", None) for task in _made(send, _new_tasks(send, connection), "taskId")]


if __name__ == "__main__":
    serve(bare_route(sys.argv[1]))
