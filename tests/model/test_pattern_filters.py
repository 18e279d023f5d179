"""The filters of access patterns are known, and checked, when the class is made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import Field

from tablewright.model import (
    Entity,
    FieldCondition,
    GlobalIndex,
    Keys,
    Large,
    ModelError,
    Query,
    Table,
    attr,
    first_of,
    schema_of,
    when,
)
from tablewright.store import Store


def visits() -> Table:
    return Table("visits", "PK", "SK", indexes=[GlobalIndex("byPage", "page", "SK")])


class Visit(Entity, table=visits()):
    user: str
    at: datetime
    page: str = "home"
    seconds: int = 0
    tags: set[str] = Field(default_factory=set)

    keys = Keys(PK="USER#{user}", SK="{at}")

    @Query()
    def longer(self, user: str, than: int) -> FieldCondition:
        return attr(self.seconds) > than

    @Query()
    def tagged(self, user: str, tag: str, *, page: str | None = None) -> FieldCondition:
        tagged = attr(self.tags).contains(tag)
        return tagged if page is None else tagged & (attr(self.page) == page)

    @Query()
    def on_pages(self, user: str, pages: list[str]) -> FieldCondition:
        return attr(self.page).is_in(*pages)

    @Query()
    def within(self, user: str, minutes: int) -> FieldCondition:
        return attr(self.seconds) < 60 * minutes

    @Query()
    def recent(self, user: str, days: int) -> FieldCondition:
        return attr(self.seconds) > timedelta(days=days).days

    @Query()
    def sometimes(self, user: str, least: int | None = None) -> FieldCondition | None:
        return None if least is None else attr(self.seconds).between(least, 100)


def test_a_filter_is_known_with_its_parameters() -> None:
    texts = {name: condition.text for name, condition in schema_of(Visit).filters.items()}
    assert texts == {
        "longer": "seconds > than",
        "tagged": "tags contains tag and page = page",
        "on_pages": "page is pages",
        "sometimes": "seconds is from least to 100",
    }


def test_a_filter_that_computes_with_its_parameters_is_known_when_it_has_them() -> None:
    with Store.open() as store:
        store.ensure_tables(schema_of(Visit).table)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        store.write_many(
            Visit(user="u", at=at + timedelta(hours=number), seconds=40 * number, page="ab"[number % 2])
            for number in range(5)
        )

        def found(selection: Any) -> list[int]:
            return [visit.seconds for visit in store.iterate(selection)]

        assert found(Visit.within("u", 2)) == [0, 40, 80]
        assert found(Visit.recent("u", 100)) == [120, 160]
        assert found(Visit.sometimes("u")) == [0, 40, 80, 120, 160]
        assert found(Visit.sometimes("u", 50)) == [80]
        assert found(Visit.on_pages("u", ["b"])) == [40, 120]
        assert found(Visit.tagged("u", "x", page="a")) == []


def declared(returned: Any, index: str | None = None) -> type[Entity]:
    def filtered(self: Any) -> Any:
        of_key = attr(self.user) == "u" if index is None else attr(self.page) == "p"
        condition = returned(self)
        return of_key & condition if isinstance(condition, FieldCondition) else condition

    filtered.__annotations__ = {"return": "FieldCondition"}

    class Row(Entity, table=visits()):
        user: str
        at: datetime
        page: str = ""
        text: Annotated[str, Large()] = ""

        keys = Keys(PK="USER#{user}", SK="{at}")

        found = Query(index)(filtered)

    return Row


def returned_by_mistake(self: Any) -> Any:
    return attr(self.page).set("x")


@pytest.mark.parametrize(
    ("returned", "index", "reason"),
    [
        (
            lambda self: attr(self.pgae) == "x",
            None,
            r"Row.found, filter: Row has no field 'pgae'; did you mean 'page'",
        ),
        (lambda self: self.page == "x", None, r"Row.found: .* for an expression write attr\(Row.page\)"),
        (lambda self: attr(self.page) == 5, None, r"Row.page: 5 is not valid"),
        (lambda self: attr(self.page) != "x", "byPage", r"Row.found: page is part of the key that is read"),
        (lambda self: attr(self.text) == "x", None, r"Row.text is Large"),
        (returned_by_mistake, None, r"Row.found returns .* as its filter; return a condition"),
    ],
)
def test_a_wrong_filter_is_refused_with_the_class(returned: Any, index: str | None, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        declared(returned, index)


def test_a_bound_is_not_a_parameter_of_the_filter() -> None:
    with pytest.raises(ModelError, match=r"Wrong\.later: since is a bound of at, so it cannot be filtered by; rename"):

        class Wrong(Entity, table=visits()):
            user: str
            at: datetime
            left: datetime
            page: str = ""

            keys = Keys(PK="USER#{user}", SK="{at}")

            @Query()
            def later(self, user: str, *, since: datetime) -> FieldCondition:
                return attr(self.left) >= since


# -- values of the key ------------------------------------------------------------------------------------------------


class Phase(StrEnum):
    NEW = "new"
    HELD = "held"
    DONE = "done"


class Job(
    Entity,
    table=Table(
        "jobs",
        "PK",
        "SK",
        indexes=[
            GlobalIndex("byQueue", "GSI1PK", "GSI1SK"),
            GlobalIndex("byPhase", "GSI2PK", "GSI2SK"),
            GlobalIndex("byOwner", "GSI3PK", "GSI3SK"),
        ],
    ),
):
    job_id: str
    queue: str = "mail"
    phase: Phase = Phase.NEW
    level: int = 1
    owner: str | None = None
    name: str = "Job"

    keys = Keys(
        PK="JOB",
        SK="{job_id}",
        GSI1PK="{queue}#{phase}",
        GSI1SK="{level:02}#{job_id}",
        GSI2PK=when("LIVE", phase=[Phase.NEW, Phase.HELD]),
        GSI2SK="{job_id}",
        GSI3PK=first_of(when("NOBODY", owner=None), "OWNER#{name:lower}"),
        GSI3SK="{job_id}",
    )

    @Query("byQueue")
    def held(self) -> FieldCondition:
        return (attr(self.phase) == Phase.HELD) & (attr(self.queue) == "mail")

    @Query("byQueue")
    def held_at(self, *, since: str | None = None) -> FieldCondition:
        return (attr(self.queue) == "mail") & (attr(self.phase) == Phase.HELD) & (attr(self.level) == 2)

    @Query("byQueue")
    def called(self, phase: Phase, name: str | None = None) -> FieldCondition:
        of_queue = attr(self.queue) == "mail"
        return of_queue if name is None else (attr(self.name) == name) & of_queue

    @Query("byQueue")
    def above(self, times: int) -> FieldCondition:
        return (attr(self.queue) == "mail") & (attr(self.phase) == Phase.NEW) & (attr(self.level) > 1 * times)

    @Query("byQueue")
    def sometimes(self, queue: str, phase: Phase, first: bool = False) -> FieldCondition | None:
        return attr(self.level) == 1 if first else None

    @Query("byPhase")
    def live(self) -> FieldCondition:
        return attr(self.phase) == Phase.HELD

    @Query("byOwner")
    def free(self) -> FieldCondition:
        return attr(self.owner).is_(None)

    @Query("byOwner")
    def named(self, owner: str) -> FieldCondition:
        return attr(self.name) == "Job"

    @Query()
    def first_ones(self) -> FieldCondition | None:
        return (attr(self.queue) == "mail") | (attr(self.level) == 1)


JOBS = [
    Job(job_id="1"),
    Job(job_id="2", phase=Phase.HELD, level=2),
    Job(job_id="3", phase=Phase.HELD, name="JOB", owner="o"),
    Job(job_id="4", queue="print", phase=Phase.HELD, level=2, owner="o"),
    Job(job_id="5", phase=Phase.DONE, owner="o", queue="print", level=3),
    Job(job_id="6", level=3),
]


@pytest.mark.parametrize(
    ("selection", "fixed", "filtered", "expected"),
    [
        (Job.held(), {"phase": Phase.HELD, "queue": "mail"}, None, "32"),
        (Job.held_at(since="1"), {"phase": Phase.HELD, "queue": "mail", "level": 2}, None, "2"),
        (Job.called(Phase.HELD), {"queue": "mail"}, None, "32"),
        (Job.called(Phase.HELD, "JOB"), {"queue": "mail"}, "name = JOB", "3"),
        (Job.above(2), {"queue": "mail", "phase": Phase.NEW}, "level > 2", "6"),
        # What depends on a parameter is no value of the key.
        (Job.sometimes("mail", Phase.NEW), {}, None, "16"),
        (Job.sometimes("mail", Phase.NEW, True), {}, "level = 1", "1"),
        # Two states have the same key, two texts are the same in lower case.
        (Job.live(), {"phase": Phase.HELD}, "phase = held", "234"),
        (Job.free(), {"owner": None}, None, "126"),
        (Job.named("o"), {"name": "Job"}, "name = Job", "45"),
        (Job.first_ones(), {}, "queue = mail or level = 1", "1236"),
    ],
)
def test_a_field_of_the_key_that_is_equal_to_a_value_is_read_by(
    selection: Any, fixed: dict[str, Any], filtered: str | None, expected: str
) -> None:
    with Store.open() as store:
        store.ensure_tables(schema_of(Job).table)
        store.write_many(JOBS)
        assert "".join(job.job_id for job in store.iterate(selection)) == expected
    assert dict(selection.pattern.fixed) == fixed
    assert (None if selection.filter is None else selection.filter.text) == filtered


def test_a_function_of_nothing_but_values_of_the_key_is_not_called_again() -> None:
    calls = []

    class Row(Entity, table=visits()):
        user: str
        at: datetime
        page: str = ""

        keys = Keys(PK="USER#{user}", SK="{at}")

        @Query()
        def mine(self, *, since: datetime | None = None) -> FieldCondition:
            calls.append(self)
            return attr(self.user) == "me"

    before = len(calls)
    assert Row.mine(since=datetime(2026, 1, 1, tzinfo=UTC)).values == {"user": "me"}
    assert len(calls) == before


def test_a_value_of_the_key_that_changes_with_the_parameters_is_refused() -> None:
    class Row(Entity, table=visits()):
        user: str
        at: datetime
        page: str = ""

        keys = Keys(PK="USER#{user}", SK="{at}")

        @Query()
        def found(self, one: str | None = None, two: str | None = None) -> FieldCondition:
            return attr(self.user) == ("a" if (one is None) == (two is None) else "b")

    assert Row.found("x", "y").values == {"user": "a"}
    with pytest.raises(ModelError, match=r"Row\.found reads the key of .*'a'.* and its function has returned .*'b'"):
        Row.found("x")
