"""`tablewright engagement`: runs from the command line, which may be killed, in bounded memory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tablewright.cli import main
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import Create, Store
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.model import (
    Approval,
    ApprovalState,
    Candidate,
    ChannelEntry,
    Program,
    ProgramVersion,
    Run,
    candidates,
    programs,
    scores,
)
from tablewright.systems.engagement.sources.demo_customers import write_customers
from tests.systems.engagement.engagement_fixtures import NOON, program

# What a run may take, however many customers there are.
MAX_MEMORY_MB = 350

MODELS = [{"modelId": "propensity-v1", "weight": 0.7}, {"modelId": "value-v1", "weight": 0.3}]
RUN = ["engagement", "run", "coffee", "--marketplace", "EU"]
# Prints the peak memory of the process behind the command's own output. `getrusage` would do, but on Linux it begins
# with what the process had before it became this program: the memory of whoever started it.
MEASURED = """
import re, resource, sys
from pathlib import Path
from tablewright.cli import main
status = main(sys.argv[1:])
own = Path("/proc/self/status")
if own.exists():
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", own.read_text())[1]) // 1024)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
sys.exit(status)
"""


def prepared(folder: Path, number: int, **changes: Any) -> Path:
    """A data folder with customers and a program."""
    write_customers(folder / "sources" / "customers.csv", number)
    configuration = Configuration.model_validate(program(**{"scoringModels": MODELS, **changes}))
    values = {name: getattr(configuration, name) for name in Configuration.model_fields}
    version = ProgramVersion(
        program_id="coffee", marketplace_id="EU", number=1, configuration=configuration, changed_by="test", at=NOON
    )
    with Store.open(folder) as store:
        store.ensure_tables(internal_table, candidates, programs, scores)
        approval = Approval(state=ApprovalState.APPROVED)
        made = Program(program_id="coffee", marketplace_id="EU", approval=approval, **values)
        store.transact(Create(made), Create(version))
    return folder


def tablewright(*arguments: str, folder: Path, script: str | None = None) -> subprocess.CompletedProcess[str]:
    how = ["-m", "tablewright"] if script is None else ["-c", script]
    return subprocess.run(
        [sys.executable, *how, *arguments, "--data", str(folder)], capture_output=True, text=True, timeout=3000
    )


def everything(folder: Path) -> dict[tuple[str, ...], Any]:
    """All candidates and entries, without their times."""
    with Store.open(folder) as store:
        found: dict[tuple[str, ...], Any] = {}
        for each in store.iterate(Candidate):
            own = each.score, each.channels, each.attributes, each.rejected, len(each.rejection_history), each.version
            found["candidate", each.customer_id, each.subject.id] = own
        for entry in store.iterate(ChannelEntry):
            found["entry", entry.customer_id, entry.subject.id, entry.channel_id] = entry.score
        return found


def measured(folder: Path, number: int) -> None:
    done = tablewright(*RUN, "--json", folder=folder, script=MEASURED)
    assert done.returncode == 0, done.stderr
    told, memory = done.stdout.splitlines()
    assert json.loads(told)["counts"]["candidates"] == number
    assert int(memory) <= MAX_MEMORY_MB


@pytest.mark.requirement("CE8")
def test_a_run_from_the_command_line_takes_bounded_memory(tmp_path: Path) -> None:
    measured(prepared(tmp_path, 2_000), 2_000)


@pytest.mark.slow
@pytest.mark.requirement("CE8")
def test_a_hundred_thousand_customers_take_no_more_memory(tmp_path: Path) -> None:
    folder = prepared(tmp_path, 100_000)
    measured(folder, 100_000)
    with Store.open(folder) as store:
        (run,) = store.iterate(Run)
        assert (run.total, run.counts.read, run.counts.failed) == (100_000, 100_000, 0)
        best = [entry.score for entry in store.iterate(ChannelEntry.top(program_id="coffee", channel_id="email"))]
    assert len(best) == 100_000
    assert best == sorted(best, reverse=True)


@pytest.mark.slow
@pytest.mark.requirement("CE8", "X1")
def test_a_run_that_is_killed_repeatedly_ends_with_the_same_result(tmp_path: Path) -> None:
    entropy = random.Random(3)
    number = 8_000
    rule = {"attribute": "country", "op": "in", "value": ["IT", "DE", "FR"]}
    chain = {"filters": ["eligibility"], "settings": {"eligibility": {"rule": rule}}}
    whole = prepared(tmp_path / "whole", number, filterChain=chain)
    assert tablewright(*RUN, folder=whole).returncode == 0
    folder = prepared(tmp_path / "killed", number, filterChain=chain)
    kills = 0
    for _ in range(60):
        command = [sys.executable, "-m", "tablewright", *RUN, "--json", "--data", str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            out, _ = process.communicate(timeout=entropy.uniform(1.0, 6.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            kills += 1
            continue
        assert process.returncode == 0
        assert json.loads(out)["state"] == "completed"
        break
    assert kills >= 2
    with Store.open(folder) as store:
        (run,) = store.iterate(Run)
        assert (run.state, run.counts.read) == ("completed", number)
    assert everything(folder) == everything(whole)


@pytest.mark.requirement("CE8")
def test_an_interrupted_run_is_resumed_by_the_next_call(tmp_path: Path) -> None:
    folder = prepared(tmp_path, 1_000)
    command = [sys.executable, "-m", "tablewright", *RUN, "--data", str(folder)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stderr is not None
    while "running" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, "was interrupted; run this again to resume it" in out) == (130, True)
    again = tablewright(*RUN, folder=folder)
    assert again.returncode == 0, again.stderr
    assert "resuming the interrupted run" in again.stderr
    assert "1000 customers, 1000 candidates" in again.stdout
    with Store.open(folder) as store:
        (run,) = store.iterate(Run)
        assert (run.state, run.counts.candidates) == ("completed", 1_000)


def test_an_impossible_command_is_one_line_of_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = prepared(tmp_path / "data", 10)

    def told(*arguments: str, data: Path = folder) -> tuple[int, str]:
        status = main([*arguments, "--data", str(data)])
        return status, capsys.readouterr().err.splitlines()[-1]

    tea = ("engagement", "run", "tea", "--marketplace", "EU")
    assert told(*tea) == (2, "tablewright: there is no program tea in marketplace EU")
    nowhere = tmp_path / "nowhere"
    assert told(*RUN, data=nowhere) == (2, f"tablewright: there is no data folder {nowhere}; choose one with --data")
    (folder / "sources" / "customers.csv").unlink()
    missing = "customers.csv is not in the folder of sources; fix it and run this again"
    assert told(*RUN) == (1, f"tablewright: {missing}")


def test_customers_are_made_as_csv_and_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("c.csv", "c.parquet"):
        file = tmp_path / name
        assert main(["engagement", "demo-data", "--customers", "7", "--out", str(file)]) == 0
        assert capsys.readouterr().out == f"wrote 7 customers to {file}\n"
        assert duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall() == [(7,)]
    for wrong in (["--out", "c.xls"], ["--out", "c.csv", "--customers", "0"], ["--out", "/proc/nowhere/c.csv"]):
        assert main(["engagement", "demo-data", *wrong]) == 2
