"""Servers and processes of a relocation, which may be killed and started again."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tablewright.store import EndpointBackend, Request
from tests.transfer.copy_commands import ENVIRONMENT

TABLE = "Histories"
WAIT = 60.0


class Server:
    """``tablewright serve`` on a data folder, always on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = "0"
        self.url = ""
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        arguments = ["serve", "--data", str(self._folder), "--port", self._port]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tablewright", *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self._port = found[1]
                self.url = found[0]
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=WAIT)

    def call(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        backend = EndpointBackend("us-east-1", self.url, {"aws_access_key_id": "any", "aws_secret_access_key": "any"})
        try:
            return backend.call(Request(operation, body))
        finally:
            backend.close()

    def logs(self) -> dict[str, list[str]]:
        """What was appended to each item."""
        items = self.call("Scan", {"TableName": TABLE, "ConsistentRead": True})["Items"]
        for item in items:
            assert "log" not in item or int(item["n"]["N"]) == len(item["log"]["L"])
        return {item["pk"]["S"]: [each["S"] for each in item["log"]["L"]] for item in items if "log" in item}


@contextmanager
def two_servers(folder: Path, items: int = 200) -> Iterator[tuple[Server, Server]]:
    """A server with a table, and one with nothing."""
    source, target = Server(folder / "source"), Server(folder / "target")
    try:
        source.call(
            "CreateTable",
            {
                "TableName": TABLE,
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for number in range(0, items, 25):
            puts = [{"PutRequest": {"Item": {"pk": {"S": f"old-{number + each}"}}}} for each in range(25)]
            source.call("BatchWriteItem", {"RequestItems": {TABLE: puts}})
        yield source, target
    finally:
        for server in (source, target):
            server.kill()


def command(step: str, source: Server, target: Server, *options: str) -> list[str]:
    return [sys.executable, "-m", "tablewright", "relocate", step, source.url, target.url, *options]


class Mover:
    """``tablewright relocate start``, killed and started again."""

    def __init__(self, source: Server, target: Server, log: Path, *options: str) -> None:
        self._command = command("start", source, target, *options)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        with open(self._log, "ab") as file:
            self._process = subprocess.Popen(self._command, env=ENVIRONMENT, stdout=file, stderr=file)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(WAIT)

    def __enter__(self) -> Mover:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self.kill()

    @property
    def text(self) -> str:
        return self._log.read_text()

    def until(self, words: str, times: int = 1) -> None:
        """Wait until it has told something so many times."""
        assert self._process is not None
        until = time.monotonic() + WAIT
        while self.text.count(words) < times:
            assert time.monotonic() < until, self.text
            assert self._process.poll() is None, self.text
            time.sleep(0.01)

    def ended(self) -> int:
        assert self._process is not None
        return self._process.wait(WAIT)


def asked(step: str, source: Server, target: Server) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(step, source, target), env=ENVIRONMENT, capture_output=True, text=True, timeout=120)


def until_done(step: str, source: Server, target: Server) -> str:
    """Ask until it is done: a cut that was disturbed changes nothing, and is asked for again."""
    until = time.monotonic() + 2 * WAIT
    while True:
        done = asked(step, source, target)
        if done.returncode == 0 or "nothing to" in done.stderr:
            return done.stdout
        assert time.monotonic() < until, done.stdout + done.stderr
        time.sleep(0.2)
