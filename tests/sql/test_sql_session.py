"""SQL over tables and entities: what comes out, what is kept from it, and what it takes."""

from __future__ import annotations

import csv
import random
import threading
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from tablewright.engine import Engine
from tablewright.model import Design
from tablewright.sql import LoadProgress, SqlError, SqlLimits, SqlSession, relation_rows, workbook
from tablewright.store import EmbeddedBackend, Request, Store
from tests.clocks import Clock
from tests.engine.table_requests import on_demand
from tests.store import endpoints
from tests.store.models import Feedback, Session, Ticket, TicketStatus, desk

NOW = 1_763_000_000.0


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with Engine.open(clock=clock, entropy=random.Random(7)) as engine:
        yield engine


@pytest.fixture
def store(engine: Engine, clock: Clock) -> Store:
    store = Store.on(engine, clock=clock)
    store.ensure_tables(desk)
    return store


@pytest.fixture
def sql(engine: Engine, clock: Clock) -> Iterator[SqlSession]:
    design = Design("desk", tables=[desk])
    with SqlSession(EmbeddedBackend(engine, owned=False), [design], clock=clock) as session:
        yield session


def ticket(number: int, customer: str, status: TicketStatus = TicketStatus.OPEN) -> Ticket:
    at = datetime(2026, 11, 1, number, 30, tzinfo=UTC)
    return Ticket(ticket_id=f"t-{number}", customer_id=customer, status=status, opened_at=at, tags={"a", "b"})


def music(engine: Engine, *items: dict[str, Any]) -> None:
    engine.call("CreateTable", on_demand())
    for number, item in enumerate(items):
        engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": f"i-{number}"}, **item}})


@pytest.mark.requirement("ST5")
def test_entities_of_one_table_are_relations_to_join_and_group(store: Store, sql: SqlSession) -> None:
    for number, customer in enumerate(["ada", "ada", "bob"]):
        store.put(ticket(number, customer, TicketStatus.CLOSED if number else TicketStatus.OPEN))
    store.put(Feedback(feedback_id="f-1", ticket_id="t-1", operator_id="o-1", rating=5, remark="thanks"))
    result = sql.query(
        """SELECT customer_id, count(*) AS tickets, avg(rating) AS rating, min(opened_at) AS first
           FROM Ticket LEFT JOIN Feedback USING (ticket_id) GROUP BY ALL ORDER BY customer_id"""
    )
    assert result.columns == ("customer_id", "tickets", "rating", "first")
    assert result.rows == [
        ("ada", 2, 5.0, datetime(2026, 11, 1, 0, 30)),
        ("bob", 1, None, datetime(2026, 11, 1, 2, 30)),
    ]
    (row,) = sql.query("SELECT status, tags, escalated_at FROM ticket WHERE ticket_id = 't-2'").rows
    assert row == ("CLOSED", ["a", "b"], None)
    assert sql.query(f'SELECT count(*) FROM "{desk.name}"').rows == [(4,)]


@pytest.mark.requirement("ST5")
def test_what_has_expired_is_in_the_table_and_not_among_the_entities(
    store: Store, sql: SqlSession, clock: Clock
) -> None:
    store.put(Session(session_id="s-1", user_id="ada"))
    clock.now += 100 * 3600
    assert sql.query("SELECT count(*) FROM Session").rows == [(0,)]
    assert sql.query(f'SELECT count(*) FROM tables."{desk.name}"').rows == [(1,)]


