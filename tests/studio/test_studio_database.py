"""What the studio looks at: reads, writes that are refused or logged, and what a service refuses in words."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tablewright.engine import Engine
from tablewright.store import EmbeddedBackend, EndpointBackend
from tablewright.studio.studio_database import READS, StudioDatabase
from tablewright.ui.api_calls import Refused

pytestmark = pytest.mark.requirement("ST1")

TABLE = {
    "TableName": "things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
PUT = {"TableName": "things", "Item": {"pk": {"S": "secret"}}}


def database(**settings: Any) -> StudioDatabase:
    engine = Engine.open(None)
    engine.call("CreateTable", TABLE)
    return StudioDatabase("memory", EmbeddedBackend(engine, owned=True), **settings)


def test_a_studio_that_only_reads_sends_no_write() -> None:
    found = database()
    with pytest.raises(Refused, match="start it with --write"):
        asyncio.run(found.write("PutItem", PUT, "ada", "pk"))
    with pytest.raises(ValueError, match="PutItem changes something"):
        asyncio.run(found.call("PutItem", **PUT))
    assert asyncio.run(found.call("Scan", TableName="things"))["Count"] == 0


def test_a_write_is_logged_with_who_and_what_and_without_values(caplog: pytest.LogCaptureFixture) -> None:
    found = database(may_write=True)
    with caplog.at_level(logging.INFO, "tablewright.studio.writes"):
        asyncio.run(found.write("PutItem", PUT, "ada", "pk"))
        with pytest.raises(Refused):
            asyncio.run(found.write("PutItem", {**PUT, "TableName": "gone"}, "ada", "pk"))
    assert [(each.who, each.operation, each.table, each.refused) for each in found.writes] == [
        ("ada", "PutItem", "things", None),
        ("ada", "PutItem", "gone", "ResourceNotFoundException"),
    ]
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "PutItem by ada on things (pk): done"
    assert "secret" not in "".join(said)


def test_no_operation_that_writes_counts_as_a_read() -> None:
    verbs = ("Put", "Update", "Delete", "Create", "Restore", "Tag", "Untag", "BatchWrite", "TransactWrite", "Execute")
    assert [name for name in READS if name.startswith(verbs)] == []


def test_a_table_that_is_gone_is_said_in_the_services_words() -> None:
    with pytest.raises(Refused) as refused:
        asyncio.run(database().call("DescribeTable", TableName="gone"))
    assert refused.value.kind == "ResourceNotFoundException"
    assert "gone" in refused.value.detail


def test_an_endpoint_that_is_not_there_is_said_to_be_so() -> None:
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    backend = EndpointBackend("us-east-1", "http://127.0.0.1:9", keys)
    with pytest.raises(Refused, match=r"http://127.0.0.1:9 does not answer as it should.*cannot be reached"):
        asyncio.run(StudioDatabase("http://127.0.0.1:9", backend).call("ListTables"))
