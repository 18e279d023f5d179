"""Shared by the commands: the argument parser, its help with groups and examples, and errors that the user can fix."""

from __future__ import annotations

import argparse
import textwrap
from difflib import get_close_matches
from typing import Any, NoReturn

from tablewright.cli.command_help import EXAMPLES, GROUPS

_WIDTH = 78


class Commands:
    """Where a module adds its commands. A command's line in the list of commands is also the head of its own help.

    A command sets ``command``, a function from the options to an exit code, and ``parser`` as its defaults.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(
            title="commands", required=True, metavar="COMMAND", parser_class=OneLineParser
        )
        self._program = parser.prog.partition(" ")[2]
        self.about: dict[str, str] = {}

    def add_parser(self, name: str, *, help: str, epilog: str | None = None) -> argparse.ArgumentParser:
        self.about[name] = help
        description = textwrap.fill(f"{help[:1].upper()}{help[1:]}.", _WIDTH)
        examples = EXAMPLES.get(f"{self._program} {name}".strip(), ())
        parts = ["\n".join(["examples:", *(f"  tablewright {each}" for each in examples)])] if examples else []
        if epilog is not None:
            parts.append(textwrap.fill(epilog, _WIDTH, break_on_hyphens=False))
        return self._parsers.add_parser(
            name,
            help=help,
            description=description,
            epilog="\n\n".join(parts),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )


class UsageError(Exception):
    """An error that the user can fix; the message says how."""

    status = 2


def refused(error: Exception) -> UsageError:
    """The command's message for an error of the store."""
    if getattr(error, "code", None) == "NoCredentials":
        # No query was sent.
        return UsageError(str(getattr(error, "message", error)))
    return UsageError(f"the database refused the request: {error}")


def unwritable(error: OSError) -> str:
    """Why nothing can be written to a folder."""
    return "it is a file" if isinstance(error, FileExistsError) else error.strerror or str(error)


class DamagedDataError(UsageError):
    """A database that cannot be opened in its present state."""

    status = 1


class FailedDiskError(UsageError):
    """A disk that failed while a command was using it."""

    status = 1


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line; argparse prints the whole usage first."""

    # What each command does, for the groups of help.
    commands: dict[str, str] | None = None

    def format_help(self) -> str:
        """As argparse prints it, except for the list of all commands, which is in groups."""
        if self.commands is None:
            return super().format_help()
        groups = [f"usage: {self.prog} COMMAND ...\n", f"{self.description}\n"]
        for title, names in GROUPS.items():
            groups.append("\n".join([f"{title}:", *(_line(name, self.commands[name]) for name in names)]) + "\n")
        groups.append("Options:\n" + _line("-h, --help", "show this, or the help of a command: tablewright up --help"))
        groups.append(_line("--version", "show the version") + "\n")
        return "\n".join(groups)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Like argparse, but an unknown command gets a suggestion and not the list of all commands."""
        known = action.choices
        if isinstance(action, argparse._SubParsersAction) and known is not None and value not in known:
            near = get_close_matches(value, known, 1)
            advice = f"; did you mean {near[0]}?" if near else ";"
            self.exit(2, f"{self.prog}: unknown command {value!r}{advice} {self.prog} --help lists all commands\n")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _line(name: str, about: str) -> str:
    """A command or an option, with its description."""
    return textwrap.fill(about, _WIDTH, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)


def port(text: str) -> int:
    """A port number, as an argument."""
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)
