"""One change of many items: a request for each, each of which may be refused by itself."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tablewright.engine import Engine
from tablewright.model import Entity, GlobalIndex, Keys, Table, Unique, schema_of
from tablewright.studio.items.item_edits import RefusedChange
from tablewright.studio.items.many_edits import changes_of_all

pytestmark = pytest.mark.requirement("ST2")

people = Table("people", "pk", indexes=[GlobalIndex("by_state", "state_key")])


class Person(Entity, table=people):
    name: str
    state: str = "new"
    email: Annotated[str | None, Unique()] = None

    keys = Keys(pk="PERSON#{name}", state_key="STATE#{state}")


def items(*names: str) -> dict[str, Any]:
    return {name: Person(name=name, email=f"{name}@x").item() for name in names}


def schema_of_item(item: Any) -> Any:
    return schema_of(Person) if schema_of(Person).matches(item) else None


def changes(name: str, value: Any, found: dict[str, Any]) -> Any:
    return changes_of_all("people", ["pk"], found, schema_of_item, name, value)


def test_each_item_gets_a_request_with_its_index_keys_and_its_condition() -> None:
    found = changes(
        "state", {"S": "done"}, {**items("ada", "bob"), "raw": {"pk": {"S": "raw"}, "state": {"S": "done"}}}
    )
    # What has the value already is not written.
    assert list(found.requests) == ["ada", "bob"]
    with Engine.open() as engine:
        engine.call("CreateTable", people.create_request())
        for item in items("ada", "bob").values():
            engine.call("PutItem", {"TableName": "people", "Item": item})
        for body in found.requests.values():
            engine.call("UpdateItem", body)
        changed = engine.call("Scan", {"TableName": "people"})["Items"]
    assert {each["state_key"]["S"] for each in changed} == {"STATE#done"}


def test_what_only_a_store_can_do_is_refused_item_by_item() -> None:
    found = changes("email", {"S": "same"}, {**items("ada"), "raw": {"pk": {"S": "raw"}}})
    assert list(found.requests) == ["raw"]
    assert "unique" in found.refused["ada"]
    assert "not be a valid Person" in changes("name", None, items("ada")).refused["ada"]


def test_a_part_of_the_key_is_not_changed() -> None:
    with pytest.raises(RefusedChange, match="part of the key"):
        changes("pk", {"S": "x"}, items("ada"))
    with pytest.raises(RefusedChange, match="name"):
        changes("", {"S": "x"}, items("ada"))
