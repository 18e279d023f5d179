"""``check``: the capabilities of an endpoint, for the store and for a design."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import Commands, UsageError

if TYPE_CHECKING:
    from tablewright.model import Design
    from tablewright.transfer import CapabilityResult, EndpointReport


def register(commands: Commands) -> None:
    check = commands.add_parser(
        "check",
        help="test what an endpoint supports of what the store and a design need",
        epilog="Test tables are created under a prefix of their own, and deleted at the end, also after Ctrl-C. "
        "Exit codes: 0 the endpoint supports everything, or all that the design needs; 1 it does not; 2 it cannot be "
        "reached.",
    )
    check.add_argument(
        "--endpoint",
        required=True,
        metavar="PLACE",
        help="an address, such as http://127.0.0.1:8000, or Amazon DynamoDB: aws, aws:eu-west-1",
    )
    check.add_argument("design", nargs="?", metavar="DESIGN", help="module or file of a design")
    check.set_defaults(command=_check, parser=check)


def _check(options: argparse.Namespace) -> int:
    import asyncio

    from tablewright.design import DesignError, load
    from tablewright.store import StoreError
    from tablewright.transfer import TransferError, check_endpoint, endpoint_backend

    try:
        designs = [] if options.design is None else load(options.design)
        backend = endpoint_backend(options.endpoint)

        async def run() -> EndpointReport:
            task = asyncio.current_task()
            assert task is not None
            # Like Ctrl-C, so that tables are deleted.
            with suppress(NotImplementedError):  # on Windows
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
            return await check_endpoint(backend, _show)

        try:
            report = asyncio.run(run())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            backend.close()
    except (DesignError, TransferError, StoreError) as error:
        raise UsageError(str(error)) from None
    for name in report.left_over:
        print(f"tablewright: warning: {name} could not be deleted; delete it yourself", file=sys.stderr)
    affected = [_affected(design, report) for design in designs]
    return 1 if (any(affected) if designs else report.lacking) else 0


def _show(result: CapabilityResult) -> None:
    print(f"{result.outcome:<8} {result.name}{f': {result.detail}' if result.detail else ''}", flush=True)


def _affected(design: Design, report: EndpointReport) -> bool:
    """Print the parts of a design that need what the endpoint lacks; returns whether there are any."""
    from tablewright.transfer import needs_of

    print(f"\n{design.name}:")
    lacking = report.lacking
    needed = {part: [each for each in needs if each in lacking] for part, needs in needs_of(design).items()}
    found = {part: missing for part, missing in needed.items() if missing}
    for part, missing in found.items():
        print(f"  {part} needs {', '.join(missing)}")
    if not found:
        print("  everything that it needs is supported")
    return bool(found)
