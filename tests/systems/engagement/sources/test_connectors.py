"""Where customers come from: files by DuckDB, and Athena; in order, behind a checkpoint, and nothing else is read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import Request, urlopen

import duckdb
import pytest

from tablewright.systems.engagement.configuration import AthenaConnector, FilesConnector
from tablewright.systems.engagement.model import Candidate, Checkpoint, RunState
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.sources import demo_customers, file_connector
from tablewright.systems.engagement.sources.connectors import Sources, selected
from tablewright.systems.engagement.sources.row_chunks import IN_ORDER, Unreadable
from tests.systems.engagement.engagement_fixtures import Workshop, program, write
from tests.systems.engagement.sources.file_sources import files, read


def places(chunks: list[list[Prospect]]) -> list[tuple[str, str, str]]:
    return [prospect.place for chunk in chunks for prospect in chunk]


def assert_read_behind_each(folder: Path, connector: FilesConnector, whole: list[tuple[str, str, str]]) -> None:
    with Sources(folder).open(connector) as source:
        for index, (customer, type_, id_) in enumerate(whole):
            after = Checkpoint(customer_id=customer, subject_type=type_, subject_id=id_)
            assert places(list(source.prospects("p", after, 3))) == whole[index + 1 :]


@pytest.mark.requirement("CE8")
def test_rows_come_in_chunks_in_the_order_of_customers(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [(name, 1, "IT", 2) for name in ("10", "9", "b", "a", "Z", "é", "100")])
    chunks = read(tmp_path, files())
    assert [len(chunk) for chunk in chunks] == [3, 3, 1]
    assert [place[0] for place in places(chunks)] == ["10", "100", "9", "Z", "a", "b", "é"]
    assert chunks[0][0].attributes == {"age": 1, "country": "IT", "points": 2}


@pytest.mark.requirement("CE8")
def test_reading_continues_after_any_checkpoint(tmp_path: Path) -> None:
    rows = [(f"c-{each % 4}'", "product" if each % 3 else "book", f"s{each}") for each in range(20)]
    write(tmp_path / "c.csv", rows, ("customer_id", "kind", "sku"))
    connector = files("SELECT customer_id, kind, sku FROM c", c="c.csv")
    whole = places(read(tmp_path, connector, size=100))
    assert whole == sorted(whole)
    assert len(whole) == 20
    assert_read_behind_each(tmp_path, connector, whole)


@pytest.mark.requirement("CE8")
def test_reading_continues_after_any_characters(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    query = "SELECT 'a' || chr(n::INT) || 'z' AS customer_id, 'k' || chr(0) AS kind, '$1 ?' || chr(39) AS sku FROM n, c"
    connector = files(f"WITH n AS (SELECT unnest([0, 1, 10, 34, 36, 39, 92, 127, 233]) AS n) {query}", c="c.csv")
    whole = places(read(tmp_path, connector, size=100))
    assert [customer for customer, _, _ in whole] == [f"a{chr(code)}z" for code in (0, 1, 10, 34, 36, 39, 92, 127, 233)]
    assert_read_behind_each(tmp_path, connector, whole)


@pytest.mark.requirement("CE8")
def test_two_rows_of_a_customer_and_subject_are_one_and_rows_without_a_customer_are_none(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", 1), ("", 1, "IT", 1), ("a", 1, "IT", 1), ("b", 1, "IT", 1)])
    assert [place[0] for place in places(read(tmp_path, files(), size=1))] == ["a", "b"]


@pytest.mark.requirement("CE8")
def test_a_run_counts_and_reads_a_file_in_one_process(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting one, and looking at all of a file to find out what its columns are, takes longer than most queries."""
    write(workshop.folder / "c.csv", [("a", 1, "IT", 1), ("b", 1, "IT", 1)])
    started: list[object] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(arguments)
        return subprocess.Popen(*arguments, **options)

    monkeypatch.setattr(file_connector, "subprocess", SimpleNamespace(Popen=start, PIPE=-1, DEVNULL=-3))
    connector = {"type": "files", "tables": {"c": "c.csv"}, "query": "SELECT * FROM c"}
    run = workshop.run(workshop.put(program(dataConnectors=[connector])))
    assert (run.state, run.total, run.counts.read, len(started)) == (RunState.COMPLETED, 2, 2, 1)
    # Where there are others, what they add to the total has to be known before.
    second = workshop.run(workshop.put(program(dataConnectors=[connector, connector | {"query": "FROM c"}]), "q"))
    assert (second.state, second.total, second.counts.read, len(started)) == (RunState.COMPLETED, 4, 4, 1 + 3)