@pytest.mark.requirement("ST5")
def test_values_keep_what_they_are(engine: Engine, sql: SqlSession) -> None:
    digits = "12345678901234567890123456789012345678"
    music(
        engine,
        {
            "whole": {"N": "12"},
            "large": {"N": digits},
            "price": {"N": "19.90"},
            "tiny": {"N": "0.00000000000000000000000000000000000000000000000001"},
            "yes": {"BOOL": True},
            "data": {"B": "aGVsbG8="},
            "names": {"SS": ["b", "a"]},
            "numbers": {"NS": ["1", "2"]},
            "list": {"L": [{"N": "1"}, {"N": "2.5"}]},
            "map": {"M": {"deep": {"L": [{"N": digits}, {"NULL": True}]}}},
            "mixed": {"S": "a"},
            "none": {"NULL": True},
            "html": {"S": '<b>"it\'s"</b>\n\x01'},
        },
        {"whole": {"N": "-7"}, "mixed": {"N": "1"}, "list": {"L": []}, "price": {"N": "-3"}},
    )
    result = sql.query("SELECT * FROM music ORDER BY pk")
    types = dict(zip(result.columns, result.types, strict=True))
    first, second = (dict(zip(result.columns, row, strict=True)) for row in result.rows)
    assert (first["whole"], second["whole"], types["whole"]) == (12, -7, "BIGINT")
    assert first["large"] == int(digits)
    assert (first["price"], second["price"]) == (Decimal("19.9"), Decimal(-3))
    assert first["tiny"] == 1e-50
    assert first["yes"] is True
    assert first["data"] == b"hello"
    assert sorted(first["names"]) == ["a", "b"]
    assert first["list"] == [Decimal(1), Decimal("2.5")]
    assert second["list"] == []
    assert digits in first["map"]
    assert types["mixed"] == "JSON"
    assert (first["mixed"], second["mixed"]) == ('"a"', '"1"')
    assert first["none"] is None
    assert first["html"] == '<b>"it\'s"</b>\n\x01'
    assert second["map"] is None


@pytest.mark.requirement("ST5")
def test_names_that_differ_in_case_only_are_two_columns(engine: Engine, sql: SqlSession) -> None:
    music(engine, {"Name": {"S": "a"}, "name": {"S": "b"}, 'odd "name"': {"S": "c"}})
    assert sql.query("SELECT * FROM music").columns == ("pk", "Name", "name_2", 'odd "name"')


@pytest.mark.requirement("ST5")
def test_attributes_beyond_the_most_columns_are_in_one(
    engine: Engine, sql: SqlSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation_rows, "_MOST_COLUMNS", 3)
    music(engine, {name: {"S": name} for name in "abcd"})
    (row,) = sql.query("SELECT a, b, further_attributes->>'d' FROM music").rows
    assert row == ("a", "b", "d")


@pytest.mark.requirement("ST5")
def test_an_item_that_cannot_be_read_is_counted_and_left_out(store: Store, engine: Engine, sql: SqlSession) -> None:
    store.put(ticket(1, "ada"))
    broken = {"PK": {"S": "TICKET#t-9"}, "SK": {"S": "META"}, "kind": {"S": "Ticket"}}
    engine.call("PutItem", {"TableName": desk.name, "Item": broken})
    assert sql.query("SELECT ticket_id FROM Ticket").rows == [("t-1",)]
    assert sql.unreadable() == {"Ticket": 1}


@pytest.mark.requirement("ST5")
def test_a_table_is_read_once_and_its_cost_is_known_before(engine: Engine, sql: SqlSession) -> None:
    music(engine, *({"v": {"S": "x" * 900}} for _ in range(50)))
    estimate = sql.estimate("SELECT count(*) FROM music")
    (scan,) = estimate.tables
    size = engine.call("DescribeTable", {"TableName": "music"})["Table"]["TableSizeBytes"]
    assert (scan.table, scan.items, scan.size) == ("music", 50, size)
    seen: list[LoadProgress] = []
    assert sql.query("SELECT count(*) FROM music", on_progress=seen.append).rows == [(50,)]
    assert seen[-1].items == seen[-1].expected == 50
    assert seen[-1].read_units == scan.read_units > 0
    assert sql.estimate("SELECT count(*) FROM music").tables == ()
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "more"}}})
    assert sql.query("SELECT count(*) FROM music").rows == [(50,)]
    sql.forget("music")
    assert sql.query("SELECT count(*) FROM music").rows == [(51,)]
    engine.call("DeleteTable", {"TableName": "music"})
    sql.forget()
    with pytest.raises(SqlError, match="music does not exist"):
        sql.query("SELECT count(*) FROM music")


