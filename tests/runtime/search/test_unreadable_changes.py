"""Changes that cannot be read, among others of the same item in a batch, as the search index sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.model import Entity, Get, Keys, Table
from tablewright.runtime.search.full_text_index import FullTextIndex
from tablewright.runtime.search.search import _Handler
from tablewright.runtime.search.searchable import Searchable
from tablewright.store.streams.change_records import changes_in
from tablewright.store.streams.effects import Effects

pytestmark = pytest.mark.requirement("AP3")

notes = Table("Notes", "PK", "SK", type_attribute="kind", stream="NEW_AND_OLD_IMAGES")


class Note(Entity, table=notes):
    note_id: str
    number: int = 0
    text: str = ""

    keys = Keys(PK="NOTE#{note_id}", SK="NOTE")

    @Get()
    def by_id(self, note_id: str) -> None: ...


_KEY = {"PK": {"S": "NOTE#1"}, "SK": {"S": "NOTE"}}


def _item(text: str, number: dict[str, str]) -> dict[str, Any]:
    return {**_KEY, "kind": {"S": "Note"}, "note_id": {"S": "1"}, "number": number, "text": {"S": text}}


FIRST = _item("first", {"N": "1"})
BROKEN = _item("broken", {"S": "no number"})
THIRD = _item("third", {"N": "3"})


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([FIRST, BROKEN], []),
        ([FIRST, BROKEN, None], []),
        ([FIRST, BROKEN, THIRD], ["third"]),
        ([FIRST, BROKEN, THIRD, FIRST], ["first"]),
        ([FIRST, BROKEN, FIRST, THIRD, BROKEN], []),
    ],
)
def test_the_last_state_of_an_item_counts_even_if_one_before_it_cannot_be_read(
    states: list[dict[str, Any] | None], found: list[str]
) -> None:
    records = []
    for sequence, (before, after) in enumerate(zip([None, *states], states, strict=False)):
        body: dict[str, Any] = {"Keys": _KEY, "SequenceNumber": str(sequence), "ApproximateCreationDateTime": 1.0}
        body.update({name: image for name, image in (("OldImage", before), ("NewImage", after)) if image is not None})
        kind = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
        records.append({"eventName": kind, "dynamodb": body})
    index = FullTextIndex(None)
    handler = _Handler(index, "notes", notes, [Searchable(Note, "note", Note.by_id, title="text")])
    changes = changes_in(notes, records, change_filter=handler.is_readable)
    if changes:
        handler.handle(changes, Effects())
    assert [title for (title,) in index._connection.execute("SELECT title FROM words")] == found
    index.close()
