"""What the type checker makes of reads and writes; `mypy` proves it, and running it proves that it is so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, assert_type

from tablewright.model import Entity, Lookup, Selection, attr
from tablewright.store import AsyncStore, Page, Store
from tests.store.models import Call, Case, Ticket

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

if TYPE_CHECKING:

    def patterns() -> None:
        assert_type(Call.by_id(call_id="c-1"), Lookup[Call])
        assert_type(Call.upcoming(user_id="u-1"), Selection[Call])

    def reads(store: Store) -> None:
        assert_type(store.get(Call.by_id(call_id="c-1")), Call | None)
        assert_type(store.get_many([Ticket.by_id(ticket_id="t-1")]), list[Ticket | None])
        mixed = store.get_many([Ticket.by_id(ticket_id="t-1"), Call.itself("u-1", NOON, "c-1")])
        assert_type(mixed, list[Entity | None])
        assert_type(store.query(Call.upcoming(user_id="u-1"), limit=10), Page[Call])
        assert_type(store.query(Call.upcoming(user_id="u-1")).items, list[Call])
        assert_type(store.query(Call.upcoming(user_id="u-1")).cursor, str | None)
        assert_type(store.scan(Ticket), Page[Ticket])
        assert_type(store.iterate(Call.upcoming(user_id="u-1")), Iterator[Call])
        assert_type(store.iterate(Ticket), Iterator[Ticket])
        assert_type(store.pages(Call.upcoming(user_id="u-1")), Iterator[Page[Call]])
        assert_type(store.count(Call.upcoming(user_id="u-1")), int)
        assert_type(store.collect(Case.of_ticket(ticket_id="t-1")), Case | None)

    async def asynchronous_reads(store: AsyncStore) -> None:
        assert_type(await store.get(Call.by_id(call_id="c-1")), Call | None)
        assert_type(await store.get_many([Ticket.by_id(ticket_id="t-1")]), list[Ticket | None])
        assert_type(await store.query(Call.upcoming(user_id="u-1"), limit=10), Page[Call])
        assert_type(await store.scan(Ticket), Page[Ticket])
        assert_type(store.iterate(Call.upcoming(user_id="u-1")), AsyncIterator[Call])
        assert_type(store.pages(Ticket), AsyncIterator[Page[Ticket]])
        assert_type(await store.count(Call.upcoming(user_id="u-1")), int)
        assert_type(await store.collect(Case.of_ticket(ticket_id="t-1")), Case | None)

    def writes(store: Store, call: Call) -> None:
        assert_type(store.put(call), Call)
        assert_type(store.create(call), Call)
        assert_type(store.update(call, attr(Call.minutes).set(1)), Call)
        assert_type(store.update(Call.by_id(call_id="c-1"), attr(Call.minutes).add(1)), Call)
        assert_type(store.upsert(call), Call)
        assert_type(store.delete(Call.by_id(call_id="c-1")), bool)

    async def asynchronous_writes(store: AsyncStore, call: Call) -> None:
        assert_type(await store.put(call), Call)
        assert_type(await store.update(Call.by_id(call_id="c-1"), attr(Call.minutes).set(1)), Call)
        assert_type(await store.delete(call), bool)


def test_what_is_read_is_of_the_entity_s_type(store: Store) -> None:
    assert store.query(Call.upcoming(user_id="u-1")) == Page([], None)
