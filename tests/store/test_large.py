"""Values that are too large for an item are kept outside of it, on every way to write, and come back on every read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest

from tablewright.engine import Engine
from tablewright.engine.values import item_size
from tablewright.model import Attr, Entity, Get, Keys, Large, ModelError, Query, Table, schema_of
from tablewright.model.rules import OUTSIDE, Upgrades
from tablewright.store import (
    AlreadyExists,
    AnyChange,
    AsyncStore,
    BlobLost,
    Cancelled,
    Change,
    Check,
    Consumer,
    Create,
    Delete,
    Effects,
    Fault,
    FolderBlobs,
    LimitExceeded,
    MemoryBlobs,
    Outcome,
    Put,
    ReadRequired,
    Remedy,
    Store,
    StoreError,
    Update,
    Upsert,
    changes_of,
    only,
    sizes_outside,
)
from tablewright.store.backends import EmbeddedBackend
from tablewright.store.flow import Backend, Request
from tablewright.store.outside import references
from tests.store.conftest import Bench
from tests.store.papers import THRESHOLD, Contract, Folder, Once, Paper, Shelf, long, papers, shelved

A, B = long("a"), long("b")


@pytest.fixture
def shelf(bench: Bench, tmp_path: Path) -> Iterator[Shelf]:
    shelf = shelved(bench, FolderBlobs(tmp_path / "blobs"))
    yield shelf
    shelf.assert_tidy()
    shelf.assert_small()


def paper(**fields: Any) -> Paper:
    return Paper(**{"folder": "f", "paper_id": "1", **fields})


def contract(**fields: Any) -> Contract:
    return Contract(**{"folder": "f", "number": "1", "code": "c-1", "text": A, **fields})


def read(shelf: Shelf, **key: str) -> Paper:
    found = shelf.store.get(Paper.by_id(**{"folder": "f", "paper_id": "1", **key}), consistent=True)
    assert found is not None
    return found


# -- whole items ----------------------------------------------------------------------------------------------------


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
    assert sizes_outside(entity) == {"body": len(A), "scan": 2 * THRESHOLD}
    assert {"body", "scan"}.isdisjoint(shelf.item(entity))
    assert read(shelf) == entity


@pytest.mark.parametrize("write", [Store.put, Store.create, Store.upsert, write_many])
def test_an_item_that_fits_is_left_whole(shelf: Shelf, write: Callable[[Store, Paper], Any]) -> None:
    entity = paper(body="b" * 500, scan=b"s" * 500)
    write(shelf.store, entity)
    assert shelf.item(entity) == entity.item()
    assert sizes_outside(entity) == {}


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
    shelf.store.update(entity, title="newer", body=A)
    assert shelf.names() == {before}


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


# -- updates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_lookup", [True, False])
@pytest.mark.parametrize("before", ["", "small", A])
@pytest.mark.parametrize("after", ["", "small", B])
def test_an_update_sets_a_large_field(shelf: Shelf, by_lookup: bool, before: str, after: str) -> None:
    entity = shelf.store.put(paper(body=before))
    updated = shelf.store.update(Paper.by_id(folder="f", paper_id="1") if by_lookup else entity, body=after)
    assert updated.body == after
    assert sizes_outside(updated) == ({"body": len(B)} if after == B else {})
    assert read(shelf) == updated


@pytest.mark.parametrize("by_lookup", [True, False])
def test_an_update_removes_a_large_field(shelf: Shelf, by_lookup: bool) -> None:
    entity = shelf.store.put(paper(body=A, scan=b"s" * 3 * THRESHOLD))
    target = Paper.by_id(folder="f", paper_id="1") if by_lookup else entity
    assert shelf.store.update(target, remove=["body"], scan=None).body == ""
    assert shelf.names() == set()


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("by_lookup", [True, False])
def test_another_field_that_grows_drives_a_large_one_out(shelf: Shelf, by_lookup: bool) -> None:
    body, scan = "b" * 700, b"s" * 600
    entity = shelf.store.put(paper(body=body, scan=scan))
    target = Paper.by_id(folder="f", paper_id="1") if by_lookup else entity
    first = shelf.store.update(target, append={"notes": ["n" * 600]})
    assert sizes_outside(first) == {"body": 700}, "the largest goes first, and no more than have to"
    second = shelf.store.update(target, append={"notes": ["n" * 800]})
    assert sizes_outside(second) == {"body": 700, "scan": 600}
    assert (second.body, second.scan) == (body, scan)
    assert read(shelf) == second


def test_an_entity_that_is_out_of_date_does_not_hide_how_large_the_item_is(shelf: Shelf) -> None:
    stale = shelf.store.put(paper(body="b" * 1000))
    shelf.store.update(Paper.by_id(folder="f", paper_id="1"), append={"notes": ["n" * 500]})
    updated = shelf.store.update(stale, append={"notes": ["n" * 500]})
    assert sizes_outside(updated) == {"body": 1000}


def test_an_update_of_something_else_leaves_what_is_outside(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    (blob,) = shelf.names()
    assert shelf.store.update(entity, title="t").body == A
    assert shelf.store.update(Paper.by_id(folder="f", paper_id="1"), topic="x", notes=["n"]).body == A
    shelf.store.transact(Update(Paper.by_id(folder="f", paper_id="1"), title="u"), Create(contract(text="short")))
    assert shelf.names() == {blob}
    assert (read(shelf).body, read(shelf).title) == (A, "u")


def test_what_an_entity_was_changed_to_in_memory_is_not_written_along(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    entity.body = B
    assert shelf.store.update(entity, title="t").body == A
    assert read(shelf).body == A


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("by_lookup", [True, False])
def test_a_move_takes_large_values_along(shelf: Shelf, by_lookup: bool) -> None:
    entity = shelf.store.put(paper(body=A, scan=b"s"))
    target = Paper.by_id(folder="f", paper_id="1") if by_lookup else entity
    before = shelf.names()
    moved = shelf.store.update(target, folder="g")
    assert (moved.body, moved.scan) == (A, b"s")
    assert read(shelf, folder="g") == moved
    assert shelf.names().isdisjoint(before), "a blob belongs to one key for good"


def test_a_move_with_a_version_and_a_unique_field(shelf: Shelf) -> None:
    entity = shelf.store.create(contract())
    shelf.store.update(entity, folder="g", text=B)
    assert shelf.store.get(Contract.by_code(code="c-1"), consistent=True) == entity
    assert shelf.store.get(Contract.by_code(code="c-1")) == entity
    shelf.store.put(entity)
    shelf.store.update(Contract.by_code(code="c-1"), code="c-2")
    found = shelf.store.get(Contract.by_id(folder="g", number="1"))
    assert found is not None
    assert (found.code, found.text, found.version) == ("c-2", B, 4)


def test_a_large_field_can_only_be_set_and_removed(shelf: Shelf) -> None:
    entity = shelf.store.put(paper(body=A))
    with pytest.raises(ModelError, match=r"Paper: body is Large, so it can only be set and removed"):
        shelf.store.update(entity, add={"body": 5})
    with pytest.raises(ModelError, match=r"Paper\.body is Large and may be outside of its item"):
        shelf.store.update(entity, title="t", expect={"body": A})


# -- deletes --------------------------------------------------------------------------------------------------------

DELETING: list[Callable[[Store, Paper], Any]] = [
    Store.delete,
    lambda store, _: store.delete(Paper.by_id(folder="f", paper_id="1")),
    lambda store, _: store.delete(Paper.by_id(folder="f", paper_id="1"), expect={"title": ""}),
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


# -- reads ----------------------------------------------------------------------------------------------------------


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
    (body,) = shelf.store.query(Paper.bodies(topic="t")).items
    assert body.body == A
    assert "title" not in body.__dict__
    for blob in shelf.names():
        shelf.blobs.delete(blob)
    (title,) = shelf.store.query(Paper.titles(topic="t")).items
    assert title.title == "x"
    assert "body" not in title.__dict__, "what is not wanted is not fetched"
    shelf.store.delete(Paper.by_id(folder="f", paper_id="1"))


def test_a_page_without_a_limit_ends_when_much_is_outside(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablewright.store.queries.MOST_OUTSIDE", 2 * len(A))
    shelf.store.write_many(paper(paper_id=str(number), body=A) for number in range(9))
    sizes = [len(page.items) for page in shelf.store.pages(Paper.in_folder(folder="f"))]
    assert sizes == [2, 2, 2, 2, 1]
    assert len(shelf.store.query(Paper.in_folder(folder="f"), limit=7).items) == 7
    assert len(list(shelf.store.iterate(Paper.in_folder(folder="f"), limit=7))) == 7


@pytest.mark.parametrize("text", ["", "grün ☂ \U0001f4d6 " * 900, "\x00" * 3000])
def test_any_text_comes_back(shelf: Shelf, text: str) -> None:
    shelf.store.put(paper(body=text, title="t" * 1900))
    assert read(shelf).body == text


# -- when something is wrong ----------------------------------------------------------------------------------------


def test_a_blob_that_somebody_deleted_is_named(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    (blob,) = shelf.names()
    shelf.blobs.delete(blob)
    for reading in (
        lambda: read(shelf),
        lambda: shelf.store.query(Paper.in_folder(folder="f")),
        lambda: shelf.store.get_many([Paper.by_id(folder="f", paper_id="1")]),
    ):
        with pytest.raises(
            BlobLost, match=rf"^Paper folder f, paper_id 1: body is kept in the blob {blob}, which is not"
        ):
            reading()
    (finding,) = shelf.store.verify(papers).findings
    assert (finding.fault, finding.subject, finding.expected, finding.remedy) == (
        Fault.BLOB,
        "body",
        blob,
        Remedy.LEFT,
    )
    assert shelf.store.delete(Paper.by_id(folder="f", paper_id="1"))


def test_a_blob_that_somebody_changed_is_named(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    (blob,) = shelf.names()
    content = shelf.blobs.get(blob)
    assert content is not None
    shelf.blobs.put(blob, content[:-1] + b"!")
    with pytest.raises(BlobLost, match="does not hold what was written") as caught:
        read(shelf)
    assert (caught.value.entity, caught.value.field, caught.value.blob) == ("Paper", "body", blob)


def test_a_reference_that_somebody_forged_leads_nowhere(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    item = shelf.item(paper())
    item[OUTSIDE]["M"]["body"]["M"]["blob"] = {"S": "../../../../etc/passwd"}
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": item}))
    with pytest.raises(StoreError, match="is no name of a blob"):
        read(shelf)
    shelf.backend.call(Request("DeleteItem", {"TableName": shelf.name, "Key": schema_of(Paper).key_of(paper().item())}))
    for blob in shelf.names():
        shelf.blobs.delete(blob)


def test_what_another_writer_sets_in_the_item_counts(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    body = {
        "TableName": shelf.name,
        "Key": schema_of(Paper).key_of(paper().item()),
        "UpdateExpression": "SET body = :b",
        "ExpressionAttributeValues": {":b": {"S": "theirs"}},
    }
    shelf.backend.call(Request("UpdateItem", body))
    assert read(shelf).body == "theirs"
    shelf.store.update(Paper.by_id(folder="f", paper_id="1"), title="t")
    assert read(shelf).body == "theirs"
    assert shelf.names() == set(), "the next write of the store notices that nothing is outside any more"


def test_an_item_that_was_read_without_the_store_cannot_be_written_by_accident(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    partly = Paper.of(shelf.item(paper()))
    with pytest.raises(AttributeError):
        _ = partly.body
    assert partly.notes == []
    with pytest.raises(ModelError, match="read in part, without body"):
        shelf.store.put(partly)
    assert shelf.store.load(partly) == read(shelf)


def test_a_store_without_a_place_for_blobs_says_so(shelf: Shelf) -> None:
    store = Store(shelf.backend, clock=shelf.context.clock, table_names=shelf.context.table_names, blobs=None)
    store.put(paper(body=A))
    assert "body" in shelf.item(paper())
    with pytest.raises(LimitExceeded, match=r"Paper folder f, paper_id 1: .* nowhere else to keep body and scan"):
        store.put(paper(body=long("a", 420_000)))
    shelf.store.put(paper(body=A))
    with pytest.raises(StoreError, match="give it blobs="):
        store.get(Paper.by_id(folder="f", paper_id="1"))


def test_a_strict_store_updates_what_it_need_not_read_for(shelf: Shelf) -> None:
    settings: dict[str, Any] = {"clock": shelf.context.clock, "table_names": shelf.context.table_names}
    store = Store(shelf.backend, strict=True, blobs=shelf.blobs, **settings)
    entity = store.put(paper(body=A))
    assert store.update(Paper.by_id(folder="f", paper_id="1"), title="t").body == A
    with pytest.raises(ReadRequired, match="has to read body first"):
        store.update(Paper.by_id(folder="f", paper_id="1"), body=B)
    assert store.update(entity, body=B).body == B


# -- the changes of a stream ----------------------------------------------------------------------------------------


def changes(shelf: Shelf) -> list[Change[Paper]]:
    arn = shelf.backend.call(Request("DescribeTable", {"TableName": shelf.name}))["Table"]["LatestStreamArn"]
    shards = shelf.backend.call(Request("DescribeStream", {"StreamArn": arn}))["StreamDescription"]["Shards"]
    records = []
    for shard in shards:
        body = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = shelf.backend.call(Request("GetShardIterator", body))["ShardIterator"]
        records += shelf.backend.call(Request("GetRecords", {"ShardIterator": iterator}))["Records"]
    return changes_of(Paper, records)


def test_the_changes_of_a_stream_load_what_is_outside_when_asked(shelf: Shelf) -> None:
    first = shelf.store.put(paper(body=A, title="t")).model_copy()
    second = shelf.store.update(Paper.by_id(folder="f", paper_id="1"), body=B)
    created, changed = changes(shelf)
    assert created.after is not None
    assert changed.after is not None
    assert (created.after.title, sizes_outside(created.after)) == ("t", {"body": len(A)})
    assert "body" not in created.after.__dict__
    assert shelf.store.load(changed.after) == second
    with pytest.raises(BlobLost, match=r"Paper folder f, paper_id 1: body is kept in the blob .* no longer there"):
        shelf.store.load(created.after)
    assert shelf.store.load(first) is first, "what is whole is left as it is"


# -- older shapes, and upkeep ---------------------------------------------------------------------------------------

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

    by_id = Get()
    all_of = Query()


@pytest.fixture
def old_letter(bench: Bench, tmp_path: Path) -> Shelf:
    """A letter of an older shape, whose words are outside."""
    shelf = shelved(bench, FolderBlobs(tmp_path / "letters"), letters)
    shelf.store.put(Letter(letter_id="1", text=A))
    item = shelf.item(Letter(letter_id="1", text=""))
    outside = item[OUTSIDE]["M"]
    outside["words"] = outside.pop("text")
    del item["shape"]
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": item}))
    return shelf


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.get(Letter.by_id(letter_id="1")),
        lambda store: store.update(Letter.by_id(letter_id="1"), sender="me"),
        lambda store: store.update(store.get(Letter.by_id(letter_id="1")), sender="me"),
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


# -- the real threshold, the real folder, and asyncio ---------------------------------------------------------------


@pytest.mark.requirement("SU15")
def test_an_item_past_350_kb_goes_to_the_folder_and_comes_back(tmp_path: Path) -> None:
    table = Table("desk", "PK")

    class Case(Entity, table=table):
        case_id: str
        description: Annotated[str, Large()] = ""

        keys = Keys(PK="CASE#{case_id}")

        by_id = Get()

    with Store.open(tmp_path) as store:
        store.ensure_tables(table)
        inside = store.create(Case(case_id="1", description="d" * (350 * 1024 - 100)))
        outside = store.create(Case(case_id="2", description="d" * 350 * 1024))
        huge = store.create(Case(case_id="3", description="d" * 5_000_000))
        assert [sizes_outside(each) for each in (inside, outside, huge)] == [
            {},
            {"description": 350 * 1024},
            {"description": 5_000_000},
        ]
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 2
    with Store.open(tmp_path) as store:
        assert store.get(Case.by_id(case_id="3")) == huge
        store.delete(huge)
        store.delete(outside)
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []


def test_stores_on_one_engine_in_memory_share_its_blobs() -> None:
    with Engine.open() as engine:
        one, other = Store.on(engine), Store.on(engine)
        one.ensure_tables(papers)
        one.put(paper(body=A))
        found = other.get(Paper.by_id(folder="f", paper_id="1"))
        assert found is not None
        assert found.body == A


def test_the_asynchronous_store_does_the_same(shelf: Shelf) -> None:
    settings: dict[str, Any] = {"clock": shelf.context.clock, "table_names": shelf.context.table_names}
    store = AsyncStore(shelf.backend, blobs=shelf.blobs, **settings)

    async def work() -> None:
        await store.put(paper(body=A))
        await store.update(Paper.by_id(folder="f", paper_id="1"), scan=b"s" * 3 * THRESHOLD)
        found = [each async for each in store.iterate(Paper)]
        assert [(each.body, len(each.scan or b"")) for each in found] == [(A, 3 * THRESHOLD)]
        report = await store.collect_orphans(papers)
        assert (report.total.blobs, report.orphans.blobs) == (2, 0)
        partly = Paper.of(shelf.item(paper()))
        assert (await store.load(partly)).body == A
        assert await store.delete(Paper.by_id(folder="f", paper_id="1"))

    asyncio.run(work())


def test_the_event_loop_does_not_wait_for_blobs(embedded: Bench) -> None:
    threads: set[int] = set()

    class Noting(MemoryBlobs):
        def put(self, name: str, data: bytes) -> None:
            threads.add(threading.get_ident())
            super().put(name, data)

        def get(self, name: str) -> bytes | None:
            threads.add(threading.get_ident())
            return super().get(name)

        def delete(self, name: str) -> None:
            threads.add(threading.get_ident())
            super().delete(name)

    shelf = shelved(embedded, Noting())
    store = AsyncStore(shelf.backend, clock=shelf.context.clock, table_names=embedded.names, blobs=shelf.blobs)

    async def work() -> None:
        await store.put(paper(body=A))
        await store.get(Paper.by_id(folder="f", paper_id="1"))
        await store.delete(Paper.by_id(folder="f", paper_id="1"))

    asyncio.run(work())
    assert threads
    assert threading.get_ident() not in threads


def test_a_consumer_is_given_changes_of_items_that_have_values_outside(engine: Engine) -> None:
    store = Store.on(engine)
    notes = Table("notes-of-papers", "PK", "SK", ttl="ttl")
    store.ensure_tables(papers, notes)
    store.put(paper(body=A, title="t"))
    seen: list[tuple[str, str]] = []

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in only(Paper, changes):
            if change.after is not None:
                seen.append((change.after.title, store.load(change.after).body))

    consumer = Consumer(store, papers, handle, name="readers", notes=notes)
    assert consumer.run_once().records == 1
    store.delete(Paper.by_id(folder="f", paper_id="1"))
    assert consumer.run_once().dead_letters == 0
    assert seen == [("t", A)]


def test_large_values_cost_nothing_where_there_are_none(embedded: Bench) -> None:
    """No request more, and nothing of an object store, for entities without large fields."""
    sent: list[str] = []

    class Counting:
        def __init__(self, backend: Backend) -> None:
            self.backend = backend

        def call(self, request: Request) -> dict[str, Any]:
            sent.append(request.operation)
            return self.backend.call(request)

        async def call_async(self, request: Request) -> dict[str, Any]:
            raise NotImplementedError

        def close(self) -> None: ...

    table = Table("plain", "PK")

    class Plain(Entity, table=table):
        plain_id: str
        text: str = ""

        keys = Keys(PK="{plain_id}")
        by_id = Get()

    embedded.create(table)
    assert isinstance(embedded.backend, EmbeddedBackend)
    store = Store(Counting(embedded.backend), table_names=embedded.names, blobs=MemoryBlobs())
    store.put(Plain(plain_id="1", text=A))
    store.update(Plain.by_id(plain_id="1"), text=B)
    store.get(Plain.by_id(plain_id="1"))
    store.delete(Plain.by_id(plain_id="1"))
    assert sent == ["PutItem", "UpdateItem", "GetItem", "DeleteItem"]


# -- declarations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"body": Annotated[list[str], Large()]}, "Row.body is Large, so it must be text or bytes"),
        ({"body": Annotated[Any, Large()]}, "Row.body is Large, so it must be text or bytes"),
    ],
)
def test_a_large_field_is_text_or_bytes(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        type(
            "Row",
            (Entity,),
            {"__annotations__": {"key": str, **fields}, "__module__": __name__},
            table=Table("r", "key"),
        )


def test_no_field_can_be_taken_for_references() -> None:
    with pytest.raises(ModelError, match=r"Note\.mine is stored in '~outside', where the store keeps"):

        class Note(Entity, table=Table("notes", "key")):
            key: str
            mine: Annotated[str, Attr("~outside")] = ""


def test_a_large_field_is_no_filter() -> None:
    with pytest.raises(ModelError, match=r"Note\.long_ones: body is Large and may be outside of its item"):

        class Note(Entity, table=Table("notes", "key", "sort")):
            key: str
            sort: str
            body: Annotated[str, Large()] = ""

            long_ones = Query(where={"body": "x"})


def test_an_expired_item_is_not_given_whatever_it_has_outside(shelf: Shelf) -> None:
    soon = datetime.fromtimestamp(shelf.context.clock() + 60, UTC)
    shelf.store.put(paper(body=A, ttl=soon))
    assert read(shelf).body == A
    assert item_size(shelf.item(paper())) < THRESHOLD
    assert set(references(shelf.item(paper()))) == {"body"}
