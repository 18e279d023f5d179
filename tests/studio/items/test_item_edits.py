"""Changes of items as requests: only what changed, under the condition that it is as it was seen."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tablewright.dynamo import ConditionalCheckFailedException
from tablewright.engine import Engine
from tablewright.model import Entity, GlobalIndex, Keys, Table, Unique, Version, schema_of
from tablewright.studio.items.item_edits import (
    RefusedChange,
    delete_request,
    follow_design,
    put_request,
    update_request,
)

pytestmark = pytest.mark.requirement("ST2")

orders = Table("orders", partition="PK", sort="SK", indexes=[GlobalIndex("GSI1", partition="GSI1PK", sort="GSI1SK")])


class Order(Entity, table=orders):
    order_id: str
    status: str
    note: str | None = None
    version: Version = 1

    keys = Keys(PK="ORDER#{order_id}", SK="ORDER", GSI1PK="STATUS#{status}", GSI1SK="{order_id}")


class Member(Entity, table=orders):
    member_id: str
    email: Annotated[str, Unique()]

    keys = Keys(PK="MEMBER#{member_id}", SK="MEMBER")


def engine_with(item: dict[str, Any]) -> Engine:
    engine = Engine.open(None)
    engine.call("CreateTable", orders.create_request())
    engine.call("PutItem", {"TableName": "orders", "Item": item})
    return engine


def stored(engine: Engine, item: dict[str, Any]) -> dict[str, Any] | None:
    key = {"PK": item["PK"], "SK": item["SK"]}
    found: dict[str, Any] | None = engine.call("GetItem", {"TableName": "orders", "Key": key}).get("Item")
    return found


BEFORE: dict[str, Any] = {
    "PK": {"S": "a"},
    "SK": {"S": "b"},
    "same": {"N": "1"},
    "gone": {"S": "x"},
    "map": {"M": {"kept": {"S": "k"}, "changed": {"N": "1"}, "odd name.with dots": {"S": "s"}}},
    "set": {"SS": ["b", "a"]},
}


def test_only_what_changed_is_sent_maps_are_changed_inside() -> None:
    after = {
        **{name: value for name, value in BEFORE.items() if name != "gone"},
        "new": {"L": [{"BOOL": True}]},
        "map": {"M": {"kept": {"S": "k"}, "changed": {"N": "2"}, "added": {"NULL": True}}},
        "set": {"SS": ["a", "b"]},
    }
    body = update_request("orders", ("PK", "SK"), BEFORE, after)
    assert body is not None
    assert set(body["ExpressionAttributeNames"].values()) == {
        *("PK", "gone", "map", "changed", "odd name.with dots", "added", "new"),
    }
    engine = engine_with(BEFORE)
    engine.call("UpdateItem", body)
    found = stored(engine, BEFORE)
    assert found is not None
    assert {**found, "set": None} == {**after, "set": None}
    assert sorted(found["set"]["SS"]) == ["a", "b"]
    assert update_request("orders", ("PK", "SK"), BEFORE, dict(BEFORE)) is None


@pytest.mark.parametrize("meanwhile", [{"gone": {"S": "y"}}, {"new": {"S": "theirs"}}, None])
def test_concurrent_changes_are_not_overwritten(meanwhile: dict[str, Any] | None) -> None:
    engine = engine_with(BEFORE)
    after = {**BEFORE, "gone": {"S": "mine"}, "new": {"S": "mine"}}
    body = update_request("orders", ("PK", "SK"), BEFORE, after)
    assert body is not None
    if meanwhile is None:
        engine.call("DeleteItem", {"TableName": "orders", "Key": {"PK": BEFORE["PK"], "SK": BEFORE["SK"]}})
    else:
        engine.call("PutItem", {"TableName": "orders", "Item": {**BEFORE, **meanwhile}})
    with pytest.raises(ConditionalCheckFailedException):
        engine.call("UpdateItem", body)


def test_a_new_item_replaces_none_and_a_deleted_one_was_there() -> None:
    engine = engine_with(BEFORE)
    with pytest.raises(ConditionalCheckFailedException):
        engine.call("PutItem", put_request("orders", ("PK", "SK"), BEFORE))
    engine.call("DeleteItem", delete_request("orders", ("PK", "SK"), BEFORE))
    with pytest.raises(ConditionalCheckFailedException):
        engine.call("DeleteItem", delete_request("orders", ("PK", "SK"), BEFORE))
    engine.call("PutItem", put_request("orders", ("PK", "SK"), BEFORE))


def test_keys_of_indexes_follow_from_changed_fields_and_so_does_the_version() -> None:
    before = Order(order_id="o-1", status="open").item()
    after = follow_design(schema_of(Order), before, {**before, "status": {"S": "done"}})
    assert (after["GSI1PK"], after["version"]) == ({"S": "STATUS#done"}, {"N": "2"})
    assert Order.of(after) == Order(order_id="o-1", status="done", version=2)


def test_what_would_be_no_entity_or_only_a_part_of_a_write_is_refused() -> None:
    order, member = Order(order_id="o-1", status="open").item(), Member(member_id="m", email="a@b.c").item()
    with pytest.raises(RefusedChange, match="would not be a valid Order"):
        follow_design(schema_of(Order), order, {name: value for name, value in order.items() if name != "status"})
    with pytest.raises(RefusedChange, match="would be different"):
        follow_design(schema_of(Order), order, {**order, "order_id": {"S": "o-2"}})
    with pytest.raises(RefusedChange, match="email is unique"):
        follow_design(schema_of(Member), member, {**member, "email": {"S": "new@b.c"}})
    with pytest.raises(RefusedChange, match="unique fields"):
        follow_design(schema_of(Member), None, member)
