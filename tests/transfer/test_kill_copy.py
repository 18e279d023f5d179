"""A copy that is killed, again and again, at moments that nobody chose: the same command finishes it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.commands import ROOT
from tests.examples import THOROUGH
from tests.transfer.samples import data_folder, folder_items

pytestmark = pytest.mark.requirement("SH5")

ITEMS = 3000
# Slow enough for a kill to come in between.
RATE = "3000"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tablewright", "copy", *arguments]


def killed(arguments: list[str], folder: Path, chance: random.Random) -> bool:
    """Run a copy and kill it a while after it has begun to write; whether it was in time."""
    process = subprocess.Popen(
        [*arguments, "--write-rate", RATE], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    state = folder / "state.json"
    until = time.monotonic() + 60
    while not state.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(chance.uniform(0.3, 1.2))
    in_time = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    return in_time


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [pytest.param(3), pytest.param(25, marks=pytest.mark.slow)])
def test_a_copy_that_is_killed_is_finished_by_the_same_command(tmp_path: Path, kills: int) -> None:
    chance = random.Random(None if THOROUGH else 11)
    source = data_folder(tmp_path / "source", ITEMS)
    arguments = command("source", "target", "--table", "Orders", "--state", "state.json")
    in_time = [killed(arguments, tmp_path, chance) for _ in range(kills)]
    assert any(in_time)
    done = subprocess.run(arguments, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = folder_items(source, "Orders")
    if all(in_time):
        assert done.stdout == f"Orders: {len(expected)} items, verified\n"
    assert folder_items(tmp_path / "target", "Orders") == expected
    assert not (tmp_path / "state.json").exists()
