"""A query is one SELECT over the files that its connector lists; it reaches nothing else, and tells of no place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tablewright.systems.engagement.sources.connectors import Sources
from tablewright.systems.engagement.sources.query_checks import check_query
from tablewright.systems.engagement.sources.row_chunks import Rows, Unreadable
from tests.systems.engagement.engagement_fixtures import write
from tests.systems.engagement.sources.file_sources import files, read

ROWS = [("a", 1, "IT", 1)]


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM c",
        "FROM c",
        "TABLE C",
        'SELECT * FROM "c" AS d -- and a remark',
        "WITH old AS (SELECT * FROM c WHERE age > 90) SELECT * FROM c WHERE age NOT IN (SELECT age FROM old)",
        "SELECT * FROM c UNION ALL SELECT * FROM c ORDER BY 1",
        "SELECT n AS customer_id FROM range(3) AS t(n), unnest([1, 2]), generate_series(1, 2)",
        "VALUES ('a')",
        "WITH a AS (SELECT * FROM c), b AS (SELECT * FROM a) SELECT * FROM b WHERE age IN (SELECT age FROM A)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i AS customer_id FROM n",
        "SELECT * FROM c WHERE age > (WITH a AS (SELECT avg(age) AS m FROM c) SELECT m FROM a)",
        "WITH c AS (SELECT * FROM c WHERE age > 3) SELECT * FROM c",
        "SELECT * FROM (PIVOT c ON country IN ('IT') USING sum(points))",
        "SELECT 'PRAGMA ; read_csv(*)' AS customer_id FROM c",
    ],
)
def test_a_select_over_the_listed_tables_is_accepted(query: str) -> None:
    check_query(query, ["c"])


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("PRAGMA database_list", "one SELECT"),
        ("DESCRIBE c", "one SELECT"),
        ("SHOW TABLES", "one SELECT"),
        ("SELECT * FROM (SHOW ALL TABLES)", "one SELECT"),
        ("SUMMARIZE c", "one SELECT"),
        ("CALL pragma_version()", "one SELECT"),
        ("EXPLAIN SELECT 1", "one SELECT"),
        ("SET threads = 8", "one SELECT"),
        ("ATTACH 'x.db'", "one SELECT"),
        ("COPY c TO 'x.csv'", "one SELECT"),
        ("INSTALL httpfs", "one SELECT"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("-- nothing", "one SELECT"),
        ("SELECT 1;", "cannot be parsed"),
        ("SELECT 1) AS source; DROP VIEW c; SELECT (1", "cannot be parsed"),
        ("SELECT * FROM c) AS source UNION (SELECT * FROM c", "cannot be parsed"),
        ("SELECT * FROM '*.csv'", "not one of its tables, which are c"),
        ("SELECT * FROM 'other.csv'", "not one of its tables"),
        ("SELECT * FROM c WHERE age IN (FROM 'other.csv')", "not one of its tables"),
        ("SELECT * FROM d", "d is not one of its tables"),
        ("SELECT * FROM memory.main.c", "not one of its tables"),
        ("SELECT * FROM information_schema.tables", "not one of its tables"),
        ("SELECT * FROM sqlite_master", "not one of its tables"),
        ('WITH "other.csv" AS (SELECT 1) SELECT * FROM "other.csv"', "not a valid name"),
        ("SELECT * FROM read_csv('other.csv')", "not read_csv"),
        ("SELECT * FROM read_text('c.csv')", "not read_text"),
        ("SELECT * FROM glob('*')", "not glob"),
        ("SELECT * FROM query('SELECT 1')", "not query"),
        ("SELECT * FROM query_table('c')", "not query_table"),
        ("SELECT * FROM duckdb_settings()", "not duckdb_settings"),
        ("WITH d AS (SELECT * FROM d) SELECT * FROM d", "d is not one of its tables"),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a", "b is not one of its tables"),
        ("SELECT * FROM c, (WITH d AS (SELECT 1) SELECT * FROM d), d", "d is not one of its tables"),
        ("WITH RECURSIVE d AS (SELECT * FROM d UNION SELECT * FROM d) SELECT * FROM d", "d is not one of its tables"),
        ("WITH RECURSIVE d AS (SELECT * FROM d) SELECT * FROM d", "d is not one of its tables"),
        ("WITH duckdb_views AS (SELECT * FROM duckdb_views) SELECT * FROM duckdb_views", "DuckDB's internal tables"),
        ("WITH SQLite_master AS (SELECT 1) SELECT * FROM c", "DuckDB's internal tables"),
        ("SELECT current_setting('allowed_paths') AS customer_id", "current_setting"),
        ("SELECT * FROM c WHERE ('allowed_paths').Current_Setting() IS NOT NULL", "current_setting"),
        ("SELECT list_transform([1], x -> current_setting('threads')) FROM c", "current_setting"),
        ("SELECT main.current_setting('threads') FROM c", "current_setting"),
        ("SELECT pg_get_viewdef(oid) FROM range(9) AS t(oid)", "pg_get_viewdef"),
        ("SELECT getenv('HOME')", "getenv"),
        ("SELECT * FROM c WHERE age > ?", "parameters .* are not supported"),
        ("SELECT $1", "parameters .* are not supported"),
        ("SELECT FROM WHERE", "cannot be parsed"),
        (f"SELECT {'+'.join('1' * 4_000)}", "depth"),
    ],
)
def test_any_other_query_is_refused(query: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_query(query, ["c"])


def test_nothing_of_duckdb_s_own_is_known_by_its_name() -> None:
    with duckdb.connect(":memory:") as connection:
        views = connection.sql(
            "SELECT view_name FROM duckdb_views() WHERE schema_name <> 'information_schema'"
        ).fetchall()
        macros = connection.sql(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'macro'"
            " AND regexp_matches(macro_definition, '(duckdb|pragma)_\\w+\\(|current_setting')"
        ).fetchall()
    assert len(views) > 20
    assert len(macros) > 2
    for (name,) in views:
        for query in (f"SELECT * FROM {name}", f"WITH {name} AS (SELECT 1) SELECT * FROM {name}"):
            with pytest.raises(ValueError, match=name):
                check_query(query, ["c"])
        with pytest.raises(ValueError, match=name):
            check_query("SELECT * FROM c", ["c", name])
    for (name,) in macros:
        with pytest.raises(ValueError, match=name):
            check_query(f"SELECT {name}(1)", ["c"])


@pytest.fixture(scope="module")
def opened_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Rows]]:
    """A folder with a file more than a connector lists, and the connector's rows; one process for all queries."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("c.csv", "other.csv"):
        write(folder / name, ROWS)
    with Sources(folder).open(files()) as source:
        yield folder, source.rows


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{folder}/other.csv'",
        "SELECT * FROM '{folder}/*.csv'",
        "SELECT * FROM read_csv('{folder}/other.csv')",
        "SELECT * FROM read_text('{folder}/other.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
        "SELECT getenv('HOME')",
        "COPY (SELECT 1) TO '{folder}/c.csv'",
        "ATTACH '{folder}/x.db'",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{folder}/other.csv']",
        "SELECT * FROM folder",
    ],
)
def test_even_unchecked_it_reaches_only_the_listed_files(opened_rows: tuple[Path, Rows], query: str) -> None:
    folder, rows = opened_rows
    before = (folder / "c.csv").read_text()
    with pytest.raises(Unreadable):
        list(rows.read(query.format(folder=folder), 10))
    assert rows.count("SELECT * FROM c") == 1
    assert (folder / "c.csv").read_text() == before
    assert {each.name for each in folder.iterdir()} == {"c.csv", "other.csv"}


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize(
    ("content", "query", "told"),
    [
        ("customer_id,age\na,x\n", "SELECT customer_id, age::INT AS age FROM c", "Could not convert"),
        ("customer_id,age\na,1\n", "SELECT age FROM c", "customer_id"),
    ],
)
def test_errors_do_not_reveal_the_path_of_the_folder(tmp_path: Path, content: str, query: str, told: str) -> None:
    (tmp_path / "c.csv").write_text(content)
    with pytest.raises(Unreadable, match=told) as raised:
        read(tmp_path, files(query))
    assert str(tmp_path) not in str(raised.value)


def test_a_missing_or_invalid_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"^c.csv is not in the folder of sources$"):
        read(tmp_path, files())
    (tmp_path / "c.csv").mkdir()
    with pytest.raises(Unreadable, match=r"^c.csv is not in the folder of sources$"):
        read(tmp_path, files())
    (tmp_path / "c.csv").rmdir()
    (tmp_path / "c.csv").symlink_to("/etc/passwd")
    with pytest.raises(Unreadable, match=r"^c.csv is not in the folder of sources$"):
        read(tmp_path, files())


def test_an_unreadable_file_is_reported_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "c.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(Unreadable, match=r"c\.parquet") as raised:
        read(tmp_path, files(c="c.parquet"))
    assert str(tmp_path) not in str(raised.value)
