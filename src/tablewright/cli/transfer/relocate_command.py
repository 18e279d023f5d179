"""``relocate``: moves tables from one endpoint to another while they are in use, with a way back."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError
from tablewright.cli.progress import StepProgress
from tablewright.cli.transfer.copy_command import segment_count, unit_rate

if TYPE_CHECKING:
    from tablewright.transfer import Relocation, RelocationEvent

_LINE_SECONDS = 10.0
_REQUESTS = {
    "cut": "switch the programs that use the tables to TARGET",
    "back": "switch them back to SOURCE",
    "finish": "end the relocation for good; before the cut, abandon it",
}


def register(commands: Commands) -> None:
    relocate = commands.add_parser(
        "relocate",
        help="move tables to another endpoint while they are in use, with a way back",
        epilog="A place is an endpoint (http://host:port) or Amazon DynamoDB (aws, aws:eu-west-1). start runs "
        "until finish; if it is interrupted, the same command resumes it. Exit codes: 0 done; 1 not done, and nothing "
        "has changed; 2 a problem must be fixed first.",
    )
    steps = Commands(relocate)
    start = _step(steps, "start", "copy the tables and follow their changes, until the relocation is finished")
    start.add_argument(
        "--table", action="append", default=[], metavar="NAME", help="this table only; may be repeated (default: all)"
    )
    start.add_argument(
        "--segments",
        type=segment_count,
        default=4,
        metavar="N",
        help="read each table in N parallel segments (default: 4)",
    )
    start.add_argument("--read-rate", type=unit_rate, metavar="UNITS", help="read units per second (default: no limit)")
    start.add_argument(
        "--write-rate", type=unit_rate, metavar="UNITS", help="write units per second (default: no limit)"
    )
    start.set_defaults(command=_start, parser=start)
    status = _step(steps, "status", "print how far a relocation has got, and which endpoint serves the tables")
    status.add_argument("--json", action="store_true", help="print it as JSON")
    status.set_defaults(command=_status, parser=status)
    for request, about in _REQUESTS.items():
        asking = _step(steps, request, about)
        asking.set_defaults(command=_ask, parser=asking, request=request)


def _step(steps: Commands, name: str, about: str) -> argparse.ArgumentParser:
    parser = steps.add_parser(name, help=about)
    parser.add_argument("source", metavar="SOURCE", help="the endpoint that the tables move from")
    parser.add_argument("target", metavar="TARGET", help="the endpoint that they move to")
    return parser


def _run(options: argparse.Namespace, work: Callable[[Relocation], Awaitable[int]]) -> int:
    import asyncio

    from tablewright.store import StoreError
    from tablewright.transfer import TransferError, open_relocation

    async def run() -> int:
        rates = {name: getattr(options, name, None) for name in ("read_rate", "write_rate")}
        async with open_relocation(options.source, options.target, **rates) as relocation:
            return await work(relocation)

    try:
        return asyncio.run(run())
    except (TransferError, StoreError) as error:
        raise UsageError(str(error)) from None


def _start(options: argparse.Namespace) -> int:
    from tablewright.transfer import RelocationOptions

    with StepProgress() as steps:
        shown = _ShownEvents(steps)

        async def work(relocation: Relocation) -> int:
            asked = RelocationOptions(tables=options.table, segments=options.segments)
            place = await relocation.run(asked, shown.update)
            print(f"the tables are at {place}")
            return 0

        try:
            return _run(options, work)
        except KeyboardInterrupt:
            print("tablewright: interrupted; run the same command again to resume it", file=sys.stderr)
            raise


def _status(options: argparse.Namespace) -> int:
    async def work(relocation: Relocation) -> int:
        state = await relocation.status()
        if state is None:
            raise UsageError(f"there is no relocation from {options.source} to {options.target}")
        content = state.as_json()
        if options.json:
            print(json.dumps(content))
        else:
            for name, value in content.items():
                print(f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
        return 0

    return _run(options, work)


def _ask(options: argparse.Namespace) -> int:
    async def work(relocation: Relocation) -> int:
        answer = await relocation.ask(options.request)
        if not answer["done"]:
            print(f"not done: {answer['reason']}")
            return 1
        held = answer.get("held")
        print("done" if held is None else f"done; requests were held for {held:.2f} s")
        return 0

    return _run(options, work)


class _ShownEvents:
    """The progress of a relocation: a bar on a terminal, otherwise a line for each step, and one from time to time."""

    def __init__(self, steps: StepProgress) -> None:
        self._steps = steps
        self._line_at = time.monotonic()

    def update(self, event: RelocationEvent) -> None:
        if event.kind == "step":
            self._steps.end()
            print(f"tablewright: {event.text}", file=sys.stderr, flush=True)
            return
        text = f"Copying {event.text}" if event.kind == "copy" else f"Following, {event.text}"
        if sys.stderr.isatty():
            self._steps.report(text.partition(",")[0], event.items, event.expected)
        elif time.monotonic() - self._line_at > _LINE_SECONDS:
            self._line_at = time.monotonic()
            unit = "items" if event.kind == "copy" else "changes"
            print(f"tablewright: {text} ({event.items:,} {unit})", file=sys.stderr, flush=True)
