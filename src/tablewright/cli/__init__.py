"""The command line.

    backups         backup, backups, restore
    cost            plan, meter
    database        serve, verify
    documents       docs, init
    evolution       diff, workbench
    infrastructure  infra, iam
    lint            lint
    services        up, token, config
    support         support
    systems         engagement

Each module of this package registers a few commands. Exit codes: 0 done, 1 something was found (verify: the data is
damaged), 2 something the user can put right, 130 interrupted, 141 nobody reads on (``| head``). What went wrong is one
line on standard error that says what to do. Modules are imported by the command that needs them, so that ``--help`` and
``--version`` answer at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from tablewright import __version__
from tablewright.cli import (
    backup_commands,
    cost_commands,
    database_commands,
    document_commands,
    engagement_commands,
    evolution_commands,
    infrastructure_commands,
    lint_command,
    service_commands,
    support_commands,
)
from tablewright.cli.argument_parser import OneLineParser, UsageError

__all__ = ["main"]

_MODULES = (
    database_commands,
    backup_commands,
    service_commands,
    support_commands,
    engagement_commands,
    cost_commands,
    document_commands,
    lint_command,
    infrastructure_commands,
    evolution_commands,
)

# As the shell says it of a program that SIGPIPE has ended.
_BROKEN_PIPE = 128 + 13


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A character that a terminal does not know is written as Python writes it in a text.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        options, unknown = build_parser().parse_known_args(arguments)
        if unknown:
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        status: int = options.command(options)
        # While it can still be told that nobody reads it.
        sys.stdout.flush()
    except UsageError as error:
        print(f"tablewright: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has seen enough (``| head``); what is left of it goes nowhere. Neither done nor found.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def build_parser() -> OneLineParser:
    """The parser of all commands."""
    parser = OneLineParser(prog="tablewright", description="Design a DynamoDB application, run it here, ship it.")
    parser.add_argument("--version", action="version", version=f"tablewright {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in _MODULES:
        module.register(commands)
    return parser
