"""Items of an older schema version, or in the wrong place, are put right with their large values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from tablewright.model import Entity, Get, Keys, Large, Query, Table, attr
from tablewright.model.declarations import BLOB_REFERENCES, Upgrades
from tablewright.store import FolderBlobStore, Store
from tablewright.store.flow.driver import Request
from tests.store.bench import Bench
from tests.store.large_value_design import THRESHOLD, A, Shelf, paper, papers, read, shelved

letters = Table("letters", "PK", "SK")


def shouting(values: dict[str, Any]) -> dict[str, Any]:
    return {"text" if name == "words" else name: value for name, value in values.items()} | {
        "text": values["words"].upper()
    }


class Letter(Entity, table=letters):
    letter_id: str
    text: Annotated[str, Large(THRESHOLD)]
    sender: str = ""

    keys = Keys(PK="LETTER#{letter_id}", SK="LETTER")
    upgrades = Upgrades(shouting)

    @Get()
    def by_id(self, letter_id: str) -> None: ...

    @Query()
    def all_of(self, letter_id: str) -> None: ...


@pytest.fixture
def old_letter(bench: Bench, tmp_path: Path) -> Shelf:
    """A letter of an older schema version, whose words are outside."""
    shelf = shelved(bench, FolderBlobStore(tmp_path / "letters"), letters)
    shelf.store.put(Letter(letter_id="1", text=A))
    item = shelf.item(Letter(letter_id="1", text=""))
    outside = item[BLOB_REFERENCES]["M"]
    outside["words"] = outside.pop("text")
    del item["shape"]
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": item}))
    return shelf


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.get(Letter.by_id(letter_id="1")),
        lambda store: store.update(Letter.by_id(letter_id="1"), attr(Letter.sender).set("me")),
        lambda store: store.update(store.get(Letter.by_id(letter_id="1")), attr(Letter.sender).set("me")),
        lambda store: store.put(store.get(Letter.by_id(letter_id="1"))),
        lambda store: store.repair(letters, dry_run=False),
        lambda store: store.verify(letters),
    ],
)
def test_an_older_shape_is_upgraded_with_its_large_values(old_letter: Shelf, write: Callable[[Store], Any]) -> None:
    write(old_letter.store)
    found = old_letter.store.get(Letter.by_id(letter_id="1"))
    assert found is not None
    assert found.text == A.upper()
    old_letter.assert_tidy()


def test_a_repair_that_moves_an_item_takes_its_large_values_along(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    item = shelf.item(paper())
    # As if it had been stored when keys were made in another way.
    misplaced = {**item, "SK": {"S": "PAPER#1x"}, "paper_id": {"S": "1"}}
    shelf.backend.call(Request("DeleteItem", {"TableName": shelf.name, "Key": {n: item[n] for n in ("PK", "SK")}}))
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": misplaced}))
    before = shelf.names()
    assert not shelf.store.repair(papers, dry_run=False).is_clean
    assert shelf.store.verify(papers).is_clean
    assert read(shelf).body == A
    assert shelf.names().isdisjoint(before)
