"""Candidates: found by what they are, best first, by day; until they are rejected, deleted or expire."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from tablewright.store import AsyncStore
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.flow.driver import Request, Response
from tablewright.systems.engagement.model import ApprovalState, ChannelEntry, Subject
from tablewright.systems.engagement.model import candidates as candidates_table
from tablewright.systems.engagement.service import Engagement
from tests.systems.engagement.engagement_fixtures import Programme, Workshop, program, write
from tests.systems.harness import Served, wait_for
from tests.systems.stored_items import items


def rows(*points: Any) -> list[tuple[Any, ...]]:
    return [(f"c-{number}", 40, "IT", score) for number, score in enumerate(points)]


@pytest.mark.requirement("CE1")
def test_a_candidate_is_found_by_customer_program_marketplace_and_subject(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, rows(0.5))
    made.run()
    found = made.candidate("c-0").json()
    assert (found["customerId"], found["programId"], found["marketplaceId"]) == ("c-0", made.id, "US")
    assert found["subject"] == {"type": "program", "id": made.id, "attributes": {}}
    assert (found["score"], found["scores"]["test-points"]["value"]) == (0.5, 0.5)
    assert found["attributes"] == {"age": 40, "country": "IT", "points": 0.5}
    assert made.candidate("c-9").status_code == 404
    assert admin.get(f"{made.path}/customers/c-0/candidates/program/other").status_code == 404


@pytest.mark.requirement("CE1")
def test_keys_are_those_of_the_document(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, rows(12.5))
    made.run()
    found = {
        item["SK"]["S"]: item
        for item in items(served, candidates_table)
        if item["PK"]["S"] == f"CUSTOMER#c-0#PROGRAM#{made.id}#MARKETPLACE#US"
    }
    assert set(found) == {
        f"SUBJECT#program#{made.id}",
        f"CHANNEL#email#SUBJECT#program#{made.id}",
        f"CHANNEL#push#SUBJECT#program#{made.id}",
    }
    candidate = found[f"SUBJECT#program#{made.id}"]
    created = candidate["metadata"]["M"]["created"]["S"]
    assert candidate["GSI2PK"] == {"S": f"PROGRAM#{made.id}#DATE#{created[:10]}"}
    assert candidate["GSI2SK"] == {"S": f"CREATED#{created}#CUSTOMER#c-0"}
    assert "GSI1PK" not in candidate
    entry = found[f"CHANNEL#push#SUBJECT#program#{made.id}"]
    assert entry["GSI1PK"] == {"S": f"PROGRAM#{made.id}#CHANNEL#push"}
    assert entry["GSI1SK"]["S"].startswith("SCORE#")
    assert entry["GSI1SK"]["S"].endswith("#CUSTOMER#c-0")
    assert entry["ttl"] == candidate["ttl"]


@pytest.mark.requirement("CE2")
def test_the_best_of_a_program_come_first_as_numbers_in_every_channel(served: Served, admin: httpx.Client) -> None:
    points = [9, 10, 0.5, -3, 100, 0, -0.25, 99.5, -100, 0.0000001]
    made = Programme(served, admin, rows(*points))
    made.run()
    best = [f"c-{number}" for number in sorted(range(len(points)), key=lambda each: -points[each])]
    assert made.top("email") == best
    assert made.top("push", limit=3) == best
    assert made.top("fax") == []


@pytest.mark.requirement("CE3")
def test_candidates_of_a_day_come_in_the_order_of_their_creation(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, rows(1, 2), reactiveEnabled=True)
    made.run()
    for customer in ("z-2", "a-1"):
        event = {"marketplaceId": "US", "programId": made.id, "customerId": customer, "attributes": {"points": 3}}
        assert admin.post("/events", json=event).status_code == 200
    day = made.candidate("c-0").json()["created"][:10]
    page = admin.get(f"/programs/{made.id}/candidates", params={"date": day, "limit": 3}).json()
    rest = admin.get(
        f"/programs/{made.id}/candidates", params={"date": day, "limit": 3, "cursor": page["cursor"]}
    ).json()
    found = [*page["candidates"], *rest["candidates"]]
    assert [each["customerId"] for each in found] == ["c-0", "c-1", "z-2", "a-1"]
    assert [each["created"] for each in found] == sorted(each["created"] for each in found)
    assert admin.get(f"/programs/{made.id}/candidates", params={"date": "2020-01-01"}).json()["candidates"] == []


@pytest.mark.requirement("CE4")
def test_a_candidate_expires_after_the_days_of_its_program(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, rows(1), candidateTTLDays=2)
    made.run()
    created = made.candidate("c-0").json()["created"][:10]

    def later(days: float) -> None:
        served.clock.advance(days * 86_400)
        admin.headers["Authorization"] = f"Bearer {served.token('root', 'Admins')}"

    later(1)
    # Refreshed, but not longer for it.
    made.run()
    assert made.candidate("c-0").status_code == 200
    later(1.1)
    assert made.candidate("c-0").status_code == 404
    assert made.top() == []
    assert admin.get(f"/programs/{made.id}/candidates", params={"date": created}).json()["candidates"] == []
    # The next run makes it anew.
    made.run()
    assert made.top() == ["c-0"]


@pytest.mark.requirement("CE5")
def test_a_rejected_candidate_leaves_the_lists_and_says_why(served: Served, admin: httpx.Client) -> None:
    marketer = served.client("mia", "Marketers", path="/engagement")
    made = Programme(served, admin, rows(1, 2, 3))
    made.run()
    path = f"{made.path}/customers/c-1/candidates/program/{made.id}/reject"
    answer = marketer.post(path, json={"reason": "asked us not to"})
    assert answer.status_code == 200
    (rejection,) = answer.json()["rejectionHistory"]
    assert (rejection["reason"], rejection["filter"]) == ("asked us not to", "manual")
    assert rejection["at"] >= answer.json()["created"]
    for channel in ("email", "push"):
        assert made.top(channel) == ["c-2", "c-0"]
    # What a person has decided, a run does not undo.
    assert made.run()["counts"]["rejected"] == 1
    assert made.top() == ["c-2", "c-0"]
    assert made.candidate("c-1").json()["rejectionHistory"] == [rejection]
    assert marketer.post(path.replace("c-1", "c-9"), json={"reason": "x"}).status_code == 404


@pytest.mark.requirement("CE5")
def test_the_history_names_the_filter_that_left_a_candidate_out(served: Served, admin: httpx.Client) -> None:
    rule = {"attribute": "points", "op": "ge", "value": 5}
    chain = {"filters": ["eligibility"], "settings": {"eligibility": {"rule": rule}}}
    made = Programme(served, admin, rows(1, 9), filterChain=chain)
    for _ in range(2):
        counts = made.run()["counts"]
        assert (counts["candidates"], counts["rejected"]) == (1, 1)
    left_out = made.candidate("c-0").json()
    assert left_out["rejected"] is True
    assert [(each["filter"], each["reason"]) for each in left_out["rejectionHistory"]] == [
        ("eligibility", "the rule is not met"),
        ("eligibility", "the rule is not met"),
    ]
    assert made.top() == ["c-1"]
    # Once the rule is met, the customer is back.
    made.file.write_text(made.file.read_text().replace("c-0,40,IT,1", "c-0,40,IT,7"))
    served.clock.advance(25 * 3600)
    admin.headers["Authorization"] = f"Bearer {served.token('root', 'Admins')}"
    made.run()
    assert made.top() == ["c-1", "c-0"]
    assert made.candidate("c-0").json()["rejected"] is False


def test_a_deleted_candidate_is_removed_everywhere(served: Served, admin: httpx.Client, member: httpx.Client) -> None:
    made = Programme(served, admin, rows(1, 2))
    made.run()
    path = f"{made.path}/customers/c-1/candidates/program/{made.id}"
    assert member.delete(path).status_code == 403
    assert admin.delete(path).status_code == 204
    assert admin.delete(path).status_code == 404
    assert made.top() == ["c-0"]


def test_customers_and_subjects_may_have_any_name(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, reactiveEnabled=True)
    for customer in ("a#PROGRAM#b", "così è, 100 %", "x y", uuid4().hex):
        event = {
            "marketplaceId": "US",
            "programId": made.id,
            "customerId": customer,
            "subject": {"type": "a#b", "id": "c d"},
            "attributes": {"points": 1},
        }
        assert admin.post("/events", json=event).json()["reactions"][0]["outcome"] == "candidate"
        found = admin.get(f"{made.path}/customers/{quote(customer, safe='')}/candidates/a%23b/c%20d")
        assert found.json()["customerId"] == customer
    assert sorted(made.top()) == sorted(made.top("push"))
    assert len(made.top()) == 4


@pytest.mark.requirement("CE2")
def test_the_best_of_a_channel_are_listed_by_marketplace(served: Served, admin: httpx.Client) -> None:
    made = Programme(served, admin, rows(1, 7, 30))
    made.run()
    there = f"/programs/{made.id}/marketplaces/EU"
    write(made.file, [("e-2", 20, "IT", 2), ("e-9", 20, "IT", 9)])
    assert admin.put(there, json=made.body).status_code == 200
    made.approve(there)
    run_id = admin.post(f"{there}/runs").json()["runId"]
    wait_for(lambda: admin.get(f"{there}/runs/{run_id}").json()["state"] == "completed")

    def listed(path: str) -> list[str]:
        found = admin.get(f"{path}/channels/email/candidates", params={"limit": 100}).json()["candidates"]
        return [each["customerId"] for each in found]

    assert listed(made.path) == ["c-2", "c-1", "c-0"]
    assert listed(there) == ["e-9", "e-2"]
    # All of them, as the document has it.
    assert listed(f"/programs/{made.id}") == ["c-2", "e-9", "c-1", "e-2", "c-0"]
    assert listed(f"/programs/{made.id}/marketplaces/JP") == []


class Counted(EmbeddedBackend):
    """The embedded backend, counting requests and the items that come back."""

    requests = 0
    found = 0

    async def call_async(self, request: Request) -> Response:
        response = await super().call_async(request)
        self.requests += 1
        self.found += len(response.get("Items", ()))
        return response


@pytest.mark.requirement("AP6", "CE2")
def test_what_the_first_screen_asks_for_does_not_grow_with_the_candidates(workshop: Workshop) -> None:
    """Ten thousand candidates take the same requests to the database as thirty, and the items of one page."""
    backend = Counted(workshop.engine, owned=False)
    service = Engagement(AsyncStore(backend, clock=workshop.seconds), workshop.seconds, lambda configuration: None)
    write(workshop.folder / "customers.csv", rows(*range(30)))
    workshop.run(workshop.put(program()))

    async def look() -> tuple[int, int, int]:
        backend.requests = backend.found = 0
        for state in ApprovalState:
            await service.in_state(state, limit=25)
        await service.program("p", "US", consistent=True)
        await service.versions("p", "US", limit=8)
        await service.runs("p", "US", limit=10)
        page = await service.top("p", "email", marketplace_id="US", limit=25)
        return backend.requests, backend.found, len(page.items)

    few = asyncio.run(look())
    subject = Subject(type="program", id="p")
    entries = [
        ChannelEntry(
            customer_id=f"many-{number}",
            program_id="p",
            marketplace_id="US",
            subject=subject,
            channel_id="email",
            score=Decimal(number),
            created=workshop.now,
        )
        for number in range(10_000)
    ]
    workshop.store.write_many(entries)
    assert asyncio.run(look()) == few
    assert few[2] == 25
