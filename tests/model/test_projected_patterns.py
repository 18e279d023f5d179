"""Patterns of projections: reads of some fields, declared where these fields are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import new_class
from typing import Any

import pytest

from tablewright.design.filter_fields import restrictions
from tablewright.design.lint import lint
from tablewright.model import (
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    Keys,
    ModelError,
    Projection,
    Query,
    Selection,
    Table,
    Upgrades,
    attr,
    first_of,
    schema_of,
    when,
)
from tablewright.store import Store
from tests.model.declaring import declared

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
jobs = Table(
    "jobs", "PK", indexes=[GlobalIndex("byState", "GSI1PK", "GSI1SK", include=["size"]), GlobalIndex("team", "GSI2PK")]
)


class Job(Entity, table=jobs):
    job_id: str
    state: str = "waiting"
    team: str | None = None
    at: datetime
    size: int = 1
    text: str = ""

    keys = Keys(
        PK="JOB#{job_id}",
        GSI1PK=when("STATE#{state}", state=["waiting", "failed"]),
        GSI1SK="{at}",
        GSI2PK=first_of(when("NOBODY", team=None), "TEAM#{team}"),
    )

    @Query("byState")
    def waiting(self) -> FieldCondition:
        return attr(self.state) == "waiting"


class JobSize(Projection[Job]):
    size: int

    @Query("byState", newest_first=True, expected=9)
    def waiting(self, *, since: datetime | None = None) -> FieldCondition:
        """The sizes of jobs that wait, newest first."""
        return attr(Job.state) == "waiting"

    @Query("byState")
    def large(self, than: int) -> FieldCondition:
        """The sizes of large jobs that wait."""
        return (attr(Job.state) == "waiting") & (attr(self.size) > than) & attr(Job.size).is_not(7)

    @Query("byState")
    def of_state(self, state: str) -> None: ...

    @Query("team")
    def of_nobody(self) -> FieldCondition:
        return attr(Job.team).is_(None) & (attr(Job.text) == "")


class SmallJob(JobSize):
    text: str


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(jobs)
        for size in range(9):
            state = "waiting" if size % 2 else "failed"
            team = "red" if size > 4 else None
            at = NOON + timedelta(hours=size)
            store.create(Job(job_id=str(size), state=state, team=team, at=at, size=size))
        yield store


def sizes(store: Store, selection: Selection[JobSize]) -> list[int]:
    found = store.query(selection).items
    assert all(type(each) is JobSize for each in found)
    return [each.size for each in found]


def test_a_projection_reads_by_patterns_of_its_own(store: Store) -> None:
    assert sizes(store, JobSize.waiting()) == [7, 5, 3, 1]
    assert sizes(store, JobSize.waiting(since=NOON + timedelta(hours=4))) == [7, 5]
    assert sizes(store, JobSize.of_state("failed")) == [0, 2, 4, 6, 8]
    assert [each.size for each in store.query(Job.waiting()).items] == [1, 3, 5, 7]
    assert [each.text for each in store.query(SmallJob.waiting(), limit=2).items] == ["", ""]


def test_what_is_read_in_part_is_not_deleted(store: Store) -> None:
    selection: Any = JobSize.waiting()
    with pytest.raises(ModelError, match="delete_all needs whole items: give it a selection of Job, not of its projec"):
        store.delete_all(selection)
    assert len(sizes(store, selection)) == 4


def test_values_of_the_key_may_be_of_fields_that_it_does_not_have(store: Store) -> None:
    assert sizes(store, JobSize.large(2)) == [3, 5]
    assert sorted(sizes(store, JobSize.of_nobody())) == [0, 1, 2, 3, 4]
    pattern: Any = schema_of(Job).patterns["JobSize.large"]
    assert pattern.fixed == {"state": "waiting"}
    assert [each.field for each in restrictions(schema_of(Job), pattern)] == ["size", "size"]


def test_a_design_knows_them_by_the_name_of_the_projection() -> None:
    names = [name for name in Design("Jobs", tables=[jobs]).patterns if "Size" in name]
    assert names == ["JobSize.waiting", "JobSize.large", "JobSize.of_state", "JobSize.of_nobody"]
    design = Design("Jobs", tables=[jobs], roles={"desk": ["JobSize.waiting"]})
    gaps = {finding.place for finding in lint(design) if finding.rule == "projection-gap"}
    assert gaps == {"Job.waiting", "SmallJob.waiting", "SmallJob.large", "SmallJob.of_state"}
    assert JobSize.waiting.__doc__ == "The sizes of jobs that wait, newest first."


def test_what_may_have_to_be_upgraded_is_read_as_a_whole() -> None:
    def renamed(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "size": values.get("length", 0)}

    kind: Any = declared({"id": str, "size": int}, upgrades=Upgrades(renamed), keys=Keys(PK="ROW", SK="{id}"))

    class Size(Projection[kind]):
        size: int

        @Query()
        def all(self) -> None: ...

    with Store.open() as store:
        table = schema_of(kind).table
        store.ensure_tables(table)
        item = {"PK": {"S": "ROW"}, "SK": {"S": "1"}, "id": {"S": "1"}, "length": {"N": "4"}}
        backend: Any = store.backend
        backend.engine.call("PutItem", {"TableName": table.name, "Item": item})
        assert [each.size for each in store.query(Size.all()).items] == [4]


def with_pattern(pattern: Any, name: str = "found") -> Callable[[], object]:
    def declare() -> object:
        body = {"__annotations__": {"size": int}, name: pattern, "__module__": __name__}
        return new_class("Wrong", (Projection[Job],), {}, lambda namespace: namespace.update(body))

    return declare


def misspelt(self: Any) -> FieldCondition:
    return attr(Job.state).is_("waiting") & attr(self.siez).is_(1)


def unneeded(self: Any, state: str, size: int) -> None: ...


def by_id(self: Any, job_id: str) -> None: ...


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (Query("byState")(misspelt), "Wrong.found, filter: Job has no field 'siez'; did you mean 'size'"),
        (Query("byState")(unneeded), "Wrong.found takes size, which the key that is read does not need"),
        (Query("byState")(by_id), "Wrong.found needs state for the key, and does not take it"),
        (Query("byStat")(unneeded), "Wrong.found: table 'jobs' has no index 'byStat'"),
        (Get()(by_id), r"Wrong.found: a projection has patterns for many items only; declare it for Job, and read"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_place(pattern: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        with_pattern(pattern)()
    assert not any(name.startswith("Wrong") for name in schema_of(Job).patterns)
