"""Reading around what cannot be read: full pages, exact cursors, few requests, and a bound on what one page reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.model import Collection, CollectionQuery, Entity, Get, Keys, Query, Table
from tablewright.store import AsyncStore, AsyncTolerantReader, LimitExceeded, Store, TolerantReader, Unreadable
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tablewright.store.read import tolerant
from tests.examples import examples

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
threads = Table("threads", "PK", "SK")


class Thread(Entity, table=threads):
    thread_id: str
    title: str

    keys = Keys(PK="THREAD#{thread_id}", SK="THREAD")

    @Get()
    def by_id(self, thread_id: str) -> None: ...


class Post(Entity, table=threads):
    thread_id: str
    number: int
    at: datetime

    keys = Keys(PK="THREAD#{thread_id}", SK="POST#{number:06}")

    @Get()
    def itself(self, thread_id: str, number: int) -> None: ...

    @Query()
    def of_thread(self, thread_id: str) -> None: ...


class Whole(Collection):
    thread: Thread
    posts: list[Post]

    @CollectionQuery()
    def of_id(self, thread_id: str) -> None: ...


class Counting(EmbeddedBackend):
    """A backend that counts requests."""

    calls = 0

    def call(self, request: Request) -> Response:
        self.calls += 1
        return super().call(request)


@pytest.fixture
def backend() -> Iterator[Counting]:
    with Engine.open(None) as engine:
        yield Counting(engine, owned=False)


@pytest.fixture
def store(backend: Counting) -> Store:
    made = Store(backend)
    made.ensure_tables(threads)
    return made


def fill(store: Store, thread_id: str, readable: list[bool]) -> None:
    """Posts of a thread, some of them as nobody can read them."""
    for number, is_readable in enumerate(readable, 1):
        item = Post(thread_id=thread_id, number=number, at=NOW).item()
        if not is_readable:
            item["at"] = {"S": "lately"}
        store.backend.call(Request("PutItem", {"TableName": threads.name, "Item": item}))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(readable=st.lists(st.booleans(), max_size=40), limit=st.integers(1, 12), most=st.integers(1, 30))
def test_pages_are_full_and_together_have_everything_once(
    store: Store, readable: list[bool], limit: int, most: int
) -> None:
    thread_id = f"t-{readable!r}-{limit}-{most}"
    fill(store, thread_id, readable)
    reader = TolerantReader(store)
    seen: list[int] = []
    errors: list[Unreadable] = []
    cursor = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tolerant, "MAX_ITEMS_READ", most)
        while True:
            page = reader.page(Post.of_thread(thread_id=thread_id), limit=limit, cursor=cursor)
            looked_at = len(page.items) + len(page.unreadable)
            assert looked_at <= most
            assert len(page.items) == limit or page.cursor is None or looked_at == most
            seen += [post.number for post in page.items]
            errors += page.unreadable
            cursor = page.cursor
            if cursor is None:
                break
        every = reader.all(Post.of_thread(thread_id=thread_id))
    assert seen == [number for number, is_readable in enumerate(readable, 1) if is_readable]
    assert len(errors) == len(readable) - len(seen)
    assert len({str(error.key) for error in errors}) == len(errors)
    assert ([post.number for post in every.items], len(every.unreadable), every.cursor) == (seen, len(errors), None)


def test_a_page_has_only_what_is_wanted_and_is_full_all_the_same(store: Store) -> None:
    fill(store, "t-1", [True] * 30)
    page = TolerantReader(store).page(
        Post.of_thread(thread_id="t-1"), limit=5, include=lambda post: post.number % 5 == 0
    )
    assert [post.number for post in page.items] == [5, 10, 15, 20, 25]


def test_a_page_takes_few_requests_however_much_is_left_out(store: Store, backend: Counting) -> None:
    fill(store, "t-1", [*[False] * 250, True, True])
    before = backend.calls
    page = TolerantReader(store).page(Post.of_thread(thread_id="t-1"), limit=1)
    assert ([post.number for post in page.items], len(page.unreadable)) == ([251], 250)
    assert backend.calls - before <= 5


def test_of_many_lookups_each_is_answered_and_few_requests_are_made(store: Store, backend: Counting) -> None:
    fill(store, "t-1", [number != 43 for number in range(1, 101)])
    before = backend.calls
    told: list[Unreadable] = []
    lookups = [Post.itself(thread_id="t-1", number=number) for number in (*range(1, 101), 999)]
    found = TolerantReader(store, told.append).each(lookups)
    assert [number for number, each in enumerate(found, 1) if isinstance(each, Unreadable)] == [43]
    assert found[100] is None
    assert backend.calls - before <= 16
    assert [(error.entity, error.key) for error in told] == [("Post", "thread_id t-1, number 43")]


def test_one_is_an_entity_or_nothing_or_the_error(store: Store) -> None:
    fill(store, "t-1", [True, False])
    reader = TolerantReader(store)
    assert isinstance(reader.one(Post.itself(thread_id="t-1", number=1)), Post)
    assert isinstance(reader.one(Post.itself(thread_id="t-1", number=2)), Unreadable)
    assert reader.one(Post.itself(thread_id="t-1", number=3)) is None


def test_a_collection_lacks_members_but_not_the_one_that_has_to_be_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, "t-1", [True, False, True])
    reader = TolerantReader(store)
    assert reader.collect(Whole.of_id(thread_id="t-1"))[0] is None
    store.create(Thread(thread_id="t-1", title="x"))
    whole, errors = reader.collect(Whole.of_id(thread_id="t-1"))
    assert whole is not None
    assert [post.number for post in whole.posts] == [1, 3]
    assert [error.key for error in errors] == ["thread_id t-1, number 2"]
    body = {"TableName": "threads", "Item": {"PK": {"S": "THREAD#t-1"}, "SK": {"S": "THREAD"}}}
    store.backend.call(Request("PutItem", body))
    with pytest.raises(Unreadable, match="Thread"):
        reader.collect(Whole.of_id(thread_id="t-1"))
    monkeypatch.setattr(tolerant, "MAX_PAGES", 0)
    with pytest.raises(LimitExceeded, match="query its members in pages instead"):
        reader.collect(Whole.of_id(thread_id="t-1"))


def test_it_can_be_awaited(store: Store) -> None:
    fill(store, "t-1", [True, False])
    told: list[Unreadable] = []
    reader = AsyncTolerantReader(AsyncStore(store.backend), told.append)

    async def read() -> None:
        page = await reader.page(Post.of_thread(thread_id="t-1"), limit=5)
        assert [post.number for post in page.items] == [1]
        assert isinstance(await reader.one(Post.itself(thread_id="t-1", number=2)), Unreadable)
        assert len(await reader.each([Post.itself(thread_id="t-1", number=1)])) == 1
        assert len((await reader.all(Post.of_thread(thread_id="t-1"))).items) == 1
        whole, errors = await reader.collect(Whole.of_id(thread_id="t-1"))
        assert (whole, [error.key for error in errors]) == (None, ["thread_id t-1, number 2"])

    asyncio.run(read())
    assert {error.key for error in told} == {"thread_id t-1, number 2"}
