"""Wherever a write stops, what is stored is whole; what it leaves behind is collected, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tablewright.model import Entity, attr
from tablewright.store import (
    Check,
    Create,
    Delete,
    MemoryBlobStore,
    NotFound,
    Outcome,
    Put,
    ServiceError,
    Store,
    StoreError,
    Unreadable,
    Update,
    VersionConflict,
)
from tablewright.store.blobs.orphan_blobs import collect_orphans
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow, Request, Response, Sleep, Work
from tablewright.store.maintenance.verify_repair import repair
from tablewright.store.write.batch_write import write_many
from tablewright.store.write.delete import delete
from tablewright.store.write.idempotent_write import IdempotentRequest
from tablewright.store.write.put import create, put
from tablewright.store.write.transaction import transact
from tablewright.store.write.update import update
from tablewright.store.write.upsert import upsert
from tests.clocks import Clock
from tests.store.bench import Bench
from tests.store.blobs.large_writer import PAPERS, text
from tests.store.flows import Stopped, drive
from tests.store.large_value_design import BY_ID, A, B, C, Contract, Once, Paper, Shelf, papers, shelved

ROOT = Path(__file__).resolve().parents[3]
OTHER = Paper.by_id(folder="f", paper_id="0")


@pytest.fixture
def shelf(embedded: Bench) -> Shelf:
    return shelved(embedded, MemoryBlobStore())


def state(shelf: Shelf) -> list[Entity]:
    """All that is stored, as it is read."""
    stored: list[Entity] = [*shelf.store.iterate(Paper), *shelf.store.iterate(Contract)]
    return sorted(stored, key=repr)


def prepare(shelf: Shelf) -> tuple[Paper, Contract]:
    shelf.store.put(Paper(folder="f", paper_id="0", body=C))
    paper = shelf.store.put(Paper(folder="f", paper_id="1", body=A, scan=b"s" * 900))
    return paper, shelf.store.create(Contract(folder="f", number="1", code="c-1", text=A))


def once(context: Context, paper: Paper) -> Flow[Any]:
    request = IdempotentRequest(Once, "key", {})
    assert (yield from request.find(context)) is None
    return (yield from request.commit(context, Outcome({}, Put(paper))))


Write = Callable[[Context, Paper, Contract], Flow[Any]]

WRITES: dict[str, Write] = {
    "put a new one": lambda context, *_: put(context, Paper(folder="f", paper_id="2", body=B)),
    "put over it": lambda context, *_: put(context, Paper(folder="f", paper_id="1", body=B)),
    "put it again": lambda context, paper, _: put(context, paper.model_copy(update={"body": B, "title": "t"})),
    "put with a version": lambda context, _, agreed: put(context, agreed.model_copy(update={"text": B})),
    "create": lambda context, *_: create(context, Contract(folder="f", number="2", code="c-2", text=B)),
    "create what is there": lambda context, *_: create(context, Paper(folder="f", paper_id="1", body=B)),
    "upsert": lambda context, *_: upsert(context, Paper(folder="f", paper_id="1", body=B)),
    "update it": lambda context, paper, _: update(context, paper, attr(Paper.body).set(B)),
    "update by lookup": lambda context, *_: update(context, BY_ID, attr(Paper.body).set(B)),
    "update with a version": lambda context, _, agreed: update(
        context, agreed, attr(Contract.text).set(B), attr(Contract.code).set("c-3")
    ),
    "make it small": lambda context, *_: update(context, BY_ID, attr(Paper.body).set("b"), attr(Paper.scan).set(None)),
    "drive a value out": lambda context, *_: update(context, BY_ID, attr(Paper.notes).append("n" * 1500)),
    "move": lambda context, paper, _: update(context, paper, attr(Paper.folder).set("g"), attr(Paper.body).set(B)),
    "move by lookup": lambda context, *_: update(context, BY_ID, attr(Paper.paper_id).set("9")),
    "move with a version": lambda context, _, agreed: update(context, agreed, attr(Contract.folder).set("g")),
    "delete": lambda context, *_: delete(context, BY_ID),
    "delete with a version": lambda context, _, agreed: delete(context, agreed),
    "write many": lambda context, *_: write_many(
        context, [Paper(folder="f", paper_id=str(number), body=B) for number in (0, 1, 2)]
    ),
    "delete many": lambda context, *_: write_many(context, [], delete=[BY_ID, OTHER]),
    "a transaction": lambda context, paper, agreed: transact(
        context,
        Update(BY_ID, attr(Paper.body).set(B)),
        Delete(agreed),
        Create(Paper(folder="f", paper_id="3", body=B)),
        Check(OTHER),
    ),
    "a refused one": lambda context, *_: transact(
        context, Update(BY_ID, attr(Paper.body).set(B)), Create(Paper(folder="f", paper_id="0", body=B))
    ),
    "once": lambda context, *_: once(context, Paper(folder="f", paper_id="1", body=B)),
}


def carried_out(shelf: Shelf, flow: Flow[Any], steps: int, lost: str = "") -> bool:
    """Carry out so many steps of a flow, and no more; whether it ended by itself.

    If something gets ``lost``, one more step is carried out, and it is its answer; or ``all`` from then on.
    """
    done = 0

    def answer(request: Request) -> Response:
        nonlocal done
        if done == steps and not lost:
            raise Stopped
        if done > steps and lost == "all":
            raise ServiceError("ConnectionError", "no answer")
        done += 1
        response = shelf.answer(request)
        if lost and done == steps + 1:
            raise ServiceError("ConnectionError", "no answer")
        return response

    try:
        drive(flow, answer)
    except Stopped:
        flow.close()
        return False
    except StoreError:
        pass
    return True


def noted(shelf: Shelf, requests: list[Request], request: Request) -> Response:
    """Carry out a request, and note it."""
    requests.append(request)
    return shelf.answer(request)


def test_each_write_of_this_file_does_something_outside(embedded: Bench) -> None:
    """So that there is a point in stopping them."""
    for name, write in WRITES.items():
        shelf = shelved(embedded, MemoryBlobStore())
        requests: list[Request] = []
        try:
            drive(write(shelf.context, *prepare(shelf)), partial(noted, shelf, requests))
        except StoreError:
            assert name in ("create what is there", "a refused one")
        assert any(isinstance(request, Work) for request in requests), name
        shelf.assert_tidy()


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("lost", ["", "one", "all"], ids=["stopped", "one answer lost", "no more answers"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_stops_anywhere_leaves_what_was_or_what_is_to_be(
    embedded: Bench, clock: Clock, write: Write, lost: str
) -> None:
    whole = shelved(embedded, MemoryBlobStore())
    entities = prepare(whole)
    before = state(whole)
    carried_out(whole, write(whole.context, *entities), 1000)
    wanted = [before, state(whole)]
    for steps in range(20):
        shelf = shelved(embedded, MemoryBlobStore())
        ended = carried_out(shelf, write(shelf.context, *prepare(shelf)), steps, lost)
        shelf.assert_whole()
        shelf.assert_small()
        if lost != "one":
            # A request that is sent again because its answer got lost may be carried out twice, which shows.
            assert comparable(state(shelf)) in [comparable(each) for each in wanted], f"after {steps} steps"
        stored, kept = comparable(state(shelf)), shelf.referenced()
        clock.now += timedelta(days=2).total_seconds()
        report = shelf.store.collect_orphans(papers, dry_run=False)
        assert report.removed == report.orphans
        assert shelf.names() == kept == shelf.referenced()
        assert comparable(state(shelf)) == stored
        if ended and not lost:
            return
    assert lost


def comparable(entities: list[Entity]) -> list[dict[str, Any]]:
    """Entities without where their values are, which is never the same."""
    return [entity.model_dump() for entity in entities]


def test_a_blob_of_a_write_whose_answer_got_lost_is_kept_for_it(shelf: Shelf) -> None:
    """The commit may have happened although the next attempt is refused, as here by its own first one."""
    flow = create(shelf.context, Paper(folder="f", paper_id="1", body=A))
    step = next(flow)
    while not (isinstance(step, Request) and step.operation == "PutItem"):
        assert isinstance(step, Work)
        step = flow.send(step.perform())
    shelf.backend.call(step)
    step = flow.throw(ServiceError("ConnectionError", "no answer"))

    def to_its_end(step: Request | Sleep) -> None:
        while True:
            assert not isinstance(step, Work), "nothing may be deleted"
            try:
                step = flow.send(None if isinstance(step, Sleep) else shelf.backend.call(step))
            except ServiceError as error:
                step = flow.throw(error)

    with pytest.raises(StoreError):
        to_its_end(step)
    found = shelf.store.get(BY_ID)
    assert found is not None
    assert found.body == A


@pytest.mark.requirement("SU15")
def test_a_write_under_way_is_not_robbed_by_a_collection(shelf: Shelf, clock: Clock) -> None:
    steps = shelf.steps(put(shelf.context, Paper(folder="f", paper_id="1", body=A)))
    next(steps)()
    assert len(shelf.names()) == 1, "the blob is there, and nothing refers to it yet"
    clock.now += timedelta(hours=23).total_seconds()
    assert shelf.store.collect_orphans(papers, dry_run=False).orphans.blobs == 0
    for step in steps:
        step()
    shelf.assert_tidy()
    found = shelf.store.get(BY_ID)
    assert found is not None
    assert found.body == A


def test_a_repair_that_stops_anywhere_loses_nothing(embedded: Bench, clock: Clock) -> None:
    for stop in range(20):
        shelf = shelved(embedded, MemoryBlobStore())
        shelf.store.put(Paper(folder="f", paper_id="1", body=A))
        (item,) = shelf.items()
        # As if it had been stored when keys were made in another way.
        misplaced = {**item, "SK": {"S": "PAPER#old"}}
        shelf.backend.call(Request("DeleteItem", {"TableName": shelf.name, "Key": {n: item[n] for n in ("PK", "SK")}}))
        shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": misplaced}))
        carried_out(shelf, repair(shelf.context, papers, dry_run=False), stop)
        shelf.assert_whole()
        assert [each.body for each in shelf.store.iterate(Paper)] == [A]
        shelf.store.repair(papers, dry_run=False)
        found = shelf.store.get(BY_ID)
        assert found is not None
        assert found.body == A
        clock.now += timedelta(days=2).total_seconds()
        shelf.store.collect_orphans(papers, dry_run=False)
        shelf.assert_tidy()


def test_a_collection_that_stops_anywhere_can_begin_again(embedded: Bench, clock: Clock) -> None:
    for stop in range(12):
        shelf = shelved(embedded, MemoryBlobStore())
        for number in range(5):
            carried_out(shelf, put(shelf.context, Paper(folder="f", paper_id=str(number), body=A)), 1 + number % 2)
        clock.now += timedelta(days=2).total_seconds()
        carried_out(shelf, collect_orphans(shelf.context, papers, dry_run=False), stop)
        shelf.assert_whole()
        shelf.store.collect_orphans(papers, dry_run=False)
        shelf.assert_tidy()


class Refusing(MemoryBlobStore):
    """An object store that does nothing of one kind."""

    def __init__(self, refused: str, code: str) -> None:
        super().__init__()
        self.refused = refused
        self.code = code

    def put(self, name: str, data: bytes) -> None:
        if self.refused == "put":
            raise ServiceError(self.code, "no space left")
        super().put(name, data)

    def delete(self, name: str) -> None:
        if self.refused == "delete":
            raise ServiceError(self.code, "no")
        super().delete(name)


def test_a_blob_that_cannot_be_written_is_an_error_and_nothing_is_stored(embedded: Bench) -> None:
    shelf = shelved(embedded, Refusing("put", "BlobsUnavailable"))
    with pytest.raises(ServiceError, match="no space left"):
        shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    assert shelf.items() == []


def test_a_blob_that_cannot_be_marked_is_no_error_and_is_collected(embedded: Bench, clock: Clock) -> None:
    blobs = Refusing("", "BlobsUnavailable")
    shelf = shelved(embedded, blobs)
    shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    blobs.refused = "put"
    assert shelf.store.delete(BY_ID)
    assert len(shelf.names()) == 1
    blobs.refused = ""
    clock.now += timedelta(days=2).total_seconds()
    shelf.store.collect_orphans(papers, dry_run=False)
    assert shelf.entries() == set()


def test_what_goes_wrong_after_the_commit_takes_nothing_back(shelf: Shelf) -> None:
    """Here, another writer has stored something that the entity cannot be made of."""
    shelf.store.put(Paper(folder="f", paper_id="1", body=A))
    (item,) = shelf.items()
    item["title"] = {"N": "5"}
    shelf.backend.call(Request("PutItem", {"TableName": shelf.name, "Item": item}))
    with pytest.raises(Unreadable, match="title: Input should be a valid string"):
        shelf.store.update(BY_ID, attr(Paper.body).set(B))
    shelf.assert_tidy()
    shelf.store.update(Paper(folder="f", paper_id="1"), attr(Paper.title).set("t"))
    found = shelf.store.get(BY_ID)
    assert found is not None
    assert found.body == B


def test_a_stale_version_is_refused_and_leaves_nothing(shelf: Shelf) -> None:
    agreed = shelf.store.create(Contract(folder="f", number="1", code="c-1", text=A))
    stale = agreed.model_copy()
    shelf.store.update(agreed, attr(Contract.text).set(B))
    for refused in (
        lambda: shelf.store.put(stale.model_copy(update={"text": C})),
        lambda: shelf.store.update(stale, attr(Contract.text).set(C)),
        lambda: shelf.store.delete(stale),
    ):
        with pytest.raises(VersionConflict):
            refused()
    with pytest.raises(NotFound):
        shelf.store.update(Paper.by_id(folder="f", paper_id="none"), attr(Paper.body).set(C))
    shelf.assert_tidy()
    assert shelf.store.get(Contract.by_id(folder="f", number="1")) == agreed


@pytest.mark.requirement("SU15")
def test_a_process_that_is_killed_loses_nothing_that_it_has_acknowledged(tmp_path: Path) -> None:
    for round_number in range(3):
        command = [sys.executable, "-m", "tests.store.blobs.large_writer", str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            told = [int(process.stdout.readline()) for _ in range(20 + 7 * round_number)]
            process.kill()
            told += [int(line) for line in process.stdout.read().split()]
        acknowledged = {str(number % PAPERS): number for number in told}
        with Store.open(tmp_path) as store:
            for paper_id, number in acknowledged.items():
                found = store.get(Paper.by_id(folder="f", paper_id=paper_id), consistent=True)
                assert found is not None
                # The one after it may have been committed and not told.
                assert found.body in (text(number), text(told[-1] + 1))
            report = store.collect_orphans(papers, dry_run=False, grace=timedelta(0))
            assert report.total.blobs - report.removed.blobs == PAPERS
            assert store.verify(papers).is_clean
