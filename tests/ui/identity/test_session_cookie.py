"""A session is good for some hours, for nobody who changed its cookie, and not after signing out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import jwt
import pytest

from tablewright.engine import Engine
from tablewright.runtime import Caller
from tablewright.runtime.identity.absence_cache import REMEMBERED
from tablewright.runtime.identity.ended_sessions import EndedSessions
from tablewright.runtime.internal_tables import internal_table
from tablewright.store import AsyncStore, EmbeddedBackend, StoreError
from tablewright.ui.identity.session_cookie import Sessions, SessionTooLarge, Signer
from tests.clocks import Clock

pytestmark = pytest.mark.requirement("AP1")

SECRET = b"s" * 32
ADA = Caller("ada", "ada@example.org", frozenset({"tasks:Admins"}))


def sessions(clock: Clock, secret: bytes = SECRET) -> Sessions:
    return Sessions(secret, 8, clock)


def test_a_cookie_is_the_session_that_was_begun() -> None:
    clock = Clock()
    session, cookie = sessions(clock).begin(ADA, "Ada")
    # In any process that has the secret.
    assert sessions(clock).read(cookie) == session
    assert (session.caller, session.name, session.expires) == (ADA, "Ada", clock.now + 8 * 3600)


def test_it_ends_after_some_hours() -> None:
    clock = Clock()
    here = sessions(clock)
    session, cookie = here.begin(ADA, "Ada")
    clock.now += 8 * 3600 - 1
    assert here.read(cookie) is not None
    clock.now += 2
    assert here.read(cookie) is None
    assert asyncio.run(here.is_over(session))


def test_what_was_changed_or_signed_by_others_is_no_session() -> None:
    clock = Clock()
    here = sessions(clock)
    _, cookie = here.begin(ADA, "Ada")
    head, body, signature = cookie.split(".")
    claims = jwt.decode(cookie, options={"verify_signature": False})
    unsigned = jwt.encode({**claims, "roles": ["support:Admins"]}, "", algorithm="none")
    others = [
        None,
        "",
        "x",
        cookie[:-2],
        f"{head}.{body}x.{signature}",
        unsigned,
        sessions(clock, b"o" * 32).begin(ADA, "Ada")[1],
        Signer(SECRET, "sign-in", clock).seal({"id": "1", "sub": "ada", "name": "Ada", "roles": []}, clock.now + 60),
        "a." * 5_000,
    ]
    assert [here.read(each) for each in others] == [None] * len(others)


def test_signing_out_ends_the_session_and_notifies_its_watchers() -> None:
    here = sessions(Clock())
    session, cookie = here.begin(ADA, "Ada")
    other, other_cookie = here.begin(ADA, "Ada")
    told: list[str] = []
    unwatch = here.watch(session, lambda: told.append("left"))
    here.watch(session, lambda: told.append("stayed"))
    here.watch(other, lambda: told.append("other"))
    unwatch()
    asyncio.run(here.end(session))
    assert told == ["stayed"]
    assert here.read(cookie) is None
    assert asyncio.run(here.is_over(session))
    assert here.read(other_cookie) == other


def test_more_roles_than_a_cookie_has_room_for_are_refused() -> None:
    many = Caller("ada", None, frozenset(f"tasks:Role{number}" for number in range(500)))
    with pytest.raises(SessionTooLarge, match="ada has 500 roles"):
        sessions(Clock()).begin(many, "Ada")


@pytest.fixture
def database() -> Iterator[Engine]:
    with Engine.open() as engine:
        asyncio.run(AsyncStore(EmbeddedBackend(engine, owned=False)).ensure_tables(internal_table))
        yield engine


def process(engine: Engine, clock: Clock) -> Sessions:
    """The sessions of one more process on a database."""
    store = AsyncStore(EmbeddedBackend(engine, owned=False), clock=clock)
    return Sessions(SECRET, 8, clock, EndedSessions(store, clock))


@pytest.mark.requirement("SH8")
def test_signing_out_is_known_to_other_processes_within_the_bound_and_after_a_restart(database: Engine) -> None:
    clock = Clock()
    here, there = process(database, clock), process(database, clock)
    session, cookie = here.begin(ADA, "Ada")
    assert there.read(cookie) == session
    assert not asyncio.run(there.is_over(session))
    told: list[str] = []
    there.watch(session, lambda: told.append("left"))
    asyncio.run(here.end(session))
    assert asyncio.run(here.is_over(session))
    # It has just looked, and looks again after a while.
    assert not asyncio.run(there.is_over(session))
    other = process(database, clock)
    assert asyncio.run(other.is_over(session))
    assert other.read(cookie) is None
    clock.now += REMEMBERED
    assert asyncio.run(there.is_over(session))
    assert told == ["left"]


@pytest.mark.requirement("SH8")
def test_a_sign_out_that_cannot_be_noted_is_none(database: Engine) -> None:
    here = process(database, Clock())
    session, cookie = here.begin(ADA, "Ada")
    database.call("DeleteTable", {"TableName": internal_table.name})
    with pytest.raises(StoreError):
        asyncio.run(here.end(session))
    # And who is signed in stays so while the database cannot be asked.
    assert not asyncio.run(here.is_over(session))
    assert here.read(cookie) == session
