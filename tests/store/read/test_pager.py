"""Paging: limits, page sizes, cursors that cannot be altered or misused, and shards read as one."""

from __future__ import annotations

import random
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.model import Selection
from tablewright.store import InvalidCursor, Page, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tests.clocks import Clock
from tests.store.bench import Bench
from tests.store.models import TABLES, Call, Session, Ticket, TicketStatus

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def call(number: int, user: str = "u-1", minutes: int = 0) -> Call:
    return Call(
        user_id=user,
        call_id=f"c-{number:03}",
        provider_id="p-1",
        scheduled_for=NOON + number * MINUTE,
        minutes=minutes,
    )


def ticket(number: int, status: TicketStatus = TicketStatus.OPEN, at: datetime | None = None) -> Ticket:
    opened_at = NOON + number * MINUTE if at is None else at
    return Ticket(ticket_id=f"t-{number:03}", customer_id="k-1", status=status, opened_at=opened_at)


def pages_of(store: Store, selection: Selection[Call], limit: int) -> list[Page[Call]]:
    pages = [store.query(selection, limit=limit)]
    while pages[-1].cursor is not None:
        pages.append(store.query(selection, limit=limit, cursor=pages[-1].cursor))
    return pages


class Watched(EmbeddedBackend):
    """An embedded engine whose requests can be looked at afterwards."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, owned=False)
        self.requests: list[Request] = []

    def call(self, request: Request) -> Response:
        self.requests.append(request)
        return super().call(request)


@pytest.fixture
def watched(engine: Engine, clock: Clock) -> Bench:
    bench = Bench(Watched(engine), clock)
    bench.create(*TABLES)
    return bench


def sizes(bench: Bench) -> list[int | None]:
    assert isinstance(bench.backend, Watched)
    return [request.body.get("Limit") for request in bench.backend.requests if request.operation in ("Query", "Scan")]


# -- limit and page size --------------------------------------------------------------------------------------------


def test_pages_follow_each_other_without_gap_or_repeat(bench: Bench, store: Store) -> None:
    bench.save(*(call(n) for n in range(10)))
    for selection in (Call.of_user(user_id="u-1"), Call.of_provider(provider_id="p-1"), Call.upcoming(user_id="u-1")):
        pages = pages_of(store, selection, 4)
        assert [len(page.items) for page in pages] == [4, 4, 2]
        found = [item.call_id for page in pages for item in page.items]
        assert found == sorted(found, reverse=selection.newest_first)
        assert len(set(found)) == 10


def test_a_limit_is_filled_however_many_pages_that_takes(bench: Bench, store: Store) -> None:
    bench.save(*(call(n, minutes=60 if n % 10 == 9 else 0) for n in range(60)))
    page = store.query(Call.long_ones(user_id="u-1"), limit=5)
    assert [item.call_id for item in page.items] == ["c-009", "c-019", "c-029", "c-039", "c-049"]
    rest = store.query(Call.long_ones(user_id="u-1"), limit=5, cursor=page.cursor)
    assert [item.call_id for item in rest.items] == ["c-059"]
    assert rest.cursor is None


def test_a_limit_counts_what_is_shown(bench: Bench, store: Store) -> None:
    expired = datetime.fromtimestamp(bench.clock.now - 1, UTC)
    bench.save(*(Session(session_id=f"s-{n:02}", user_id="u-1", ttl=expired if n % 3 else None) for n in range(30)))
    selection = Session.of_user(user_id="u-1")
    first = store.query(selection, limit=6)
    assert [session.session_id for session in first.items] == ["s-00", "s-03", "s-06", "s-09", "s-12", "s-15"]
    second = store.query(selection, limit=6, cursor=first.cursor)
    assert [session.session_id for session in second.items] == ["s-18", "s-21", "s-24", "s-27"]
    assert second.cursor is None


def test_the_page_size_is_what_the_service_looks_at(watched: Bench) -> None:
    watched.save(*(call(n) for n in range(10)))
    page = watched.store.query(Call.of_user(user_id="u-1"), limit=7, page_size=3)
    assert len(page.items) == 7
    assert sizes(watched) == [3, 3, 3]
    rest = watched.store.query(Call.of_user(user_id="u-1"), cursor=page.cursor)
    assert [item.call_id for item in rest.items] == ["c-007", "c-008", "c-009"]


def test_a_page_is_no_larger_than_what_is_wanted_until_little_of_it_is_of_use(watched: Bench) -> None:
    watched.save(*(call(n) for n in range(200)), call(200, minutes=60))
    assert len(watched.store.query(Call.of_user(user_id="u-1"), limit=10).items) == 10
    assert sizes(watched) == [10]
    assert len(watched.store.query(Call.long_ones(user_id="u-1"), limit=10).items) == 1
    assert sizes(watched)[1:] == [10, 20, 40, 80, 160]


def test_without_a_limit_a_page_is_what_the_service_gives_but_never_empty_before_the_end(watched: Bench) -> None:
    watched.save(*(call(n, minutes=60 if n == 7 else 0) for n in range(10)))
    page = watched.store.query(Call.long_ones(user_id="u-1"), page_size=3)
    assert [item.call_id for item in page.items] == ["c-007"]
    last = watched.store.query(Call.long_ones(user_id="u-1"), page_size=3, cursor=page.cursor)
    assert last == Page([], None)


def test_a_limit_is_at_least_one(embedded: Bench) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        embedded.store.query(Call.of_user(user_id="u-1"), limit=0)
    with pytest.raises(ValueError, match="at least 1"):
        embedded.store.query(Call.of_user(user_id="u-1"), page_size=0)


def test_items_are_iterated_page_by_page(watched: Bench) -> None:
    watched.save(*(call(n) for n in range(10)))
    selection = Call.of_user(user_id="u-1")
    assert [item.call_id for item in watched.store.iterate(selection, page_size=4)] == [f"c-{n:03}" for n in range(10)]
    assert sizes(watched) == [4, 4, 4]
    assert len(list(watched.store.iterate(selection, page_size=4, limit=6))) == 6
    assert sizes(watched)[3:] == [4, 4]
    assert next(watched.store.iterate(selection, page_size=1)).call_id == "c-000"
    assert sizes(watched)[5:] == [1]
    assert list(watched.store.iterate(selection, limit=0)) == []


def test_pages_are_iterated_and_can_be_gone_on_with(bench: Bench, store: Store) -> None:
    bench.save(*(call(n) for n in range(10)))
    selection = Call.of_user(user_id="u-1")
    pages = list(store.pages(selection, limit=4))
    assert [len(page.items) for page in pages] == [4, 4, 2]
    again = list(store.pages(selection, limit=4, cursor=pages[0].cursor))
    assert [page.items for page in again] == [page.items for page in pages[1:]]


# -- what a cursor is good for --------------------------------------------------------------------------------------


@pytest.fixture
def full(embedded: Bench) -> Bench:
    embedded.save(*(call(n, user) for user in ("u-1", "u-2") for n in range(5)))
    return embedded


def test_a_cursor_is_bound_to_its_pattern_and_parameters(full: Bench) -> None:
    store = full.store
    cursor = store.query(Call.of_user(user_id="u-1"), limit=2).cursor
    others = [
        Call.of_user(user_id="u-2"),
        Call.of_user(user_id="u-1", since=NOON),
        Call.long_ones(user_id="u-1"),
        Call.upcoming(user_id="u-1"),
    ]
    for other in others:
        with pytest.raises(InvalidCursor):
            store.query(other, cursor=cursor)
    with pytest.raises(InvalidCursor):
        store.scan(Call, cursor=cursor)
    assert len(store.query(Call.of_user(user_id="u-1"), cursor=cursor, limit=1, consistent=True).items) == 1


def test_a_cursor_is_bound_to_the_table(full: Bench, clock: Clock) -> None:
    cursor = full.store.query(Call.of_user(user_id="u-1"), limit=2).cursor
    twin = Bench(full.backend, clock)
    twin.create(*TABLES)
    twin.store.context.cursor_secret = full.store.context.cursor_secret
    with pytest.raises(InvalidCursor):
        twin.store.query(Call.of_user(user_id="u-1"), cursor=cursor)


def test_stores_take_each_other_s_cursors_when_they_share_a_secret(full: Bench) -> None:
    def another(secret: bytes) -> Store:
        return Store(full.backend, table_names=full.names, cursor_secret=secret, entropy=random.SystemRandom())

    selection = Call.of_user(user_id="u-1")
    cursor = another(b"secret").query(selection, limit=2).cursor
    assert len(another(b"secret").query(selection, cursor=cursor).items) == 3
    for secret in (b"another", b""):
        with pytest.raises(InvalidCursor):
            another(secret).query(selection, cursor=cursor)
    cursor = another(b"").query(selection, limit=2).cursor
    with pytest.raises(InvalidCursor):
        another(b"").query(selection, cursor=cursor)


def test_an_altered_cursor_is_refused(full: Bench) -> None:
    store, selection = full.store, Call.of_user(user_id="u-1")
    cursor = store.query(selection, limit=2).cursor
    assert cursor is not None
    data = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    for position in range(len(data)):
        altered = bytearray(data)
        altered[position] ^= 1
        with pytest.raises(InvalidCursor):
            store.query(selection, cursor=urlsafe_b64encode(altered).rstrip(b"=").decode())
    for text in (cursor + "!", cursor + "=", "!" + cursor, cursor[:-1], cursor + "AAAA", cursor[::-1]):
        with pytest.raises(InvalidCursor):
            store.query(selection, cursor=text)


@given(text=st.text())
def test_text_that_is_no_cursor_is_refused(text: str) -> None:
    from tablewright.store.read.cursor import unseal

    with pytest.raises(InvalidCursor):
        unseal(b"secret", ["read"], text)


def test_the_cursor_of_a_scan_belongs_to_its_segment(full: Bench) -> None:
    store = full.store
    whole = store.scan(Call, limit=2).cursor
    with pytest.raises(InvalidCursor):
        store.scan(Call, limit=2, cursor=whole, segment=(0, 2))


# -- shards ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SU16")
@pytest.mark.parametrize("limit", [1, 3, 4, 7, 50])
def test_shards_are_read_as_one_partition(bench: Bench, store: Store, limit: int) -> None:
    bench.save(*(ticket(n) for n in range(20)), *(ticket(n, TicketStatus.CLOSED) for n in range(20, 25)))
    for selection, expected in (
        (Ticket.by_status(status=TicketStatus.OPEN), list(range(19, -1, -1))),
        (Ticket.oldest_by_status(status=TicketStatus.OPEN), list(range(20))),
        (Ticket.by_status(status=TicketStatus.OPEN, since=NOON + 5 * MINUTE), list(range(19, 4, -1))),
    ):
        found: list[str] = []
        page = store.query(selection, limit=limit)
        found += [item.ticket_id for item in page.items]
        while page.cursor is not None:
            assert len(page.items) == limit
            page = store.query(selection, limit=limit, cursor=page.cursor)
            found += [item.ticket_id for item in page.items]
        assert found == [f"t-{n:03}" for n in expected]
    assert store.count(Ticket.by_status(status=TicketStatus.OPEN)) == 20


@pytest.mark.parametrize("page_size", [1, 2, 5, None])
def test_shards_are_iterated_in_order_whatever_the_page_size(embedded: Bench, page_size: int | None) -> None:
    # Several of one time: their order is that of the whole sort key.
    embedded.save(*(ticket(n, at=NOON + n // 3 * MINUTE) for n in range(30)))
    for newest_first, pattern in ((True, Ticket.by_status), (False, Ticket.oldest_by_status)):
        selection = pattern(status=TicketStatus.OPEN)
        found = [item.ticket_id for item in embedded.store.iterate(selection, page_size=page_size)]
        assert found == sorted((f"t-{n:03}" for n in range(30)), reverse=newest_first)
        pages = list(embedded.store.pages(selection, page_size=page_size))
        assert [item.ticket_id for page in pages for item in page.items] == found


def test_a_cursor_over_shards_stays_right_when_items_come_and_go(embedded: Bench) -> None:
    embedded.save(*(ticket(n) for n in range(0, 40, 2)))
    selection = Ticket.oldest_by_status(status=TicketStatus.OPEN)
    page = embedded.store.query(selection, limit=10)
    assert page.items[-1].ticket_id == "t-018"
    embedded.save(*(ticket(n) for n in range(21, 40, 2)))
    rest = embedded.store.query(selection, limit=50, cursor=page.cursor)
    assert [item.ticket_id for item in rest.items] == [f"t-{n:03}" for n in range(20, 40)]
