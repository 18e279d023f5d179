"""Collections in part: a limit, a range and a direction for a member, feeds of several entities, and subclasses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest

from tablewright.engine import Engine
from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    MemberRead,
    ModelError,
    Query,
    Table,
)
from tablewright.store import Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Backend, Request, Response

shop = Table("Shop", "PK", "SK", indexes=[GlobalIndex("byKind", "GSI1PK", "GSI1SK")], type_attribute="kind")
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Customer(Entity, table=shop):
    customer_id: str

    keys = Keys(PK="C#{customer_id}", SK="PROFILE")


class Order(Entity, table=shop):
    owner: str
    at: datetime
    status: str = "open"

    keys = Keys(PK="C#{owner}", SK="ORDER#{at}", GSI1PK="C#{owner}", GSI1SK="O#{status}#{at}")


class Refund(Entity, table=shop):
    owner: str
    at: datetime

    keys = Keys(PK="R#{owner}", SK="REFUND#{at}", GSI1PK="C#{owner}", GSI1SK="O#refund#{at}")


class Note(Entity, table=shop):
    owner: str
    at: datetime

    keys = Keys(PK="C#{owner}", SK="NOTE#{at}")


class Account(Collection):
    customer: Customer
    orders: Annotated[list[Order], MemberRead(limit=2, newest_first=True)]

    @CollectionQuery()
    def latest(
        self,
        customer_id: str,
        *,
        orders_limit: int | None = None,
        orders_cursor: str | None = None,
        orders_since: datetime | None = None,
        orders_before: datetime | None = None,
    ) -> None:
        """A customer and the last orders."""


class FirstOrders(Account):
    orders: Annotated[list[Order], MemberRead(limit=2)]

    @CollectionQuery()
    def earliest(self, customer_id: str) -> None:
        """A customer and the first orders."""


class History(Collection):
    feed: list[Order | Refund]

    @CollectionQuery("byKind")
    def of_customer(self, owner: str) -> None: ...


class Counting:
    """A backend that notes the requests."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.requests: list[Request] = []

    def call(self, request: Request) -> Response:
        self.requests.append(request)
        return self._backend.call(request)

    async def call_async(self, request: Request) -> Response:
        return await self._backend.call_async(request)

    def close(self) -> None: ...


@pytest.fixture
def backend(engine: Engine) -> Counting:
    return Counting(EmbeddedBackend(engine, owned=False))


@pytest.fixture
def store(backend: Counting) -> Store:
    store = Store(backend)
    store.ensure_tables(shop)
    store.put(Customer(customer_id="ada"))
    for hour in range(5):
        store.put(Order(owner="ada", at=NOON + timedelta(hours=hour), status="sent" if hour % 2 else "open"))
    store.put(Refund(owner="ada", at=NOON + timedelta(minutes=90)))
    backend.requests.clear()
    return store


