"""What the first screens take does not grow with the table: requests and read units, for 300 tickets and for 10,000."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tablewright.store import AsyncStore
from tablewright.systems.support.model import Conversation, Status, Ticket, design
from tablewright.systems.support.service import Support
from tests.systems.counted_reads import counted_reads

_NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def tickets(number: int) -> Iterator[Ticket | Conversation]:
    for place in range(number):
        status = list(Status)[place % 5]
        at = _NOW - timedelta(minutes=place)
        yield Ticket(
            ticket_id=f"tkt_{place:06}",
            customer_id=f"cust_{place % 7}",
            symptom_text="The pump stops after ten minutes",
            status=status,
            created_at=at,
            completed_at=at if status is Status.READY else None,
            escalated_at=at if status is Status.ESCALATED else None,
            escalation_reason="hot" if status is Status.ESCALATED else None,
            assigned_to=f"op_{place % 3}",
        )
        if place % 2:
            yield Conversation(ticket_id=f"tkt_{place:06}", last_message_at=at, is_answered=False)


async def first_screens(store: AsyncStore) -> None:
    """The lists of the inbox, of a customer's, and the dashboard."""
    support = Support(store, _NOW.timestamp)
    assert len((await support.recent(limit=30)).items) == 30
    assert len((await support.by_status(Status.NEW, limit=30)).items) == 30
    assert len((await support.of_assignee("op_1", limit=30)).items) == 30
    assert len((await support.unanswered(limit=30)).items) == 30
    assert len((await support.of_customer("cust_1", limit=20)).items) == 20
    assert len((await support.escalations(limit=6)).items) == 6
    await support.metrics.dashboard()
    await support.reports.hours(24)
    await support.reports.days(30)
    await support.reports.operators(None, None)


@pytest.mark.requirement("AP5", "SU19")
@pytest.mark.parametrize("many", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_first_screens_take_as_much_for_many_tickets_as_for_some(many: int) -> None:
    requests, units = counted_reads(design, tickets(300), first_screens)
    found = counted_reads(design, tickets(many), first_screens)
    # Which shards the newest are in differs, and with it whether one of them is asked twice.
    assert found[0] <= requests + 1
    assert found[1] <= units + 1
    # Lists of shards ask each of them once; nothing else needs more than a page and a batch.
    assert requests <= 40
