"""Service Desk: the table is the one of the document, and the queue's indexes and attributes are beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from tablewright.design.infra import aws_cli_script
from tablewright.design.infra.table_requests import Deployment
from tablewright.design.lint import lint
from tablewright.systems.servicedesk.caller_ids import CallerIds
from tablewright.systems.servicedesk.model import design, tickets
from tablewright.systems.servicedesk.service import ServiceDesk
from tablewright.systems.servicedesk.servicedesk_system import system
from tablewright.systems.servicedesk.ticket_numbers import number_of
from tests.systems import stored_items
from tests.systems.harness import Served, serving
from tests.systems.servicedesk.desk import open_ticket, stored

OURS = ("queue", "queue_order", "agent_queue", "number")
ATTRIBUTES = [{"AttributeName": name, "AttributeType": "S"} for name in ("ticket_id", "caller_id", "created_at", *OURS)]
KEY = [{"AttributeName": "ticket_id", "KeyType": "HASH"}]
INDEX = {
    "IndexName": "CallerIdIndex",
    "KeySchema": [
        {"AttributeName": "caller_id", "KeyType": "HASH"},
        {"AttributeName": "created_at", "KeyType": "RANGE"},
    ],
    "Projection": {"ProjectionType": "ALL"},
}
TAGS = [{"Key": "Environment", "Value": "PoC"}, {"Key": "Project", "Value": "AI-L1-Support"}]


@pytest.mark.requirement("SD1")
def test_the_table_is_created_by_the_request_of_the_document() -> None:
    request = tickets.create_request()
    index, *ours = request.pop("GlobalSecondaryIndexes")
    assert index == INDEX
    assert [each["IndexName"] for each in ours] == ["QueueIndex", "AssigneeIndex", "NumberIndex"]
    assert request == {
        "TableName": "poc-itsm-tickets",
        "AttributeDefinitions": ATTRIBUTES,
        "KeySchema": KEY,
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "Tags": TAGS,
    }


@pytest.mark.requirement("SD1")
def test_the_command_that_sets_it_up_is_for_us_east_1() -> None:
    command = aws_cli_script(design, Deployment()).split("aws dynamodb create-table", 1)[1].split("\n\n")[0]
    options = [line.strip(" \\").split(" ", 1)[0] for line in command.splitlines() if line.strip().startswith("--")]
    assert sorted(options) == [
        "--attribute-definitions",
        "--billing-mode",
        "--global-secondary-indexes",
        "--key-schema",
        "--region",
        "--stream-specification",
        "--table-name",
        "--tags",
    ]
    assert "--region us-east-1" in command
    assert "--table-name poc-itsm-tickets" in command


@pytest.mark.requirement("SD1")
def test_the_table_that_is_there_is_that_table(served: Served) -> None:
    table = stored_items.ask(served, "DescribeTable", tickets)["Table"]
    assert table["TableName"] == served.runtime.settings.table_prefix + "poc-itsm-tickets"
    assert sorted(table["AttributeDefinitions"], key=str) == sorted(ATTRIBUTES, key=str)
    assert table["KeySchema"] == KEY
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    (index,) = [each for each in table["GlobalSecondaryIndexes"] if each["IndexName"] == "CallerIdIndex"]
    assert {name: index[name] for name in INDEX} == INDEX
    assert table["TableArn"].split(":")[3] == "us-east-1"


@pytest.mark.requirement("SD1")
def test_an_item_has_the_seven_attributes_and_what_the_queue_needs(agent: httpx.Client, served: Served) -> None:
    ticket = open_ticket(agent)
    agent.post(f"/tickets/{ticket['ticket_id']}/comments", json={"comment_text": "Tried restarting"})
    ticket = agent.patch(f"/tickets/{ticket['ticket_id']}", json={"status": "in_progress"}).json()
    (comment,) = ticket["comments"]
    found = stored(served, ticket)
    assert found.pop("queue")["S"].startswith("QUEUE")
    assert found == {
        "ticket_id": {"S": ticket["ticket_id"]},
        "caller_id": {"S": "poc-user-001"},
        "issue_description": {"S": "My laptop won't turn on"},
        "status": {"S": "in_progress"},
        "created_at": {"S": ticket["created_at"]},
        "updated_at": {"S": ticket["updated_at"]},
        "comments": {
            "L": [
                {
                    "M": {
                        "comment_text": {"S": "Tried restarting"},
                        "added_at": {"S": comment["added_at"]},
                        "added_by": {"S": "sam"},
                    }
                }
            ]
        },
        "created_by": {"S": "sam"},
        "number": {"S": number_of(UUID(ticket["ticket_id"]))},
        "priority": {"S": "P3"},
        "first_answered_at": {"S": comment["added_at"]},
        "queue_order": {"S": f"P3#{ticket['created_at']}"},
    }


@pytest.mark.requirement("SD1")
def test_a_new_item_has_an_empty_list_of_comments(agent: httpx.Client, served: Served) -> None:
    assert stored(served, open_ticket(agent))["comments"] == {"L": []}


def test_lint_finds_what_was_accepted_and_nothing_else() -> None:
    assert [(finding.rule, finding.place, bool(finding.accepted)) for finding in lint(design)] == [
        ("unbounded-list", "Ticket.comments", True),
        ("filter-reads-most", "QueuedTicket.unassigned", True),
    ]


@pytest.fixture
def alone() -> Iterator[Served]:
    with serving([system]) as served:
        yield served


def test_the_demo_can_be_looked_at_by_its_users(alone: Served) -> None:
    demo = system.demo
    assert demo is not None
    service = ServiceDesk(alone.runtime.store, CallerIds(alone.runtime.privacy_secret), alone.runtime.clock)

    async def fill() -> None:
        await demo(alone.runtime, service, lambda what, done, of: None)

    # A fill that was cut short is begun anew by the next start.
    asyncio.run(fill())
    asyncio.run(fill())
    for user in system.demo_users:
        client = alone.client(user.user_id, *(role.name for role in user.roles), path="/servicedesk")
        found = client.get("/tickets", params={"caller": "poc-user-001"}).json()["tickets"]
        assert [(ticket["status"], len(ticket["comments"])) for ticket in found] == [("open", 1), ("in_progress", 2)]
