"""kill -9 at any moment of mixed writes: what was acknowledged is there, whole, and nothing is by half."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.crash.ledger import LIFE, Ledger, check_folder

ROOT = Path(__file__).parents[2]


def crash_once(folder: Path, ledger: Ledger, life: int, choices: random.Random) -> None:
    """Let a writer write, kill it after some acknowledgements or some time, and note all that it said."""
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(folder), str(life * LIFE), str(life)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    assert writer.stdout is not None
    # Some are killed while they open the folder, some while they make their tables, most while they write.
    most = choices.choice([0, 1, choices.randrange(100), choices.randrange(600), choices.randrange(3000)])
    timer = threading.Timer(choices.uniform(0.1, 1.5) if choices.random() < 0.5 else 30.0, writer.kill)
    timer.start()
    before = ledger.writes
    for line in writer.stdout:
        ledger.note(line)
        if ledger.writes - before >= most and line[0] in "AC":
            time.sleep(choices.choice([0.0, 0.0, choices.uniform(0.0, 0.01)]))
            writer.kill()
    timer.cancel()
    writer.stdout.close()
    assert writer.wait() == -9


def test_acknowledged_writes_survive_a_killed_writer(tmp_path: Path) -> None:
    choices = random.Random()
    ledger = Ledger()
    for life in range(1, 5):
        crash_once(tmp_path, ledger, life, choices)
        check_folder(tmp_path, ledger)
    # At least once there was something to lose.
    while not ledger.acknowledged:
        life += 1
        crash_once(tmp_path, ledger, life, choices)
        check_folder(tmp_path, ledger)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_acknowledged_writes_survive_hundreds_of_killed_writers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the same folder, so that each recovery starts from what the one before has left."""
    rounds = int(os.environ.get("CRASH_ROUNDS", "200"))
    seed = int(os.environ.get("CRASH_SEED", str(random.randrange(10**6))))
    choices = random.Random(seed)
    ledger = Ledger()
    for life in range(1, rounds + 1):
        crash_once(tmp_path, ledger, life, choices)
        check_folder(tmp_path, ledger)
        if life % 10 == 0:
            with capsys.disabled():
                print(
                    f"\ncrash {life} of {rounds} (seed {seed}): {ledger.writes} acknowledged writes, all there",
                    end="",
                    flush=True,
                )
    assert ledger.writes > rounds
