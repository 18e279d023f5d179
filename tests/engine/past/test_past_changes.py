"""The versions of an item, and the items that differ, between two moments."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tablewright.dynamo import InvalidRestoreTimeException, PointInTimeRecoveryUnavailableException, ValidationException
from tablewright.engine import Engine, slices
from tablewright.engine.past import changes_by_key, past_changes
from tests.clocks import Clock
from tests.engine.past.recovery import switch
from tests.engine.table_requests import on_demand

Items = dict[str, dict[str, Any]]


@pytest.fixture
def table(engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(changes_by_key, "_AT_ONCE", 2)
    monkeypatch.setattr(changes_by_key, "_BLOCK", 4)
    monkeypatch.setattr(past_changes, "_CHANGES_AT_ONCE", 2)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
    engine.call("CreateTable", on_demand())
    switch(engine, True)
    return engine


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def put(engine: Engine, name: str, value: int) -> None:
    engine.call("PutItem", {"TableName": "music", "Item": {**key(name), "v": {"N": str(value)}}})


def values(engine: Engine) -> Items:
    return {item["pk"]["S"]: item for item in engine.call("Scan", {"TableName": "music"})["Items"]}


@pytest.mark.requirement("ST7")
def test_the_versions_of_an_item_begin_with_the_first_moment(table: Engine, clock: Clock) -> None:
    begin = clock.now
    put(table, "other", 0)
    for value in range(3):
        clock.now += 1
        put(table, "a", value)
    clock.now += 1
    table.call("DeleteItem", {"TableName": "music", "Key": key("a")})
    clock.now += 1
    put(table, "a", 9)
    page = table.item_versions("music", key("a"), begin, clock.now)
    shown = [(at - begin, None if item is None else item["v"]["N"]) for at, item in page.versions]
    assert shown == [(0, None), (1, "0"), (2, "1"), (3, "2"), (4, None), (5, "9")]
    assert page.next is None
    page = table.item_versions("music", key("a"), begin + 1.5, begin + 3)
    assert [item and item["v"]["N"] for _, item in page.versions] == ["0", "1", "2"]


@pytest.mark.requirement("ST7")
def test_versions_come_in_pages(table: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = clock.now
    for value in range(10):
        put(table, "a", value)
        clock.now += 1
    whole = table.item_versions("music", key("a"), begin - 0, clock.now).versions
    for limit, most in ((1, 1 << 20), (3, 1 << 20), (100, 0)):
        monkeypatch.setattr(past_changes, "_PAGE_BYTES", most)
        found, after = [], None
        while True:
            page = table.item_versions("music", key("a"), begin, clock.now, limit=limit, after=after)
            assert len(page.versions) <= limit
            found += page.versions
            after = page.next
            if after is None:
                break
        assert found == whole


@pytest.mark.requirement("ST7")
@pytest.mark.parametrize("seed", range(4))
def test_changed_items_are_those_that_two_moments_have_differently(table: Engine, clock: Clock, seed: int) -> None:
    chosen = random.Random(seed)
    states: list[tuple[float, Items]] = [(clock.now, {})]
    for _ in range(30):
        clock.now += 1
        for _ in range(chosen.randrange(3)):
            name = chosen.choice("abcdef")
            if chosen.random() < 0.3:
                table.call("DeleteItem", {"TableName": "music", "Key": key(name)})
            else:
                put(table, name, chosen.randrange(3))
        states.append((clock.now, values(table)))
    for _ in range(10):
        (start, before), (end, after) = sorted(chosen.sample(states, 2), key=lambda state: state[0])
        found, position = [], None
        while True:
            page = table.changed_items("music", start, end, limit=2, after=position)
            found += page.items
            position = page.next
            if position is None:
                break
        names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert {item.key["pk"]["S"]: (item.before, item.after) for item in found} == {
            name: (before.get(name), after.get(name)) for name in names
        }
        assert len(found) == len(names)
        assert all(start < item.at <= end for item in found)


@pytest.mark.requirement("ST7")
def test_what_cannot_be_asked_is_refused(table: Engine, clock: Clock) -> None:
    now = clock.now
    with pytest.raises(InvalidRestoreTimeException):
        table.changed_items("music", now - 5, now)
    with pytest.raises(InvalidRestoreTimeException):
        table.item_versions("music", key("a"), now, now + 5)
    with pytest.raises(ValidationException, match="does not match the schema"):
        table.item_versions("music", {"id": {"S": "a"}}, now, now)
    with pytest.raises(ValueError, match="must be before"):
        table.changed_items("music", now, now - 1)
    with pytest.raises(ValueError, match="between 1 and 1000"):
        table.changed_items("music", now, now, limit=0)
    switch(table, False)
    with pytest.raises(PointInTimeRecoveryUnavailableException):
        table.changed_items("music", now, now)
