"""A query that would run for ever is broken off: by stop and cancel, by the end of the process, and by its time."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tablewright.store import Create, Store
from tablewright.systems import load
from tablewright.systems.engagement.configuration import Configuration
from tablewright.systems.engagement.model import (
    Approval,
    ApprovalState,
    Program,
    ProgramVersion,
    Run,
    RunState,
    Slot,
    design,
)
from tablewright.systems.engagement.runs.batch_run import Runs
from tablewright.systems.engagement.sources import file_connector
from tablewright.systems.engagement.sources.connectors import Sources
from tablewright.systems.engagement.sources.file_connector import opened
from tablewright.systems.engagement.sources.row_chunks import Halted, Unreadable
from tests.systems.engagement.engagement_fixtures import NOON, Workshop, approve, program, write
from tests.systems.engagement.sources.file_sources import files, read
from tests.systems.engagement.web import Asked, Reply, Web
from tests.systems.harness import Served, serving, wait_for

# As many rows as nobody will ever see, and none of them is ready before all are.
ENDLESS = "SELECT max(a.range + b.range) AS customer_id FROM range(1000000000000) a CROSS JOIN range(1000000) b"


def endless(**changes: Any) -> dict[str, Any]:
    connector = {"type": "files", "tables": {"customers": "customers.csv"}, "query": ENDLESS}
    return program(dataConnectors=[connector], **changes)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    write(tmp_path / "sources" / "customers.csv", [("a", 1, "IT", 1)])
    with serving(load("engagement"), data=tmp_path) as served:
        yield served


def begun(served: Served, name: str = "p") -> tuple[httpx.Client, str]:
    """A run that waits for its query."""
    admin = served.client("root", "Admins", path="/engagement")
    path = f"/programs/{name}/marketplaces/US"
    assert admin.put(path, json=endless()).status_code == 200
    approve(served, admin, path)
    run = admin.post(f"{path}/runs")
    assert run.status_code == 202
    wait_for(lambda: any(each.name == "engagement.query" for each in threading.enumerate()))
    return admin, f"{path}/runs/{run.json()['runId']}"


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(("wish", "state"), [("stop", "stopped"), ("cancel", "cancelled")])
def test_a_run_that_is_asked_to_end_does_not_wait_for_its_query(served: Served, wish: str, state: str) -> None:
    admin, path = begun(served)
    assert admin.post(f"{path}/{wish}").status_code == 200
    ended = wait_for(lambda: (found := admin.get(path).json())["state"] != "running" and found, seconds=20)
    assert (ended["state"], ended["failure"]) == (state, None)
    wait_for(lambda: not any(each.name == "engagement.query" for each in threading.enumerate()))


@pytest.mark.requirement("CE8")
def test_a_process_that_stops_does_not_wait_for_a_query_and_leaves_the_run_to_the_next(tmp_path: Path) -> None:
    write(tmp_path / "sources" / "customers.csv", [("a", 1, "IT", 1)])
    with serving(load("engagement"), data=tmp_path) as served:
        begun(served)
        clock = served.clock
    # Nothing is left that works, and the run is nobody's.
    assert not any(each.name.startswith("engagement.") for each in threading.enumerate())
    with Store.open(tmp_path) as store:
        (run,) = store.iterate(Run)
        (slot,) = store.iterate(Slot)
    assert (run.state, run.failure) == (RunState.RUNNING, None)
    assert slot.lease_end.timestamp() <= clock()


@pytest.mark.requirement("CE8")
def test_a_query_has_a_time_limit_and_the_record_says_so(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("a", 1, "IT", 1)])
    made = workshop.put(endless())
    runs = Runs(workshop.pipeline(), Sources(workshop.folder, seconds=0.3), workshop.clock)
    run = runs.execute(runs.begin(made))
    assert run.state is RunState.FAILED
    assert run.failure == "its query took longer than 0.3 seconds (source_seconds)"


def test_the_time_is_of_each_step_and_not_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done with the rows takes as long as it takes."""
    write(tmp_path / "c.csv", [(f"c-{number}", 1, "IT", 1) for number in range(10)])
    hours = 0.0
    monkeypatch.setattr(file_connector, "time", SimpleNamespace(monotonic=lambda: 3600 * hours))
    monkeypatch.setattr(file_connector, "_LOOK_EVERY", 0.001)
    with opened(files(), tmp_path, {"c": tmp_path / "c.csv"}, within=60, halted=lambda: False) as rows:
        found = 0
        for _, chunk in rows.read("SELECT customer_id, '', '' FROM c", 5):
            found += len(chunk)
            hours += 1
            # Time for a look or two at the process.
            threading.Event().wait(0.02)
    assert found == 10


def test_a_query_has_a_part_of_the_memory_and_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.systems.engagement.sources.file_connector._MAX_SPILL_BYTES", 20_000_000)
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    with opened(files(), tmp_path, {"c": tmp_path / "c.csv"}, within=60, halted=lambda: False) as rows:
        large = "SELECT md5(range::VARCHAR) AS a, md5(range::VARCHAR) AS b, range AS c FROM range(3000000)"
        with pytest.raises(Unreadable, match="Out of Memory") as raised:
            next(iter(rows.read(large, 10)))
    assert "/tablewright-" not in str(raised.value)


