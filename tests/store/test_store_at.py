"""``store.at``: patterns and entities as of an earlier time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tablewright.engine import Engine
from tablewright.store import AsyncStore, Store, StoreError
from tests.clocks import Clock
from tests.store.models import Session, desk


def now(clock: Clock) -> datetime:
    return datetime.fromtimestamp(clock.now, UTC)


@pytest.fixture
def sessions(engine: Engine, clock: Clock) -> Store:
    store = Store.on(engine, clock=clock)
    store.ensure_tables(desk)
    specification = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": desk.name, "PointInTimeRecoverySpecification": specification})
    return store


@pytest.mark.requirement("ST7")
def test_patterns_read_what_there_was(sessions: Store, clock: Clock) -> None:
    sessions.put(Session(session_id="s-1", user_id="ada"))
    then = now(clock)
    clock.now += 60
    sessions.delete(Session.by_id("s-1"))
    sessions.put(Session(session_id="s-2", user_id="ada"))
    past = sessions.at(then)
    assert past.get(Session.by_id("s-2")) is None
    assert past.get_or_raise(Session.by_id("s-1")).user_id == "ada"
    assert [each.session_id for each in past.query(Session.of_user("ada")).items] == ["s-1"]
    assert [each.session_id for each in sessions.query(Session.of_user("ada")).items] == ["s-2"]
    with pytest.raises(StoreError, match="earlier time"):
        past.put(Session(session_id="s-3", user_id="ada"))


@pytest.mark.requirement("ST7")
def test_what_had_not_expired_by_then_is_live(sessions: Store, clock: Clock) -> None:
    sessions.put(Session(session_id="s-1", user_id="ada"))
    then = now(clock)
    clock.now += timedelta(days=2).total_seconds()
    assert sessions.get(Session.by_id("s-1")) is None
    assert sessions.at(then).get(Session.by_id("s-1")) is not None
    assert sessions.at(now(clock)).get(Session.by_id("s-1")) is None


@pytest.mark.requirement("ST7")
def test_the_asynchronous_store_reads_it_too(sessions: Store, engine: Engine, clock: Clock) -> None:
    sessions.put(Session(session_id="s-1", user_id="ada"))
    then = now(clock)
    clock.now += 1
    sessions.delete(Session.by_id("s-1"))

    async def read() -> Session | None:
        async with AsyncStore.on(engine, clock=clock).at(then) as past:
            return await past.get(Session.by_id("s-1"))

    assert asyncio.run(read()) is not None


def test_an_endpoint_has_no_past_to_read() -> None:
    store = Store.connect("us-east-1", "http://127.0.0.1:1", aws_access_key_id="a", aws_secret_access_key="b")
    with store, pytest.raises(StoreError, match="restore the table"):
        store.at(datetime.now(UTC))
