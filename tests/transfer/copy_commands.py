"""`tablewright copy` as a process of its own, which may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.commands import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tablewright", "copy", *arguments]


def killed(arguments: list[str], folder: Path, delay: float) -> bool:
    """Run a copy and kill it a while after it has begun; whether it was still at it."""
    process = subprocess.Popen(arguments, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (folder / "state.json").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(delay)
    in_time = process.poll() is None
    process.send_signal(signal.SIGKILL)
    _, error = process.communicate(timeout=60)
    assert in_time or process.returncode == 0, error
    return in_time
