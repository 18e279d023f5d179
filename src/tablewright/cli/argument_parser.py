"""What the commands share: the argument parser, and errors that the user can fix."""

from __future__ import annotations

import argparse
from typing import NoReturn


class Commands:
    """What a module adds its commands to. What the list of commands says of one is also the head of its own help.

    A command sets ``command``, a function from the options to an exit code, and ``parser`` as its defaults.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=OneLineParser)

    def add_parser(self, name: str, *, help: str, epilog: str | None = None) -> argparse.ArgumentParser:
        description = f"{help[:1].upper()}{help[1:]}."
        return self._parsers.add_parser(name, help=help, description=description, epilog=epilog)


class UsageError(Exception):
    """Something that the user can fix; the message says how."""

    status = 2


class DamagedDataError(UsageError):
    """A database that cannot be opened as it is."""

    status = 1


class FailedDiskError(UsageError):
    """A disk that failed while a command was using it."""

    status = 1


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line; argparse prints the whole usage first."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def port(text: str) -> int:
    """A port number, as an argument."""
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)
