"""The command line as a user runs it: in a process of its own, or in this one."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablewright.cli import build_parser, main

ROOT = Path(__file__).resolve().parent.parent.parent


def tablewright(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tablewright", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


def json_output(*arguments: str, cwd: Path = ROOT, status: int = 0) -> Any:
    """What a command prints with ``--format json`` or the like."""
    done = tablewright(*arguments, cwd=cwd)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def error_line(*arguments: str, cwd: Path = ROOT) -> str:
    """The one line that a refused command prints to standard error."""
    done = tablewright(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Runs a command in this process: its exit code, what it printed, and what it printed to standard error."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = int(str(end.code))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def leaf_commands() -> list[str]:
    """Every command that can be run, with the one that it is a part of: ``support export``."""

    def inside(parser: argparse.ArgumentParser) -> list[str]:
        found: list[str] = []
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    found += inside(inner) or [inner.prog.removeprefix("tablewright ")]
        return found

    return inside(build_parser())
