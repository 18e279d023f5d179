"""The command line.

    backup_commands           backup, backups, restore
    calls_commands            calls verify
    cost_commands             plan, meter
    database_commands         serve, verify
    document_commands         docs, init
    engagement_commands       engagement run, engagement demo-data
    evolution_commands        diff, migrate, workbench
    infrastructure_commands   infra, iam
    lint_command              lint
    scrub_command             scrub
    service_commands          up, token, config
    support_commands          support rebuild-metrics, ...
    deploy/deploy_command     deploy
    deploy/package_command    package
    studio/studio_command     studio
    applications/search_command   search rebuild
    applications/privacy_command  privacy export, privacy erase
    transfer/copy_command     copy
    transfer/check_command    check
    transfer/relocate_command relocate start, status, cut, back, finish
    transfer/sql_command      sql

Each module of this package registers a few commands. Exit codes: 0 done, 1 a finding (verify: the data is damaged), 2
an error that the user can fix, 130 interrupted, 141 the reader of the output has closed it (``| head``). An error is
one line on standard error that says what to do. Modules are imported by the command that needs them, so that ``--help``
and ``--version`` print at once.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from tablewright import __version__
from tablewright.cli import (
    backup_commands,
    calls_commands,
    cost_commands,
    database_commands,
    document_commands,
    engagement_commands,
    evolution_commands,
    infrastructure_commands,
    lint_command,
    scrub_command,
    service_commands,
    support_commands,
)
from tablewright.cli.applications import privacy_command, search_command
from tablewright.cli.argument_parser import Commands, OneLineParser, UsageError
from tablewright.cli.deploy import deploy_command, package_command
from tablewright.cli.studio import studio_command
from tablewright.cli.transfer import check_command, copy_command, relocate_command, sql_command

__all__ = ["main"]

_MODULES = (
    database_commands,
    backup_commands,
    scrub_command,
    copy_command,
    check_command,
    relocate_command,
    sql_command,
    service_commands,
    studio_command,
    support_commands,
    engagement_commands,
    calls_commands,
    search_command,
    privacy_command,
    cost_commands,
    document_commands,
    lint_command,
    infrastructure_commands,
    deploy_command,
    package_command,
    evolution_commands,
)

# The exit code that a shell reports for a program ended by SIGPIPE.
_BROKEN_PIPE = 128 + 13


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show is printed as a Python escape.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options: argparse.Namespace | None = None
    try:
        options, unknown = build_parser().parse_known_args(arguments)
        if unknown:
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        status: int = options.command(options)
        # While a closed pipe can still be reported.
        sys.stdout.flush()
    except UsageError as error:
        print(f"tablewright: {error}", file=sys.stderr)
        return error.status
    except ModuleNotFoundError as error:
        print(f"tablewright: {_missing(error, getattr(options, 'extra', None))}", file=sys.stderr)
        return UsageError.status
    except PermissionError as error:
        # A command can meet this anywhere: a folder on the way, a file in it.
        print(f"tablewright: cannot access {error.filename}: {error.strerror}", file=sys.stderr)
        return UsageError.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe (``| head``): the rest of the output is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _missing(error: ModuleNotFoundError, extra: str | None) -> str:
    """What to install for a command that needs more than a plain installation; ``extra``: the command's own."""
    if error.name is not None and error.name.startswith("tablewright."):
        return (
            f"this command needs {error.name}, which is not in the container image of a system; run it where "
            f"everything is installed"
        )
    from tablewright.design import extra_of

    known = extra_of(error.name)
    if known is None:
        raise error
    extra = extra or known
    return f"this command needs {error.name}: pip install 'tablewright[{extra}]'"


def build_parser() -> OneLineParser:
    """The parser of all commands."""
    parser = OneLineParser(prog="tablewright", description="Design a DynamoDB application, run it locally, ship it.")
    parser.add_argument("--version", action="version", version=f"tablewright {__version__}")
    commands = Commands(parser)
    for module in _MODULES:
        module.register(commands)
    parser.commands = commands.about
    return parser
