"""A blob or a reference that somebody has tampered with is named, and never followed blindly."""

from __future__ import annotations

import pytest

from tablewright.model import ModelError, attr, schema_of
from tablewright.model.declarations import BLOB_REFERENCES
from tablewright.store import BlobLost, Fault, LimitExceeded, Remedy, Store, StoreError
from tablewright.store.flow.driver import Request
from tests.store.large_value_design import A, Paper, Shelf, long, paper, papers, read


def test_a_deleted_blob_is_named(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    (blob,) = shelf.names()
    shelf.blobs.delete(blob)
    for reading in (
        lambda: read(shelf),
        lambda: shelf.store.query(Paper.in_folder(folder="f")),
        lambda: shelf.store.get_many([Paper.by_id(folder="f", paper_id="1")]),
    ):
        with pytest.raises(
            BlobLost, match=rf"^Paper folder f, paper_id 1: body is stored in the blob {blob}, which is not"
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


def test_a_changed_blob_is_named(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    (blob,) = shelf.names()
    content = shelf.blobs.get(blob)
    assert content is not None
    shelf.blobs.put(blob, content[:-1] + b"!")
    with pytest.raises(BlobLost, match="does not have the content that was written") as caught:
        read(shelf)
    assert (caught.value.entity, caught.value.field, caught.value.blob) == ("Paper", "body", blob)


def test_a_forged_reference_is_refused(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    item = shelf.item(paper())
    item[BLOB_REFERENCES]["M"]["body"]["M"]["blob"] = {"S": "../../../../etc/passwd"}
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": item}))
    with pytest.raises(StoreError, match="is not a blob name"):
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
    shelf.store.update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.title).set("t"))
    assert read(shelf).body == "theirs"
    assert shelf.names() == set(), "the next write of the store notices that nothing is outside any more"


def test_an_item_that_was_read_without_the_store_cannot_be_written_by_accident(shelf: Shelf) -> None:
    shelf.store.put(paper(body=A))
    partly = Paper.of(shelf.item(paper()))
    with pytest.raises(AttributeError):
        _ = partly.body
    assert partly.notes == []
    with pytest.raises(ModelError, match="read without its field body"):
        shelf.store.put(partly)
    assert shelf.store.load(partly) == read(shelf)


def test_a_store_without_a_place_for_blobs_says_so(shelf: Shelf) -> None:
    store = Store(shelf.backend, clock=shelf.context.clock, table_names=shelf.context.table_names, blobs=None)
    store.put(paper(body=A))
    assert "body" in shelf.item(paper())
    with pytest.raises(LimitExceeded, match=r"Paper folder f, paper_id 1: .* no blob store for body and scan"):
        store.put(paper(body=long("a", 420_000)))
    shelf.store.put(paper(body=A))
    with pytest.raises(StoreError, match="give it blobs="):
        store.get(Paper.by_id(folder="f", paper_id="1"))
