"""Writes whose response gets lost on the way, on a real server: nothing is done twice that must not be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import Field

from tablewright.engine import Engine
from tablewright.model import Entity, FieldChange, Get, Keys, Table, Unique, Version, attr
from tablewright.store import Create, Delete, OutcomeUnknown, Store, Update
from tablewright.wire import serve_in_thread
from tests.store.backends.scripted_server import LossyWay, scripted

accounts = Table("Accounts", "pk")


class Account(Entity, table=accounts):
    number: int
    owner: str = "ada"
    balance: int = 0
    history: list[str] = Field(default_factory=list)
    tags: set[str] = Field(default_factory=set)
    note: str | None = None

    keys = Keys(pk="ACCOUNT#{number}")

    @Get()
    def by_number(self, number: int) -> None: ...


class Safe(Entity, table=accounts):
    number: int
    balance: int = 0
    version: Version = 0

    keys = Keys(pk="SAFE#{number}")

    @Get()
    def by_number(self, number: int) -> None: ...


class Member(Entity, table=accounts):
    number: int
    email: Annotated[str, Unique()]

    keys = Keys(pk="MEMBER#{number}")

    @Get()
    def by_number(self, number: int) -> None: ...


@dataclass
class Far:
    store: Store
    way: LossyWay


@pytest.fixture
def far() -> Iterator[Far]:
    """A store whose responses can get lost."""
    with Engine.open() as engine, serve_in_thread(engine) as url:
        way = LossyWay(int(url.rpartition(":")[2]))
        with (
            scripted(way) as between,
            Store.connect(
                "us-east-1",
                f"http://127.0.0.1:{between.port}",
                aws_access_key_id="any",
                aws_secret_access_key="any",
            ) as store,
        ):
            store.ensure_tables(accounts)
            way.executed.clear()
            yield Far(store, way)


def account(far: Far) -> Account:
    found = far.store.get(Account.by_number(number=1))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (attr(Account.balance).add(5), (7, ["a", "b"])),
        (attr(Account.balance).set(attr(Account.balance) + 5), (7, ["a", "b"])),
        (attr(Account.history).append("paid"), (2, ["a", "b", "paid"])),
        (attr(Account.history[0]).remove(), (2, ["b"])),
        (attr(Account.history[5]).set("c"), (2, ["a", "b", "c"])),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_what_counts_is_counted_once(far: Far, change: FieldChange, expected: tuple[int, list[str]]) -> None:
    far.store.put(Account(number=1, balance=2, history=["a", "b"]))
    far.way.losses = 1
    with pytest.raises(OutcomeUnknown):
        far.store.update(Account.by_number(number=1), change)
    found = account(far)
    assert (found.balance, found.history) == expected
    assert far.way.executed.count("UpdateItem") == 1


def test_what_is_set_unless_it_is_there_is_set_again(far: Far) -> None:
    far.store.put(Account(number=1))
    far.way.losses = 1
    far.store.update(Account.by_number(number=1), attr(Account.note).set_if_absent("first"))
    assert account(far).note == "first"
    assert far.way.executed.count("UpdateItem") == 2


def test_what_counts_is_counted_once_in_a_transaction(far: Far) -> None:
    far.store.put(Account(number=1))
    far.way.losses = 2
    far.store.transact(Update(Account.by_number(number=1), attr(Account.balance).add(5)), Create(Account(number=2)))
    assert account(far).balance == 5
    assert far.way.executed.count("TransactWriteItems") == 3


def test_what_is_set_is_set_again(far: Far) -> None:
    far.store.put(Account(number=1))
    far.way.losses = 2
    far.store.update(Account.by_number(number=1), attr(Account.owner).set("bob"), attr(Account.tags).add({"x"}))
    found = account(far)
    assert (found.owner, found.tags) == ("bob", {"x"})


def test_an_item_is_put_again(far: Far) -> None:
    far.way.losses = 2
    far.store.put(Account(number=1, balance=7))
    assert account(far).balance == 7
    assert far.way.executed[:3] == ["PutItem"] * 3


@pytest.mark.requirement("R11")
def test_a_create_whose_response_is_lost_does_not_raise_already_exists(far: Far) -> None:
    far.way.losses = 1
    with pytest.raises(OutcomeUnknown, match="read the item before you write again"):
        far.store.create(Account(number=1, balance=7))
    assert account(far).balance == 7


def test_a_version_refuses_the_second_time(far: Far) -> None:
    safe = far.store.put(Safe(number=1))
    far.way.losses = 1
    with pytest.raises(OutcomeUnknown):
        far.store.update(safe, attr(Safe.balance).add(5))
    found = far.store.get(Safe.by_number(number=1))
    assert found is not None
    assert (found.balance, found.version) == (5, 2)
    assert far.way.executed.count("UpdateItem") == 2


def test_guards_of_unique_values_are_taken_once(far: Far) -> None:
    far.way.losses = 1
    far.store.create(Member(number=1, email="a@example.org"))
    far.way.losses = 1
    far.store.transact(Delete(Member.by_number(number=1)))
    assert far.store.get(Member.by_number(number=1)) is None
    far.store.create(Member(number=2, email="a@example.org"))


def test_reads_are_sent_again(far: Far) -> None:
    far.store.put(Account(number=1))
    far.way.losses = 3
    assert account(far).number == 1
