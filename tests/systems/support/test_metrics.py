"""Support's metrics: every change once, from the stream, and again from the table."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.runtime.internal_tables import internal_table
from tablewright.store import Consumer
from tablewright.systems.support.metric_counters import count
from tablewright.systems.support.model import Metric, Ticket, tickets
from tests.systems.harness import Served, wait_for
from tests.systems.support.tickets import helped, moved, opened


def metrics(client: httpx.Client) -> Any:
    return client.get("/metrics").json()


def by_status(client: httpx.Client) -> dict[str, int]:
    found: dict[str, int] = metrics(client)["tickets_by_status"]
    return found


@pytest.mark.requirement("SU11", "SU12")
def test_inserts_changes_and_feedback_are_counted(served: Served, staff: httpx.Client) -> None:
    before = metrics(staff)
    first, second, _ = (opened(staff) for _ in range(3))
    moved(staff, first, "PROCESSING", "READY")
    moved(staff, second, "FAILED")
    helped(served, first["ticket_id"], "op_2")
    customer = served.client(first["customer_id"], "Customers", path="/support")
    for operator, rating in (("op_1", 5), ("op_2", 2)):
        body = {"operator_id": operator, "rating": rating}
        assert customer.post(f"/tickets/{first['ticket_id']}/feedback", json=body).status_code == 201

    def counted() -> bool:
        now = metrics(staff)
        grown = {name: now["tickets_by_status"][name] - before["tickets_by_status"][name] for name in by_status(staff)}
        return (
            grown == {"NEW": 1, "PROCESSING": 0, "READY": 1, "FAILED": 1, "ESCALATED": 0}
            and now["resolved"] - before["resolved"] == 1
            and now["ratings"] - before["ratings"] == 2
        )

    wait_for(counted)
    # Removals count as well, and what a ticket was worth goes with it.
    served.runtime.sync_store.delete(Ticket.by_id(ticket_id=first["ticket_id"]))
    wait_for(lambda: metrics(staff)["resolved"] == before["resolved"])
    assert by_status(staff)["READY"] == before["tickets_by_status"]["READY"]


@pytest.mark.requirement("SU11")
def test_a_rebuild_gives_the_same_numbers_while_writes_go_on(served: Served, staff: httpx.Client) -> None:
    admin = served.client("admin", "Admins", path="/support")
    for _ in range(20):
        moved(staff, opened(staff), "PROCESSING")
    # Somebody has unreadable the numbers.
    served.runtime.sync_store.put(Metric(metric_name="tickets_by_status#PROCESSING", count_value=-7))
    assert admin.post("/metrics/rebuild").status_code == 202
    for _ in range(10):
        opened(staff)
    state = wait_for(lambda: not (found := admin.get("/metrics/rebuild").json())["running"] and found)
    assert state["failed"] is None

    def right() -> bool:
        stored = list(served.runtime.sync_store.iterate(Ticket))
        counts = dict.fromkeys(by_status(staff), 0)
        for ticket in stored:
            counts[ticket.status] += 1
        return by_status(staff) == counts

    wait_for(right)


@pytest.mark.requirement("SU11")
def test_a_second_consumer_by_mistake_counts_nothing_twice(served: Served, staff: httpx.Client) -> None:
    before = by_status(staff)
    second = Consumer(served.runtime.sync_store, tickets, count, name="support.metrics", checkpoints=internal_table)
    for _ in range(5):
        opened(staff)
        second.run_once()
    wait_for(lambda: by_status(staff)["NEW"] == before["NEW"] + 5)
    second.run_once()
    second.release()
    assert by_status(staff)["NEW"] == before["NEW"] + 5


def test_the_live_view_tells_of_changes(served: Served, staff: httpx.Client) -> None:
    with staff.stream("GET", "/metrics/live") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        first = json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))
        opened(staff, f"cust_{uuid4().hex}")
        second = json.loads(next(line for line in lines if line.startswith("data: ")).removeprefix("data: "))
    assert second["tickets_by_status"]["NEW"] == first["tickets_by_status"]["NEW"] + 1