@pytest.mark.requirement("ST5")
def test_tables_as_they_were_at_a_time(engine: Engine, clock: Clock) -> None:
    music(engine)
    recovery = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "music", "PointInTimeRecoverySpecification": recovery})
    engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}})
    engine.call("CreateTable", on_demand(TableName="other"))
    then = clock.now
    clock.now += 60
    engine.call("DeleteItem", {"TableName": "music", "Key": {"pk": {"S": "a"}}})
    with SqlSession(EmbeddedBackend(engine.at(then), owned=False)) as past:
        assert past.query("SELECT pk FROM music").rows == [("a",)]
        assert [relation.name for relation in past.relations()] == ["music"]
        with pytest.raises(SqlError, match="not enabled"):
            past.query("SELECT * FROM other")


@pytest.mark.requirement("ST5")
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DELETE FROM music", "one SELECT"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", "one SELECT"),
        ("ATTACH '/tmp/x' AS x", "one SELECT"),
        ("SET memory_limit = '1TB'", "one SELECT"),
        ("INSTALL excel", "one SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM '/etc/passwd'", "does not exist|disabled by configuration"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM glob('/*')", "disabled by configuration"),
        ("SELECT * FROM unknown", "does not exist"),
        ("SELECT * FROM query", "does not exist"),
        ("SELEC", "syntax error"),
        ("", "one SELECT"),
    ],
)
def test_a_query_reads_tables_and_nothing_else(sql: SqlSession, query: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        sql.query(query)


@pytest.mark.requirement("ST5")
def test_a_query_ends_in_time_and_when_it_is_stopped(engine: Engine) -> None:
    endless = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range % 7 = 3"
    backend = EmbeddedBackend(engine, owned=False)
    with (
        SqlSession(backend, limits=SqlLimits(seconds=0.2)) as sql,
        pytest.raises(SqlError, match=r"longer than 0\.2 s"),
    ):
        sql.query(endless)
    with SqlSession(backend) as sql:
        timer = threading.Timer(0.3, sql.stop)
        timer.start()
        with pytest.raises(SqlError, match="was stopped"):
            sql.query(endless)
        timer.join()
        assert sql.query("SELECT 1").rows == [(1,)]


@pytest.mark.requirement("ST5")
def test_memory_is_bounded(engine: Engine) -> None:
    limits = SqlLimits(memory="50MB", disk="1MB")
    sql = SqlSession(EmbeddedBackend(engine, owned=False), limits=limits)
    with sql, pytest.raises(SqlError, match=r"[Oo]ut of|exceed|could not"):
        sql.query("SELECT list(range) FROM range(50000000)")


@pytest.mark.requirement("ST5")
def test_a_result_cut_at_its_limit_is_marked(sql: SqlSession) -> None:
    result = sql.query("SELECT * FROM range(10)", limit=3)
    assert (len(result.rows), result.is_cut) == (3, True)
    assert not sql.query("SELECT * FROM range(3)", limit=3).is_cut


@pytest.mark.requirement("ST5")
def test_results_are_exported(engine: Engine, sql: SqlSession, tmp_path: Path) -> None:
    music(engine, {"n": {"N": "1.5"}, "t": {"S": '=1+1 "ü"'}}, {"t": {"S": "<&>\x00"}})
    query = "SELECT pk, n, t FROM music ORDER BY pk"
    assert sql.export(query, tmp_path / "it's.csv") == 2
    with (tmp_path / "it's.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["pk", "n", "t"], ["i-0", "1.5", '=1+1 "ü"'], ["i-1", "", "<&>\x00"]]
    assert sql.export(query + ";", tmp_path / "out.parquet") == 2
    rows = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(tmp_path / "out.parquet")]).fetchall()
    assert rows == [("i-0", Decimal("1.5"), '=1+1 "ü"'), ("i-1", None, "<&>\x00")]
    assert sql.export(query, tmp_path / "out.xlsx") == 2
    assert cells(tmp_path / "out.xlsx") == [
        ["pk", "n", "t"],
        ["i-0", "1.5", '=1+1 "ü"'],
        ["i-1", None, "<&>\ufffd"],
    ]
    with pytest.raises(SqlError, match=r"a file name with \.csv"):
        sql.export(query, tmp_path / "out.txt")
    with pytest.raises(SqlError, match="no folder"):
        sql.export(query, tmp_path / "missing" / "out.csv")
    with pytest.raises(SqlError):
        sql.export(f"SELECT 1) TO '{tmp_path}/other.csv' (FORMAT csv) --", tmp_path / "out.csv")
    assert not (tmp_path / "other.csv").exists()


