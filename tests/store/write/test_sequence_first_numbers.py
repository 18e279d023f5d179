"""What is made with its first numbered items costs no look at their counter, and a wrong guess costs no gap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from tablewright.engine import Engine
from tablewright.model import Entity, FieldGroup, Keys, ModelError, Numbered, Query, Table, attr, schema_of
from tablewright.store import AlreadyExists, Cancelled, Create, Put, Store
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response

ledger = Table("ledger", "PK", "SK", type_attribute="kind")


class Book(Entity, table=ledger):
    book_id: str

    keys = Keys(PK="BOOK#{book_id}", SK="BOOK")


class Entry(Entity, table=ledger):
    book_id: str
    number: int = 0

    keys = Keys(PK="BOOK#{book_id}", SK="ENTRY#{number:06}")

    @Numbered()
    def number_per_book(self) -> FieldGroup[int]:
        return attr(self.number).per(self.book_id)

    @Query()
    def of_book(self, book_id: str) -> None: ...


class Owner(BaseModel):
    name: str
    town: str | None = None


class Receipt(Entity, table=ledger):
    receipt_id: str
    owner: Owner
    number: int = 0

    keys = Keys(PK="RECEIPT#{receipt_id}", SK="RECEIPT")

    @Numbered()
    def number_per_owner_name_and_owner_town(self) -> FieldGroup[int]:
        return attr(self.number).per(self.owner.name, self.owner.town)


class Page(Entity, table=ledger):
    book_id: str
    number: int = 0

    keys = Keys(PK="BOOK#{book_id}", SK="PAGE#{number:06}")

    @Numbered()
    def number_per_book(self) -> FieldGroup[int]:
        return attr(self.number).per(self.book_id, self.book_id)


class Told(EmbeddedBackend):
    """A backend that tells what it was asked for."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, owned=True)
        self.operations: list[str] = []

    def call(self, request: Request) -> Response:
        self.operations.append(request.operation)
        return super().call(request)


@pytest.fixture
def backend() -> Iterator[Told]:
    with Engine.open() as engine:
        yield Told(engine)


@pytest.fixture
def store(backend: Told) -> Store:
    store = Store(backend)
    store.ensure_tables(ledger)
    backend.operations.clear()
    return store


def numbers(store: Store, book_id: str) -> list[int]:
    return [entry.number for entry in store.query(Entry.of_book(book_id=book_id)).items]


def test_a_book_with_its_first_entries_is_one_request(store: Store, backend: Told) -> None:
    entries = [Entry(book_id="b") for _ in range(3)]
    store.transact(Create(Book(book_id="b")), *map(Create, entries))
    assert backend.operations == ["TransactWriteItems"]
    assert [entry.number for entry in entries] == numbers(store, "b") == [1, 2, 3]


def test_entries_of_a_book_that_is_there_follow_the_others(store: Store, backend: Told) -> None:
    store.transact(Create(Book(book_id="b")), Create(Entry(book_id="b")))
    backend.operations.clear()
    store.transact(Put(Book(book_id="b")), Create(Entry(book_id="b")))
    store.transact(Create(Book(book_id="c")), Create(Entry(book_id="b")), Create(Entry(book_id="c")))
    assert backend.operations == ["GetItem", "TransactWriteItems"] * 2
    assert (numbers(store, "b"), numbers(store, "c")) == ([1, 2, 3], [1])


def test_a_book_that_is_made_again_goes_on_with_the_numbers_of_the_first(store: Store, backend: Told) -> None:
    book = Book(book_id="b")
    store.transact(Create(book), Create(Entry(book_id="b")))
    store.delete(book)
    backend.operations.clear()
    entry = Entry(book_id="b")
    store.transact(Create(Book(book_id="b")), Create(entry))
    assert entry.number == 2
    assert backend.operations == ["TransactWriteItems"] * 2


def test_a_book_that_is_there_already_uses_no_number_up(store: Store) -> None:
    store.transact(Create(Book(book_id="b")), Create(Entry(book_id="b")))
    entry = Entry(book_id="b")
    with pytest.raises(Cancelled) as cancelled:
        store.transact(Create(Book(book_id="b")), Create(entry))
    assert isinstance(cancelled.value.reasons[0], AlreadyExists)
    assert (entry.number, numbers(store, "b")) == (0, [1])


def test_items_can_be_numbered_per_what_is_inside_of_a_field(store: Store) -> None:
    towns = ["Rome", "Bonn", "Rome"]
    receipts = [Receipt(receipt_id=f"r-{n}", owner=Owner(name="Ada", town=town)) for n, town in enumerate(towns)]
    assert [store.create(receipt).number for receipt in receipts] == [1, 1, 2]


def test_an_item_without_what_it_is_numbered_per_is_refused_before_anything_is_asked(
    store: Store, backend: Told
) -> None:
    with pytest.raises(ModelError, match=r"Receipt\.number is numbered per owner\.town, which has no value"):
        store.create(Receipt(receipt_id="r", owner=Owner(name="Ada")))
    assert backend.operations == []


def test_a_counter_is_named_by_all_that_it_is_counted_per_and_as_often() -> None:
    # A counter under another name would begin at one again.
    schema = schema_of(Page)
    key = schema.sequence_key(schema.fields["number"], {"book_id": {"S": "b"}})
    assert key["PK"]["S"].endswith("#b#b")
