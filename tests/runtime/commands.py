"""`tablewright up` and other commands, as processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablewright.runtime.identity.local_issuer import LocalIssuer
from tablewright.runtime.settings import Secrets

ADDRESS = re.compile(r"is up at (http://\S+)")


@contextmanager
def up(*arguments: str, cwd: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`tablewright up` on a free port: the process, and its address."""
    command = [sys.executable, "-m", "tablewright", "up", "--port", "0", *arguments]
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = announced(process)
        assert address, process.communicate(timeout=10)
        yield process, address
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def announced(process: subprocess.Popen[str]) -> str | None:
    """The address that a process says it is up at, after what else it says; None if it ends before."""
    assert process.stdout is not None
    while line := process.stdout.readline():
        if found := ADDRESS.search(line):
            return found[1]
    return None


def issued(folder: Path, user: str, *roles: str) -> str:
    """A token for the systems of a folder, also before they are up for the first time."""
    return LocalIssuer(Secrets(folder / "data")).token(user, roles=roles)
