"""What the studio looks at: reads, writes that are refused or logged, and what a service refuses in words."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from tablewright import studio
from tablewright.engine import Engine
from tablewright.engine.requests import DYNAMODB_OPERATIONS, STREAMS_OPERATIONS
from tablewright.store import EmbeddedBackend, EndpointBackend, Request, Response
from tablewright.studio.studio_database import READS, StudioDatabase, is_read
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
    with pytest.raises(ValueError, match="PutItem is not a read"):
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


class Sent(EmbeddedBackend):
    """An engine's backend that keeps what reached the engine."""

    def __init__(self) -> None:
        super().__init__(Engine.open(None), owned=True)
        self.engine.call("CreateTable", TABLE)
        self.engine.call("PutItem", PUT)
        self.operations: list[str] = []

    async def call_async(self, request: Request) -> Response:
        self.operations.append(request.operation)
        return await super().call_async(request)


def refused_by_all_ways(backend: Sent, operation: str, body: dict[str, Any]) -> None:
    """No way of a studio that only reads sends the request."""
    found = StudioDatabase("memory", backend)
    assert not is_read(operation, body)
    for way in (
        found.write(operation, body, "ada", "forged"),
        found.write_of_store(Request(operation, body), "ada", "forged"),
        found.answer(Request(operation, body)),
    ):
        with pytest.raises(Refused, match="start it with --write") as refused:
            asyncio.run(way)
        assert refused.value.status == 403
    with pytest.raises(ValueError, match="is not a read"):
        asyncio.run(found.call(operation, **body))
    assert backend.operations == []
    # Whoever tried it can be found.
    assert {(each.who, each.operation, each.refused) for each in found.writes} == {("ada", operation, "read-only")}


PARTIQL = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})


@pytest.mark.parametrize(
    "operation",
    [
        *sorted((DYNAMODB_OPERATIONS | STREAMS_OPERATIONS) - READS - PARTIQL),
        # Of Amazon DynamoDB alone, and what it may have tomorrow.
        *("ImportTable", "PutResourcePolicy", "DeleteResourcePolicy", "UpdateGlobalTable", "DropEverything", ""),
    ],
)
def test_a_studio_that_only_reads_sends_no_operation_but_reads(operation: str) -> None:
    refused_by_all_ways(Sent(), operation, {"TableName": "things"})


CHANGES = [
    """INSERT INTO "things" VALUE {'pk': 'new'}""",
    """UPDATE "things" SET n = 1 WHERE pk = 'secret'""",
    """DELETE FROM "things" WHERE pk = 'secret'""",
    """  \n delete from "things" where pk = 'secret'""",
    """/* SELECT */ DELETE FROM "things" WHERE pk = 'secret'""",
    """-- SELECT\nDELETE FROM "things" WHERE pk = 'secret'""",
    """SELECTED""",
    "",
]


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("operation", sorted(PARTIQL))
def test_a_studio_that_only_reads_sends_no_statement_that_changes_something(operation: str, statement: str) -> None:
    bodies: list[dict[str, Any]] = [{"Statement": statement}]
    if operation != "ExecuteStatement":
        name = "Statements" if operation == "BatchExecuteStatement" else "TransactStatements"
        harmless = {"Statement": """SELECT * FROM "things" WHERE pk = 'a'"""}
        # Behind a read, before one, and under names that another operation looks at.
        bodies = [
            {name: [harmless, {"Statement": statement}]},
            {name: [{"Statement": statement}, harmless]},
            {name: [{"Statement": statement}], "Statement": harmless["Statement"]},
        ]
    backend = Sent()
    for body in bodies:
        refused_by_all_ways(backend, operation, body)


@pytest.mark.parametrize("body", [{"Statement": 5}, {"Statement": ["SELECT"]}, {}])
def test_what_is_no_statement_is_not_taken_for_a_read(body: dict[str, Any]) -> None:
    refused_by_all_ways(Sent(), "ExecuteStatement", body)
    refused_by_all_ways(Sent(), "BatchExecuteStatement", {"Statements": [body]})
    refused_by_all_ways(Sent(), "ExecuteTransaction", {"TransactStatements": body})


def test_statements_that_only_read_are_sent_and_change_nothing() -> None:
    backend = Sent()
    found = StudioDatabase("memory", backend)
    select = {"Statement": """ select * FROM "things" WHERE pk = 'secret'"""}
    assert asyncio.run(found.call("ExecuteStatement", **select))["Items"] == [PUT["Item"]]
    assert len(asyncio.run(found.call("BatchExecuteStatement", Statements=[select]))["Responses"]) == 1
    assert len(asyncio.run(found.call("ExecuteTransaction", TransactStatements=[select]))["Responses"]) == 1
    for change in CHANGES[:3]:
        # One request has one statement.
        with pytest.raises(Refused) as refused:
            asyncio.run(found.call("ExecuteStatement", Statement=f"""SELECT * FROM "things"; {change}"""))
        assert refused.value.kind == "ValidationException"
    assert asyncio.run(found.call("Scan", TableName="things"))["Items"] == [PUT["Item"]]


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("TransactWriteItems", {"TransactItems": 5}),
        ("TransactWriteItems", {"TransactItems": [None, {"Put": 1}, {"Put": {"TableName": "things"}}]}),
        ("BatchWriteItem", {"RequestItems": ["things"]}),
        ("DeleteTable", {"TableName": {"S": "things"}}),
    ],
)
def test_a_write_of_any_form_is_refused_by_the_service_and_logged(operation: str, body: dict[str, Any]) -> None:
    found = database(may_write=True)
    with pytest.raises(Refused) as refused:
        asyncio.run(found.write(operation, body, "ada", "typed"))
    assert [each.refused for each in found.writes] == [refused.value.kind]
    assert refused.value.kind in ("SerializationException", "ValidationException")


def test_nothing_goes_around_the_database() -> None:
    folder = Path(studio.__file__).parent
    around = {path.name for path in folder.rglob("*.py") if ".backend" in path.read_text()}
    # The server makes the database.
    assert around == {"studio_database.py", "studio_server.py"}


def test_a_missing_table_is_reported_in_the_services_words() -> None:
    with pytest.raises(Refused) as refused:
        asyncio.run(database().call("DescribeTable", TableName="gone"))
    assert refused.value.kind == "ResourceNotFoundException"
    assert "gone" in refused.value.detail


def test_an_unreachable_endpoint_is_reported() -> None:
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    backend = EndpointBackend("us-east-1", "http://127.0.0.1:9", keys)
    with pytest.raises(Refused, match=r"http://127.0.0.1:9 does not respond as expected.*cannot be reached") as refused:
        asyncio.run(StudioDatabase("http://127.0.0.1:9", backend).call("ListTables"))
    # What is away for a while is asked again by the view.
    assert refused.value.status == 503
