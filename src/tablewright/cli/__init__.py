"""The command line.

    database    serve, verify

Each module of this package registers a few commands. Exit codes: 0 done, 1 something was found (verify: the data is
damaged), 2 something the user can put right, 130 interrupted. What went wrong is one line on standard error that says
what to do. Modules are imported by the command that needs them, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tablewright import __version__
from tablewright.cli import database
from tablewright.cli.parsing import Parser, UsageError

__all__ = ["main"]

_MODULES = (database,)


def main(arguments: Sequence[str] | None = None) -> int:
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status: int = options.command(options)
    except UsageError as error:
        print(f"tablewright: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    return status


def _parser() -> Parser:
    parser = Parser(prog="tablewright", description="Design a DynamoDB application, run it here, ship it.")
    parser.add_argument("--version", action="version", version=f"tablewright {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in _MODULES:
        module.register(commands)
    return parser
