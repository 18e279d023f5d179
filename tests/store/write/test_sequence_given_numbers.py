"""A counter is never behind its items: not when a number is given, nor when an item is counted for something else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tablewright.model import Entity, FieldGroup, Get, Keys, Numbered, Query, Table, Version, attr
from tablewright.store import Create, Put, Store, Update
from tests.store.bench import Bench

board = Table("board", "PK", "SK")


class Card(Entity, table=board):
    """Its number is part of its key."""

    list_id: str
    number: int = 0
    text: str = ""

    keys = Keys(PK="LIST#{list_id}", SK="CARD#{number:04}")

    @Numbered()
    def number_per_list(self) -> FieldGroup[int]:
        return attr(self.number).per(self.list_id)

    @Get()
    def itself(self, list_id: str, number: int) -> None: ...

    @Query()
    def of_list(self, list_id: str) -> None: ...


class Bug(Entity, table=board):
    """Its number is not, and neither is what it is counted for."""

    bug_id: str
    project: str
    number: int = 0
    version: Version = 0

    keys = Keys(PK="BUG#{bug_id}", SK="BUG")

    @Numbered()
    def number_per_project(self) -> FieldGroup[int]:
        return attr(self.number).per(self.project)

    @Get()
    def by_id(self, bug_id: str) -> None: ...


@pytest.fixture
def store(bench: Bench) -> Iterator[Store]:
    bench.create_own(board)
    yield bench.store
    report = bench.store.verify(board)
    assert report.is_clean, report.findings


def numbers(store: Store, list_id: str) -> list[int]:
    return [card.number for card in store.query(Card.of_list(list_id=list_id)).items]


def test_an_item_that_moves_elsewhere_is_given_the_next_number_there(store: Store) -> None:
    for list_id in ("a", "a", "a", "b"):
        store.create(Card(list_id=list_id))
    card = store.get(Card.itself(list_id="a", number=3))
    assert card is not None
    assert store.update(card, attr(Card.list_id).set("b")).number == 2
    assert (
        store.update(Card.itself(list_id="a", number=1), attr(Card.list_id).set("b"), attr(Card.text).set("x")).number
        == 3
    )
    assert (numbers(store, "a"), numbers(store, "b")) == ([2], [1, 2, 3])
    assert [store.create(Card(list_id=list_id)).number for list_id in ("a", "b")] == [4, 4]


def test_so_is_one_that_is_counted_elsewhere_and_stays_where_it_is(store: Store) -> None:
    store.create(Bug(bug_id="1", project="x"))
    bug = store.create(Bug(bug_id="2", project="y"))
    store.create(Bug(bug_id="3", project="y"))
    assert store.update(bug, attr(Bug.project).set("x")).number == 2
    assert store.update(Bug.by_id(bug_id="2"), attr(Bug.project).set("x")).number == 2
    found = store.get(Bug.by_id(bug_id="2"))
    assert found is not None
    assert (found.project, found.number, found.version) == ("x", 2, 3)


def test_several_moves_of_a_transaction_draw_in_their_order(store: Store) -> None:
    cards = [store.create(Card(list_id="a")) for _ in range(3)]
    store.transact(
        Update(cards[1], attr(Card.list_id).set("b")),
        Create(Card(list_id="b")),
        Update(cards[0], attr(Card.list_id).set("b")),
    )
    assert (cards[1].number, cards[0].number, numbers(store, "b")) == (1, 3, [1, 2, 3])


def test_a_number_that_is_given_counts(store: Store) -> None:
    store.create(Card(list_id="a", number=7))
    assert store.create(Card(list_id="a")).number == 8
    store.put(Card(list_id="a", number=3))
    store.put(Card(list_id="a", number=11))
    store.upsert(Card(list_id="a", number=13))
    store.upsert(Card(list_id="a", number=13, text="again"))
    assert store.create(Card(list_id="a")).number == 14
    store.update(Card.itself(list_id="a", number=14), attr(Card.number).set(20))
    store.update(Card.itself(list_id="a", number=7), attr(Card.number).add(2))
    assert store.create(Card(list_id="a")).number == 21
    assert numbers(store, "a") == [3, 8, 9, 11, 13, 20, 21]


def test_numbers_that_are_drawn_are_past_those_that_are_given_with_them(store: Store) -> None:
    drawn = Card(list_id="a")
    store.transact(Create(drawn), Create(Card(list_id="a", number=1)), Put(Card(list_id="a", number=5)))
    assert drawn.number == 6


def test_an_entity_with_a_version_is_not_counted_again(bench: Bench) -> None:
    bench.create_own(board)
    bug = bench.store.create(Bug(bug_id="1", project="x"))
    operations: list[str] = []
    store = Store(
        bench.backend,
        clock=bench.clock,
        table_names=bench.names,
        on_capacity=lambda pattern, operation, capacity: operations.append(operation),
    )
    store.put(bug)
    assert operations == ["PutItem"]
