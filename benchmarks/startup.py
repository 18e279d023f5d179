"""From nothing to the first write, and of a function to its first answer: what they add to a bare interpreter."""

import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks import workload
from benchmarks.cache import data_folder
from benchmarks.report import Section, progress, verdict

PART = "startup"
RUNS = 15
BAR = 120.0
# Of a function of AWS Lambda.
BARS = {"a function, imported": 400.0, "a function, first answer": 600.0}

BARE = "pass"
IMPORT = "from tablewright import Engine\n"
CREATE = IMPORT + "with Engine.open({folder!r}) as e: e.call('CreateTable', {table})"
MEMORY = IMPORT + "with Engine.open() as e: e.call('CreateTable', {table}); e.call('PutItem', {put})"
FUNCTION = "from tablewright.runtime.functions import api_function\n"
ANSWER = (
    FUNCTION + "from tablewright.runtime.functions.http_events import http_event\n"
    "api_function.handler(http_event('GET', '/healthz', '', [], b''), None)\n"
)
# As the stack has it; nothing is asked of the endpoint.
VARIABLES = {
    "TABLEWRIGHT_MODE": "production",
    "TABLEWRIGHT_SYSTEM": "tablewright.systems.calls.calls_system:system",
    "TABLEWRIGHT_REGION": "us-east-1",
    "TABLEWRIGHT_ISSUER": "https://issuer.example.org",
    "TABLEWRIGHT_AUDIENCE": "client",
    "TABLEWRIGHT_MASTER_SECRET": "0" * 64,
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
FILE = IMPORT + "with Engine.open({folder!r}) as e: e.call('PutItem', {put})"


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` and `rounds` do not matter here: each run starts one interpreter."""
    names = ["bare interpreter", "in memory", "existing data folder", *BARS]
    times: dict[str, list[float]] = {name: [] for name in names}
    with data_folder() as folder:
        fields = {
            "folder": str(folder / "startup"),
            "table": literal(workload.create_table(index=False)),
            "put": literal(workload.put(1, 1)),
        }
        # As installed: with the modules compiled, in a place of this run's own.
        environment = {
            **os.environ,
            **VARIABLES,
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        }
        run(CREATE.format(**fields), environment)
        programs = dict(
            zip(times, [BARE, MEMORY.format(**fields), FILE.format(**fields), FUNCTION, ANSWER], strict=True)
        )
        for program in programs.values():
            run(program, environment)
        for turn in range(RUNS):
            for name, program in programs.items():
                times[name].append(run(program, environment))
            if (turn + 1) % 5 == 0:
                progress(f"[startup] {turn + 1}/{RUNS}")
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = medians["bare interpreter"]
    rows = [
        [
            name,
            f"{value:.0f} ms",
            f"{value - bare:.0f} ms",
            f"≤ {BARS.get(name, BAR):.0f} ms",
            verdict(value - bare <= BARS.get(name, BAR)),
        ]
        for name, value in medians.items()
        if value is not bare
    ]
    return Section(
        PART,
        "From nothing to the first write",
        [
            f"whole life of the process, median of {RUNS}; a bare interpreter takes {bare:.0f} ms",
            "in memory: import, open, create a table, put; existing folder: import, open, a durable put",
            "function: that of the API of Calls, with the settings of its stack",
        ],
        ["import, open, first put", "time", "above the interpreter", "bar", ""],
        rows,
    )


def literal(request: workload.Json) -> str:
    return f"__import__('json').loads({json.dumps(request)!r})"


def run(program: str, environment: dict[str, str]) -> float:
    """Milliseconds of a Python process from start to exit."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    return (time.perf_counter() - started) * 1e3
