"""From nothing to the first write: what `import tablewright`, opening and a put add to a bare interpreter."""

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

BARE = "pass"
IMPORT = "from tablewright import Engine\n"
CREATE = IMPORT + "with Engine.open({folder!r}) as e: e.call('CreateTable', {table})"
MEMORY = IMPORT + "with Engine.open() as e: e.call('CreateTable', {table}); e.call('PutItem', {put})"
FILE = IMPORT + "with Engine.open({folder!r}) as e: e.call('PutItem', {put})"


def measure(seconds: float, rounds: int) -> Section:
    """`seconds` and `rounds` do not matter here: each run starts one interpreter."""
    times: dict[str, list[float]] = {"bare interpreter": [], "in memory": [], "existing data folder": []}
    with data_folder() as folder:
        fields = {
            "folder": str(folder / "startup"),
            "table": literal(workload.create_table(index=False)),
            "put": literal(workload.put(1, 1)),
        }
        # As installed: with the modules compiled, in a place of this run's own.
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        }
        run(CREATE.format(**fields), environment)
        programs = dict(zip(times, [BARE, MEMORY.format(**fields), FILE.format(**fields)], strict=True))
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
        [name, f"{value:.0f} ms", f"{value - bare:.0f} ms", f"≤ {BAR:.0f} ms", verdict(value - bare <= BAR)]
        for name, value in medians.items()
        if value is not bare
    ]
    return Section(
        PART,
        "From nothing to the first write",
        [
            f"whole life of the process, median of {RUNS}; a bare interpreter takes {bare:.0f} ms",
            "in memory: import, open, create a table, put; existing folder: import, open, a durable put",
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
