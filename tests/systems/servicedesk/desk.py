"""Those who use the service desk, for the tests."""

from __future__ import annotations

from typing import Any

import httpx

from tablewright.systems.servicedesk.model import tickets
from tests.systems import stored_items
from tests.systems.harness import Served

Answer = dict[str, Any]


def open_ticket(agent: httpx.Client, caller: str = "poc-user-001", text: str = "My laptop won't turn on") -> Answer:
    answer = agent.post("/tickets", json={"caller_id": caller, "issue_description": text})
    assert answer.status_code == 201, answer.text
    ticket: Answer = answer.json()
    return ticket


def stored(served: Served, ticket: Answer) -> stored_items.Item:
    """The item of a ticket, as it lies in the table."""
    key = {"ticket_id": {"S": ticket["ticket_id"]}}
    found: stored_items.Item = stored_items.ask(served, "GetItem", tickets, Key=key, ConsistentRead=True)["Item"]
    return found
