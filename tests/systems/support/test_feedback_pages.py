"""Pages of feedback are full, whatever of it the reader may not see; one request reads so much at most."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.store.read import tolerant
from tablewright.systems.support.model import Feedback
from tests.systems.harness import Served
from tests.systems.support.tickets import opened


def fill(served: Served, ticket_id: str, operators: list[str]) -> None:
    """Feedback on each, the first the oldest."""
    now = served.runtime.now()
    made = [
        Feedback(
            ticket_id=ticket_id,
            feedback_id=f"{number:05}",
            given_by="the-customer",
            operator_id=operator,
            once=uuid4().hex,
            submitted_at=now,
            rating=3,
        )
        for number, operator in enumerate(operators)
    ]
    for each in made:
        served.runtime.sync_store.create(each)


def pages(client: httpx.Client, ticket_id: str, limit: int) -> list[list[str]]:
    found: list[list[str]] = []
    params: dict[str, Any] = {"limit": limit}
    while True:
        page = client.get(f"/tickets/{ticket_id}/feedback", params=params).json()
        found.append([each["feedback_id"] for each in page["feedback"]])
        if page["cursor"] is None:
            return found
        params["cursor"] = page["cursor"]


@pytest.mark.requirement("SU6")
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_an_operator_sees_full_pages_of_what_is_about_herself(served: Served, limit: int) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    ticket_id = opened(staff)["ticket_id"]
    operators = [f"op_{'me' if number % 9 == 4 else number}" for number in range(120)]
    fill(served, ticket_id, operators)
    own = [f"{number:05}" for number in reversed(range(120)) if number % 9 == 4]
    found = pages(served.client("op_me", "Operators", path="/support"), ticket_id, limit)
    assert [each for page in found for each in page] == own
    assert all(len(page) == limit for page in found[: len(own) // limit])
    everything = pages(served.client("admin", "Admins", path="/support"), ticket_id, limit)
    assert [len(page) for page in everything][:-1] == [limit] * (len(everything) - 1)
    assert sum(map(len, everything)) == 120


@pytest.mark.requirement("SU6")
def test_a_page_of_nothing_ends_the_list_and_reads_so_much_at_most(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    ticket_id = opened(staff)["ticket_id"]
    fill(served, ticket_id, ["op_me", *(f"op_{number}" for number in range(60))])
    nobody = served.client("op_nobody", "Operators", path="/support")
    assert pages(nobody, ticket_id, 5) == [[]]
    monkeypatch.setattr(tolerant, "MAX_ITEMS_READ", 25)
    mine = served.client("op_me", "Operators", path="/support")
    # 61 are looked at, 25 for each page; who asks on gets there.
    assert pages(mine, ticket_id, 5) == [[], [], ["00000"]]
