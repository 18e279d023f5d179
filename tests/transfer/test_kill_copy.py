"""A copy that is killed, again and again, at moments that nobody chose: the same command finishes it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.examples import THOROUGH
from tests.transfer.copy_commands import ENVIRONMENT, command, killed
from tests.transfer.samples import data_folder, folder_items

pytestmark = pytest.mark.requirement("SH5")

ITEMS = 4000


def noted(folder: Path) -> int:
    """How many items the state speaks of."""
    try:
        state = json.loads((folder / "state.json").read_bytes())
    except FileNotFoundError:
        return 0
    return sum(segment[3] for table in state["tables"].values() for segment in table["segments"])


@pytest.mark.timeout(300)
# The rate is slow enough for so many kills to come in between.
@pytest.mark.parametrize(("kills", "rate"), [(3, "5000"), pytest.param(25, "800", marks=pytest.mark.slow)])
def test_a_copy_that_is_killed_is_finished_by_the_same_command(tmp_path: Path, kills: int, rate: str) -> None:
    chance = random.Random(None if THOROUGH else 11)
    source = data_folder(tmp_path / "source", ITEMS)
    arguments = command("source", "target", "--table", "Orders", "--state", "state.json", "--segments", "2")
    progress, patience = [0], 0.0
    for _ in range(kills):
        if not killed([*arguments, "--write-rate", rate], tmp_path, chance.uniform(0.4, 1.2) + patience):
            break
        if progress[-1] and not (tmp_path / "state.json").exists():
            # It was done, and about to end.
            break
        progress.append(noted(tmp_path))
        if not progress[-1]:
            # On a busy machine it takes longer to begin.
            patience += 0.4
    assert progress == sorted(progress), "a copy never goes back"
    assert progress[-1] > 0
    expected = folder_items(source, "Orders")
    if (tmp_path / "state.json").exists():
        done = subprocess.run(arguments, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout) == (0, f"Orders: {len(expected)} items, verified\n"), done.stderr
    assert folder_items(tmp_path / "target", "Orders") == expected
    assert not (tmp_path / "state.json").exists()


def test_an_interrupted_copy_says_that_it_goes_on(tmp_path: Path) -> None:
    source = data_folder(tmp_path / "source", ITEMS)
    arguments = command("source", "target", "--table", "Orders", "--state", "state.json")
    process = subprocess.Popen(
        [*arguments, "--write-rate", "1000"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (tmp_path / "state.json").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "tablewright: interrupted; run the same command again to resume it"
    done = subprocess.run(arguments, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert folder_items(tmp_path / "target", "Orders") == folder_items(source, "Orders")


# What the command has in memory at the most, in kilobytes, as its last line.
MEASURED = """
import resource, sys
from tablewright.cli import main

status = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    """A million items with THOROUGH_TESTS, otherwise fewer."""
    peaks = []
    for number in (20_000, 1_000_000 if THOROUGH else 100_000):
        name = f"items-{number}.json"
        with open(tmp_path / name, "w") as file:
            for each in range(number):
                file.write(f'{{"Item": {{"pk": {{"S": "p-{each}"}}, "note": {{"S": "{"n" * 150}"}}}}}}\n')
        for target in (f"copy-{number}.jsonl", f"copy-{number}.csv"):
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, "copy", name, target],
                cwd=tmp_path,
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                check=True,
            )
            assert f"{number} items, verified" in done.stdout
            peaks.append(int(done.stdout.split()[-1]))
    assert max(peaks[2:]) < max(peaks[:2]) + 30_000, f"{peaks} kilobytes"
