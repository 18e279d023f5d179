"""Creating an item unless it is there: what is there is whole."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from tablewright.model import Entity, Get, Keys, Table, attr
from tablewright.store import AlreadyExists, Store
from tests.store.bench import Bench
from tests.store.branches import Deal, LabelledShelf, Shelf, branches

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def test_large_values_of_what_is_there_are_loaded(bench: Bench, tmp_path: Path) -> None:
    bench.create_own(branches)
    store = Store(bench.backend, clock=bench.clock, table_names=bench.names, blobs=tmp_path)
    store.create(Deal(shop="s", number=1, at=NOON, text="t" * 5000))
    found, created = store.create_or_get(Deal(shop="s", number=1, at=NOON))
    assert not created
    assert found.text == "t" * 5000
    changed = store.update_or_create(Deal(shop="s", number=1, at=NOON), attr(Deal.note).set("x"))
    assert (changed.note, changed.text) == ("x", "t" * 5000)


def test_an_older_item_is_upgraded(bench: Bench, store: Store) -> None:
    table = Shelf.schema_.table
    bench.create_own(table)
    bench.save_item(table, Shelf(id="1", title="top").item())
    found, created = store.create_or_get(LabelledShelf(id="1", label="new"))
    assert (found.label, created) == ("top", False)


class Subject(BaseModel):
    id: str


class Mark(Entity, table=Table("marks", "PK")):
    subject: Subject
    count: int = 0

    keys = Keys(PK="MARK#{subject.id}")

    @Get()
    def of_subject(self, subject__id: str) -> None:
        """The mark of a subject."""


def test_a_key_of_a_part_of_a_field(bench: Bench, store: Store) -> None:
    bench.create_own(Mark.schema_.table)
    for expected in (1, 4):
        mark = store.update_or_create(Mark(subject=Subject(id="s"), count=1), attr(Mark.count).add(3))
        assert mark.count == expected


kinds = Table("kinds", "id", type_attribute="kind")


class Cat(Entity, table=kinds):
    id: str


class Dog(Entity, table=kinds):
    id: str


def test_an_item_of_another_entity_stays(bench: Bench, store: Store) -> None:
    bench.create_own(kinds)
    store.create(Cat(id="1"))
    with pytest.raises(AlreadyExists):
        store.create_or_get(Dog(id="1"))
    assert store.scan(Cat).items == [Cat(id="1")]
