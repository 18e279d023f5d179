"""Large values come back on every read that wants them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tablewright.dynamo import item_size
from tablewright.store.blobs.blob_references import references
from tests.store.large_value_design import (
    THRESHOLD,
    A,
    Folder,
    Paper,
    PaperBody,
    PaperTitle,
    Shelf,
    contract,
    long,
    paper,
    read,
)


@pytest.mark.requirement("SU15")
def test_every_read_gives_large_values(shelf: Shelf) -> None:
    wanted = [paper(paper_id=str(number), topic="t", body=long(str(number)), title="x") for number in range(12)]
    shelf.store.write_many(wanted)
    agreed = shelf.store.create(contract())
    store = shelf.store
    assert store.get_many([Paper.by_id(folder="f", paper_id=each.paper_id) for each in wanted]) == wanted
    in_order = sorted(wanted, key=lambda each: each.paper_id)
    for selection in (Paper.in_folder(folder="f"), Paper.on_topic(topic="t"), Paper.by_title(topic="t")):
        assert store.query(selection).items == in_order
        assert list(store.iterate(selection, page_size=5)) == in_order
        assert [item for page in store.pages(selection, limit=5) for item in page.items] == in_order
        assert store.count(selection) == 12
    assert sorted(store.scan(Paper).items, key=lambda each: each.paper_id) == in_order
    folder = store.collect(Folder.named(folder="f"))
    assert folder is not None
    assert (folder.papers, folder.contracts) == (in_order, [agreed])


def test_a_projection_has_what_it_projects(shelf: Shelf) -> None:
    shelf.store.put(paper(topic="t", body=A, title="x"))
    (body,) = shelf.store.query(PaperBody.bodies(topic="t")).items
    assert body.body == A
    for blob in shelf.names():
        shelf.blobs.delete(blob)
    (title,) = shelf.store.query(PaperTitle.titles(topic="t")).items
    assert title.title == "x"
    # What is not wanted is not fetched.
    shelf.store.delete(Paper.by_id(folder="f", paper_id="1"))


def test_a_page_without_a_limit_ends_when_much_is_outside(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.store.read.pager.MAX_BLOB_BYTES", 2 * len(A))
    shelf.store.write_many(paper(paper_id=str(number), body=A) for number in range(9))
    sizes = [len(page.items) for page in shelf.store.pages(Paper.in_folder(folder="f"))]
    assert sizes == [2, 2, 2, 2, 1]
    assert len(shelf.store.query(Paper.in_folder(folder="f"), limit=7).items) == 7
    assert len(list(shelf.store.iterate(Paper.in_folder(folder="f"), limit=7))) == 7


@pytest.mark.parametrize("text", ["", "grün ☂ \U0001f4d6 " * 900, "\x00" * 3000])
def test_any_text_comes_back(shelf: Shelf, text: str) -> None:
    shelf.store.put(paper(body=text, title="t" * 1900))
    assert read(shelf).body == text


def test_an_expired_item_is_not_given_whatever_it_has_outside(shelf: Shelf) -> None:
    soon = datetime.fromtimestamp(shelf.context.clock() + 60, UTC)
    shelf.store.put(paper(body=A, ttl=soon))
    assert read(shelf).body == A
    assert item_size(shelf.item(paper())) < THRESHOLD
    assert set(references(shelf.item(paper()))) == {"body"}
