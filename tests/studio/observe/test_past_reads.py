"""Searches as of a moment: of the table and of its indexes, with what has become of the items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tablewright.studio.observe.past_reads import PastPage, moment_in, past_page, plan_then
from tablewright.studio.observe.time_moments import moment_of
from tablewright.studio.studio_database import StudioDatabase
from tests.studio.observe.past_tables import BEGIN, item, past_tables

pytestmark = pytest.mark.requirement("ST7")

ALL_OPEN = BEGIN + 105


@pytest.fixture(scope="module")
def database() -> Iterator[StudioDatabase]:
    with past_tables() as found:
        yield found


def found_then(
    database: StudioDatabase,
    where: str,
    at: float = ALL_OPEN,
    *,
    index: str | None = None,
    after: str | None = None,
    until: float | None = None,
) -> tuple[str | None, PastPage]:
    async def asked() -> tuple[str | None, PastPage]:
        description = (await database.call("DescribeTable", TableName="kept"))["Table"]
        plan = plan_then(description, where, index, after)
        return plan.place.index, await past_page(database, description, plan, at, until)

    return asyncio.run(asked())


def numbers(page: PastPage) -> list[int]:
    return [int(then["n"]["N"]) for then, _ in page.items]


def test_a_query_of_an_index_finds_what_was_there_and_shows_the_whole_items(database: StudioDatabase) -> None:
    index, page = found_then(database, "status = open")
    assert (index, numbers(page)) == ("by_status", list(range(10)))
    # The index has keys only; what is shown and compared are the items.
    assert page.items[0] == (item(0, "open"), item(0, "done"))
    assert page.items[1] == (item(1, "open"), None)
    assert page.items[2] == (item(2, "open"), item(2, "open"))
    _, page = found_then(database, "status = open and n < 3", BEGIN + 25)
    assert numbers(page) == [0, 1]
    _, page = found_then(database, "status = done")
    assert page.items == []


def test_items_of_then_are_compared_with_those_of_a_later_moment(database: StudioDatabase) -> None:
    # Before the first was done and the second deleted.
    _, page = found_then(database, "status = open", BEGIN + 25, until=ALL_OPEN)
    assert page.items == [(item(0, "open"), item(0, "open")), (item(1, "open"), item(1, "open"))]
    _, page = found_then(database, "status = open", BEGIN + 25, until=BEGIN + 165)
    assert page.items == [(item(0, "open"), item(0, "done")), (item(1, "open"), None)]


@pytest.mark.parametrize(
    ("typed", "at"),
    [
        ("1970-01-01 00:01:00", 60.0),
        ("1970-01-01 00:01:00.250 UTC", 60.25),
        ("1970-01-01", 0.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
    ],
)
def test_a_moment_is_typed_in_utc_or_with_its_zone(typed: str, at: float) -> None:
    assert moment_of(typed) == at
    with pytest.raises(ValueError, match="isoformat"):
        moment_of("yesterday")


def test_a_local_index_has_its_own_order(database: StudioDatabase) -> None:
    index, page = found_then(database, "pk = all and rank < -6")
    assert (index, numbers(page)) == ("by_rank", [9, 8, 7])
    index, page = found_then(database, "", index="by_rank")
    assert (index, len(page.items)) == ("by_rank", 10)


def test_pages_follow_each_other(database: StudioDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("_SHOWN", "_MOST"):
        # Pages that the request bounds, and pages of a filter, which are cut here.
        monkeypatch.setattr(f"tablewright.studio.observe.past_reads.{bound}", 4)
        for where, index in (("status = open", None), ("status = open and pk = all", "by_status")):
            seen: list[int] = []
            after: str | None = None
            for _ in range(4):
                _, page = found_then(database, where, index=index, after=after)
                seen += numbers(page)
                after = page.after
                if after is None:
                    break
            assert (after, seen) == (None, list(range(10)))


@pytest.mark.parametrize("at", ["soon", "nan", "-1", "inf", "1e300"])
def test_what_is_no_moment_is_refused(at: str) -> None:
    with pytest.raises(ValueError, match=r"no moment|could not convert"):
        moment_in({"at": at})
    assert moment_in({}) is None
