"""Partitions that hold a part of a time: one of them by its date, a range of them in order, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.model import Entity, GlobalIndex, Keys, ModelError, Query, Table, attr, sharded
from tablewright.store import Store
from tablewright.store.read.planning import bucket_ranges

START = datetime(2026, 1, 30, 22, tzinfo=UTC)
INDEXES = [
    GlobalIndex("byYear", "Y", "S"),
    GlobalIndex("byMonth", "M", "S"),
    GlobalIndex("byDay", "D", "S"),
    GlobalIndex("byHour", "H", "S"),
    GlobalIndex("byShard", "X", "S"),
]
visits = Table("Visits", "id", indexes=INDEXES)


class Visit(Entity, table=visits):
    id: str
    site: str = "a"
    at: datetime
    pages: int = 0

    keys = Keys(
        Y="{site}#{at:year}",
        M="{site}#{at:month}",
        D="{site}#{at:date}",
        H="{site}#{at:hour}",
        X=sharded("{site}#{at:date}", 3),
        S="{at}#{id}",
    )

    @Query("byDay")
    def of_day(self, site: str, at: date, *, since: datetime | None = None) -> None:
        """The visits of a day."""

    @Query("byYear")
    def by_year(self, site: str, since: datetime, until: datetime) -> None:
        """Those of a time, read by years."""

    @Query("byMonth")
    def by_month(self, site: str, since: datetime, until: datetime) -> None:
        """Those of a time, read by months."""

    @Query("byDay")
    def by_day(self, site: str, since: datetime, until: datetime) -> None:
        """Those of a time, read by days."""

    @Query("byDay", newest_first=True)
    def latest(self, site: str, since: datetime, until: datetime) -> None:
        """Those of a time, newest first."""

    @Query("byHour")
    def by_hour(self, site: str, since: datetime, until: datetime) -> None:
        """Those of a time, read by hours."""

    @Query("byShard")
    def by_shard(self, site: str, since: datetime, until: datetime) -> None:
        """Those of a time, by days of three partitions each."""


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(visits)
        store.write_many(
            Visit(id=f"v{number:03}", site="ab"[number % 2], at=START + timedelta(hours=7 * number), pages=number % 3)
            for number in range(120)
        )
        yield store


def test_a_date_is_a_bucket_and_leaves_the_sort_key_free(store: Store) -> None:
    day = date(2026, 2, 2)
    expected = [visit for visit in all_of(store, "a") if visit.at.date() == day]
    assert expected
    assert store.query(Visit.of_day("a", day)).items == expected
    # Any time of the day stands for it.
    midnight: Any = datetime(2026, 2, 2, tzinfo=UTC)
    assert store.query(Visit.of_day("a", midnight)).items == expected
    assert store.query(Visit.of_day("a", midnight + timedelta(hours=5))).items == expected
    last = expected[-1].at
    assert store.query(Visit.of_day("a", day, since=last)).items == expected[-1:]
    assert store.count(Visit.of_day("a", day)) == len(expected)


def all_of(store: Store, site: str) -> list[Visit]:
    return sorted(
        (visit for visit in store.iterate(Visit) if visit.site == site), key=lambda visit: (visit.at, visit.id)
    )


PATTERNS = [Visit.by_year, Visit.by_month, Visit.by_day, Visit.latest, Visit.by_hour, Visit.by_shard]


@given(
    st.integers(0, len(PATTERNS) - 1),
    st.integers(-50, 900),
    st.integers(0, 400),
    st.integers(1, 9),
    st.sampled_from([None, 1, 4]),
)
def test_a_range_of_buckets_is_read_in_order_and_in_pages(
    store: Store, chosen: int, first: int, hours: int, limit: int, page_size: int | None
) -> None:
    since, until = START + timedelta(hours=first), START + timedelta(hours=first + hours)
    selection = PATTERNS[chosen]("a", since, until)
    expected = [visit.id for visit in all_of(store, "a") if since <= visit.at <= until]
    if selection.newest_first:
        expected.reverse()
    assert [visit.id for visit in store.iterate(selection, page_size=page_size)] == expected
    found: list[str] = []
    cursor = None
    while True:
        page = store.query(selection, limit=limit, cursor=cursor, page_size=page_size)
        found += [visit.id for visit in page.items]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page.items) == limit
    assert found == expected
    assert store.count(selection) == len(expected)
    wanted = [visit.id for visit in store.iterate(selection) if visit.pages == 1]
    assert [visit.id for visit in store.iterate(selection, where=attr(Visit.pages) == 1)] == wanted


def test_a_range_has_two_ends(store: Store) -> None:
    nothing: Any = None
    with pytest.raises(ModelError, match=r"needs at, or both ends of a range of at \(since and until\)"):
        store.query(Visit.by_day("a", since=START, until=nothing))
    with pytest.raises(ModelError, match="needs site"):
        store.query(Visit.by_day(nothing, since=START, until=START))
    with pytest.raises(ModelError, match=r"Half.of_site needs at for the key, and does not take it"):

        class Half(Entity, table=Table("Halves", "D", "S")):
            site: str
            at: datetime

            keys = Keys(D="{site}#{at:date}", S="{at}")

            @Query()
            def of_site(self, site: str, since: datetime) -> None: ...


def test_a_range_of_very_many_buckets_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_ranges, "MAX_BUCKETS", 10)
    with pytest.raises(ModelError, match="more than 10 partitions with one hour each"):
        store.query(Visit.by_hour("a", START, START + timedelta(days=1)))


def test_only_as_many_buckets_are_read_as_a_page_needs(store: Store) -> None:
    units: list[str] = []
    watched = Store(store.backend, on_capacity=lambda operation, pattern, consumed: units.append(operation))
    page = watched.query(Visit.by_day("a", START, START + timedelta(days=30)), limit=2)
    assert len(page.items) == 2
    assert len(units) <= 3


def test_what_a_pattern_of_buckets_takes() -> None:
    with pytest.raises(ModelError, match="needs at for the key, and does not take it"):

        class Lacking(Entity, table=Table("Lacking", "id", indexes=INDEXES)):
            id: str
            at: datetime

            keys = Keys(D="{at:date}", S="{at}")

            @Query("byDay")
            def lately(self, since: datetime, until: datetime | None = None) -> None:
                """Without an end, there is no last bucket."""
