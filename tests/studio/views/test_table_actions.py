"""Changes of tables: what is typed in a form becomes the request that DynamoDB takes."""

from __future__ import annotations

from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.studio.views.table_actions import create_request, index_request

pytestmark = pytest.mark.requirement("ST1")

TABLE = {"name": " odd ", "partition": "pk", "partition_type": "S", "sort": "n", "sort_type": "N"}


@pytest.mark.parametrize(
    ("partition", "sort", "kinds"),
    [("state", "", {"state": "S"}), ("state", "at", {"state": "S", "at": "N"}), ("n", "pk", {})],
)
def test_an_index_is_added_of_keys_that_are_new_or_known(partition: str, sort: str, kinds: dict[str, str]) -> None:
    values: dict[str, Any] = {
        **{"name": "by_it", "partition": partition, "partition_type": "S"},
        **{"sort": sort, "sort_type": "N", "projection": "KEYS_ONLY"},
    }
    with Engine.open() as engine:
        table = engine.call("CreateTable", create_request(TABLE))["TableDescription"]
        body = {"TableName": "odd", **index_request(values, table)}
        changed = engine.call("UpdateTable", body)["TableDescription"]
    (index,) = changed["GlobalSecondaryIndexes"]
    assert [each["AttributeName"] for each in index["KeySchema"]] == [partition, *([sort] if sort else [])]
    types = {each["AttributeName"]: each["AttributeType"] for each in changed["AttributeDefinitions"]}
    # Of what was a key already the type stays, whatever was chosen.
    assert types == {"pk": "S", "n": "N", **kinds}


def test_an_index_of_a_provisioned_table_has_its_units() -> None:
    values = {
        "name": "by_it",
        "partition": "x",
        "partition_type": "S",
        "sort": "",
        "sort_type": "S",
        "projection": "ALL",
    }
    units = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}
    body = {**create_request(TABLE), "BillingMode": "PROVISIONED", "ProvisionedThroughput": units}
    with Engine.open() as engine:
        table = engine.call("CreateTable", body)["TableDescription"]
        request = index_request(values, table)
        assert request["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] == units
        engine.call("UpdateTable", {"TableName": "odd", **request})
