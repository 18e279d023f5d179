"""Three `tablewright up` on one endpoint, killed under load: effects, events, letters and schedules count once."""

from __future__ import annotations

import random
import socket
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller

from tablewright.engine import Engine
from tablewright.model import attr
from tablewright.store import Store
from tablewright.systems.engagement.model import Run, Schedule, ScheduleKind
from tablewright.systems.engagement.sources.demo_customers import write_customers
from tablewright.systems.support.model import Ticket
from tests.crash.several_processes import Fleet
from tests.crash.up_workload import (
    ROLES,
    Acknowledged,
    Letters,
    check_acknowledged,
    check_events,
    check_letters,
    make_people,
    published,
    settled,
    write,
)
from tests.systems.engagement.engagement_fixtures import program
from tests.systems.harness import wait_for

PROGRAMS = [f"program-{number}" for number in range(5)]
CUSTOMERS = 40
LIVES = 3
WRITERS = 4


def put_programs(fleet: Fleet) -> None:
    write_customers(fleet.shared / "sources" / "customers.csv", CUSTOMERS)
    body = program(scoringModels=[{"modelId": "propensity-v1", "weight": 1}], batchSchedule="0 2 * * *")
    with fleet.client(0, "boss", *ROLES) as editor, fleet.client(1, "vera", "engagement:Approvers") as approver:
        for name in PROGRAMS:
            path = f"/engagement/programs/{name}/marketplaces/EU"
            put = editor.put(path, json=body)
            assert put.status_code == 200, put.text
            requested = editor.post(f"{path}/approval/request")
            assert requested.status_code == 200, requested.text
            version = {"version": requested.json()["version"]}
            approved = approver.post(f"{path}/approval/approve", json=version)
            assert approved.status_code == 200, approved.text
            assert approved.json()["enabled"]


def make_due(store: Store) -> None:
    """As if it were two o'clock."""
    for name in PROGRAMS:
        store.update(
            Schedule.of_program(name, "EU", ScheduleKind.BATCH),
            attr(Schedule.due).set(datetime.now(UTC) - timedelta(seconds=1)),
        )


def runs(store: Store) -> list[Run]:
    return [each for each in store.iterate(Run) if each.program_id in PROGRAMS]


def is_done(store: Store, rounds: int) -> bool:
    found = runs(store)
    return len(found) >= rounds * len(PROGRAMS) and all(each.state == "completed" for each in found)


def crash(fleet: Fleet, done: Acknowledged, choices: random.Random, life: int) -> None:
    """Use all processes, kill one of them meanwhile, and go on with the others."""
    stop, before = threading.Event(), done.number
    victim = choices.randrange(len(fleet.processes))
    apis = [fleet.client(number % len(fleet.processes), "boss", *ROLES) for number in range(WRITERS)]
    writers = [
        threading.Thread(target=write, args=(api, done, stop, random.Random(choices.random()), life)) for api in apis
    ]
    for writer in writers:
        writer.start()
    wait_for(lambda: done.number > before + 20, seconds=120)
    time.sleep(choices.uniform(0.0, 2.0))
    fleet.kill(victim)
    killed = done.number
    wait_for(lambda: done.number > killed + 40, seconds=120)
    stop.set()
    for writer in writers:
        writer.join(60)
    for api in apis:
        api.close()


def check_metrics(admin: httpx.Client, store: Store) -> None:
    """The metrics of Support are what the tickets are, exactly."""
    number = sum(1 for _ in store.iterate(Ticket))

    def counted() -> int:
        return sum(admin.get("/support/metrics").json()["tickets_by_status"].values())

    wait_for(lambda: counted() >= number, seconds=120)
    time.sleep(2)
    assert counted() == number


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.requirement("SH8")
def test_three_processes_on_one_endpoint_do_everything_once_while_they_are_killed(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    choices = random.Random(seed)
    letters, done = Letters(), Acknowledged()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(letters, hostname="127.0.0.1", port=port)
    controller.start()
    settings = {
        "TABLEWRIGHT_SMTP_URL": f"smtp://127.0.0.1:{port}",
        "TABLEWRIGHT_RATE_LIMIT": "100000",
        "TABLEWRIGHT_RATE_BURST": "100000",
        "TABLEWRIGHT_BATCH_WINDOW": "0",
    }
    try:
        with Fleet(tmp_path, **settings) as fleet, Store.connect(endpoint=fleet.endpoint, region="us-east-1") as store:
            fleet.start(3)
            with fleet.client(0, "boss", *ROLES) as admin:
                make_people(admin)
            put_programs(fleet)

            for life in range(1, LIVES + 1):
                make_due(store)
                crash(fleet, done, choices, life)
                fleet.start(1)
                wait_for(lambda life=life: is_done(store, life), seconds=240)  # type: ignore[misc]
            with fleet.client(0, "boss", *ROLES) as admin:
                check_acknowledged(admin, done)
                wait_for(lambda: settled(admin, done), seconds=120)
                events = published(admin)
                check_events(admin, done, events)
                check_letters(events, letters)
                check_metrics(admin, store)
                consumers: list[Any] = admin.get("/runtime/consumers").json()
                assert [each for each in consumers if each["dead_letters"]] == []
            found = runs(store)
            assert sorted(each.program_id for each in found) == sorted(LIVES * PROGRAMS)
            assert {each.trigger for each in found} == {"schedule"}
            errors = {name: text for name, text in fleet.said().items() if '"level":"ERROR"' in text}
            assert errors == {}
        with Engine.open(tmp_path / "database" / "us-east-1") as engine:
            assert engine.verify().problems == []
    finally:
        controller.stop()
