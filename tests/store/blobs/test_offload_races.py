"""Several who write and read at once: nothing dangles, and nobody is robbed."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial
from itertools import combinations_with_replacement, count, permutations
from pathlib import Path
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.model import attr
from tablewright.store import (
    BlobLost,
    Conflict,
    FolderBlobStore,
    MemoryBlobStore,
    NotFound,
    Page,
    Put,
    StoreError,
    Update,
)
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.orphan_blobs import collect_orphans
from tablewright.store.context import Context
from tablewright.store.flow.driver import Flow
from tablewright.store.read.get import get
from tablewright.store.read.query import query
from tablewright.store.write.batch_write import write_many
from tablewright.store.write.delete import delete
from tablewright.store.write.put import put
from tablewright.store.write.transaction import transact
from tablewright.store.write.update import update
from tablewright.store.write.upsert import upsert
from tests.clocks import Clock
from tests.store.bench import Bench
from tests.store.large_value_design import BY_ID, A, B, C, Contract, Paper, Shelf, long, papers, shelved
from tests.threads import run_threads

Write = Callable[[Context], Flow[Any]]

WRITES: dict[str, Write] = {
    "put": lambda context: put(context, Paper(folder="f", paper_id="1", body=B)),
    "update": lambda context: update(context, BY_ID, attr(Paper.body).set(C)),
    "upsert": lambda context: upsert(context, Paper(folder="f", paper_id="1", body=long("d"))),
    "shrink": lambda context: update(context, BY_ID, attr(Paper.body).set("s" * 1100)),
    "drive out": lambda context: update(context, BY_ID, attr(Paper.notes).append("n" * 1000)),
    "retitle": lambda context: update(context, BY_ID, attr(Paper.title).set("t"), attr(Paper.topic).set("u")),
    "delete": lambda context: delete(context, BY_ID),
    "transaction": lambda context: transact(
        context, Put(Paper(folder="f", paper_id="1", body=B)), Put(Paper(folder="f", paper_id="2", body=B))
    ),
    "batch": lambda context: write_many(context, [Paper(folder="f", paper_id="1", body=A)]),
    "move": lambda context: update(context, BY_ID, attr(Paper.folder).set("g")),
}
STATES = {"outside": A, "inside": "i" * 1200}


def interleaved(shelf: Shelf, flows: list[Flow[Any]], order: random.Random) -> list[BaseException | None]:
    """Carry out flows a step at a time, in an order of chance; how each ended."""
    ended: list[BaseException | None] = [None] * len(flows)
    running = {number: shelf.steps(flow) for number, flow in enumerate(flows)}
    while running:
        number = order.choice(list(running))
        try:
            step = next(running[number], None)
        except StoreError as error:
            ended[number] = error
            step = None
        if step is None:
            del running[number]
        else:
            step()
    return ended


def stored(shelf: Shelf) -> list[dict[str, Any]]:
    found = sorted(shelf.store.iterate(Paper), key=lambda each: (each.folder, each.paper_id))
    return [each.model_dump() for each in found]


@cache
def one_after_the_other(body: str, *writes: Write) -> list[dict[str, Any]]:
    with Engine.open() as engine:
        shelf = shelved(Bench(EmbeddedBackend(engine, owned=False), Clock()), MemoryBlobStore())
        shelf.store.put(Paper(folder="f", paper_id="1", body=body))
        for write in writes:
            interleaved(shelf, [write(shelf.context)], random.Random(0))
        return stored(shelf)


@pytest.mark.requirement("SU15")
@pytest.mark.parametrize("body", STATES.values(), ids=STATES)
@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(WRITES, 2)))
def test_two_writers_at_once_are_as_good_as_one_after_the_other(
    embedded: Bench, clock: Clock, body: str, first: str, second: str
) -> None:
    one, other = WRITES[first], WRITES[second]
    serial: dict[tuple[Write, ...], list[dict[str, Any]]] = {
        order: one_after_the_other(body, *order) for order in ((one, other), (other, one), (one,), (other,), ())
    }
    for seed in range(10):
        shelf = shelved(embedded, MemoryBlobStore())
        shelf.store.put(Paper(folder="f", paper_id="1", body=body))
        outcomes = interleaved(shelf, [one(shelf.context), other(shelf.context)], random.Random(seed))
        assert all(outcome is None or isinstance(outcome, NotFound | Conflict) for outcome in outcomes)
        shelf.assert_whole()
        # One that was refused has done nothing.
        done = [write for write, outcome in zip((one, other), outcomes, strict=True) if outcome is None]
        expected = [serial[order] for order in permutations(done)]
        assert stored(shelf) in expected
        if "batch" not in (first, second):
            shelf.assert_tidy()
        clock.now += timedelta(days=2).total_seconds()
        shelf.store.collect_orphans(papers, dry_run=False)
        shelf.assert_tidy()
        assert stored(shelf) in expected


@pytest.mark.requirement("SU15")
def test_of_two_writers_of_one_version_one_loses_and_leaves_nothing(embedded: Bench) -> None:
    for seed in range(60):
        shelf = shelved(embedded, MemoryBlobStore())
        agreed = shelf.store.create(Contract(folder="f", number="1", code="c", text=A))
        flows: list[Flow[Any]] = [
            update(shelf.context, agreed.model_copy(), attr(Contract.text).set(B)),
            put(shelf.context, agreed.model_copy(update={"text": C})),
        ]
        outcomes = interleaved(shelf, flows, random.Random(seed))
        assert sorted(outcome is None for outcome in outcomes) == [False, True]
        shelf.assert_tidy()
        found = shelf.store.get(Contract.by_id(folder="f", number="1"))
        assert found is not None
        assert (found.text, found.version) == (B if outcomes[0] is None else C, 2)


READS: list[Callable[[Context], Flow[Any]]] = [
    lambda context: get(context, BY_ID),
    lambda context: query(context, Paper.in_folder(folder="f"), limit=5),
    lambda context: query(context, Paper.on_topic(topic="none"), limit=5),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("read", READS, ids=["get", "query", "query an index"])
def test_a_reader_gets_what_was_or_what_is(embedded: Bench, read: Callable[[Context], Flow[Any]], write: str) -> None:
    before = one_after_the_other(A)
    after = one_after_the_other(A, WRITES[write])
    for seed in range(20):
        shelf = shelved(embedded, MemoryBlobStore())
        shelf.store.put(Paper(folder="f", paper_id="1", body=A))
        got: list[Any] = []

        def reading(shelf: Shelf = shelf, got: list[Any] = got) -> Flow[None]:
            got.append((yield from read(shelf.context)))

        outcomes = interleaved(shelf, [reading(), WRITES[write](shelf.context)], random.Random(seed))
        assert outcomes == [None, None]
        (found,) = got
        entities = found.items if isinstance(found, Page) else [found]
        assert all(each is None or each.model_dump() in [*before, *after] for each in entities)


def test_a_collection_deletes_no_blob_in_use(embedded: Bench, clock: Clock) -> None:
    """Not even with writes under way that began a while ago, as long as that is less than the grace."""
    for seed in range(40):
        shelf = shelved(embedded, MemoryBlobStore())
        shelf.store.put(Paper(folder="f", paper_id="1", body=A))
        clock.now += timedelta(days=2).total_seconds()
        collection = collect_orphans(shelf.context, papers, dry_run=False)
        flows = [write(shelf.context) for write in random.Random(seed).sample(list(WRITES.values()), 2)]
        outcomes = interleaved(shelf, [collection, *flows], random.Random(seed))
        assert not any(isinstance(outcome, BlobLost) for outcome in outcomes)
        shelf.assert_whole()
        list(shelf.store.iterate(Paper))


@pytest.mark.requirement("SU15")
def test_threads_that_write_read_and_collect(bench: Bench, tmp_path: Path) -> None:
    shelf = shelved(bench, FolderBlobStore(tmp_path))
    numbers = count()

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(25):
            key: dict[str, Any] = {"folder": "f", "paper_id": str(chance.randrange(3))}
            text = long(str(next(numbers)), chance.choice([10, 1500, 5000]))
            what = chance.randrange(6)
            try:
                if what == 0:
                    shelf.store.put(Paper(**key, body=text))
                elif what == 1:
                    shelf.store.update(Paper.by_id(**key), attr(Paper.body).set(text))
                elif what == 2:
                    shelf.store.delete(Paper.by_id(**key))
                elif what == 3:
                    shelf.store.transact(Update(Paper.by_id(**key), attr(Paper.scan).set(text.encode())))
                elif what == 4:
                    shelf.store.collect_orphans(papers, dry_run=False)
                else:
                    for found in shelf.store.iterate(Paper):
                        assert len(set(found.body.split("-")) - {""}) <= 1, "a text of two writers"
            except (NotFound, Conflict):
                continue
            except StoreError as error:
                if not any(isinstance(reason, NotFound | Conflict) for reason in getattr(error, "reasons", ())):
                    raise

    run_threads(*[partial(work, seed) for seed in range(4)])
    shelf.assert_whole()
    shelf.store.collect_orphans(papers, dry_run=False, grace=timedelta(0))
    shelf.assert_tidy()
