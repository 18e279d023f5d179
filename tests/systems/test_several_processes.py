"""Three processes of the systems on one endpoint: what follows from a write follows once, whoever does it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tablewright.engine import Engine
from tablewright.model import attr
from tablewright.systems import load
from tablewright.systems.engagement.model import Run, Schedule, ScheduleKind
from tablewright.wire import serve_in_thread
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served, serving, wait_for

PROCESSES = 3
TICKETS = 24


def clients(processes: Sequence[Served], user: str, *roles: str) -> list[httpx.Client]:
    return [served.client(user, *roles, path="/support") for served in processes]


def create(apis: Sequence[httpx.Client], first: int, number: int) -> list[str]:
    """Create tickets, each by several processes at once, with one idempotency key."""

    def post(ticket: int, api: httpx.Client) -> str:
        body = {"customer_id": "cust_1", "symptom_text": f"The pump stops ({ticket})"}
        answer = api.post("/tickets", json=body, headers={"Idempotency-Key": f"ticket-{ticket}"})
        while answer.status_code == 409:
            # The same request is being answered by another process.
            answer = api.post("/tickets", json=body, headers={"Idempotency-Key": f"ticket-{ticket}"})
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["ticket_id"])

    made = []
    with ThreadPoolExecutor(len(apis)) as pool:
        for ticket in range(first, first + number):
            (name,) = set(pool.map(lambda api, ticket=ticket: post(ticket, api), apis))
            made.append(name)
    return made


def counted(api: httpx.Client) -> int:
    return sum(api.get("/metrics").json()["tickets_by_status"].values())


@pytest.mark.requirement("SH8")
def test_three_processes_count_answer_and_run_what_is_due_once(tmp_path: Path) -> None:
    with Engine.open() as engine, serve_in_thread(engine) as endpoint, ExitStack() as stack:
        first = ExitStack()
        systems = load("support", "engagement")
        settings = {"endpoint": endpoint, "data": tmp_path / "data", "batch_window": 0}
        processes = [first.enter_context(serving(systems, **settings))]
        stack.push(first)
        processes += [stack.enter_context(serving(systems, **settings)) for _ in range(PROCESSES - 1)]
        last = processes[-1]
        made = create(clients(processes, "cust_1", "Customers"), 0, TICKETS)
        # Programs that are due, which all three look for.
        editor = processes[1].client("boss", "Admins", path="/engagement")
        programs = [Programme(processes[1], editor, batchSchedule="0 2 * * *") for _ in range(3)]
        store = last.runtime.sync_store
        for each in programs:
            schedule = Schedule.of_program(each.id, "US", ScheduleKind.BATCH)
            store.update(schedule, attr(Schedule.due).set(datetime.now(UTC) - timedelta(seconds=1)))
        # One that has leases goes, and the others go on.
        first.close()
        made += create(clients(processes[1:], "cust_1", "Customers"), TICKETS, TICKETS)
        operator = last.client("op", "Operators", path="/support")
        wait_for(lambda: counted(operator) >= len(made), seconds=60)
        wait_for(
            lambda: (
                len(found := list(store.iterate(Run))) >= len(programs)
                and all(each.state == "completed" for each in found)
            ),
            seconds=60,
        )
        assert counted(operator) == len(set(made)) == 2 * TICKETS
        assert sorted(each.program_id for each in store.iterate(Run)) == sorted(each.id for each in programs)
        assert [
            each
            for each in last.client("root", "runtime:Admins").get("/runtime/consumers").json()
            if each["dead_letters"] or each["failing"]
        ] == []
