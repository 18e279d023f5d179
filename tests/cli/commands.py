"""The command line as a user runs it: in a process of its own, or in this one."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
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


def called(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, which takes a fraction of the time: where the process is not what is tested."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, _own_modules():
        patch.chdir(cwd)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setattr(sys, "path", [str(cwd), *sys.path])
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            status = main(arguments)
        except SystemExit as end:
            status = int(str(end.code or 0))
    printed, said = (stream.buffer.getvalue().decode("utf-8") for stream in (out, err))
    return subprocess.CompletedProcess(arguments, status, printed, said)


@contextmanager
def _own_modules() -> Iterator[None]:
    """What is imported from elsewhere than the repository and the environment is forgotten: `things` of one test."""
    before = set(sys.modules)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            if _is_of_a_test(sys.modules[name]):
                del sys.modules[name]


def _is_of_a_test(module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    known = (ROOT, Path(sys.prefix), Path(sys.base_prefix))
    return any(place and not any(Path(place).is_relative_to(each) for each in known) for place in places)


def json_output(*arguments: str, cwd: Path = ROOT, status: int = 0) -> Any:
    """What a command prints with ``--format json`` or the like."""
    done = called(*arguments, cwd=cwd)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def error_line(*arguments: str, cwd: Path = ROOT) -> str:
    """The one line that a refused command prints to standard error."""
    done = called(*arguments, cwd=cwd)
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
