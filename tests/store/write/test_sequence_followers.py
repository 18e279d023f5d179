"""A number is known inside of its own transaction: what is written with an item can be of its number."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Annotated

import pytest

from tablewright.model import Entity, FieldGroup, Get, Keys, ModelError, Numbered, Query, Table, attr
from tablewright.store import AlreadyExists, Cancelled, Check, Create, NotFound, Operation, Put, Store, Update
from tests.store.bench import Bench

books = Table("books", "PK", "SK")


class Account(Entity, table=books):
    account_id: str
    last_invoice: int | None = None

    keys = Keys(PK="ACCOUNT#{account_id}", SK="ACCOUNT")

    @Get()
    def by_id(self, account_id: str) -> None: ...


class Invoice(Entity, table=books):
    number: Annotated[int, Numbered()] = 0
    account_id: str = "ada"

    keys = Keys(PK="INVOICE#{number:06}", SK="INVOICE")

    @Get()
    def by_number(self, number: int) -> None: ...


class Line(Entity, table=books):
    """Numbered itself, for each invoice."""

    invoice: int
    line: int = 0
    text: str = ""

    keys = Keys(PK="INVOICE#{invoice:06}", SK="LINE#{line:03}")

    @Numbered()
    def line_per_invoice(self) -> FieldGroup[int]:
        return attr(self.line).per(self.invoice)

    @Query()
    def of_invoice(self, invoice: int) -> None: ...


@pytest.fixture
def store(bench: Bench) -> Iterator[Store]:
    bench.create_own(books)
    yield bench.store
    report = bench.store.verify(books)
    assert report.is_clean, report.findings


def with_lines(*texts: str) -> Create:
    def lines(invoice: Invoice) -> list[Operation]:
        return [Create(Line(invoice=invoice.number, text=text)) for text in texts]

    return Create(Invoice(), then=lines)


def lines_of(store: Store, number: int) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in store.query(Line.of_invoice(number), consistent=True).items]


def test_items_of_a_number_are_written_with_it(store: Store) -> None:
    for texts in (["pump", "hose"], ["seal"]):
        store.transact(with_lines(*texts))
    assert lines_of(store, 1) == [(1, "pump"), (2, "hose")]
    assert lines_of(store, 2) == [(1, "seal")]


def test_the_entity_has_its_number_once_it_is_written_and_not_before(store: Store) -> None:
    invoice = Invoice()
    seen: list[tuple[int, int]] = []

    def noted(made: Invoice) -> list[Operation]:
        seen.append((made.number, invoice.number))
        return []

    store.transact(Create(invoice, then=noted))
    assert (seen, invoice.number) == ([(1, 0)], 1)


def test_an_update_can_be_to_the_number(store: Store) -> None:
    account = store.create(Account(account_id="ada"))
    change = Create(Invoice(), then=lambda made: [Update(account, attr(Account.last_invoice).set(made.number))])
    store.transact(change)
    found = store.get(Account.by_id("ada"))
    assert found is not None
    assert found.last_invoice == 1


def test_all_of_it_is_refused_with_the_reason_of_what_follows(store: Store) -> None:
    store.create(Line(invoice=1, line=1, text="there already"))
    taken = Create(Invoice(), then=lambda made: [Create(Line(invoice=made.number, line=1))])
    with pytest.raises(Cancelled) as cancelled:
        store.transact(taken, Check(Account.by_id("nobody")))
    created, checked, followed = cancelled.value.reasons
    assert created is None
    assert isinstance(checked, NotFound)
    assert isinstance(followed, AlreadyExists)
    assert store.get(Invoice.by_number(1)) is None
    # And the number is not used up.
    store.transact(with_lines())
    assert store.get(Invoice.by_number(1)) is not None


def test_a_put_has_followers_as_well(store: Store) -> None:
    store.transact(Put(Invoice(), then=lambda made: [Create(Line(invoice=made.number))]))
    assert lines_of(store, 1) == [(1, "")]


def test_of_many_at_once_each_has_its_own_number_and_lines(store: Store) -> None:
    def write(each: int) -> None:
        store.transact(with_lines(str(each), str(each)))

    threads = [Thread(target=write, args=(each,)) for each in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    found = [lines_of(store, number) for number in range(1, 13)]
    assert all([line for line, _ in lines] == [1, 2] for lines in found)
    assert sorted(int(lines[0][1]) for lines in found) == list(range(12))
    assert all(lines[0][1] == lines[1][1] for lines in found)


def test_what_has_no_number_has_no_followers() -> None:
    with pytest.raises(ModelError, match="Account is not numbered"):
        Create(Account(account_id="ada"), then=lambda _: [])
