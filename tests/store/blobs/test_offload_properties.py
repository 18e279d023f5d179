"""Sizes round the threshold, on all ways to write, stopped anywhere: what is read is what was written."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tablewright.dynamo import item_size
from tablewright.engine import Engine
from tablewright.model import attr, schema_of
from tablewright.store import Create, Delete, MemoryBlobStore, Put, ServiceError, StoreError, Update, Upsert
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.blobs.blob_references import references
from tablewright.store.flow.driver import Flow, Sleep, Work
from tablewright.store.write.batch_write import write_many
from tablewright.store.write.delete import delete
from tablewright.store.write.put import create, put
from tablewright.store.write.transaction import transact
from tablewright.store.write.update import update
from tablewright.store.write.upsert import upsert
from tests.changed_fields import sets
from tests.clocks import Clock
from tests.examples import examples
from tests.store.bench import Bench
from tests.store.large_value_design import THRESHOLD, Paper, Shelf, papers, shelved

ids = st.sampled_from(["1", "2"])
sizes = st.one_of(
    st.sampled_from([0, 1, 250, THRESHOLD // 2]),
    st.integers(THRESHOLD - 400, THRESHOLD + 400),
    st.integers(0, 3 * THRESHOLD),
)
texts = st.builds(lambda mark, size: mark * size, st.sampled_from(["x", "y", "ü"]), sizes)
scans = st.none() | texts.map(str.encode)
# Where to stop, in steps; most run to their end.
stops = st.just(1000) | st.integers(0, 8)
changes = st.fixed_dictionaries({}, optional={"body": texts, "scan": scans, "title": texts, "topic": ids})

Fields = dict[str, Any]


class Shelves(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.clock = Clock(1_763_000_000.0)
        self.engine = Engine.open(clock=self.clock, entropy=random.Random(7))
        self.shelf: Shelf = shelved(Bench(EmbeddedBackend(self.engine, owned=False), self.clock), MemoryBlobStore())
        # What is stored, by id; and what it may be as well, after a write of which nobody knows whether it happened.
        self.stored: dict[str, Fields] = {}

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()

    def carry_out(self, flow: Flow[Any], stop: int, wanted: dict[str, Fields | None]) -> None:
        """Carry out a flow up to a step; ``wanted`` is what is stored then, if it gets to its commit."""
        committed = refused = False
        try:
            step = next(flow)
            while stop:
                stop -= 1
                if isinstance(step, Sleep):
                    step = flow.send(None)
                    continue
                try:
                    answer = self.shelf.answer(step)
                except ServiceError as error:
                    step = flow.throw(error)
                    continue
                committed = committed or (
                    step.operation not in ("GetItem", "BatchGetItem") and not isinstance(step, Work)
                )
                step = flow.send(answer)
            flow.close()
        except StopIteration:
            committed = True
        except StoreError:
            refused = True
        if committed and not refused:
            for paper_id, fields in wanted.items():
                if fields is None:
                    self.stored.pop(paper_id, None)
                else:
                    self.stored[paper_id] = fields

    def paper(self, paper_id: str, fields: Fields) -> Paper:
        return Paper(folder="f", paper_id=paper_id, **fields)

    def after(self, paper_id: str, fields: Fields) -> Fields:
        return {**self.stored.get(paper_id, {}), **fields}

    @rule(paper_id=ids, fields=changes, stop=stops, how=st.sampled_from([put, "batch", "put", "create"]))
    def write(self, paper_id: str, fields: Fields, stop: int, how: Any) -> None:
        paper = self.paper(paper_id, fields)
        context = self.shelf.context
        if how == "batch":
            flow: Flow[Any] = write_many(context, [paper])
        elif how == "put":
            flow = transact(context, Put(paper))
        elif how == "create":
            if paper_id in self.stored:
                return
            flow = transact(context, Create(paper))
        else:
            flow = how(context, paper)
        self.carry_out(flow, stop, {paper_id: fields})

    @rule(paper_id=ids, fields=changes, stop=stops)
    def create(self, paper_id: str, fields: Fields, stop: int) -> None:
        self.carry_out(create(self.shelf.context, self.paper(paper_id, fields)), stop, {paper_id: fields})

    @rule(paper_id=ids, fields=changes, stop=stops, transaction=st.booleans())
    def upsert(self, paper_id: str, fields: Fields, stop: int, transaction: bool) -> None:
        paper = self.paper(paper_id, fields)
        whole = {"body": "", "scan": None, "title": "", "topic": "none", "notes": [], **fields}
        flow: Flow[Any] = (
            transact(self.shelf.context, Upsert(paper)) if transaction else upsert(self.shelf.context, paper)
        )
        self.carry_out(flow, stop, {paper_id: self.after(paper_id, whole)})

    @rule(paper_id=ids, fields=changes, stop=stops, how=st.sampled_from(["lookup", "entity", "transaction"]))
    def update(self, paper_id: str, fields: Fields, stop: int, how: str) -> None:
        if paper_id not in self.stored:
            return
        context, target = self.shelf.context, Paper.by_id(folder="f", paper_id=paper_id)
        if how == "transaction":
            flow: Flow[Any] = transact(context, Update(target, *sets(Paper, **fields)))
        elif how == "entity":
            entity = self.shelf.store.get(target)
            assert entity is not None
            flow = update(context, entity, *sets(Paper, **fields))
        else:
            flow = update(context, target, *sets(Paper, **fields))
        self.carry_out(flow, stop, {paper_id: self.after(paper_id, fields)})

    @rule(paper_id=ids, text=texts, stop=stops)
    def append(self, paper_id: str, text: str, stop: int) -> None:
        if paper_id in self.stored:
            notes = [*self.stored[paper_id].get("notes", []), text]
            flow = update(
                self.shelf.context, Paper.by_id(folder="f", paper_id=paper_id), attr(Paper.notes).append(text)
            )
            self.carry_out(flow, stop, {paper_id: self.after(paper_id, {"notes": notes})})

    @rule(stop=stops, fields=changes)
    def move(self, stop: int, fields: Fields) -> None:
        if "1" in self.stored and "2" not in self.stored:
            flow = update(
                self.shelf.context, Paper.by_id(folder="f", paper_id="1"), *sets(Paper, paper_id="2", **fields)
            )
            self.carry_out(flow, stop, {"1": None, "2": self.after("1", fields)})

    @rule(paper_id=ids, stop=stops, how=st.sampled_from(["delete", "batch", "transaction"]))
    def delete(self, paper_id: str, stop: int, how: str) -> None:
        context, target = self.shelf.context, Paper.by_id(folder="f", paper_id=paper_id)
        flow: Flow[Any] = delete(context, target)
        if how == "batch":
            flow = write_many(context, [], delete=[target])
        elif how == "transaction":
            flow = transact(context, Delete(target))
        self.carry_out(flow, stop, {paper_id: None})

    @rule()
    def collect(self) -> None:
        self.clock.now += timedelta(days=2).total_seconds()
        self.shelf.store.collect_orphans(papers, dry_run=False)
        self.shelf.assert_tidy()

    @invariant()
    def what_is_read_is_what_was_written(self) -> None:
        if not hasattr(self, "shelf"):
            return
        self.shelf.assert_whole()
        self.shelf.assert_small()
        found = {
            paper.paper_id: paper.model_dump(exclude={"folder", "paper_id"})
            for paper in self.shelf.store.iterate(Paper)
        }
        wanted = {
            paper_id: self.paper(paper_id, fields).model_dump(exclude={"folder", "paper_id"})
            for paper_id, fields in self.stored.items()
        }
        assert found == wanted
        assert self.shelf.store.verify(papers).is_clean


Shelves.TestCase.settings = settings(
    max_examples=examples(40), stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
test_all_ways_to_write = pytest.mark.requirement("SU15")(Shelves.TestCase)


@given(body=st.integers(0, 3 * THRESHOLD), scan=st.integers(0, 3 * THRESHOLD), title=st.integers(0, THRESHOLD))
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_largest_goes_first_and_no_more_than_have_to(embedded: Bench, body: int, scan: int, title: int) -> None:
    shelf = shelved(embedded, MemoryBlobStore())
    entity = Paper(folder="f", paper_id="1", body="b" * body, scan=b"s" * scan, title="t" * title)
    whole = schema_of(Paper).encode(entity)
    shelf.store.put(entity)
    (item,) = shelf.items()
    outside = references(item)
    sizes = {"body": body, "scan": scan}
    if item_size(whole) <= THRESHOLD:
        assert outside == {}
    elif len(outside) == 1:
        ((gone, reference),) = outside.items()
        assert reference.size == sizes[gone] == max(sizes.values())
        stays = min(sizes.values())
        assert item_size(item) <= THRESHOLD or stays < 400
    elif not outside:
        assert max(sizes.values()) < 400, "a reference would take up as much"
    else:
        # Neither would do alone.
        smaller = min(sizes, key=lambda name: sizes[name])
        assert item_size({**item, smaller: whole[smaller]}) > THRESHOLD
