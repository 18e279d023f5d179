"""Rows lie where their keys say, and are found when another key was there first."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.engine import Engine, database

TABLE = {
    "TableName": "things",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "group", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
INDEX = {
    "IndexName": "by-group",
    "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


@pytest.mark.parametrize("indexed", [False, True])
def test_keys_that_want_one_place_all_have_one(monkeypatch: pytest.MonkeyPatch, indexed: bool) -> None:
    monkeypatch.setattr(database, "row_id", lambda key: 7)
    definition: dict[str, Any] = {**TABLE, "GlobalSecondaryIndexes": [INDEX]} if indexed else dict(TABLE)
    if not indexed:
        definition["AttributeDefinitions"] = TABLE["AttributeDefinitions"][:1]
    with Engine.open() as engine:
        engine.call("CreateTable", definition)
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
