"""Tickets of support, as its users make and move them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx

from tests.systems.harness import Served


def opened(client: httpx.Client, customer: str | None = None, **more: Any) -> Any:
    body = {"customer_id": customer or f"cust_{uuid4().hex}", "symptom_text": "The pump stops", **more}
    answer = client.post("/tickets", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def moved(client: httpx.Client, ticket: Any, *path: str) -> Any:
    for status in path:
        body = {"status": status, "expected": ticket["status"]}
        answer = client.post(f"/tickets/{ticket['ticket_id']}/status", json=body)
        assert answer.status_code == 200, answer.text
        ticket = answer.json()
    return ticket


def helped(served: Served, ticket_id: str, operator: str) -> None:
    """An operator works on a ticket."""
    own = served.client(operator, "Operators", path="/support")
    assert own.post(f"/tickets/{ticket_id}/events", json={"event_type": "customer_called"}).status_code == 201
