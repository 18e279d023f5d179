"""Access patterns as forms: parameters with their types, runs with their requests and units, and the Python call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tablewright.design import load
from tablewright.model import Design
from tablewright.store import AsyncStore, Store
from tablewright.studio.designs.design_view import files_of, policies_of
from tablewright.studio.designs.pattern_runs import parameters_of, planned_units, run_pattern
from tablewright.studio.studio_database import StudioDatabase
from tablewright.systems.tasks.model import Priority, Status, Task, task_management
from tablewright.ui.api_calls import Refused

pytestmark = pytest.mark.requirement("ST4")

SYSTEMS = ("servicedesk", "support", "engagement", "calls", "tasks")
DESIGN = load("tablewright.systems.tasks")[0]


@pytest.fixture
def database() -> Iterator[StudioDatabase]:
    with Store.open() as store:
        store.ensure_tables(task_management)
        for number in range(30):
            task = Task(
                task_id=f"t-{number}",
                title=f"Task {number}",
                description="...",
                priority=Priority.LOW,
                status=Status.OPEN,
                created_by="ada",
                updated_by="ada",
            )
            store.put(task)
        yield StudioDatabase("memory", store.backend, [DESIGN])


def run(database: StudioDatabase, name: str, **texts: str) -> Any:
    cursor = texts.pop("cursor", None)
    return asyncio.run(run_pattern(database, DESIGN, name, texts, cursor))


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_pattern_of_the_systems_is_a_form_with_types(system: str) -> None:
    for design in load(f"tablewright.systems.{system}"):
        for name in design.patterns:
            for each in parameters_of(design, name):
                assert each.kind
            assert planned_units(design, name) > 0


def test_a_pattern_runs_as_a_program_runs_it(database: StudioDatabase) -> None:
    found = run(database, "Task.by_id", task_id="t-7")
    assert [task.title for task in found.entities] == ["Task 7"]
    assert found.call == "found = store.get(Task.by_id(task_id='t-7'))"
    assert (found.requests[0].operation, found.units) == ("GetItem", 0.5)


def test_a_page_has_a_next_one_and_units_beside_the_planned_ones(database: StudioDatabase) -> None:
    first = run(database, "Task.by_status", status="OPEN")
    assert len(first.entities) == 25
    assert 'GSI2-TaskStatusIndex where GSI2PK = "STATUS#OPEN"' in first.plan
    assert first.call == "page = store.query(Task.by_status(status=Status.OPEN), limit=25)"
    assert first.units > 0
    second = run(database, "Task.by_status", status="OPEN", cursor=first.cursor)
    assert (len(second.entities), second.cursor) == (5, None)


def test_invalid_input_is_reported_at_its_field(database: StudioDatabase) -> None:
    with pytest.raises(Refused) as missing:
        run(database, "Task.by_id")
    assert missing.value.fields == {"task_id": "Field required"}
    with pytest.raises(Refused) as wrong:
        run(database, "Task.by_status", status="SLEEPING")
    assert "status" in wrong.value.fields


def test_a_missing_table_is_reported() -> None:
    empty = AsyncStore.open()
    database = StudioDatabase("memory", empty.backend, [DESIGN])
    with pytest.raises(Refused, match="does not exist"):
        run(database, "Task.by_id", task_id="t-1")


@pytest.mark.requirement("ST9")
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_file_of_a_design_can_be_made(system: str) -> None:
    design: Design
    for design in load(f"tablewright.systems.{system}"):
        for title, (name, make) in files_of(design).items():
            assert len(make()) > 100, title
            assert "/" not in name


@pytest.mark.requirement("ST9")
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_role_and_every_call_has_its_policy(system: str) -> None:
    for design in load(f"tablewright.systems.{system}"):
        roles, calls = policies_of(design, "210987654321")
        assert {*design.roles, "maintenance"} <= {*roles}
        assert {*calls} == {*design.patterns, *design.writes}
        for name, (file, make) in (*roles.items(), *calls.items()):
            policy = json.loads(make())
            arns = [arn for each in policy["Statement"] for arn in each["Resource"] if arn != "*"]
            assert arns, name
            assert all(":210987654321:" in arn for arn in arns), name
            assert file.endswith(".policy.json")
            assert "/" not in file
        files = [file for file, _ in (*roles.values(), *calls.values())]
        assert len(files) == len({*files})


@pytest.mark.requirement("ST9")
def test_the_policy_of_a_pattern_allows_that_pattern_and_nothing_else() -> None:
    statement = json.loads(policies_of(DESIGN, "1" * 12)[1]["Task.by_status"][1]())["Statement"]
    assert [(each["Action"], each["Resource"]) for each in statement] == [
        (
            ["dynamodb:Query"],
            [f"arn:aws:dynamodb:us-east-1:{'1' * 12}:table/TaskManagement/index/GSI2-TaskStatusIndex"],
        )
    ]
