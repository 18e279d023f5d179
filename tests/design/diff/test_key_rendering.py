"""Keys that keep their template, and are written otherwise since a field in them is of another type."""

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from types import new_class
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from tablewright.design.diff import Impact, changes
from tablewright.design.diff.design_snapshot import snapshot
from tablewright.model import (
    Design,
    Entity,
    EpochMillis,
    EpochSeconds,
    GlobalIndex,
    Keys,
    Numbered,
    Table,
    Unique,
    Upgrades,
    schema_of,
)
from tablewright.model.declarations import GroupRule
from tests.declared_patterns import grouped

DAY, NOON = date(2026, 1, 15), datetime(2026, 1, 15, 12, tzinfo=UTC)


class Colour(StrEnum):
    RED = "red"


def version(fields: dict[str, Any], keys: dict[str, str] | None = None, **table: Any) -> Any:
    """An entity of some fields: in a table with an index on GSI1PK, unless the table is another one."""
    settings = {"partition": "id", "sort": "SK", "indexes": [GlobalIndex("byPart", "GSI1PK")], **table}
    members = {name: given for name, given in fields.items() if isinstance(given, Upgrades | GroupRule)}
    namespace = {
        "__module__": __name__,
        "__annotations__": {"id": str, **{name: given for name, given in fields.items() if name not in members}},
        "keys": Keys(keys or {}),
        **members,
    }
    return new_class("Thing", (Entity,), {"table": Table("things", **settings)}, lambda given: given.update(namespace))


def found(old: Any, new: Any) -> set[tuple[str, str]]:
    before, after = (snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new))
    return {(change.impact, change.place) for change in changes(before, after) if change.impact != Impact.FREE}


PRIMARY, INDEX, PADDED = {"SK": "PART#{part}"}, {"SK": "x", "GSI1PK": "{part}"}, {"SK": "{part:013}"}


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        (date, datetime, PRIMARY),
        (datetime, date, PRIMARY),
        (str, UUID, PRIMARY),
        (str, datetime, PRIMARY),
        (datetime, EpochSeconds, PRIMARY),
        (EpochSeconds, EpochMillis, PADDED),
        (int, EpochMillis, PADDED),
    ],
)
def test_an_item_gets_another_primary_key(old: Any, new: Any, keys: dict[str, str]) -> None:
    assert found(version({"part": old}, keys), version({"part": new}, keys)) == {
        ("unsafe", "Thing.part"),
        ("re-key", "Thing.keys.SK"),
    }


def test_an_item_gets_another_index_key() -> None:
    assert found(version({"part": date}, INDEX), version({"part": datetime}, INDEX)) == {
        ("unsafe", "Thing.part"),
        ("backfill", "Thing.keys.GSI1PK"),
    }


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        (UUID, str, PRIMARY),
        (date, str, PRIMARY),
        (Colour, str, PRIMARY),
        (EpochSeconds, int, PADDED),
        (int, Decimal, PRIMARY),
        (float, Decimal, {"SK": "{part:number}"}),
        (date, date | None, INDEX),
    ],
)
def test_what_is_written_as_it_is_stored_keeps_its_key(old: Any, new: Any, keys: dict[str, str]) -> None:
    assert found(version({"part": old}, keys), version({"part": new}, keys)) == set()


def test_the_day_of_a_time_is_the_day() -> None:
    keys = {"SK": "{part:date}"}
    assert found(version({"part": date}, keys), version({"part": datetime}, keys)) == {("unsafe", "Thing.part")}


def test_a_field_that_is_a_key_itself() -> None:
    assert found(version({"SK": date}), version({"SK": datetime})) == {
        ("unsafe", "Thing.SK"),
        ("re-key", "Thing.keys.SK"),
    }
    indexed = {"indexes": [GlobalIndex("byDay", "day")]}
    keys = {"SK": "x"}
    assert found(version({"day": date}, keys, **indexed), version({"day": datetime}, keys, **indexed)) == {
        ("unsafe", "Thing.day"),
        ("backfill", "Thing.keys.day"),
    }


def test_a_part_of_a_nested_model() -> None:
    class Old(BaseModel):
        day: date

    class New(BaseModel):
        day: datetime

    keys = {"SK": "{part.day}"}
    assert found(version({"part": Old}, keys), version({"part": New}, keys)) == {
        ("unsafe", "Thing.part.day"),
        ("re-key", "Thing.keys.SK"),
    }


def test_an_upgrade_takes_care_of_index_keys_by_a_repair_and_of_primary_keys_never() -> None:
    def step(values: dict[str, Any]) -> dict[str, Any]:
        return values

    def upgraded(keys: dict[str, str]) -> set[tuple[str, str]]:
        return found(version({"part": date}, keys), version({"part": datetime, "upgrades": Upgrades(step)}, keys))

    assert upgraded(PRIMARY) == {("re-key", "Thing.keys.SK")}
    assert upgraded(INDEX) == {("backfill", "Thing.keys.GSI1PK")}


def test_guards_and_counters_are_found_by_values() -> None:
    keys = {"SK": "x"}
    old = version({"day": Annotated[date, Unique()]}, keys)
    assert found(old, version({"day": Annotated[datetime, Unique()]}, keys)) == {
        ("unsafe", "Thing.day"),
        ("backfill", "Thing.day"),
    }

    def numbered(kind: Any) -> Any:
        return version({"day": kind, "number": int, "numbered": grouped(Numbered(), "number", "day")}, keys)

    assert found(numbered(date), numbered(datetime)) == {("unsafe", "Thing.day"), ("unsafe", "Thing.number")}


def test_stored_items_would_really_get_another_key() -> None:
    """What the rule is about, on items."""
    old, new = version({"part": date}, PRIMARY), version({"part": datetime}, PRIMARY)
    assert old(id="1", part=DAY).item()["SK"] == {"S": "PART#2026-01-15"}
    assert new(id="1", part=NOON).item()["SK"] == {"S": "PART#2026-01-15T12:00:00.000000Z"}


def with_state(kind: Any, *default: Any) -> Any:
    """An entity with a field in the key of an index, and another that is the key of one."""
    namespace = {
        "__module__": __name__,
        "__annotations__": {"id": str, "state": kind, "owner": kind},
        "keys": Keys(A="S#{state}"),
        **{name: each for each in default for name in ("state", "owner")},
    }
    indexes = [GlobalIndex("byState", "A"), GlobalIndex("byOwner", "owner")]
    table = Table("things", "id", indexes=indexes)
    return new_class("Thing", (Entity,), {"table": table}, lambda given: given.update(namespace))


@pytest.mark.parametrize("old", [with_state(str | None, None), with_state(str, "new")])
def test_another_default_is_another_key_of_items_that_lack_the_field(old: Any) -> None:
    places = {place for impact, place in found(old, with_state(str, "open")) if impact == Impact.BACKFILL}
    assert {"Thing.keys.A", "Thing.keys.owner"} <= places


def test_a_default_for_what_every_item_has_changes_no_key() -> None:
    assert found(with_state(str), with_state(str, "open")) == set()
