"""kill -9 for `tablewright up` under load: nothing acknowledged is lost, nor an event, nor a letter."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from tablewright.engine import Engine
from tests.crash.up_workload import (
    ROLES,
    Acknowledged,
    Letters,
    check_acknowledged,
    check_events,
    check_letters,
    client,
    make_people,
    published,
    settled,
    write,
)
from tests.runtime.commands import announced
from tests.systems.harness import wait_for

WRITERS = 6


@contextmanager
def up(folder: Path, smtp_port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environment = {
        **os.environ,
        "TABLEWRIGHT_SMTP_URL": f"smtp://127.0.0.1:{smtp_port}",
        "TABLEWRIGHT_RATE_LIMIT": "100000",
        "TABLEWRIGHT_RATE_BURST": "100000",
        "TABLEWRIGHT_BATCH_WINDOW": "0",
        "TABLEWRIGHT_LOG_LEVEL": "ERROR",
    }
    command = [sys.executable, "-m", "tablewright", "up", "--data", str(folder), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=folder.parent
    )
    try:
        address = announced(process)
        assert address, "it did not start"
        yield process, address
    finally:
        process.kill()
        process.wait(30)
        process.stdout.close()  # type: ignore[union-attr]


def crash(folder: Path, smtp_port: int, done: Acknowledged, choices: random.Random, life: int) -> None:
    with up(folder, smtp_port) as (process, url):
        stop = threading.Event()
        admin = client(folder, url, "boss", *ROLES)
        if life == 0:
            make_people(admin)
        threads = [
            threading.Thread(target=write, args=(admin, done, stop, random.Random(choices.random()), life))
            for _ in range(WRITERS)
        ]
        before = done.number
        for thread in threads:
            thread.start()
        wait_for(lambda: done.number > before + 20, seconds=60)
        time.sleep(choices.uniform(0.0, 0.6))
        process.kill()
        stop.set()
        for thread in threads:
            thread.join(60)
        admin.close()


def check(folder: Path, smtp_port: int, done: Acknowledged, letters: Letters) -> None:
    with up(folder, smtp_port) as (process, url):
        admin = client(folder, url, "boss", *ROLES)
        check_acknowledged(admin, done)
        wait_for(lambda: settled(admin, done), seconds=120)
        events = published(admin)
        check_events(admin, done, events)
        check_letters(events, letters)
        assert all(each["dead_letters"] == 0 for each in admin.get("/runtime/consumers").json())
        admin.close()
        process.terminate()
        process.wait(60)
    with Engine.open(folder) as engine:
        assert engine.verify().problems == []


def run(folder: Path, lives: int, seed: int) -> None:
    choices = random.Random(seed)
    letters, done = Letters(), Acknowledged()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(letters, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        for life in range(lives):
            crash(folder, port, done, choices, life)
        check(folder, port, done, letters)
    finally:
        controller.stop()


@pytest.mark.requirement("X1", "TM7", "TM8")
def test_what_was_acknowledged_survives_kill_9_with_its_events_and_mail(tmp_path: Path) -> None:
    run(tmp_path / "data", lives=1, seed=7)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.requirement("X1", "TM7", "TM8")
def test_what_was_acknowledged_survives_kill_9_over_and_over(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    run(tmp_path / "data", lives=25, seed=seed)
