"""Tables that ``infra --environment`` makes are those that the services use, told the same environment."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tablewright.design.infra.table_requests import Deployment, requests
from tablewright.engine import Engine
from tablewright.runtime.http.application import prepare
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.settings import Settings
from tablewright.runtime.system import Runtime
from tablewright.systems import load

SYSTEMS = load()


@pytest.mark.requirement("X2", "X3")
def test_services_find_the_tables_of_their_environment(tmp_path: Path) -> None:
    made = set()
    with Engine.open(tmp_path) as engine:
        for system in SYSTEMS:
            # The internal tables are shared: they are there once.
            for request in requests(system.design, Deployment(environment="dev", internal_tables=False)):
                engine.call(request.operation, request.body)
                made.add(request.body["TableName"])
        (tasks,) = (system for system in SYSTEMS if system.name == "tasks")
        for request in requests(tasks.design, Deployment(environment="dev")):
            if request.body["TableName"] not in made:
                engine.call(request.operation, request.body)
    assert {"dev-itsm-tickets", "dev-tickets-unified", "dev-Candidates", "dev-Calls", "dev-TaskManagement"} <= made

    runtime = Runtime.open(Settings.model_validate({"data": tmp_path, "environment": "dev"}), SYSTEMS)
    try:
        asyncio.run(prepare(runtime, SYSTEMS))
    finally:
        runtime.close()

    with Engine.open(tmp_path) as engine:
        there = set(engine.call("ListTables", {})["TableNames"])
    assert there - made == {f"dev-{events_table.name}", f"dev-{internal_table.name}"}


def test_without_an_environment_names_are_those_of_the_design() -> None:
    plain = Settings.model_validate({})
    prefixed = Settings.model_validate({"table_prefix": "team-", "environment": "test"})
    for system in SYSTEMS:
        for table in system.tables:
            assert plain.name_of(table) == table.name
    assert prefixed.name_of(internal_table) == "team-test-tablewright-internal"
