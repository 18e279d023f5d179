"""The changes of a stream and of a consumer load what is outside when asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tablewright.engine import Engine
from tablewright.model import Table, attr
from tablewright.store import (
    AnyChange,
    BlobLost,
    Change,
    Consumer,
    Effects,
    Store,
    changes_of,
    offloaded_sizes,
    typed_changes,
)
from tablewright.store.flow.driver import Request
from tests.store.large_value_design import A, B, Paper, Shelf, paper, papers


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
    second = shelf.store.update(Paper.by_id(folder="f", paper_id="1"), attr(Paper.body).set(B))
    created, changed = changes(shelf)
    assert created.after is not None
    assert changed.after is not None
    assert (created.after.title, offloaded_sizes(created.after)) == ("t", {"body": len(A)})
    assert "body" not in created.after.__dict__
    assert shelf.store.load(changed.after) == second
    # Of what has been replaced too, until it is collected.
    assert shelf.store.load(created.after.model_copy()).body == A
    shelf.store.collect_orphans(papers, dry_run=False, grace=timedelta(0))
    with pytest.raises(BlobLost, match=r"Paper folder f, paper_id 1: body is stored in the blob .* no longer there"):
        shelf.store.load(created.after)
    assert shelf.store.load(first) is first, "what is whole is left as it is"


def test_a_consumer_is_given_changes_of_items_that_have_values_outside(engine: Engine) -> None:
    store = Store.on(engine)
    notes = Table("notes-of-papers", "PK", "SK", ttl="ttl")
    store.ensure_tables(papers, notes)
    store.put(paper(body=A, title="t"))
    seen: list[tuple[str, str]] = []

    def handle(changes: Sequence[AnyChange], effects: Effects) -> None:
        for change in typed_changes(Paper, changes):
            if change.after is not None:
                seen.append((change.after.title, store.load(change.after).body))

    consumer = Consumer(store, papers, handle, name="readers", checkpoints=notes)
    assert consumer.run_once().records == 1
    store.delete(Paper.by_id(folder="f", paper_id="1"))
    assert consumer.run_once().dead_letters == 0
    assert seen == [("t", A)]
