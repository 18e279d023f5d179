"""Whoever can become a candidate can be asked for, and can opt out: ids are steps of addresses."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tablewright.systems.engagement.model import RunState
from tests.systems.engagement.engagement_fixtures import Programme, Workshop, program, write
from tests.systems.harness import Served

NO_STEPS = ["a/b", "/", ".", "..", "a\x01b", "a\x85"]


@pytest.mark.parametrize("named", NO_STEPS)
@pytest.mark.parametrize("place", ["customerId", "type", "id"])
def test_an_event_with_an_id_that_no_path_can_have_is_refused(machine: httpx.Client, named: str, place: str) -> None:
    body: dict[str, Any] = {"marketplaceId": "US", "customerId": "c", "subject": {"type": "product", "id": "s"}}
    (body if place in body else body["subject"])[place] = named
    refused = machine.post("/events", json=body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].endswith(place)


def test_every_accepted_customer_can_opt_out(served: Served, admin: httpx.Client) -> None:
    taken = ["a b", "Zoë", "a.b", "...", "a%2Fb", "a\\b", "a?b#c"]
    programme = Programme(served, admin, [(named, 40, "IT", 5) for named in taken])
    assert programme.run()["counts"]["candidates"] == len(taken)
    for named in taken:
        step = quote(named, safe="")
        assert programme.candidate(step).status_code == 200, named
        assert admin.put(f"/customers/{step}/preferences", json={"optedOut": True}).status_code == 200, named
        assert admin.get(f"/customers/{step}/preferences").json()["optedOut"] is True, named


@pytest.mark.requirement("CE8")
def test_a_row_with_an_id_that_no_path_can_have_is_an_error(workshop: Workshop) -> None:
    named = ["a/b", "/", ".", "..", "a\x01b"]
    subjects = [("good", "product", "s/1"), ("good", "a/b", "s"), ("good", "product", "s")]
    rows = [*((each, "product", "s") for each in named), *subjects]
    write(workshop.folder / "customers.csv", [(*row, 1) for row in rows], ("customer_id", "kind", "sku", "points"))
    connector = {
        "type": "files",
        "tables": {"customers": "customers.csv"},
        "query": "SELECT * FROM customers",
        "subjectTypeColumn": "kind",
        "subjectIdColumn": "sku",
    }
    run = workshop.run(workshop.put(program(dataConnectors=[connector], maxFailedShare=1)))
    assert (run.state, run.counts.candidates, run.counts.failed) == (RunState.COMPLETED, 1, 7)
