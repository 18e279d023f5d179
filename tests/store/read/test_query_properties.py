"""Ranges, prefixes and pages against the plainest possible reading: all items, sorted and filtered in Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.engine import Engine
from tablewright.model import Entity, Keys, Query, Selection, Table, sharded
from tablewright.store import Store
from tablewright.store.flow.driver import Request

shelf = Table("shelf", "owner", "key")
NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


class Box(Entity, table=shelf):
    """A text in the middle of the key, behind a literal, before an optional part."""

    owner: str
    label: str
    part: str | None = None

    keys = Keys(key="BOX#{label}[#{part}]")

    @Query()
    def labelled(
        self,
        owner: str,
        *,
        since: str | None = None,
        after: str | None = None,
        until: str | None = None,
        before: str | None = None,
    ) -> None: ...

    @Query(newest_first=True)
    def descending(
        self,
        owner: str,
        *,
        since: str | None = None,
        after: str | None = None,
        until: str | None = None,
        before: str | None = None,
    ) -> None: ...

    @Query()
    def parts(
        self,
        owner: str,
        *,
        label: str | None = None,
        since: str | None = None,
        after: str | None = None,
        until: str | None = None,
        before: str | None = None,
    ) -> None: ...


class Weight(Entity, table=shelf):
    """A number in its order-preserving form, and one of fixed width."""

    owner: str
    grams: int
    serial: int

    keys = Keys(key="WEIGHT#{grams:number}#{serial:03}")

    @Query()
    def weighing(
        self,
        owner: str,
        *,
        since: int | None = None,
        after: int | None = None,
        until: int | None = None,
        before: int | None = None,
    ) -> None: ...

    @Query()
    def numbered(
        self,
        owner: str,
        *,
        grams: int | None = None,
        since: int | None = None,
        after: int | None = None,
        until: int | None = None,
        before: int | None = None,
    ) -> None: ...


spread = Table("spread", "shard", "key")


class Visit(Entity, table=spread):
    """A time, spread over shards."""

    owner: str
    at: datetime
    number: int

    keys = Keys(shard=sharded("{owner}", 3), key="{at}#{number:04}")

    @Query()
    def in_order(
        self,
        owner: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...

    @Query(newest_first=True)
    def latest(
        self,
        owner: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...


# The characters around the separator, the escape, and what sorts far away.
texts = st.text(st.sampled_from(' !"#$%&aAzZ~é\U0001f600\x00'), max_size=3)
# Few, so that bounds meet values; each side of where a digit is added.
numbers = st.sampled_from([-1000, -101, -100, -12, -10, -9, -1, 0, 1, 9, 10, 11, 99, 100, 101, 999, 1000])
# Each example has partitions of its own.
owners = map(str, count())


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Engine.open() as engine:
        store = Store.on(engine, entropy=random.Random(1))
        store.ensure_tables(shelf, spread)
        yield store


def save(store: Store, *entities: Entity) -> None:
    for entity in entities:
        store.backend.call(Request("PutItem", {"TableName": type(entity).schema_.table.name, "Item": entity.item()}))


def bounds_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    low = st.one_of(st.just({}), values.map(lambda v: {"since": v}), values.map(lambda v: {"after": v}))
    high = st.one_of(st.just({}), values.map(lambda v: {"until": v}), values.map(lambda v: {"before": v}))
    return st.builds(lambda one, other: {**one, **other}, low, high)


def within(value: Any, bounds: dict[str, Any]) -> bool:
    return (
        ("since" not in bounds or value >= bounds["since"])
        and ("after" not in bounds or value > bounds["after"])
        and ("until" not in bounds or value <= bounds["until"])
        and ("before" not in bounds or value < bounds["before"])
    )


def everything(store: Store, selection: Selection[Any], limit: int) -> list[Any]:
    """All items, page by page; whatever way they are read, it must be the same."""
    found = [item for page in store.pages(selection, limit=limit) for item in page.items]
    page = store.query(selection, limit=limit)
    paged = list(page.items)
    while page.cursor is not None:
        assert len(page.items) == limit
        page = store.query(selection, limit=limit, cursor=page.cursor)
        paged += page.items
    assert paged == found == list(store.iterate(selection, page_size=limit))
    assert store.count(selection) == len(found)
    return found


@given(
    boxes=st.sets(st.tuples(texts, st.none() | texts), max_size=12),
    bounds=bounds_of(texts),
    limit=st.integers(1, 4),
)
def test_a_range_of_text(store: Store, boxes: set[tuple[str, str | None]], bounds: dict[str, str], limit: int) -> None:
    owner = next(owners)
    save(store, *(Box(owner=owner, label=label, part=part) for label, part in boxes))
    save(store, Weight(owner=owner, grams=1, serial=1))
    ordered = sorted(boxes, key=lambda box: (box[0], box[1] is not None, box[1] or ""))
    expected = [box for box in ordered if within(box[0], bounds)]
    found = everything(store, Box.labelled(owner=owner, **bounds), limit)
    assert [(box.label, box.part) for box in found] == expected
    found = everything(store, Box.descending(owner=owner, **bounds), limit)
    assert [(box.label, box.part) for box in found] == expected[::-1]
    for label in {box[0] for box in boxes}:
        found = everything(store, Box.parts(owner=owner, label=label), limit)
        assert [(box.label, box.part) for box in found] == [box for box in ordered if box[0] == label]
        found = everything(store, Box.parts(owner=owner, label=label, **bounds), limit)
        parts = [box for box in ordered if box[0] == label and (not bounds or box[1] is not None)]
        assert [box.part for box in found] == [part for _, part in parts if part is None or within(part, bounds)]


@given(
    weights=st.sets(st.tuples(numbers, numbers.filter(range(1000).__contains__)), max_size=12),
    bounds=bounds_of(numbers),
    limit=st.integers(1, 4),
)
def test_a_range_of_numbers(store: Store, weights: set[tuple[int, int]], bounds: dict[str, int], limit: int) -> None:
    owner = next(owners)
    save(store, *(Weight(owner=owner, grams=grams, serial=serial) for grams, serial in weights))
    save(store, Box(owner=owner, label="x"))
    found = everything(store, Weight.weighing(owner=owner, **bounds), limit)
    expected = [weight for weight in sorted(weights) if within(weight[0], bounds)]
    assert [(weight.grams, weight.serial) for weight in found] == expected
    for grams in {weight[0] for weight in weights}:
        # Bounds beyond the width of the field are bounds like others.
        found = everything(store, Weight.numbered(owner=owner, grams=grams, **bounds), limit)
        assert [weight.serial for weight in found] == [
            serial for one, serial in sorted(weights) if one == grams and within(serial, bounds)
        ]


times = st.integers(-8, 8).map(lambda quarters: NOON + timedelta(hours=6 * quarters))
days = st.integers(-3, 3).map(lambda days: NOON.date() + timedelta(days=days))


@given(
    visits=st.sets(st.tuples(times, st.integers(0, 99)), max_size=20),
    bounds=bounds_of(times) | bounds_of(days),
    limit=st.integers(1, 7),
)
def test_a_range_of_times_over_shards(
    store: Store, visits: set[tuple[datetime, int]], bounds: dict[str, Any], limit: int
) -> None:
    owner = next(owners)
    save(store, *(Visit(owner=owner, at=at, number=number) for at, number in visits))

    def matches(at: datetime) -> bool:
        by_day = any(type(bound) is date for bound in bounds.values())
        return within(at.date() if by_day else at, bounds)

    expected = [visit for visit in sorted(visits) if matches(visit[0])]
    found = everything(store, Visit.in_order(owner=owner, **bounds), limit)
    assert [(visit.at, visit.number) for visit in found] == expected
    found = everything(store, Visit.latest(owner=owner, **bounds), limit)
    assert [(visit.at, visit.number) for visit in found] == expected[::-1]