def hours(account: Account | None) -> list[int]:
    assert account is not None
    return [(order.at - NOON).seconds // 3600 for order in account.orders]


def test_a_customer_and_the_last_orders_are_one_query(store: Store, backend: Counting) -> None:
    account = store.collect(Account.latest("ada"))
    assert hours(account) == [4, 3]
    (request,) = backend.requests
    assert request.body["Limit"] == 3
    assert account is not None
    assert account.customer == Customer(customer_id="ada")


def test_the_first_orders_come_before_the_profile_and_need_a_query_of_their_own(
    store: Store, backend: Counting
) -> None:
    assert hours(store.collect(FirstOrders.earliest("ada"))) == [0, 1]
    assert [request.operation for request in backend.requests] == ["Query", "Query"]


def test_a_member_goes_on_from_its_cursor(store: Store) -> None:
    found: list[int] = []
    cursor = None
    for _ in range(4):
        account = store.collect(Account.latest("ada", orders_cursor=cursor))
        assert account is not None
        found += hours(account)
        cursor = account.cursor_of("orders")
        if cursor is None:
            break
    assert found == [4, 3, 2, 1, 0]


def test_a_member_has_a_limit_and_a_range_of_its_own(store: Store) -> None:
    assert hours(store.collect(Account.latest("ada", orders_limit=4))) == [4, 3, 2, 1]
    day = NOON + timedelta(hours=3)
    assert hours(store.collect(Account.latest("ada", orders_before=day))) == [2, 1]
    assert hours(store.collect(Account.latest("ada", orders_since=day, orders_limit=9))) == [4, 3]
    account = store.collect(Account.latest("ada", orders_limit=9))
    assert account is not None
    assert account.cursor_of("orders") is None


def test_without_its_required_member_there_is_no_collection(store: Store) -> None:
    store.put(Order(owner="bea", at=NOON))
    assert store.collect(Account.latest("bea")) is None


def test_a_feed_has_several_entities_in_one_order(store: Store) -> None:
    history = store.collect(History.of_customer("ada"))
    assert history is not None
    kinds = [type(each).__name__ for each in history.feed]
    assert kinds == ["Order"] * 3 + ["Refund"] + ["Order"] * 2


class Latest(Collection):
    feed: Annotated[list[Order | Refund], MemberRead(limit=4, newest_first=True)]

    @CollectionQuery("byKind")
    def of_customer(self, owner: str, *, feed_limit: int | None = None, feed_cursor: str | None = None) -> None: ...


class Inbox(Collection):
    customer: Customer
    feed: Annotated[list[Order | Note], MemberRead(limit=3, newest_first=True)]

    @CollectionQuery()
    def of_customer(self, customer_id: str, *, feed_cursor: str | None = None) -> None: ...


def test_a_feed_is_read_in_part_and_goes_on(store: Store, backend: Counting) -> None:
    found: list[tuple[str, int]] = []
    cursor = None
    while True:
        latest = store.collect(Latest.of_customer("ada", feed_cursor=cursor))
        assert latest is not None
        assert len(latest.feed) <= 4
        found += [(type(each).__name__, (each.at - NOON).seconds // 60) for each in latest.feed]
        cursor = latest.cursor_of("feed")
        if cursor is None:
            break
    minutes = [("Order", 180), ("Order", 60), ("Refund", 90), ("Order", 240), ("Order", 120), ("Order", 0)]
    assert found == minutes
    limited = store.collect(Latest.of_customer("ada", feed_limit=2))
    assert limited is not None
    assert len(limited.feed) == 2
    assert limited.cursor_of("feed") is not None


def test_a_customer_and_the_last_of_a_feed_are_one_query(store: Store, backend: Counting) -> None:
    for hour in range(3):
        store.put(Note(owner="ada", at=NOON + timedelta(hours=hour)))
    backend.requests.clear()
    found: list[str] = []
    inbox = store.collect(Inbox.of_customer("ada"))
    assert len(backend.requests) == 1
    while inbox is not None:
        assert inbox.customer == Customer(customer_id="ada")
        found += [type(each).__name__ for each in inbox.feed]
        cursor = inbox.cursor_of("feed")
        inbox = None if cursor is None else store.collect(Inbox.of_customer("ada", feed_cursor=cursor))
    assert found == ["Order"] * 5 + ["Note"] * 3


def test_a_feed_has_no_range() -> None:
    with pytest.raises(ModelError, match="takes feed_since, and feed is a list of several entities"):

        class Wrong(Collection):
            feed: Annotated[list[Order | Refund], MemberRead(limit=1)]

            @CollectionQuery("byKind")
            def of_customer(self, owner: str, *, feed_since: datetime | None = None) -> None: ...


def test_a_part_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ModelError, match=r"Wrong\.customer: MemberRead is for a list"):

        class Wrong(Collection):
            customer: Annotated[Customer, MemberRead(limit=1)]

            @CollectionQuery()
            def latest(self, customer_id: str) -> None: ...

    with pytest.raises(ModelError, match=r"Unmade\.orders has the marker class MemberRead instead of an instance"):

        class Unmade(Collection):
            orders: Annotated[list[Order], MemberRead]


def test_a_collection_that_extends_another_reads_its_own_part() -> None:
    assert Account.latest("ada").reads["orders"].newest_first
    assert not FirstOrders.latest("ada").reads["orders"].newest_first


def test_a_parameter_that_no_member_takes_is_refused() -> None:
    with pytest.raises(ModelError, match="takes the fields of the partition key"):

        class Wrong(Collection):
            customer: Customer
            orders: list[Order]

            @CollectionQuery()
            def latest(self, customer_id: str, orders_snice: datetime) -> None: ...


# -- subclasses -----------------------------------------------------------------------------------------------------

desk = Table("Desk", "PK", "SK", type_attribute="type")


class Event(Entity, table=desk):
    ticket: str
    number: int

    keys = Keys(PK="T#{ticket}", SK="E#{number:04}")

    @Get()
    def by_number(self, ticket: str, number: int) -> None: ...

    @Query()
    def of_ticket(self, ticket: str) -> None: ...


class Comment(Event, table=desk):
    text: str


class Closed(Event, table=desk):
    reason: str | None = None


class Thread(Collection):
    events: list[Event]

    @CollectionQuery()
    def of_ticket(self, ticket: str) -> None: ...


def test_reads_of_a_base_yield_its_subclasses(engine: Engine) -> None:
    store = Store.on(engine)
    store.ensure_tables(desk)
    events = [
        Event(ticket="t", number=1),
        Comment(ticket="t", number=2, text="hello"),
        Closed(ticket="t", number=3, reason="done"),
    ]
    for event in events:
        store.create(event)
    assert store.query(Event.of_ticket("t")).items == events
    assert store.query(Event.of_ticket("t"), limit=2).items == events[:2]
    assert store.query(Comment.of_ticket("t")).items == [events[1]]
    assert store.get(Event.by_number("t", 2)) == events[1]
    assert store.get_many([Event.by_number("t", 3), Event.by_number("t", 9)]) == [events[2], None]
    assert sorted(store.scan(Event).items, key=lambda each: each.number) == events
    assert store.count(Event.of_ticket("t")) == 3
    thread = store.collect(Thread.of_ticket("t"))
    assert thread is not None
    assert thread.events == events
    assert Event.of(events[1].item()) == events[1]
    assert store.verify(desk).is_clean
