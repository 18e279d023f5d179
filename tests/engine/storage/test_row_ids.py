"""Rows lie where their keys say, and are found when another key was there first."""

from __future__ import annotations

import pytest

from tablewright.engine import Engine, database
from tests.engine.table_requests import attributes, index, on_demand

INDEXED = {
    "AttributeDefinitions": attributes("pk", "group"),
    "GlobalSecondaryIndexes": [index("by-group", "group")],
}


@pytest.mark.parametrize("indexed", [False, True])
def test_keys_that_want_one_place_all_have_one(monkeypatch: pytest.MonkeyPatch, indexed: bool) -> None:
    monkeypatch.setattr(database, "row_id", lambda key: 7)
    with Engine.open() as engine:
        engine.call("CreateTable", on_demand(TableName="things", **(INDEXED if indexed else {})))
        for turn in ("first", "second"):
            for name in "abcde":
                item = {"pk": {"S": name}, "group": {"S": "g"}, "turn": {"S": turn}}
                engine.call("PutItem", {"TableName": "things", "Item": item})
        engine.call("DeleteItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}})
        engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "f"}, "group": {"S": "g"}}})
        for name in "bcde":
            found = engine.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": name}}})["Item"]
            assert found["turn"] == {"S": "second"}
        assert engine.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}}) == {}
        assert engine.call("Scan", {"TableName": "things", "Select": "COUNT"})["Count"] == 5
        assert engine.verify().ok
