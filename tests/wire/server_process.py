"""A server in a process of its own, whose memory can be looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MB = 1024 * 1024


@contextmanager
def server_process(*arguments: str, cwd: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of ``tablewright serve`` on a free port, and its URL."""
    command = [sys.executable, "-m", "tablewright", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", line)
        assert found, f"{line!r}, {process.stderr and process.stderr.read()}"
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def resident_bytes(process: subprocess.Popen[str]) -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the process has no resident size")
