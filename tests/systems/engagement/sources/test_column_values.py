"""A column of any type that DuckDB has becomes an attribute, in a documented way, and no run fails by one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tablewright.systems.engagement.model import Candidate, RunState
from tablewright.systems.engagement.sources.connectors import Source, Sources
from tablewright.systems.engagement.sources.row_chunks import Rows
from tests.systems.engagement.engagement_fixtures import Workshop, program, write
from tests.systems.engagement.sources.file_sources import START, files, read

ZONED = "TIMESTAMPTZ '2026-01-02 03:04:05.5+02'"
IN_UTC = "2026-01-02T01:04:05.5+00:00"
BIG = "12345678901234567890123456789012345678901234567890"

VALUES: dict[str, tuple[str, Any]] = {
    "boolean": ("true", True),
    "text": ("'é'", "é"),
    "tinyint": ("(-1)::TINYINT", -1),
    "ubigint": ("18446744073709551615::UBIGINT", Decimal("18446744073709551615")),
    "hugeint of 38 digits": (f"{'9' * 38}::HUGEINT", str(10**38 - 1)),
    "hugeint": ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727"),
    "bignum": (f"'{BIG}'::BIGNUM", BIG),
    "decimal": ("1.50::DECIMAL(38, 2)", Decimal("1.50")),
    "double": ("0.1::DOUBLE", Decimal("0.1")),
    "NaN": ("'nan'::DOUBLE", None),
    "infinity": ("'-inf'::FLOAT", None),
    "NULL": ("NULL", None),
    "date": ("DATE '2026-01-02'", "2026-01-02"),
    "date without end": ("DATE 'infinity'", "infinity"),
    "time": ("TIME '12:34:56.5'", "12:34:56.5"),
    "time with zone": ("TIMETZ '12:34:56+02'", "12:34:56+02"),
    "timestamp": ("TIMESTAMP '2026-01-02 03:04:05'", "2026-01-02T03:04:05"),
    "timestamp without end": ("TIMESTAMP '-infinity'", "-infinity"),
    "timestamp far away": ("TIMESTAMP '290000-01-02 03:04:05'", "290000-01-02T03:04:05"),
    "timestamp of nanoseconds": ("TIMESTAMP_NS '2026-01-02 03:04:05.123456789'", "2026-01-02T03:04:05.123456789"),
    "timestamp of seconds": ("TIMESTAMP_S '2026-01-02 03:04:05'", "2026-01-02T03:04:05"),
    "timestamp with zone": (ZONED, IN_UTC),
    "timestamp with zone, none": ("NULL::TIMESTAMPTZ", None),
    "interval": ("INTERVAL '1 month 2 days 3 hours'", "1 month 2 days 03:00:00"),
    "uuid": ("'0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000'::UUID", "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"),
    "blob": ("'\\xAA\\x00'::BLOB", "qgA="),
    "bit": ("'0101'::BIT", "0101"),
    "enum": ("'y z'::ENUM('x', 'y z')", "y z"),
    "json": ("""'{"a": 1}'::JSON""", '{"a": 1}'),
    "list": ("[1, NULL]", [1, None]),
    "empty list": ("[]::TIMESTAMPTZ[]", []),
    "no list": ("NULL::TIMESTAMPTZ[]", None),
    "list of dates": ("[DATE '2026-01-02']", ["2026-01-02"]),
    "list of lists of zoned": (f"[[{ZONED}], NULL]", [[IN_UTC], None]),
    "array": ("[1, 2]::INT[2]", [1, 2]),
    "array of zoned": (f"[{ZONED}]::TIMESTAMPTZ[1]", [IN_UTC]),
    "struct": ("{'a': 1, 'b c': [0.5]}", {"a": 1, "b c": [Decimal("0.5")]}),
    "struct of zoned": (
        f"{{'at': {ZONED}, 'of \"day\"': DATE '2026-01-02', 'n': 1, 'in': {{'x': [{ZONED}, NULL]}}}}",
        {"at": IN_UTC, 'of "day"': "2026-01-02", "n": 1, "in": {"x": [IN_UTC, None]}},
    ),
    "no struct": ("NULL::STRUCT(moment TIMESTAMPTZ)", None),
    "struct without names": ("row(1, 'x')", "(1, x)"),
    "map": ("MAP {'k': 1}", {"k": 1}),
    "map by numbers": ("MAP {1: 2}", {"1": 2}),
    "map of zoned": (f"MAP {{DATE '2026-01-02': {ZONED}}}", {"2026-01-02": IN_UTC}),
    "map by lists": ("MAP {[1, 2]: 3}", {"[1, 2]": 3}),
    "union": ("union_value(n := 1)", 1),
    "union of zoned": (f"union_value(moment := {ZONED})", "2026-01-02 01:04:05.5+00"),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rows]:
    """One row, and one process for the queries of all tests."""
    folder = tmp_path_factory.mktemp("sources")
    write(folder / "c.csv", [("a", 1, "IT", 1)])
    with Sources(folder).open(files()) as source:
        yield source.rows


@pytest.mark.requirement("CE8")
@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_each_type(rows: Rows, name: str) -> None:
    expression, value = VALUES[name]
    source = Source(files(f"SELECT customer_id, {expression} AS x FROM c"), rows)
    ((prospect,),) = source.prospects("p", START, 10)
    assert prospect.attributes == {"x": value}


@pytest.mark.requirement("CE8")
def test_values_of_all_types_make_a_candidate(workshop: Workshop) -> None:
    """Together, from a Parquet file where that can hold them, and read back from the store."""
    write(workshop.folder / "customers.csv", [("a", 1, "IT", 7), ("b", 1, "IT", 7)])
    columns = ", ".join(f"{expression} AS x{number}" for number, (expression, _) in enumerate(VALUES.values()))
    query = f"SELECT *, {columns} FROM customers"
    connector = {"type": "files", "tables": {"customers": "customers.csv"}, "query": query}
    run = workshop.run(workshop.put(program(dataConnectors=[connector])))
    assert (run.state, run.failure, run.errors, run.counts.candidates) == (RunState.COMPLETED, None, {}, 2)
    for candidate in workshop.store.iterate(Candidate):
        expected = {f"x{number}": value for number, (_, value) in enumerate(VALUES.values())}
        assert {name: value for name, value in candidate.attributes.items() if name.startswith("x")} == expected


@pytest.mark.requirement("CE8")
def test_a_parquet_file_with_zoned_times_is_read(tmp_path: Path) -> None:
    duckdb.sql(f"SELECT 'a' AS customer_id, {ZONED} AS at, [{{'since': {ZONED}}}] AS history").write_parquet(
        str(tmp_path / "c.parquet")
    )
    ((prospect,),) = read(tmp_path, files(c="c.parquet"))
    assert prospect.attributes == {"at": IN_UTC, "history": [{"since": IN_UTC}]}


@pytest.mark.requirement("CE8")
def test_a_zoned_time_may_name_a_customer_and_rows_keep_their_order(tmp_path: Path) -> None:
    write(tmp_path / "c.csv", [("b", 1, "IT", 1), ("a", 2, "IT", 1), ("c", 3, "IT", 1)])
    query = f"SELECT {ZONED} + to_days(age) AS customer_id, {ZONED} AS at FROM c"
    chunks = read(tmp_path, files(query), size=2)
    assert [each.customer_id for chunk in chunks for each in chunk] == [
        f"2026-01-0{day} 01:04:05.5+00" for day in (3, 4, 5)
    ]


@pytest.mark.requirement("CE8")
def test_a_value_that_cannot_be_stored_is_that_customers_error(workshop: Workshop) -> None:
    write(workshop.folder / "customers.csv", [("a", 1, "IT", 7), ("b", 2, "IT", 7), ("c", 3, "IT", 7)])
    deep = "[" * 40 + "1" + "]" * 40
    query = f"SELECT *, CASE age WHEN 1 THEN {deep} END AS deep, MAP {{if(age = 2, '', 'k'): 1}} AS m FROM customers"
    connector = {"type": "files", "tables": {"customers": "customers.csv"}, "query": query}
    run = workshop.run(workshop.put(program(dataConnectors=[connector], maxFailedShare=1)))
    assert (run.state, run.failure, run.counts.failed, run.counts.candidates) == (RunState.COMPLETED, None, 2, 1)
    assert [each.customer_id for each in workshop.store.iterate(Candidate)] == ["c"]
