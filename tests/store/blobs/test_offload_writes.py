"""Values that are too large for an item are kept outside of it, on every way to write a whole item or delete it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablewright.model import Entity, attr
from tablewright.store import (
    AlreadyExists,
    Cancelled,
    Check,
    ConditionFailed,
    Create,
    Delete,
    Outcome,
    Put,
    Store,
    Upsert,
    offloaded_sizes,
)
from tests.store.large_value_design import BY_ID, THRESHOLD, A, B, Once, Paper, Shelf, paper, read


def write_many(store: Store, entity: Entity) -> None:
    store.write_many([entity])


WHOLE: list[Callable[[Store, Paper], Any]] = [
    Store.put,
    Store.create,
    Store.upsert,
    write_many,
    lambda store, entity: store.transact(Create(entity), Check(Paper.by_id(folder="f", paper_id="0"))),
    lambda store, entity: store.transact(Put(entity), Check(Paper.by_id(folder="f", paper_id="0"))),
    lambda store, entity: store.transact(Upsert(entity), Check(Paper.by_id(folder="f", paper_id="0"))),
    lambda store, entity: store.execute_once(Once, "k", {}, lambda: Outcome({}, Create(entity))),
]


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("write", WHOLE)
def test_a_new_item_has_its_large_values_outside(shelf: Shelf, write: Callable[[Store, Paper], Any]) -> None:
    shelf.store.put(paper(paper_id="0"))
    entity = paper(title="t", body=A, scan=b"\x00\xff" * THRESHOLD)
    write(shelf.store, entity)
    assert offloaded_sizes(entity) == {"body": len(A), "scan": 2 * THRESHOLD}
    assert {"body", "scan"}.isdisjoint(shelf.item(entity))
    assert read(shelf) == entity


@pytest.mark.parametrize("write", [Store.put, Store.create, Store.upsert, write_many])
def test_an_item_that_fits_is_left_whole(shelf: Shelf, write: Callable[[Store, Paper], Any]) -> None:
    entity = paper(body="b" * 500, scan=b"s" * 500)
    write(shelf.store, entity)
    assert shelf.item(entity) == entity.item()
    assert offloaded_sizes(entity) == {}


REPLACING = [
    Store.put,
    Store.upsert,
    write_many,
    lambda store, entity: store.transact(Put(entity), Check(Paper.by_id(folder="f", paper_id="0"))),
    lambda store, entity: store.transact(Upsert(entity), Check(Paper.by_id(folder="f", paper_id="0"))),
]


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("later", ["", "small", B])
@pytest.mark.parametrize("write", REPLACING)
def test_what_is_replaced_goes(shelf: Shelf, write: Callable[[Store, Paper], Any], later: str) -> None:
    shelf.store.put(paper(paper_id="0"))
    shelf.store.put(paper(body=A, scan=b"s" * 3 * THRESHOLD))
    write(shelf.store, paper(body=later))
    found = read(shelf)
    assert (found.body, found.scan) == (later, None)


def test_a_value_that_stays_the_same_stays_where_it_is(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    (before,) = shelf.names()
    entity.title = "new"
    shelf.store.put(entity)
    shelf.store.upsert(entity)
    shelf.store.update(entity, attr(Paper.title).set("newer"), attr(Paper.body).set(A))
    assert shelf.names() == {before}


@pytest.mark.parametrize("fault", ["missing", "damaged"])
@pytest.mark.requirement("SU15")
def test_a_value_that_is_set_again_mends_its_blob(shelf: Shelf, fault: str) -> None:
    shelf.store.put(paper(body=A))
    (before,) = shelf.names()
    if fault == "missing":
        shelf.blobs.delete(before)
    else:
        shelf.blobs.put(before, b"something else")
    # A refusal leaves it mended.
    with pytest.raises(ConditionFailed):
        shelf.store.update(BY_ID, attr(Paper.body).set(A), expect=attr(Paper.title) == "another")
    assert read(shelf).body == A
    shelf.blobs.delete(before)
    shelf.store.update(BY_ID, attr(Paper.body).set(A))
    assert read(shelf).body == A
    shelf.assert_tidy()


def test_an_item_that_is_written_under_another_key_takes_nothing_from_the_first(shelf: Shelf) -> None:
    first = shelf.store.put(paper(body=A))
    copy = first.model_copy(update={"paper_id": "2"})
    shelf.store.put(copy)
    shelf.store.delete(first)
    assert read(shelf, paper_id="2").body == A


def test_a_refused_create_leaves_nothing_behind(shelf: Shelf) -> None:
    shelf.store.create(paper(body=A))
    with pytest.raises(AlreadyExists):
        shelf.store.create(paper(body=B))
    assert read(shelf).body == A
    assert len(shelf.names()) == 1


def test_a_transaction_that_is_refused_leaves_nothing_behind(shelf: Shelf) -> None:
    with pytest.raises(Cancelled):
        shelf.store.transact(Create(paper(body=A)), Check(Paper.by_id(folder="f", paper_id="none")))
    assert shelf.names() == set()


DELETING: list[Callable[[Store, Paper], Any]] = [
    Store.delete,
    lambda store, _: store.delete(Paper.by_id(folder="f", paper_id="1")),
    lambda store, _: store.delete(Paper.by_id(folder="f", paper_id="1"), expect=attr(Paper.title) == ""),
    lambda store, entity: store.transact(Delete(entity), Check(Paper.by_id(folder="f", paper_id="0"))),
    lambda store, _: store.transact(
        Delete(Paper.by_id(folder="f", paper_id="1")), Check(Paper.by_id(folder="f", paper_id="0"))
    ),
    lambda store, entity: store.write_many(delete=[entity]),
    lambda store, _: store.write_many(delete=[Paper.by_id(folder="f", paper_id="1")]),
]


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("delete", DELETING)
def test_a_delete_takes_what_is_outside_along(shelf: Shelf, delete: Callable[[Store, Paper], Any]) -> None:
    shelf.store.put(paper(paper_id="0"))
    entity = shelf.store.put(paper(body=A, scan=b"s" * 3 * THRESHOLD))
    assert len(shelf.names()) == 2
    delete(shelf.store, entity)
    assert shelf.names() == set()
    assert shelf.store.get(Paper.by_id(folder="f", paper_id="1"), consistent=True) is None


def test_a_delete_says_whether_there_was_something(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    assert shelf.store.delete(Paper.by_id(folder="f", paper_id="1"))
    assert not shelf.store.delete(Paper.by_id(folder="f", paper_id="1"))
    assert not shelf.store.delete(entity)
