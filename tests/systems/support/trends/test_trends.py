"""Trends: what was opened, resolved and rated in each hour and on each day, and by whom."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.systems.support.model import Feedback, Status, Ticket
from tablewright.systems.support.trends.trend_counters import Gain, OfOperator, OfTime, trends_of
from tablewright.systems.support.trends.trend_entities import OperatorDay, Unit
from tests.systems.harness import Served, wait_for
from tests.systems.support.tickets import moved, opened

pytestmark = pytest.mark.requirement("AP5", "SU11")


def ticket(**values: Any) -> Ticket:
    return Ticket(ticket_id="t", customer_id="c", symptom_text="s", **values)


def test_what_a_ticket_is_worth_to_its_hours_days_and_operator() -> None:
    created, done = datetime(2026, 11, 16, 23, 50, tzinfo=UTC), datetime(2026, 11, 17, 0, 20, tzinfo=UTC)
    assert trends_of(ticket(created_at=created)) == {
        OfTime(Unit.HOUR, "2026-11-16T23"): Gain(opened=1),
        OfTime(Unit.DAY, "2026-11-16"): Gain(opened=1),
    }
    found = trends_of(ticket(created_at=created, completed_at=done, completed_by="op", status=Status.READY))
    resolved = Gain(resolved=1, total_time=Decimal(1800))
    assert found[OfTime(Unit.HOUR, "2026-11-17T00")] == resolved
    assert found[OfTime(Unit.DAY, "2026-11-17")] == resolved
    assert found[OfOperator(date(2026, 11, 17), "op")] == resolved
    # Opened and resolved within the same hour are two numbers of one item.
    same = trends_of(ticket(created_at=created, completed_at=created + timedelta(minutes=5), completed_by="op"))
    assert same[OfTime(Unit.HOUR, "2026-11-16T23")] == Gain(opened=1, resolved=1, total_time=Decimal(300))


def test_feedback_counts_for_its_operator_unless_they_gave_it() -> None:
    at = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
    given = Feedback(ticket_id="t", feedback_id="f", given_by="c", operator_id="op", submitted_at=at, rating=4)
    assert trends_of(given)[OfOperator(at.date(), "op")] == Gain(ratings=1, total_ratings=4)
    assert trends_of(given)[OfTime(Unit.HOUR, "2026-11-16T09")] == Gain(ratings=1, total_ratings=4)
    assert trends_of(given.model_copy(update={"given_by": "op"})) == {}


def last(client: httpx.Client) -> tuple[dict[str, Any], dict[str, Any]]:
    body = client.get("/metrics/trends", params={"hours": 2, "days": 2}).json()
    assert (len(body["hours"]), len(body["days"])) == (2, 2)
    # An hour may end while this runs.
    hours, days = (
        {name: sum(each[name] for each in body[unit]) for name in ("opened", "resolved", "ratings")}
        for unit in ("hours", "days")
    )
    return hours, days


def test_the_dashboard_tells_hours_days_priorities_and_operators(quiet: Served) -> None:
    operator, other = (quiet.client(name, "Operators", path="/support") for name in ("op_1", "op_2"))
    admin = quiet.client("ines", "Admins", path="/support")
    first, second, third = opened(operator, priority="HIGH"), opened(operator), opened(operator, priority="HIGH")
    moved(operator, first, "PROCESSING", "READY")
    moved(operator, second, "PROCESSING", "READY", "PROCESSING")
    moved(other, third, "PROCESSING")
    customer = quiet.client(first["customer_id"], "Customers", path="/support")
    path = f"/tickets/{first['ticket_id']}/feedback"
    assert customer.post(path, json={"operator_id": "op_1", "rating": 4}).status_code == 201
    wait_for(lambda: last(admin)[0]["ratings"] == 1)
    # What was opened again counts as not resolved.
    wait_for(lambda: last(admin) == ({"opened": 3, "resolved": 1, "ratings": 1},) * 2)
    by_priority = admin.get("/metrics").json()["by_priority"]
    assert {name: (each["open"], each["resolved"]) for name, each in by_priority.items()} == {
        "LOW": (0, 0),
        "MEDIUM": (1, 0),
        "HIGH": (1, 1),
        "CRITICAL": (0, 0),
    }
    report = admin.get("/metrics/operators").json()["operators"]
    assert [(each["operator_id"], each["resolved"], each["ratings"], each["average_rating"]) for each in report] == [
        ("op_1", 1, 1, 4.0)
    ]
    # Operators see themselves; customers see nothing of it.
    assert operator.get("/metrics/operators").json()["operators"] == report
    assert other.get("/metrics/operators").json()["operators"] == []
    for place in ("/metrics/operators", "/metrics/trends"):
        assert customer.get(place).status_code == 403
    since = {"since": "2026-01-01", "until": "2026-12-31"}
    assert admin.get("/metrics/operators", params=since).json()["type"] == "/problems/invalid"
    # A change of a priority moves what is open.
    assert operator.put(f"/tickets/{third['ticket_id']}/priority", json={"priority": "LOW"}).status_code == 200
    wait_for(lambda: admin.get("/metrics").json()["by_priority"]["LOW"]["open"] == 1)
    assert admin.get("/metrics").json()["by_priority"]["HIGH"]["open"] == 0


def test_metrics_that_are_others_than_the_table_are_found_and_rebuilt(quiet: Served) -> None:
    staff, admin = quiet.client("op_1", "Operators", path="/support"), quiet.client("ines", "Admins", path="/support")
    moved(staff, opened(staff), "PROCESSING", "READY")

    def ended(path: str) -> Any:
        assert admin.post(path).status_code == 202
        return wait_for(lambda: not (found := admin.get(path).json())["running"] and found)

    assert ended("/maintenance/verify-metrics")["outcome"].endswith("metric values agree with 1 items")
    # Somebody has unreadable a number.
    day = datetime.now(UTC).date()
    quiet.runtime.sync_store.put(OperatorDay(day=day, operator_id=f"op_{uuid4().hex}", resolved=7))
    assert "1 metric values differ" in ended("/maintenance/verify-metrics")["failed"]
    assert ended("/metrics/rebuild")["failed"] is None
    assert ended("/maintenance/verify-metrics")["failed"] is None
