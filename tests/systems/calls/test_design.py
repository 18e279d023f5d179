"""Calls: the table is the one of the document, and nothing composes a key by hand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import httpx
import pytest

from tablewright.design.cost.capacity_estimate import CapacityEstimate
from tablewright.design.lint import lint
from tablewright.model import schema_of
from tablewright.systems.calls import calls_system
from tablewright.systems.calls.model import Call, calls, design
from tablewright.systems.calls.service import Calls
from tests.systems import stored_items
from tests.systems.calls.call_clients import put
from tests.systems.harness import Served, serving


def test_the_table_is_created_as_the_document_says() -> None:
    def index(name: str, partition: str, *sort: str) -> dict[str, object]:
        key = [{"AttributeName": partition, "KeyType": "HASH"}]
        key += [{"AttributeName": attribute, "KeyType": "RANGE"} for attribute in sort]
        return {"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}

    request = calls.create_request()
    attributes = {(each["AttributeName"], each["AttributeType"]) for each in request.pop("AttributeDefinitions")}
    assert attributes == {(name, "S") for name in ("userId", "sk", "callId", "providerId", "userStatus")}
    assert request == {
        "TableName": "Calls",
        "KeySchema": [{"AttributeName": "userId", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            index("byCallId", "callId"),
            index("byProvider", "providerId", "sk"),
            index("byUserStatus", "userStatus", "sk"),
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def test_every_key_that_is_composed_follows_from_fields() -> None:
    schema = schema_of(Call)
    assert schema.sources("sk") == {"scheduledFor", "callId"}
    assert schema.sources("userStatus") == {"userId", "status"}
    assert [spec.name for spec in schema.unique] == ["call_id"]


def test_lint_finds_nothing() -> None:
    assert [str(finding) for finding in lint(design)] == []


@pytest.fixture
def alone() -> Iterator[Served]:
    with serving([calls_system.system]) as served:
        yield served


def test_the_demo_can_be_looked_at_by_its_users(alone: Served) -> None:
    system, told = calls_system.system, []
    service = Calls(alone.runtime.store, alone.runtime.clock)
    demo = system.demo
    assert demo is not None

    async def fill() -> None:
        await demo(alone.runtime, service, lambda what, done, of: told.append((what, done, of)))

    # A fill that was cut short is begun anew by the next start.
    asyncio.run(fill())
    asyncio.run(fill())
    assert told[-1] == ("calls", 20, 20)
    assert len([item for item in stored_items.items(alone, calls) if "callId" in item]) == 20
    for user in system.demo_users:
        client = alone.client(user.user_id, *(role.name for role in user.roles), path="/calls")
        assert client.get("/users/ada/calls").json()["calls"][0]["status"] == "COMPLETED"
        assert client.get("/users/ada/calls/next-scheduled").status_code == 200


@pytest.mark.requirement("X5")
def test_a_change_is_charged_as_the_plan_says_with_its_audit_entry(alone: Served) -> None:
    staff = alone.client("sam", "Schedulers", path="/calls")
    body = {"userId": "ada", "providerId": "p-1", "scheduledFor": 1_900_000_000_000}
    estimate = CapacityEstimate(design)

    def charged(name: str, call: Callable[[], httpx.Response]) -> httpx.Response:
        before = written(alone)
        answer = call()
        assert answer.is_success, answer.text
        assert written(alone) - before == sum(units.write for units in estimate.of(name)), name
        return answer

    made = charged("create call", lambda: staff.post("/calls", json=body)).json()
    charged("change provider", lambda: put(staff, made, "provider", 1, providerId="p-2"))
    charged("complete", lambda: put(staff, made, "status", 2, status="COMPLETED"))


def written(served: Served) -> Decimal:
    """The write units that transactions have consumed."""
    text = served.client().get("/metrics").text
    found = re.findall(r'^dynamodb_consumed_capacity_units_total{operation="TransactWriteItems".*} (\S+)$', text, re.M)
    return sum(map(Decimal, found), Decimal(0))