@pytest.mark.requirement("CE8")
def test_csv_and_parquet_can_be_joined_and_give_values_of_their_kind(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", "1.5"), ("b", 2, "", "2")])
    duckdb.sql("SELECT 'a' AS id, DATE '2026-01-02' AS since, [1, 2] AS n, {'x': 1.5} AS m, true AS vip").write_parquet(
        str(tmp_path / "more.parquet")
    )
    query = "SELECT c.*, m.* EXCLUDE (id) FROM c LEFT JOIN more m ON c.customer_id = m.id"
    ((first, second),) = read(tmp_path, files(query, c="c.csv", more="more.parquet"))
    assert first.attributes == {
        "age": 1,
        "country": "IT",
        "points": Decimal("1.5"),
        "since": "2026-01-02",
        "n": [1, 2],
        "m": {"x": Decimal("1.5")},
        "vip": True,
    }
    assert (second.attributes["country"], second.attributes["vip"]) == (None, None)


@pytest.mark.requirement("CE8")
def test_a_number_may_name_a_customer(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [(number, 1, "IT", 1) for number in (2, 10, 1)])
    assert [place[0] for place in places(read(tmp_path, files()))] == ["1", "10", "2"]


def test_a_query_cannot_give_itself_more(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    settings = {"lock_configuration": "true", "enable_external_access": "false", "threads": "1"}
    told = ", ".join(f"current_setting('{name}')::VARCHAR AS {name}" for name in settings)
    with Sources(tmp_path).open(files()) as source:
        rows = source.rows
        assert list(rows.read(f"SELECT {told}", 1)) == [(list(settings), [tuple(settings.values())])]
        with pytest.raises(Unreadable, match="syntax error"):
            list(rows.read("SET enable_external_access = true", 1))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT age FROM c", "customer_id"),
        ("SELECT customer_id, country::int AS n FROM c", "Could not convert"),
    ],
)
def test_an_error_says_what_is_wrong_with_a_query(tmp_path: Path, query: str, told: str) -> None:
    write(tmp_path / "c.csv", [("a", 1, "IT", 1)])
    with pytest.raises(Unreadable, match=told):
        read(tmp_path, files(query, c="c.csv"))


@pytest.mark.requirement("CE8")
def test_customers_who_do_not_fit_are_errors_and_others_go_on(workshop: Workshop) -> None:
    rows = [("good", 1, "IT", 1), ("x" * 300, 1, "IT", 1), ("large", 1, "y" * 30_000, 1), ("also-good", 1, "IT", 1)]
    write(workshop.folder / "customers.csv", rows)
    run = workshop.run(workshop.put(program()))
    assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 2, 2)
    assert run.errors == {
        "the customer's id can have 1 to 200 characters": 1,
        "the attributes have more than 20000 bytes": 1,
    }


def test_demo_customers_are_always_the_same(tmp_path: Path) -> None:
    demo_customers.write_customers(tmp_path / "a.csv", 50)
    demo_customers.write_customers(tmp_path / "b.csv", 50)
    demo_customers.write_customers(tmp_path / "c.parquet", 50)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    queries = [f"SELECT * FROM '{tmp_path / name}' ORDER BY customer_id" for name in ("a.csv", "c.parquet")]
    first, second = (duckdb.sql(query).fetchall() for query in queries)
    assert first == second
    assert len({row[0] for row in first}) == 50


