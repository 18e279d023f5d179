"""Several `tablewright up` on one endpoint, `tablewright serve`, which are killed and started again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import httpx

from tests.crash.up_workload import client
from tests.runtime.commands import announced


class Fleet:
    """A server with its data folder, and processes of the systems, which share a folder of secrets and sources."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        """``arguments`` and ``environment`` are those of `tablewright up`."""
        self.folder = folder
        self.shared = folder / "data"
        self._arguments = arguments
        self._environment = {**os.environ, "TABLEWRIGHT_LOG_LEVEL": "WARNING", **environment}
        self.processes: list[tuple[subprocess.Popen[str], str]] = []
        self.endpoint = ""
        self._server: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._server = self._run(["serve", "--port", "0", "--data", str(self.folder / "database")], "serve")
        assert self._server.stdout is not None
        found = re.search(r"at (http://\S+)", self._server.stdout.readline())
        assert found
        self.endpoint = found[1]
        return self

    def __exit__(self, *_: object) -> None:
        started = [process for process, _ in self.processes]
        for process in [*started, *([] if self._server is None else [self._server])]:
            process.kill()
            process.wait(30)
            assert process.stdout is not None
            process.stdout.close()

    def start(self, number: int) -> None:
        """Start so many processes at once."""
        begun = [
            self._run(["up", "--port", "0", "--endpoint", self.endpoint, *self._arguments], f"up-{index}")
            for index in range(len(self.processes), len(self.processes) + number)
        ]
        for process in begun:
            address = announced(process)
            assert address, self.said()
            self.processes.append((process, address))

    def kill(self, index: int) -> None:
        """kill -9 one of them."""
        process, _ = self.processes.pop(index)
        process.kill()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()

    def client(self, index: int, user: str, *roles: str) -> httpx.Client:
        return client(self.shared, self.processes[index][1], user, *roles)

    def said(self) -> Mapping[str, str]:
        """What the processes have logged."""
        return {path.stem: path.read_text() for path in sorted(self.folder.glob("*.log"))}

    def _run(self, arguments: list[str], name: str) -> subprocess.Popen[str]:
        with (self.folder / f"{name}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tablewright", *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environment,
                cwd=self.folder,
            )
