"""What the commands share: the parser, and errors that the user can put right."""

from __future__ import annotations

import argparse
from typing import NoReturn, Protocol


class Commands(Protocol):
    """What a module adds its commands to; argparse does not name the type of it.

    A command sets ``command``, a function from the options to an exit code, and ``parser`` as its defaults.
    """

    def add_parser(self, name: str, *, help: str, epilog: str = ...) -> argparse.ArgumentParser: ...


class UsageError(Exception):
    """Something the user can put right; the message says what."""

    status = 2


class DamagedDataError(UsageError):
    """A database that cannot be opened as it is."""

    status = 1


class OneLineParser(argparse.ArgumentParser):
    """Refuses in one line, where argparse shows the whole usage first."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def port(text: str) -> int:
    """A port number, as an argument."""
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)
