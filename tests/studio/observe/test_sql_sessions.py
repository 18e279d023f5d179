"""The SQL sessions of a studio: of the present and of moments, under the rule of a studio that only reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tablewright.sql import SqlError
from tablewright.store import EndpointBackend, Request
from tablewright.studio.observe.sql_sessions import SqlSessions
from tablewright.studio.studio_database import StudioDatabase
from tablewright.ui.api_calls import Refused
from tests.studio.observe.past_tables import BEGIN, item, past_tables

pytestmark = [pytest.mark.requirement("ST5"), pytest.mark.requirement("ST7")]


@pytest.fixture
def database() -> Iterator[StudioDatabase]:
    with past_tables() as found:
        yield found


def counted(sessions: SqlSessions, at: float | None) -> int:
    with sessions.use(at) as session:
        return int(session.query("SELECT count(*) FROM kept").rows[0][0])


def test_a_query_reads_the_tables_of_its_moment_and_windows_share_what_was_read(database: StudioDatabase) -> None:
    sessions = SqlSessions(database)
    assert [counted(sessions, BEGIN + 10 * number + 5) for number in (1, 4, 7)] == [1, 4, 7]
    assert counted(sessions, None) == 9
    with sessions.use(BEGIN + 45) as session:
        assert session.read_at("kept") is not None
        assert [relation.name for relation in session.relations()] == ["kept"]
    sessions.close()


def test_few_moments_are_kept_and_none_that_is_in_use_is_closed(database: StudioDatabase) -> None:
    sessions = SqlSessions(database)
    with sessions.use(BEGIN + 15) as first:
        for number in range(2, 7):
            counted(sessions, BEGIN + 10 * number + 5)
        assert first.query("SELECT count(*) FROM kept").rows == [(1,)]
        with sessions.use(BEGIN + 15) as again:
            assert again is first
    with sessions.use(BEGIN + 25) as session:
        assert session.read_at("kept") is None, "it was closed, and is another one"
    sessions.close()


def test_what_sends_requests_by_itself_is_held_to_the_rule_as_well(database: StudioDatabase) -> None:
    put = Request("PutItem", {"TableName": "kept", "Item": item(99, "open")})
    past = database.at(BEGIN + 15)
    assert not past.may_write
    with pytest.raises(Refused, match="read-only"):
        past.as_backend().call(put)
    database.may_write = False
    with pytest.raises(Refused, match="read-only"):
        database.as_backend().call(put)
    assert counted(SqlSessions(database), None) == 9


def test_an_endpoint_shows_no_past() -> None:
    endpoint = StudioDatabase("there", EndpointBackend("us-east-1", "http://127.0.0.1:1", {}))
    with pytest.raises(Refused, match="cannot show its history"):
        endpoint.at(BEGIN)


def test_a_query_that_waits_for_another_one_is_stopped_by_itself() -> None:
    with past_tables() as database:
        sessions = SqlSessions(database)
        stopped, ended = threading.Event(), threading.Event()
        errors: list[str] = []

        def waits() -> None:
            try:
                with sessions.turn(None, stopped) as session:
                    session.query("SELECT 1")
            except SqlError as error:
                errors.append(str(error))
            ended.set()

        with sessions.turn(None, threading.Event()) as session:
            thread = threading.Thread(target=waits)
            thread.start()
            assert not ended.wait(0.3)
            stopped.set()
            assert ended.wait(5)
            assert errors == ["the query was stopped"]
            # What runs goes on.
            assert session.query("SELECT count(*) FROM kept").rows == [(9,)]
        thread.join()
        with sessions.turn(None, threading.Event()) as session:
            assert session.query("SELECT 2").rows == [(2,)]
        sessions.close()
