"""Calls with what they do not take: each says what it takes, before anything is asked of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    ModelError,
    Projection,
    Query,
    Table,
    Version,
    attr,
)
from tablewright.store import Create, ServiceError, Store, TableNotFound

shelves = Table("shelves", "PK", "SK", indexes=[GlobalIndex("byTitle", "title", "SK")])


class Book(Entity, table=shelves):
    shelf: str
    book_id: str
    title: str = "Emma"
    version: Version = 0

    keys = Keys(PK="SHELF#{shelf}", SK="BOOK#{book_id}")

    @Get()
    def by_id(self, shelf: str, book_id: str) -> None: ...

    @Query()
    def of_shelf(self, shelf: str) -> None: ...

    @Query("byTitle")
    def titled(self, title: str) -> None: ...


class Title(Projection[Book]):
    title: str

    @Query()
    def titles(self, shelf: str) -> None: ...


class Shelf(Collection):
    books: list[Book]

    @CollectionQuery()
    def whole(self, shelf: str) -> None: ...


ONE = Book.by_id(shelf="s", book_id="b")
SOME = Book.of_shelf(shelf="s")
ALL = Shelf.whole(shelf="s")
BOOK = Book(shelf="s", book_id="b")

GET = "get takes a lookup, such as Call.by_id(call_id=...)"
QUERY = "takes a selection, such as Call.of_user(user_id=...)"
COLLECT = "collect takes a selection of a collection, such as Case.of_ticket(ticket_id=...)"
ENTITY = "takes an entity, such as Call(call_id=...)"
TARGET = "takes an entity, or a lookup, such as Call.by_id(call_id=...)"
MISTAKES: list[tuple[Callable[[Store, Any], Any], Any, str]] = [
    (Store.get, "b", f"{GET}, not str"),
    (Store.get, SOME, f"{GET}, not the selection Book.of_shelf(...)"),
    (Store.get, Book.by_id, f"{GET}, not a pattern that was not called"),
    (Store.get, Book, f"{GET}, not the class Book"),
    (Store.get, BOOK, f"{GET}, not a Book"),
    (lambda store, wanted: store.get_many(wanted), ONE, "get_many takes a list of lookups: get_many([...])"),
    (lambda store, wanted: store.get_many([wanted]), SOME, "not the selection Book.of_shelf(...)"),
    (Store.query, ONE, f"query {QUERY}, not the lookup Book.by_id(...)"),
    (Store.query, Book.of_shelf, f"query {QUERY}, not a pattern that was not called"),
    (Store.query, Book, f"query {QUERY}, not the class Book"),
    (Store.query, ALL, f"query {QUERY}, not the selection Shelf.whole(...) of a collection"),
    (Store.count, ONE, "not the lookup Book.by_id(...)"),
    (Store.collect, SOME, f"{COLLECT}, not the selection Book.of_shelf(...)"),
    (Store.scan, BOOK, "scan takes an entity class, not a Book"),
    (Store.scan, shelves, "scan takes an entity class, not the table shelves"),
    (lambda store, source: list(store.iterate(source)), ONE, "not the lookup Book.by_id(...)"),
    (lambda store, source: list(store.pages(source)), BOOK, "not a Book"),
    (Store.create, {"shelf": "s"}, f"create {ENTITY}, not dict"),
    (Store.put, Book, f"put {ENTITY}, not the class Book"),
    (Store.upsert, ONE, f"upsert {ENTITY}, not the lookup Book.by_id(...)"),
    (Store.update, SOME, f"update {TARGET}, not the selection Book.of_shelf(...)"),
    (Store.delete, "b", f"delete {TARGET}, not str"),
    (Store.transact, BOOK, "transact takes operations, such as Create(call) or Update(call, ...), not a Book"),
    (Store.transact, [Create(BOOK)], "transact takes operations, such as Create(call) or Update(call, ...), not list"),
    (Store.ensure_tables, Book, "ensure_tables takes tables, not the class Book"),
    (Store.ensure_tables, "shelves", "ensure_tables takes tables, not str"),
    (Store.verify, "shelves", "verify takes a table, or an entity class, not str"),
    (Store.repair, BOOK, "repair takes a table, or an entity class, not a Book"),
]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        yield store


@pytest.mark.parametrize(("call", "argument", "answer"), MISTAKES)
def test_a_call_says_what_it_takes(store: Store, call: Callable[[Store, Any], Any], argument: Any, answer: str) -> None:
    with pytest.raises(ModelError) as refused:
        call(store, argument)
    assert answer in str(refused.value)


def test_what_was_read_in_part_cannot_be_written(store: Store) -> None:
    store.ensure_tables(shelves)
    store.create(Book(shelf="s", book_id="b"))
    (part,) = store.query(Title.titles(shelf="s")).items
    writes: list[Callable[[Any], object]] = [store.put, store.upsert, store.delete]
    writes.append(lambda each: store.update(each, attr(Book.title).set("Ada")))
    for write in writes:
        with pytest.raises(ModelError, match="Title"):
            write(part)


def test_a_time_is_not_bounded_by_text_that_is_none(store: Store) -> None:
    visits = Table("visits", "PK", "SK")

    class Visit(Entity, table=visits):
        guest: str
        at: datetime

        keys = Keys(PK="GUEST#{guest}", SK="{at}")

        @Query()
        def of_guest(self, guest: str, *, since: datetime | None = None) -> None: ...

    store.ensure_tables(visits)
    with pytest.raises(ModelError) as refused:
        store.query(Visit.of_guest(guest="ada", since="yesterday"))  # type: ignore[arg-type]
    assert str(refused.value).startswith("Visit.at, since: 'yesterday' is not valid: Input should be a valid datetime")


@pytest.mark.parametrize("bound", ["since", "before"])
def test_a_bound_of_another_type_is_refused_by_name(store: Store, bound: str) -> None:
    class Level(Entity, table=Table("levels", "PK", "SK")):
        tank: str
        height: int

        keys = Keys(PK="TANK#{tank}", SK="{height:number}")

        @Query()
        def of_tank(self, tank: str, *, since: int | None = None, before: int | None = None) -> None: ...

    with pytest.raises(ModelError, match=rf"Level\.height, {bound}: 'much' is not valid: Input"):
        store.query(Level.of_tank(tank="t", **{bound: "much"}))  # type: ignore[arg-type]


def test_a_parameter_that_is_not_there_is_named_once() -> None:
    with pytest.raises(TypeError) as refused:
        Book.by_id("s", "b", id="b")  # type: ignore[call-arg]
    assert str(refused.value) == "Book.by_id() got an unexpected keyword argument 'id'"


def test_a_table_that_was_not_made_is_named_with_what_makes_it(store: Store) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.get(ONE),
        lambda: store.create(BOOK),
        lambda: store.transact(Create(BOOK)),
    ]
    for call in calls:
        with pytest.raises(TableNotFound) as refused:
            call()
        assert refused.value.code == "ResourceNotFoundException"
        assert refused.value.tables == ("shelves",)
        assert str(refused.value).endswith("the table shelves does not exist; store.ensure_tables(...) creates it")


def test_an_index_that_was_not_made_is_named_with_what_makes_it(store: Store) -> None:
    store.ensure_tables(Table("shelves", "PK", "SK"))
    with pytest.raises(ServiceError) as refused:
        store.query(Book.titled(title="T"))
    assert str(refused.value).endswith("byTitle (table shelves); store.ensure_tables(...) adds it")
