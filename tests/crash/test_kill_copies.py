"""kill -9 at any moment of a backup: earlier copies stay whole, and the next backup goes on."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.engine.copies.copy_folder import CopyFolder
from tablewright.engine.copies.folder_backup import restore
from tablewright.engine.copies.scrub import Pace, copy_problems
from tests.engine.storage.disk import create, keys, put

ROOT = Path(__file__).parents[2]


def crash_once(data: Path, copies: Path, choices: random.Random) -> bool:
    """Kill a backup after one of its steps has begun; whether it had ended by then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tablewright", "backup", "--to", str(copies), "--data", str(data), "--keep", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stderr is not None
    for _ in range(choices.randint(1, 4)):
        process.stderr.readline()
    time.sleep(choices.choice([0.0, choices.uniform(0.0, 0.05)]))
    process.kill()
    process.communicate(timeout=30)
    return process.returncode == 0


@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_a_killed_backup_leaves_the_copies_there_are(tmp_path: Path, rounds: int) -> None:
    choices = random.Random(rounds)
    data, folder = tmp_path / "data", tmp_path / "copies"
    with Engine.open(data) as engine:
        create(engine)
        engine.copy_to(folder)
        for number in range(rounds):
            before = CopyFolder(folder).names()
            for other in range(5):
                put(engine, f"{number} {other}", 200_000)
            ended = crash_once(data, folder, choices)
            copies = CopyFolder(folder)
            # The newest is there as long as no newer one is.
            assert before[-1] in copies.names() or ended or copies.names()[-1] > before[-1]
            assert list(copy_problems(copies, Pace(10**12, sleep=time.sleep), lambda done, total: None)) == []
            restore(copies, copies.choose(None), tmp_path / "restored")
            shutil.rmtree(tmp_path / "restored")
        assert engine.copy_to(folder, keep=1).problems == []
        expected = keys(engine)
    copies = CopyFolder(folder)
    assert set(copies.choose(None).chunks()) <= set(copies.chunks.names())
    restore(copies, copies.choose(None), tmp_path / "restored")
    with Engine.open(tmp_path / "restored") as restored:
        assert keys(restored) == expected
