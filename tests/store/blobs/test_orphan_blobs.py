"""Blobs that nothing refers to are found, counted and removed; all others are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tablewright.engine import Engine
from tablewright.store import BlobUsage, FolderBlobStore, InvalidCursor, MemoryBlobStore, OrphanReport, Store
from tablewright.store.blobs.blob_references import make_blob
from tablewright.store.blobs.blob_store import new_name
from tablewright.store.write.put import put
from tests.clocks import Clock
from tests.store.bench import Bench
from tests.store.large_value_design import A, B, Contract, Paper, Shelf, papers, shelved

DAY = timedelta(days=1)


@pytest.fixture
def shelf(bench: Bench, tmp_path: Path) -> Iterator[Shelf]:
    """A shelf, of which all can be read at the end: no collection has robbed an item."""
    shelf = shelved(bench, FolderBlobStore(tmp_path / "blobs"))
    yield shelf
    shelf.assert_whole()
    list(shelf.store.iterate(Paper))


def abandon(shelf: Shelf, number: int) -> None:
    """Stop a write when its blob is there, and nothing else."""
    steps = shelf.steps(put(shelf.context, Paper(folder="f", paper_id=f"abandoned {number}", body=A)))
    next(steps)()


@pytest.mark.requirement("SU15")
def test_orphans_are_removed_once_they_are_old_enough(shelf: Shelf, clock: Clock) -> None:
    shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    shelf.store.create(Contract(folder="f", number="1", code="c", text=A))
    abandon(shelf, 1)
    young = shelf.store.collect_orphans(papers, dry_run=False)
    assert (young.total.blobs, young.orphans, young.removed) == (3, BlobUsage(), BlobUsage())
    clock.now += DAY.total_seconds()
    told = shelf.store.collect_orphans(papers)
    assert (told.total.blobs, told.orphans.blobs, told.removed.blobs) == (3, 1, 0)
    assert len(shelf.names()) == 3
    done = shelf.store.collect_orphans(papers, dry_run=False)
    assert (done.total, done.orphans, done.removed) == (told.total, told.orphans, told.orphans)
    assert done.total.bytes > 3 * len(A) > 3 * done.orphans.bytes - 3000
    assert {entity: usage.blobs for entity, usage in done.by_entity.items()} == {"Paper": 2, "Contract": 1}
    shelf.assert_tidy()


@pytest.mark.requirement("SU15")
def test_an_item_that_expires_leaves_its_blob_to_the_collection(engine: Engine, clock: Clock) -> None:
    store = Store.on(engine, clock=clock)
    store.ensure_tables(papers)
    in_three_days = datetime.fromtimestamp(clock() + 3 * DAY.total_seconds(), UTC)
    store.put(Paper(folder="f", paper_id="1", body=A, ttl=in_three_days))
    clock.now += 2 * DAY.total_seconds()
    assert store.collect_orphans(papers, dry_run=False).orphans.blobs == 0, "it has not expired yet"
    clock.now += 2 * DAY.total_seconds()
    engine.sweep()
    assert store.collect_orphans(papers, dry_run=False).removed.blobs == 1
    assert store.collect_orphans(papers).total == BlobUsage()


def test_what_is_put_over_an_expired_item_leaves_its_blob_to_the_collection(shelf: Shelf, clock: Clock) -> None:
    soon = datetime.fromtimestamp(clock() + 60, UTC)
    shelf.store.put(Paper(folder="f", paper_id="1", body=A, ttl=soon))
    clock.now += 2 * DAY.total_seconds()
    shelf.store.create(Paper(folder="f", paper_id="1", body=B))
    assert shelf.store.collect_orphans(papers, dry_run=False).removed.blobs == 1
    shelf.assert_tidy()


def test_a_collection_shows_its_progress_and_can_be_resumed(shelf: Shelf, clock: Clock) -> None:
    for number in range(230):
        owner = {"PK": {"S": "FOLDER#f"}, "SK": {"S": f"PAPER#{number}"}}
        blob = make_blob(new_name(shelf.name, "Paper", clock()), shelf.name, owner, "body", {"S": "text"})
        shelf.blobs.put(blob.reference.blob, blob.data)
    shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    clock.now += DAY.total_seconds()
    told: list[OrphanReport] = []
    first = shelf.store.collect_orphans(papers, dry_run=False, limit=100, on_progress=told.append)
    assert first.total.blobs == 100
    assert first.cursor is not None
    rest = shelf.store.collect_orphans(papers, dry_run=False, cursor=first.cursor, on_progress=told.append)
    assert rest.cursor is None
    assert [each.total.blobs for each in told] == [100, 100, 131, 131]
    assert first.removed.blobs + rest.removed.blobs == 230
    shelf.assert_tidy()
    with pytest.raises(InvalidCursor, match="this cursor does not belong to"):
        shelf.store.collect_orphans(Contract, cursor=first.cursor)


def test_one_entity_is_collected_for_itself(shelf: Shelf, clock: Clock) -> None:
    abandon(shelf, 1)
    steps = shelf.steps(put(shelf.context, Contract(folder="f", number="1", code="c", text=A)))
    next(steps)()
    clock.now += DAY.total_seconds()
    assert shelf.store.collect_orphans(Contract, dry_run=False).removed.blobs == 1
    assert len(shelf.names()) == 1
    assert shelf.store.collect_orphans(Paper, dry_run=False).removed.blobs == 1


def test_tables_of_one_object_store_do_not_touch_each_other(bench: Bench, clock: Clock) -> None:
    blobs = MemoryBlobStore()
    one, other = shelved(bench, blobs), shelved(bench, blobs)
    for shelf in (one, other):
        bench.names[papers.name] = shelf.name
        shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    clock.now += DAY.total_seconds()
    for shelf in (one, other):
        bench.names[papers.name] = shelf.name
        report = shelf.store.collect_orphans(papers, dry_run=False, grace=timedelta(0))
        assert (report.total.blobs, report.orphans.blobs) == (1, 0)


def test_what_is_no_blob_is_left_alone(embedded: Bench, clock: Clock, tmp_path: Path) -> None:
    shelf = shelved(embedded, FolderBlobStore(tmp_path))
    shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    folder = tmp_path / shelf.name / "Paper" / "ab"
    folder.mkdir(exist_ok=True)
    (folder / "README").write_text("mine")
    foreign = folder / f"{1_600_000_000_000:013d}-{'0' * 32}"
    foreign.write_bytes(b"not written by the store")
    unfinished = folder / f"{1_600_000_000_000:013d}-{'1' * 32}.part"
    unfinished.write_bytes(b"half of")
    report = shelf.store.collect_orphans(papers, dry_run=False)
    assert (report.unreadable, report.removed.blobs) == (1, 1)
    assert (folder / "README").exists()
    assert foreign.exists()
    assert not unfinished.exists(), "a file that was never finished is nobody's"


def test_a_long_key_is_found_in_a_blob(shelf: Shelf, clock: Clock) -> None:
    name = "\x01" * 900
    shelf.store.put(Paper(folder=name, paper_id="1", body=A))
    clock.now += DAY.total_seconds()
    assert shelf.store.collect_orphans(papers, dry_run=False).orphans.blobs == 0
    shelf.store.delete(Paper.by_id(folder=name, paper_id="1"))


def test_a_negative_grace_is_refused(shelf: Shelf) -> None:
    with pytest.raises(ValueError, match="grace must not be negative"):
        shelf.store.collect_orphans(papers, grace=timedelta(seconds=-1))
