"""A session store, after the design in "The DynamoDB Book" of Alex DeBrie.

    python examples/designs/sessions.py

It shows tokens that are made once, sessions that expire by themselves and are never returned afterwards, and those of
a user.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID, uuid4

from tablewright.model import (
    AcceptedFinding,
    AttributeName,
    CreatedAt,
    Design,
    Entity,
    ExpiresAt,
    Expiry,
    Get,
    GlobalIndex,
    ItemWrite,
    Query,
    Table,
    Write,
)
from tablewright.store import AlreadyExists, Store

sessions = Table("SessionStore", "SessionToken", indexes=[GlobalIndex("UserIndex", "Username", include=[])], ttl="TTL")


class Session(Entity, table=sessions):
    token: Annotated[UUID, AttributeName("SessionToken")]
    username: Annotated[str, AttributeName("Username")]
    created_at: CreatedAt = None
    expires_at: Annotated[ExpiresAt, Expiry(timedelta(days=7)), AttributeName("TTL")] = None

    @Get()
    def by_token(self, token: UUID) -> None:
        """A session that has not expired."""

    @Query("UserIndex")
    def of_user(self, username: str) -> None:
        """The sessions of a user."""


design = Design(
    "Sessions",
    tables=[sessions],
    writes=[Write("sign in", ItemWrite(Session, "create")), Write("sign out", ItemWrite(Session, "delete"))],
    accepted=[
        AcceptedFinding(
            "projection-gap", "Session.of_user", "it is for signing out everywhere; the index has keys alone"
        ),
    ],
)

TOKEN = UUID("c0ffee00-0000-4000-8000-000000000001")


def fill(store: Store) -> None:
    store.ensure_tables(sessions)
    store.create(Session(token=TOKEN, username="ada"))
    store.create(Session(token=uuid4(), username="ada"))
    yesterday = datetime.now(UTC) - timedelta(days=1)
    store.create(Session(token=uuid4(), username="ada", expires_at=yesterday))


def try_patterns(store: Store) -> None:
    try:
        store.create(Session(token=TOKEN, username="eve"))
        raise AssertionError("a token is made once")
    except AlreadyExists:
        pass
    assert store.get_or_raise(Session.by_token(TOKEN)).username == "ada"
    assert len(store.query(Session.of_user("ada")).items) == 2
    assert store.get(Session.by_token(uuid4())) is None
    for session in store.query(Session.of_user("ada")).items:
        store.delete(session)
    assert store.query(Session.of_user("ada")).items == []


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of a session store")


if __name__ == "__main__":
    main()
