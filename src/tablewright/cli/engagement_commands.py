"""Long-running jobs of Engagement: ``engagement run`` and ``engagement demo-data``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.service_commands import add_place_options, opened_runtime, place_settings

if TYPE_CHECKING:
    from tablewright.cli.progress import StepProgress
    from tablewright.systems.engagement.model import Run
    from tablewright.systems.engagement.platform import Platform


def register(commands: Commands) -> None:
    _engagement(commands.add_parser("engagement", help="run an engagement program, or write demo customers for one"))


# -- engagement ---------------------------------------------------------------------------------------------------


def _engagement(parser: argparse.ArgumentParser) -> None:
    commands = Commands(parser)

    run = commands.add_parser(
        "run",
        help="run a program over all customers, or resume the run that was interrupted",
        epilog="Ctrl-C interrupts the run; the next call resumes it.",
    )
    run.add_argument("program", metavar="PROGRAM", help="id of the program")
    run.add_argument("--marketplace", required=True, metavar="NAME", help="marketplace of the program")
    add_place_options(run)
    run.add_argument("--json", action="store_true", help="print the run as JSON")
    run.set_defaults(command=_run, parser=run)

    data = commands.add_parser("demo-data", help="write demo customers for a program, always the same ones")
    data.add_argument("--customers", type=int, default=1_000, metavar="N", help="number of customers (default: 1000)")
    data.add_argument(
        "--out", required=True, metavar="FILE", help="a .csv or .parquet file; an existing one is replaced"
    )
    data.set_defaults(command=_demo_data, parser=data)


def _run(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress

    settings = place_settings(options)
    from tablewright.runtime import ServiceProblem
    from tablewright.systems import load
    from tablewright.systems.engagement.platform import Platform

    systems = load("engagement")
    if settings.is_embedded and not settings.data.exists():
        raise UsageError(f"there is no data folder {settings.data}; choose one with --data")
    with StepProgress() as steps, opened_runtime(settings, systems, steps) as runtime:
        try:
            runtime.sync_store.ensure_tables(*systems[0].design.all_tables)
            ended = _carried_out(Platform(runtime), options, steps, alone=settings.is_embedded)
        except ServiceProblem as problem:
            raise UsageError(str(problem)) from None
    _print_run(ended, as_json=options.json)
    return 0 if ended.state == "completed" else 130 if ended.state == "running" else 1


def _carried_out(platform: Platform, options: argparse.Namespace, steps: StepProgress, *, alone: bool) -> Run:
    import signal
    import threading
    from concurrent.futures import ThreadPoolExecutor

    program = platform.program(options.program, options.marketplace)
    if alone:
        platform.runs.free_slots()
    unfinished = platform.unfinished(program)
    leaving = threading.Event()
    before = {number: signal.signal(number, lambda *_: leaving.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        steps.begin("resuming the interrupted run" if unfinished is not None else "running")
        held = platform.runs.begin(program) if unfinished is None else platform.runs.resume(unfinished)

        def work() -> Run:
            return platform.runs.execute(
                held,
                leaving=leaving,
                report=lambda run: steps.update("customers", run.counts.read, run.total or run.counts.read),
            )

        # Signals are delivered to this thread, which only waits; the work is done in another.
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(work).result()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_run(run: Run, *, as_json: bool) -> None:
    counts = run.counts
    if as_json:
        summary = {
            "runId": run.run_id,
            "state": run.state,
            "counts": counts.model_dump(),
            "errors": run.errors,
            "failure": run.failure,
        }
        print(json.dumps(summary))
        return
    state = "was interrupted; run this again to resume it" if run.state == "running" else run.state
    print(
        f"run {run.run_id} {state}: {counts.read} customers, {counts.candidates} candidates, "
        f"{counts.rejected} rejected, {counts.failed} failed"
    )
    for reason, number in sorted(run.errors.items(), key=lambda each: -each[1])[:5]:
        print(f"  {number} times: {reason}")
    if run.failure is not None:
        print(f"tablewright: {run.failure}; fix it and run this again", file=sys.stderr)


def _demo_data(options: argparse.Namespace) -> int:
    from tablewright.cli.progress import StepProgress

    path = Path(options.out)
    if path.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out must be a .csv or .parquet file, not {path.name}")
    if not 1 <= options.customers <= 100_000_000:
        raise UsageError("--customers must be from 1 to 100000000")
    from tablewright.systems.engagement.sources import demo_customers

    with StepProgress() as steps:
        steps.begin(f"writing {path}")
        try:
            demo_customers.write_customers(
                path, options.customers, lambda done: steps.update("customers", done, options.customers)
            )
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    print(f"wrote {options.customers} customers to {path}")
    return 0
