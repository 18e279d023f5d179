"""Tags of entities: the same for the same values, in every process, whatever the values are."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from tablewright.dynamo import Item
from tablewright.model import Entity, Get, Large, Table, Version, attr
from tablewright.runtime import PreconditionFailed, Seen, StateConflict
from tablewright.runtime.entity_tags import entity_tag
from tablewright.store import ConditionFailed, Store
from tablewright.store.flow.driver import Request

things = Table("things", "id")
papers = Table("papers", "id")


class Thing(Entity, table=things):
    id: str
    names: frozenset[str] = frozenset()
    values: dict[str, Any] = Field(default_factory=dict)
    at: datetime | None = None
    log: Annotated[str, Large()] = ""
    version: Version = 0

    @Get()
    def by_id(self, id: str) -> None:
        """A thing."""


class Paper(Entity, table=papers):
    id: str
    state: str = "new"
    note: str | None = None
    names: frozenset[str] = frozenset()

    @Get()
    def by_id(self, id: str) -> None:
        """A paper."""


@pytest.mark.parametrize(
    "values", [{"n": 10**30}, {"n": Decimal("1e120")}, {"n": Decimal("9" * 38)}, {"s": "\ud800"}, {"n": [[None]]}]
)
def test_whatever_the_values_are_there_is_a_tag(values: dict[str, Any]) -> None:
    tag = entity_tag(Thing(id="a", values=values))
    assert tag == entity_tag(Thing(id="a", values=values))
    assert tag != entity_tag(Thing(id="a", values={"n": 1}))


def test_a_number_has_one_tag_however_it_is_written() -> None:
    assert entity_tag(Thing(id="a", values={"n": Decimal("1.50")})) == entity_tag(
        Thing(id="a", values={"n": Decimal("1.5")})
    )
    close = (Decimal(f"1{'0' * 36}{each}") for each in (1, 2))
    assert len({entity_tag(Thing(id="a", values={"n": each})) for each in close}) == 2


def test_another_process_has_the_same_tag_for_a_set() -> None:
    program = (
        "from tests.runtime.test_entity_tags import Thing, entity_tag;"
        "print(entity_tag(Thing(id='a', names=frozenset(map(str, range(50))))))"
    )
    found = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60).stdout
        for _ in range(2)
    }
    assert found == {entity_tag(Thing(id="a", names=frozenset(map(str, range(50))))) + "\n"}


def test_large_values_are_left_to_the_version() -> None:
    assert entity_tag(Thing(id="a", log="x", version=1)) == entity_tag(Thing(id="a", log="y", version=1))
    assert entity_tag(Thing(id="a", log="x", version=1)) != entity_tag(Thing(id="a", log="x", version=2))


def test_parts_change_the_tag_of_the_whole_which_is_good_for_the_thing() -> None:
    thing, part = Thing(id="a"), Thing(id="b", at=datetime(2026, 1, 1, tzinfo=UTC))
    whole = entity_tag(thing, [part])
    assert whole != entity_tag(thing, [])
    Seen(frozenset([whole])).require(thing)
    with pytest.raises(PreconditionFailed, match="read it again"):
        Seen(frozenset([whole])).require(part)


def test_without_an_entity_tag_a_lost_race_is_a_state_conflict() -> None:
    Seen().require(Thing(id="a"))
    assert Seen().unchanged(Thing(id="a")) == []
    assert isinstance(Seen().outrun("somebody was faster"), StateConflict)
    assert isinstance(Seen(frozenset("*")).outrun("somebody was faster"), PreconditionFailed)


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"state": {"S": "new"}, "note": {"S": "x"}, "names": {"SS": ["a"]}},
        {"note": {"NULL": True}, "state": {"S": "old"}},
    ],
    ids=["nothing else", "everything", "null"],
)
def test_a_write_on_what_was_seen_is_made_once_whatever_the_item_lacks(others: Item) -> None:
    with Store.open() as store:
        store.ensure_tables(papers)
        item = {"id": {"S": "a"}, **others}
        store.backend.call(Request("PutItem", {"TableName": "papers", "Item": item}))
        read = store.get_or_raise(Paper.by_id("a"))
        unchanged = Seen(frozenset([entity_tag(read)])).unchanged(read)
        store.update(Paper.by_id("a"), attr(Paper.note).set("y"), expect=unchanged)
        with pytest.raises(ConditionFailed):
            store.update(Paper.by_id("a"), attr(Paper.note).set("z"), expect=unchanged)
        again = store.get_or_raise(Paper.by_id("a"))
        unchanged = Seen(frozenset([entity_tag(again)])).unchanged(again)
        store.update(Paper.by_id("a"), attr(Paper.names).add({"b"}))
        with pytest.raises(ConditionFailed):
            store.delete(Paper.by_id("a"), expect=unchanged)


def test_a_version_that_another_program_did_not_write_is_none_yet() -> None:
    with Store.open() as store:
        store.ensure_tables(things)
        store.backend.call(Request("PutItem", {"TableName": "things", "Item": {"id": {"S": "a"}}}))
        read = store.get_or_raise(Thing.by_id("a"))
        unchanged = Seen(frozenset([entity_tag(read)])).unchanged(read)
        store.update(Thing.by_id("a"), attr(Thing.log).set("x"), expect=unchanged)
        with pytest.raises(ConditionFailed):
            store.update(Thing.by_id("a"), attr(Thing.log).set("y"), expect=unchanged)
