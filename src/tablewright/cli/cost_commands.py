"""The cost of a design: ``plan`` computes it from traffic, ``meter`` measures what a program consumes."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError

if TYPE_CHECKING:
    from tablewright.design.cost import CostPlan, Prices
    from tablewright.model import Design

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def register(commands: Commands) -> None:
    plan = commands.add_parser(
        "plan",
        help="estimate the capacity and monthly cost of a design",
        epilog="Exit codes: 0 done, 1 a partition key is too hot, 2 wrong usage.",
    )
    plan.add_argument("design", metavar="PATH", help="module or file of the design, such as shop.model or ./model.py")
    plan.add_argument("--prices", metavar="FILE", help="price list to use (default: the one in the package)")
    plan.add_argument(
        "--target-utilization",
        type=int,
        default=70,
        metavar="PERCENT",
        help="target utilization of autoscaling (default: 70)",
    )
    plan.add_argument(
        "--backups", type=int, default=0, metavar="N", help="number of full backups that are kept (default: 0)"
    )
    plan.add_argument("--no-free-tier", action="store_true", help="do not deduct the account's free tier")
    plan.add_argument("--metered", metavar="FILE", help="take the traffic from a run saved by `meter --save FILE`")
    plan.add_argument(
        "--period",
        type=_duration,
        metavar="TIME",
        help="the period that the metered run represents: 90s, 15m, 1h, 30d (default: how long it took)",
    )
    plan.add_argument("--html", metavar="FILE", help="also write an HTML report")
    plan.add_argument("--json", action="store_true", help="print JSON")
    plan.set_defaults(command=_plan, parser=plan)

    meter = commands.add_parser(
        "meter",
        help="run a program and report the capacity that it consumed of the embedded engine",
        epilog="Everything after -- is the program and its arguments; meter exits with its exit code.",
    )
    meter.add_argument("--prices", metavar="FILE", help="price list to use (default: the one in the package)")
    meter.add_argument("--keys", type=int, default=10, metavar="N", help="number of hottest keys to show (default: 10)")
    meter.add_argument("--save", metavar="FILE", help="save the recorded requests, for `plan --metered`")
    meter.add_argument("--html", metavar="FILE", help="also write an HTML report with charts")
    meter.add_argument("--json", action="store_true", help="print JSON; the program's own output goes to stderr")
    meter.add_argument("program", nargs="+", metavar="COMMAND", help="the program and its arguments")
    meter.set_defaults(command=_meter, parser=meter)


def _duration(text: str) -> Decimal:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if found is None or not Decimal(found[1]):
        raise argparse.ArgumentTypeError(f"a period is a number followed by s, m, h or d, such as 15m, not {text!r}")
    return Decimal(found[1]) * _SECONDS[found[2]]


def _prices(path: str | None) -> Prices:
    from tablewright.design.cost import PricesError, load_prices

    try:
        return load_prices(path)
    except PricesError as error:
        raise UsageError(str(error)) from None


# -- plan -----------------------------------------------------------------------------------------------------------


def _plan(options: argparse.Namespace) -> int:
    from tablewright.cli.terminal import show
    from tablewright.design import DesignError, load
    from tablewright.design.cost import cost_json, cost_report, hot_keys
    from tablewright.model import ModelError

    prices = _prices(options.prices)
    try:
        plans = [_planned(design, prices, options) for design in load(options.design)]
    except (DesignError, ModelError) as error:
        raise UsageError(str(error)) from None
    if options.html is not None:
        _write_page(options.html, plans)
    if options.json:
        print(json.dumps([cost_json(plan) for plan in plans], indent=2))
    else:
        for plan in plans:
            show(cost_report(plan))
    return int(any(key.is_too_hot for plan in plans for key in hot_keys(plan)))


def _planned(design: Design, prices: Prices, options: argparse.Namespace) -> CostPlan:
    from tablewright.design.cost import CostOptions, RunError, busiest_keys, metered, plan_costs, read_run

    if not 20 <= options.target_utilization <= 90:
        raise UsageError(f"--target-utilization must be a percentage from 20 to 90, not {options.target_utilization}")
    if options.backups < 0:
        raise UsageError("--backups must be 0 or more")
    settings = CostOptions(options.target_utilization, not options.no_free_tier, options.backups)
    if options.metered is None:
        if options.period is not None:
            raise UsageError("--period needs a metered run: add --metered FILE")
        return plan_costs(design, prices, settings)
    try:
        run = read_run(options.metered)
    except RunError as error:
        raise UsageError(str(error)) from None
    seconds = options.period or Decimal(str(run.seconds))
    if not seconds:
        raise UsageError("the metered run is too short to derive a rate from; add --period TIME")
    demands = metered(design, run, seconds)
    if not demands:
        names = ", ".join(table.name for table in design.tables)
        raise UsageError(f"the metered run did not use any table of {design.name}: {names}")
    return plan_costs(design, prices, settings, demands, busy_keys=busiest_keys(design, run, seconds))


def _write_page(path: str, plans: list[CostPlan]) -> None:
    from tablewright.design.cost import cost_blocks
    from tablewright.design.report import DesignReport, Heading, to_html

    if len(plans) == 1:
        page = DesignReport(f"{plans[0].design.name}: capacity and cost", [*cost_blocks(plans[0])])
    else:
        blocks = [block for plan in plans for block in (Heading(plan.design.name), *cost_blocks(plan, 3))]
        page = DesignReport("Capacity and cost", blocks)
    _write(path, to_html(page))


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    print(f"written to {path}", file=sys.stderr)


# -- meter ----------------------------------------------------------------------------------------------------------


def _meter(options: argparse.Namespace) -> int:
    import tempfile

    from tablewright.cli.terminal import show
    from tablewright.design.cost import read_run, run_json, run_report
    from tablewright.design.report import to_html

    prices = _prices(options.prices)
    if options.keys < 0:
        raise UsageError("--keys must be 0 or more")
    with tempfile.TemporaryDirectory(prefix="tablewright-") as folder:
        noted = Path(folder, "run.jsonl") if options.save is None else Path(options.save).absolute()
        try:
            noted.write_bytes(b"")
        except OSError as error:
            raise UsageError(f"{noted} cannot be written: {error.strerror}") from None
        status = _run(options.program, noted, quiet=options.json)
        run = read_run(noted)
    page = run_report(run, prices, options.keys, f"Metered: {' '.join(options.program)}")
    if options.json:
        print(json.dumps(run_json(run, prices, options.keys), indent=2))
    else:
        show(page)
        if not run.requests:
            print("the program made no request to an embedded engine; does it use another endpoint?", file=sys.stderr)
    if options.html is not None:
        _write(options.html, to_html(page))
    return status


def _run(command: list[str], noted: Path, *, quiet: bool) -> int:
    """Run a program to its end; the program handles an interrupt itself."""
    import subprocess

    from tablewright.engine import METER_VARIABLE

    environment = {**os.environ, METER_VARIABLE: str(noted)}
    try:
        process = subprocess.Popen(command, env=environment, stdout=sys.stderr.fileno() if quiet else None)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be run: {error.strerror}") from None
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            continue
    return 128 - status if status < 0 else status
