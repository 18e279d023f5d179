"""An update sets, removes, moves and drives out large values, and leaves alone what it is not about."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.model import ModelError, attr
from tablewright.store import Create, ReadRequired, Store, Update, offloaded_sizes
from tests.store.large_value_design import THRESHOLD, A, B, Contract, Paper, Shelf, contract, paper, read


@pytest.mark.parametrize("by_lookup", [True, False])
@pytest.mark.parametrize("before", ["", "small", A])
@pytest.mark.parametrize("after", ["", "small", B])
def test_an_update_sets_a_large_field(shelf: Shelf, by_lookup: bool, before: str, after: str) -> None:
    entity = shelf.store.put(paper(body=before))
    updated = shelf.store.update(
        Paper.by_id(folder="f", paper_id="1") if by_lookup else entity, attr(Paper.body).set(after)
    )
    assert updated.body == after
    assert offloaded_sizes(updated) == ({"body": len(B)} if after == B else {})
    assert read(shelf) == updated


@pytest.mark.parametrize("by_lookup", [True, False])
def test_an_update_removes_a_large_field(shelf: Shelf, by_lookup: bool) -> None:
    entity = shelf.store.put(paper(body=A, scan=b"s" * 3 * THRESHOLD))
    target = Paper.by_id(folder="f", paper_id="1") if by_lookup else entity
    assert shelf.store.update(target, attr(Paper.body).remove(), attr(Paper.scan).set(None)).body == ""
    assert shelf.names() == set()


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("by_lookup", [True, False])
def test_another_field_that_grows_drives_a_large_one_out(shelf: Shelf, by_lookup: bool) -> None:
    body, scan = "b" * 700, b"s" * 600
    entity = shelf.store.put(paper(body=body, scan=scan))
    target = Paper.by_id(folder="f", paper_id="1") if by_lookup else entity
    first = shelf.store.update(target, attr(Paper.notes).append("n" * 600))
    assert offloaded_sizes(first) == {"body": 700}, "the largest goes first, and no more than have to"
    second = shelf.store.update(target, attr(Paper.notes).append("n" * 800))
    assert offloaded_sizes(second) == {"body": 700, "scan": 600}
    assert (second.body, second.scan) == (body, scan)
    assert read(shelf) == second


def test_an_entity_that_is_out_of_date_does_not_hide_how_large_the_item_is(shelf: Shelf) -> None:
    stale = shelf.store.put(paper(body="b" * 1000))
    shelf.store.update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.notes).append("n" * 500))
    updated = shelf.store.update(stale, attr(Paper.notes).append("n" * 500))
    assert offloaded_sizes(updated) == {"body": 1000}


def test_an_update_of_something_else_leaves_what_is_outside(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    (blob,) = shelf.names()
    assert shelf.store.update(entity, attr(Paper.title).set("t")).body == A
    assert (
        shelf.store.update(
            Paper.by_id(folder="f", paper_id="1"), attr(Paper.topic).set("x"), attr(Paper.notes).set(["n"])
        ).body
        == A
    )
    shelf.store.transact(
        Update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.title).set("u")), Create(contract(text="short"))
    )
    assert shelf.names() == {blob}
    assert (read(shelf).body, read(shelf).title) == (A, "u")


def test_what_an_entity_was_changed_to_in_memory_is_not_written_along(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    entity.body = B
    assert shelf.store.update(entity, attr(Paper.title).set("t")).body == A
    assert read(shelf).body == A


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("by_lookup", [True, False])
def test_a_move_takes_large_values_along(shelf: Shelf, by_lookup: bool) -> None:
    entity = shelf.store.put(paper(body=A, scan=b"s"))
    target = Paper.by_id(folder="f", paper_id="1") if by_lookup else entity
    before = shelf.names()
    moved = shelf.store.update(target, attr(Paper.folder).set("g"))
    assert (moved.body, moved.scan) == (A, b"s")
    assert read(shelf, folder="g") == moved
    assert shelf.names().isdisjoint(before), "a blob belongs to one key for good"


def test_a_move_with_a_version_and_a_unique_field(shelf: Shelf) -> None:
    entity = shelf.store.create(contract())
    shelf.store.update(entity, attr(Contract.folder).set("g"), attr(Contract.text).set(B))
    assert shelf.store.get(Contract.by_code(code="c-1"), consistent=True) == entity
    assert shelf.store.get(Contract.by_code(code="c-1")) == entity
    shelf.store.put(entity)
    shelf.store.update(Contract.by_code(code="c-1"), attr(Contract.code).set("c-2"))
    found = shelf.store.get(Contract.by_id(folder="g", number="1"))
    assert found is not None
    assert (found.code, found.text, found.version) == ("c-2", B, 4)


def test_a_large_field_can_only_be_set_and_removed(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    with pytest.raises(ModelError, match=r"Paper: body is Large, so it can only be set and removed"):
        shelf.store.update(entity, attr(Paper.body).add(5))  # type: ignore[misc]
    with pytest.raises(ModelError, match=r"Paper\.body is Large and may be stored as a blob"):
        shelf.store.update(entity, attr(Paper.title).set("t"), expect=attr(Paper.body) == A)


def test_a_strict_store_updates_what_it_need_not_read_for(shelf: Shelf) -> None:
    settings: dict[str, Any] = {"clock": shelf.context.clock, "table_names": shelf.context.table_names}
    store = Store(shelf.backend, strict=True, blobs=shelf.blobs, **settings)
    entity = store.put(paper(body=A))
    assert store.update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.title).set("t")).body == A
    with pytest.raises(ReadRequired, match="has to read body first"):
        store.update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.body).set(B))
    assert store.update(entity, attr(Paper.body).set(B)).body == B