def cells(path: Path) -> list[list[str | None]]:
    """The cells of a sheet, as another program reads them."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            ElementTree.fromstring(archive.read(name))
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    return [
        [next((each.text for each in cell.iter() if each.tag in (f"{space}t", f"{space}v")), None) for cell in row]
        for row in sheet.iter(f"{space}row")
    ]


@pytest.mark.requirement("ST5")
def test_a_workbook_has_no_more_rows_than_excel_reads(
    sql: SqlSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MOST_ROWS", 5)
    assert sql.export("SELECT * FROM range(4)", tmp_path / "out.xlsx") == 4
    with pytest.raises(SqlError, match=r"export to \.csv"):
        sql.export("SELECT * FROM range(5)", tmp_path / "out.xlsx")


@pytest.mark.requirement("ST5")
def test_a_server_is_read_in_parallel_segments(engine: Engine) -> None:
    music(engine, *({"v": {"S": "x" * 2000}} for _ in range(2000)))
    with endpoints.started("own_server", engine) as backend, SqlSession(backend, segments=4) as sql:
        assert sql.query("SELECT count(*), count(DISTINCT pk) FROM music").rows == [(2000, 2000)]
        assert sql.read_at("music") is not None


@pytest.mark.requirement("ST5")
def test_another_implementation_is_read_too() -> None:
    with endpoints.moto_server() as backend, SqlSession(backend, segments=3) as sql:
        backend.call(Request("CreateTable", on_demand(TableName="from-moto")))
        for number in range(30):
            item = {"pk": {"S": f"i-{number}"}, "n": {"N": str(number)}}
            backend.call(Request("PutItem", {"TableName": "from-moto", "Item": item}))
        assert sql.query('SELECT count(*), sum(n) FROM "from-moto"').rows == [(30, 435)]


@pytest.mark.requirement("ST5")
def test_reading_is_stopped_too(engine: Engine) -> None:
    music(engine, *({"v": {"S": "x" * 3000}} for _ in range(1500)))
    with SqlSession(EmbeddedBackend(engine, owned=False)) as sql:
        with pytest.raises(SqlError, match="was stopped"):
            sql.query("SELECT count(*) FROM music", on_progress=lambda _: sql.stop())
        began = time.monotonic()
        assert sql.query("SELECT count(*) FROM music").rows == [(1500,)]
        assert time.monotonic() - began < 60


@pytest.mark.requirement("ST5")
def test_entities_of_the_same_name_in_several_designs_get_distinct_relations(engine: Engine) -> None:
    from tablewright.systems.servicedesk import model as servicedesk
    from tablewright.systems.support import model as support

    designs = [servicedesk.design, support.design]
    store = Store.on(engine)
    store.ensure_tables(*(table for design in designs for table in design.tables))
    with SqlSession(EmbeddedBackend(engine, owned=False), designs) as session:
        tickets = {each.name: each.table for each in session.relations() if each.name.endswith("Ticket")}
        assert len(tickets) == len(set(tickets.values())) == 2
        with pytest.raises(SqlError, match=f"write {' or '.join(sorted(tickets))}"):
            session.query("SELECT count(*) FROM Ticket")
        for name in tickets:
            assert session.query(f"SELECT count(*) FROM {name}").rows == [(0,)]


@pytest.mark.requirement("ST5")
def test_parquet_has_all_digits_of_large_numbers(engine: Engine, sql: SqlSession, tmp_path: Path) -> None:
    numbers = ["12345678901234567890123456789012345678", "-9" + "8" * 36, "7"]
    items = [{"artist": {"S": f"a{number}"}, "n": {"N": n}, "set": {"NS": [n]}} for number, n in enumerate(numbers)]
    music(engine, *items)
    query = 'SELECT n, "set" AS "the ""set""", artist, n AS n FROM music ORDER BY artist'
    target = tmp_path / "out.parquet"
    assert sql.export(query, target) == 3
    rows = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(target)]).fetchall()
    assert [[str(n), [str(each) for each in some], artist] for n, some, artist, _ in rows] == [
        [number, [number], f"a{place}"] for place, number in enumerate(numbers)
    ]
