"""``tablewright sql``, as a user runs it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.store import Store
from tests.cli.commands import run
from tests.engine.table_requests import on_demand
from tests.store.models import Ticket, desk

pytestmark = pytest.mark.requirement("ST5")


@pytest.fixture
def data(tmp_path: Path) -> str:
    with Store.open(tmp_path / "data") as store:
        store.ensure_tables(desk)
        for number, customer in enumerate(["ada", "ada", "bob"]):
            opened = datetime(2026, 11, 1, tzinfo=UTC)
            store.put(Ticket(ticket_id=f"t-{number}", customer_id=customer, opened_at=opened))
    return str(tmp_path / "data")


COUNT = "SELECT customer_id, count(*) AS tickets FROM Ticket GROUP BY 1 ORDER BY 1"


def test_rows_are_printed_as_csv_to_a_pipe(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = run(capsys, "sql", data, COUNT, "--design", "tests.store.models")
    assert (status, out.splitlines()) == (0, ["customer_id,tickets", "ada,2", "bob,1"])
    assert error == "tablewright: Reading desk\n"


def test_without_a_query_what_there_is_is_listed(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "sql", data, "--design", "tests.store.models")
    assert status == 0
    assert "Ticket (entity of desk): ticket_id VARCHAR, customer_id VARCHAR, status VARCHAR, opened_at TIMESTAMP" in out
    assert "desk (table): PK VARCHAR, SK VARCHAR, ..." in out


def test_a_folder_without_tables_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Engine.open(tmp_path).close()
    assert run(capsys, "sql", str(tmp_path)) == (0, "", "tablewright: there are no tables\n")


def test_all_rows_go_to_a_file(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "out.csv")
    status, out, _ = run(capsys, "sql", data, COUNT, "--design", "tests.store.models", "--output", target)
    assert (status, out) == (0, f"{target}: 2 rows\n")
    assert Path(target).read_text() == "customer_id,tickets\nada,2\nbob,1\n"


def test_a_truncated_result_is_reported(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = run(capsys, "sql", data, "SELECT * FROM desk", "--limit", "2")
    assert (status, len(out.splitlines())) == (0, 3)
    assert "there are more rows than these 2" in error


def test_tables_as_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Engine.open(tmp_path / "data") as engine:
        engine.call("CreateTable", on_demand())
        recovery = {"PointInTimeRecoveryEnabled": True}
        engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": recovery})
        engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}})
        then = datetime.fromtimestamp(time.time(), UTC).isoformat()
        engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": "a"}}})
    folder = str(tmp_path / "data")
    assert run(capsys, "sql", folder, "SELECT pk FROM music")[1] == "pk\r\n"
    assert run(capsys, "sql", folder, "SELECT pk FROM music", "--at", then)[1] == "pk\r\na\r\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "SELECT 1"), "nothing"),
        (("data", "DROP TABLE desk"), "give one SELECT"),
        (("data", "SELECT * FROM nope"), "nope does not exist"),
        (("data", "SELECT 1", "--at", "soon"), "'soon' is not a time"),
        (("data", "SELECT 1", "--limit", "0"), "rows are a number from 1 to 10000"),
        (("data", "SELECT 1", "--segments", "0"), "the number of segments must be 1 to 100"),
        (("data", "SELECT 1", "--memory", "lots"), "Memory must have a number"),
        (("data", "SELECT 1", "--output", "out.txt"), "a file name with .csv, .parquet or .xlsx"),
        (("http://127.0.0.1:1", "SELECT 1", "--at", "2026-11-01T00:00:00Z"), "restore a table of an endpoint"),
        (("data", "SELECT 1", "--design", "no_such_design"), "there is no module"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    data: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, error = run(capsys, "sql", *arguments)
    assert status == 2
    assert message in error
