"""kill -9 for the HTTP server while boto3 clients write: a 200 that was received is durable."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from tests.crash import workload
from tests.crash.ledger import LIFE, Ledger, check_folder


class Clients:
    """The workload through boto3, until so many writes were acknowledged."""

    def __init__(self, url: str, ledger: Ledger, most: int) -> None:
        self._client = boto3.client(
            "dynamodb",
            endpoint_url=url,
            config=Config(retries={"total_max_attempts": 1}, max_pool_connections=16, connect_timeout=5),
        )
        self._ledger = ledger
        self._lock = threading.Lock()
        self._until = ledger.writes + most
        self.enough = threading.Event()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        try:
            response: dict[str, Any] = getattr(self._client, xform_name(operation))(**request)
        except BotoCoreError as error:
            raise workload.Gone from error
        return response

    def tell(self, lines: str) -> None:
        with self._lock:
            for line in lines.splitlines():
                self._ledger.note(line)
            if self._ledger.writes >= self._until or self._ledger.problems:
                self.enough.set()


def crash_once(folder: Path, ledger: Ledger, life: int, choices: random.Random) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "tablewright", "serve", "--data", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        greeting = server.stdout.readline()
        address = re.search(r"http://\S+", greeting)
        assert address is not None, greeting
        clients = Clients(address[0], ledger, choices.randrange(1, 500))
        workload.prepare(clients.call)
        threads = workload.start(clients.call, clients.tell, life * LIFE, life)
        assert clients.enough.wait(60.0)
    finally:
        server.kill()
        server.communicate()
    for thread in threads:
        thread.join()


def test_a_killed_server_leaves_everything_it_has_answered(tmp_path: Path) -> None:
    run(tmp_path, rounds=3)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_server_that_is_killed_often_leaves_everything_it_has_answered(tmp_path: Path) -> None:
    run(tmp_path, rounds=int(os.environ.get("CRASH_ROUNDS", "200")) // 5)


def run(folder: Path, rounds: int) -> None:
    choices = random.Random()
    ledger = Ledger()
    for life in range(1, rounds + 1):
        crash_once(folder, ledger, life, choices)
        check_folder(folder, ledger)
    assert ledger.acknowledged
