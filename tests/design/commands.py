"""The command line as a user runs it, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def told(*arguments: str, cwd: Path = ROOT, status: int = 0) -> Any:
    """What a command says to machines."""
    done = tablewright(*arguments, cwd=cwd)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def refusal(*arguments: str, cwd: Path = ROOT) -> str:
    """The one line of a command that is refused."""
    done = tablewright(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line
