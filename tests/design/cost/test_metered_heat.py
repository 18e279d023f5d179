"""Heat: hot keys are found in bounded memory, seconds and patterns add up to what was charged."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest

from tablewright.design.cost import MeteredHeat, metered_heat
from tablewright.engine import Engine
from tablewright.store import Store
from tests.engine.table_requests import on_demand
from tests.store.models import Session, desk

pytestmark = pytest.mark.requirement("ST8")


def record(at: float, key: str | None, units: float, kind: str = "read", pattern: str = "p") -> dict[str, Any]:
    charges = [["Orders", None, kind, key, units]]
    return {"at": at, "pattern": pattern, "operation": "GetItem", "refused": None, "charges": charges}


@pytest.mark.parametrize("seed", range(5))
def test_a_hot_key_is_always_found_and_its_error_is_known(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered_heat, "KEYS", 20)
    chosen, heat = random.Random(seed), MeteredHeat()
    true: defaultdict[str, float] = defaultdict(float)
    for _ in range(5000):
        key = f"hot-{chosen.randrange(3)}" if chosen.random() < 0.4 else f"k-{chosen.randrange(2000)}"
        kind = chosen.choice(["read", "write"])
        units = chosen.choice([0.5, 1.0, 4.0])
        heat.add(record(100.0, key, units, kind))
        true[key] += units * (3 if kind == "write" else 1)
    found = heat.keys("all", 1000)
    assert len(found) == 20
    total = sum(true.values())
    assert {key for key, weight in true.items() if weight > total / 20} <= {each.key for each in found}
    for each in found:
        assert each.weight - each.error <= true[each.key] <= each.weight
    assert {each.key for each in found[:3]} == {"hot-0", "hot-1", "hot-2"}


def test_recent_keys_are_those_of_the_last_minutes() -> None:
    heat = MeteredHeat()
    heat.add(record(0.0, "old", 50.0))
    for minute in range(1, 4):
        heat.add(record(minute * 60.0, f"m-{minute}", 1.0))
    assert [each.key for each in heat.keys("recent")] == ["m-2", "m-3"]
    assert heat.keys("all")[0].key == "old"


def test_seconds_and_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    heat = MeteredHeat()
    for at, units in ((10.1, 1.0), (10.9, 2.0), (11.5, 4.0)):
        heat.add(record(at, "k", units))
    heat.add(record(11.6, None, 8.0, "write"))
    assert [(each.second, dict(each.places)) for each in heat.seconds()] == [
        (10, {("Orders", None): (3.0, 0.0)}),
        (11, {("Orders", None): (4.0, 8.0)}),
    ]
    assert heat.peaks() == {("Orders", None): (4.0, 8.0)}
    for second in range(5000):
        heat.add(record(1000.0 + second, "k", 1.0))
    assert len(heat.seconds(10_000)) == 900


def test_patterns_are_bounded_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered_heat, "_PATTERNS", 3)
    heat = MeteredHeat()
    for number in range(10):
        heat.add(record(1.0, "k", 1.0, pattern=f"p-{number}"))
    assert len(heat.patterns()) == 4
    assert heat.spent == (Decimal(10), Decimal(0))
    assert heat.patterns()[0].pattern == "(other patterns)"


def test_what_the_engine_charges_by_pattern_table_and_key() -> None:
    heat = MeteredHeat()
    with Engine.open() as engine:
        engine.call("CreateTable", on_demand())
        store = Store.on(engine)
        store.ensure_tables(desk)
        engine.meter(heat.add)
        for number in range(4):
            store.put(Session(session_id="s-1" if number else "s-0", user_id="ada"))
        store.get(Session.by_id("s-1"))
        engine.call("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}})
    uses = {use.pattern: use for use in heat.patterns()}
    assert uses["Session.by_id"].read == Decimal("0.5")
    assert uses["PutItem music"].write == 1
    hottest = heat.keys("all", place=("desk", None))[0]
    assert (hottest.key, hottest.table, hottest.error) == ("SESSION#s-1", "desk", 0.0)
    read, write = heat.spent
    by_second = [units for second in heat.seconds() for units in second.places.values()]
    assert (float(read), float(write)) == (sum(read for read, _ in by_second), sum(write for _, write in by_second))