@pytest.mark.requirement("CE8")
def test_more_than_fits_into_memory_is_sorted_on_disk(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    with opened(files(), tmp_path, {"c": tmp_path / "c.csv"}, within=60, halted=lambda: False) as rows:
        query = "SELECT md5(range::VARCHAR) AS a, '' AS b, repeat('x', 100) AS c FROM range(1500000)"
        columns, first = next(iter(rows.read(query, 3)))
    assert [row[0] for row in first] == sorted(row[0] for row in first)
    assert columns == ["a", "b", "c"]


# What DuckDB does not break off when it is asked to, and what it needs more memory for than it keeps count of.
STUBBORN = "SELECT levenshtein(repeat('a', 130000), repeat('b', 130000 + age)) AS customer_id FROM c"
PLANS = ", ".join(f"p{n} AS NOT MATERIALIZED (SELECT a.* FROM p{n - 1} a CROSS JOIN p{n - 1} b)" for n in range(1, 23))
LARGE = f"WITH p0 AS (SELECT customer_id FROM c), {PLANS} SELECT customer_id FROM p22"


@pytest.mark.requirement("CE8")
def test_a_query_that_cannot_be_interrupted_is_killed(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [(f"c-{number}", number, "IT", 1) for number in range(50)])
    halted = threading.Event()
    others = set(_children(os.getpid()))

    def at_work() -> bool:
        return any(_cpu_seconds(each) > 1 for each in set(_children(os.getpid())) - others)

    def ask() -> None:
        wait_for(at_work)
        halted.set()

    asking = threading.Thread(target=ask)
    asking.start()
    before = _cpu_of_children()
    with pytest.raises(Halted):
        read(tmp_path, files(STUBBORN), halted=halted.is_set)
    asking.join()
    # It would have gone on for half a minute.
    assert _cpu_of_children() - before < 15


@pytest.mark.slow
@pytest.mark.requirement("CE8")
def test_a_query_that_takes_all_memory_ends_alone(workshop: Workshop) -> None:
    write(workshop.folder / "c.csv", [("a", 1, "IT", 1)])
    connector = {"type": "files", "tables": {"c": "c.csv"}, "query": LARGE}
    run = workshop.run(workshop.put(program(dataConnectors=[connector])))
    assert run.state is RunState.FAILED
    assert run.failure is not None
    assert "memory" in run.failure.lower()


def test_a_query_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    program = (
        "from pathlib import Path\n"
        "from tablewright.systems.engagement.configuration import FilesConnector\n"
        "from tablewright.systems.engagement.sources.connectors import Sources\n"
        f"connector = FilesConnector(type='files', tables={{'c': 'c.csv'}}, query={ENDLESS!r})\n"
        f"with Sources(Path({str(tmp_path)!r})).open(connector) as source:\n"
        "    source.count()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        (child,) = wait_for(lambda: [each for each in _children(process.pid) if _cpu_seconds(each) > 0.5])
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not _is_alive(child))


def test_a_query_knows_nothing_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEWRIGHT_PRIVACY_SECRET", "hunter2")
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    before = set(_children(os.getpid()))
    with opened(files(), tmp_path, {"c": tmp_path / "c.csv"}, within=60, halted=lambda: False):
        (child,) = set(_children(os.getpid())) - before
        assert b"hunter2" not in Path(f"/proc/{child}/environ").read_bytes()
    assert not _is_alive(child)


def _is_alive(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def athena(asked: Asked) -> Reply:
    """An Athena whose query never ends."""
    match asked.headers["x-amz-target"].rpartition(".")[2]:
        case "StartQueryExecution":
            return 200, b'{"QueryExecutionId": "q-1"}'
        case "GetQueryExecution":
            return 200, b'{"QueryExecution": {"Status": {"State": "RUNNING"}}}'
    return 200, b"{}"


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(("seconds", "leaves"), [(0.1, False), (60, True)])
def test_a_query_of_athena_is_stopped_there_as_well(workshop: Workshop, seconds: float, leaves: bool) -> None:
    made = workshop.put(program(dataConnectors=[{"type": "athena", "query": "SELECT 1 AS customer_id"}]))
    leaving = threading.Event()
    with Web(athena) as web:
        runs = Runs(workshop.pipeline(), Sources(workshop.folder, "us-east-1", web.url, seconds), workshop.clock)
        held = runs.begin(made)
        if leaves:
            leaving.set()
        run = runs.execute(held, leaving=leaving)
        targets = [asked.headers["x-amz-target"].rpartition(".")[2] for asked in web.asked]
    assert (targets[0], targets[-1]) == ("StartQueryExecution", "StopQueryExecution")
    assert run.state is (RunState.RUNNING if leaves else RunState.FAILED)
    told = None if leaves else "Athena took longer than 0.1 seconds (source_seconds)"
    assert run.failure == told


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("signal_", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_the_command_ends_on_a_signal(tmp_path: Path, signal_: signal.Signals) -> None:
    data = tmp_path / "data"
    write(data / "sources" / "customers.csv", [("a", 1, "IT", 1)])
    models = [{"modelId": "value-v1", "weight": 1}]
    configuration = Configuration.model_validate(endless(scoringModels=models))
    with Store.open(data) as store:
        store.ensure_tables(*design.tables)
        values = {name: getattr(configuration, name) for name in Configuration.model_fields}
        version = ProgramVersion(
            program_id="p", marketplace_id="US", number=1, configuration=configuration, changed_by="test", at=NOON
        )
        approval = Approval(state=ApprovalState.APPROVED)
        made = Program(program_id="p", marketplace_id="US", approval=approval, **values)
        store.transact(Create(made), Create(version))
    command = [sys.executable, "-m", "tablewright", "engagement", "run", "p", "--marketplace", "US", "--json"]
    process = subprocess.Popen(
        [*command, "--data", str(data)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ}
    )
    try:
        wait_for(lambda: any(_cpu_seconds(each) > 2 for each in _children(process.pid)), seconds=60)
        process.send_signal(signal_)
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert json.loads(output)["state"] == "running"


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _cpu_seconds(pid: int) -> float:
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
