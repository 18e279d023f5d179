"""Stamps that are stored as counts of seconds or milliseconds: an entity has what will be read back."""

from __future__ import annotations

from typing import Annotated

from tablewright.model import Entity, EpochMillis, EpochSeconds, Get, Stamp, Table, attr
from tablewright.store import Store

letters = Table("letters", "id")


class Letter(Entity, table=letters):
    id: str
    text: str = ""
    created_at: Annotated[EpochSeconds | None, Stamp("created")] = None
    updated_at: Annotated[EpochMillis | None, Stamp("updated")] = None

    @Get()
    def by_id(self, id: str) -> None: ...


def test_an_entity_that_was_written_is_as_it_is_read_and_can_be_changed() -> None:
    with Store.open(None, clock=lambda: 1_700_000_000.123456) as store:
        store.ensure_tables(letters)
        letter = store.create(Letter(id="1"))
        assert letter == store.get(Letter.by_id(id="1"))
        store.update(letter, attr(Letter.text).set("Changed"))
        assert letter == store.get(Letter.by_id(id="1"))