# -- Athena -------------------------------------------------------------------------------------------------------


@pytest.fixture
def athena(moto_server_url: str) -> Iterator[str]:
    yield moto_server_url
    urlopen(Request(f"{moto_server_url}/moto-api/reset", method="POST"), timeout=10).close()


def queue(url: str, columns: list[tuple[str, str]], rows: list[list[str | None]]) -> None:
    """The result that the next query gets."""
    header = [{"VarCharValue": name} for name, _ in columns]
    data = [[{} if value is None else {"VarCharValue": value} for value in row] for row in rows]
    information = [{"Name": name, "Type": type_} for name, type_ in columns]
    result = {"rows": [{"Data": row} for row in (header, *data)], "column_info": information}
    body = json.dumps({"results": [result], "region": "us-east-1"}).encode()
    address = f"{url}/moto-api/static/athena/query-results"
    urlopen(Request(address, body, {"Content-Type": "application/json"}), timeout=10).close()


KEYS = [(f"tablewright_{name}", "varchar") for name in ("customer", "subject_type", "subject_id")]


@pytest.mark.requirement("CE8")
def test_a_program_runs_over_athena(workshop: Workshop, athena: str) -> None:
    from tablewright.systems.engagement.runs.batch_run import Runs

    columns = [*KEYS, ("customer_id", "varchar"), ("points", "double"), ("vip", "boolean"), ("visits", "integer")]
    rows: list[list[str | None]] = [
        ["a", "", "", "a", "2.5", "true", "3"],
        ["b", "", "", "b", "7", "false", None],
    ]
    queue(athena, columns, rows)
    connector = {
        "type": "athena",
        "query": "SELECT * FROM customers",
        "database": "shop",
        "outputLocation": "s3://results/engagement/",
    }
    made = workshop.put(program(dataConnectors=[connector]))
    runs = Runs(workshop.pipeline(), Sources(workshop.folder, "us-east-1", athena), workshop.clock)
    run = runs.execute(runs.begin(made))
    assert (run.state, run.counts.candidates, run.total) == (RunState.COMPLETED, 2, None)
    found = {each.customer_id: each.attributes for each in workshop.store.iterate(Candidate)}
    assert found == {
        "a": {"points": Decimal("2.5"), "vip": True, "visits": 3},
        "b": {"points": 7, "vip": False, "visits": None},
    }


@pytest.mark.requirement("CE8")
def test_athena_is_queried_for_rows_after_the_checkpoint(athena: str) -> None:
    from botocore.session import Session

    connector = AthenaConnector(type="athena", query="SELECT * FROM customers", database="shop", workgroup="primary")
    queue(athena, [*KEYS, ("customer_id", "varchar")], [])
    after = Checkpoint(customer_id="o'hara")
    with Sources(Path("."), "us-east-1", athena).open(connector) as source:
        assert list(source.prospects("p", after, 10)) == []
    client: Any = Session().create_client("athena", region_name="us-east-1", endpoint_url=athena)
    (execution,) = client.list_query_executions()["QueryExecutionIds"]
    asked = client.get_query_execution(QueryExecutionId=execution)["QueryExecution"]
    assert asked["Query"] == f"{selected(connector, after)} {IN_ORDER}"
    assert asked["QueryExecutionContext"] == {"Database": "shop"}
    assert "'o''hara'" in asked["Query"]


def test_an_athena_that_cannot_be_reached_fails_the_run_and_says_so(workshop: Workshop) -> None:
    from tablewright.systems.engagement.runs.batch_run import Runs

    made = workshop.put(program(dataConnectors=[{"type": "athena", "query": "SELECT 1"}]))
    runs = Runs(workshop.pipeline(), Sources(workshop.folder, "us-east-1", "http://127.0.0.1:9"), workshop.clock)
    run = runs.execute(runs.begin(made))
    assert (run.state, run.failure) == (RunState.FAILED, "Athena cannot be reached (EndpointConnectionError)")
