"""Writes of a design as forms: fields with their types, the request that is asked for, units, and the Python call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest

from tablewright.design import load
from tablewright.store import Store
from tablewright.studio.designs.write_runs import (
    Declined,
    WriteRun,
    fields_of,
    key_parameters,
    planned_write_units,
    run_write,
    writes_of,
)
from tablewright.studio.studio_database import StudioDatabase
from tablewright.systems.tasks.model import Task, User, task_management
from tablewright.ui.api_calls import Refused

pytestmark = pytest.mark.requirement("ST4")

SYSTEMS = ("servicedesk", "support", "engagement", "calls", "tasks")
DESIGN = load("tablewright.systems.tasks")[0]
TASK = {
    "task_id": "t-1",
    "title": "<b>Order</b>",
    "description": "...",
    "priority": "HIGH",
    "status": "OPEN",
    "created_by": "ada",
    "updated_by": "ada",
}
CREATED = {f"0.set.{name}": text for name, text in TASK.items()}


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as found:
        found.ensure_tables(task_management, *DESIGN.internal_tables)
        yield found


def made(store: Store, name: str, texts: Mapping[str, str], *, may_write: bool = True, agree: bool = True) -> Any:
    """What came of a write, what was asked, and what was logged."""
    database = StudioDatabase("memory", store.backend, [DESIGN], may_write=may_write)
    asked: list[tuple[str, Mapping[str, Any]]] = []

    async def ask(operation: str, body: Mapping[str, Any]) -> bool:
        asked.append((operation, body))
        return agree

    run: WriteRun | Exception
    try:
        run = asyncio.run(run_write(database, DESIGN, writes_of(DESIGN)[name], texts, ask, "ada"))
    except (Refused, Declined) as error:
        run = error
    return run, asked, list(database.writes)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_write_of_the_systems_is_a_form_with_types(system: str) -> None:
    for design in load(f"tablewright.systems.{system}"):
        writes = writes_of(design)
        assert {*design.writes} < {*writes}
        for write in writes.values():
            fields = fields_of(design, write)
            without_key = {each.entity.__name__ for each in write.item_writes if not key_parameters(design, each)}
            assert {each.entity for each in fields} | without_key == {
                each.entity.__name__ for each in write.item_writes
            }
            assert all(each.parameter.kind for each in fields)
            assert len({each.key for each in fields}) == len(fields)
            assert planned_write_units(design, write) > 0, write.name


def test_a_task_is_created_after_confirmation_and_logged(store: Store) -> None:
    run, asked, log = made(store, "create task", CREATED)
    assert [operation for operation, _ in asked] == ["PutItem"]
    assert asked[0][1]["Item"]["Title"] == {"S": "<b>Order</b>"}
    found = store.get(Task.by_id("t-1"))
    assert found is not None
    assert found.title == "<b>Order</b>"
    assert run.units > 0
    assert run.call.startswith("store.create(Task(task_id='t-1', title='<b>Order</b>'")
    assert [(each.who, each.operation, each.table, each.about) for each in log] == [
        ("ada", "PutItem", "TaskManagement", "create task")
    ]
    again, _, log = made(store, "create task", CREATED)
    assert isinstance(again, Refused)
    assert "t-1" in again.detail
    assert log[0].refused == "ConditionalCheckFailedException"


def test_nothing_is_written_if_declined_or_read_only(store: Store) -> None:
    run, asked, log = made(store, "create task", CREATED, agree=False)
    assert isinstance(run, Declined)
    assert (len(asked), log) == (1, [])
    run, asked, log = made(store, "create task", CREATED, may_write=False)
    assert isinstance(run, Refused)
    assert (run.kind, asked, log) == ("read-only", [], [])
    assert store.get(Task.by_id("t-1")) is None


def test_an_update_moves_index_entries_and_leaves_what_is_empty(store: Store) -> None:
    made(store, "create task", CREATED)
    texts = {"0.key.task_id": "t-1", "0.set.status": "COMPLETED", "0.set.title": ""}
    run, asked, _ = made(store, "update Task", texts)
    assert [operation for operation, _ in asked] == ["UpdateItem"]
    assert run.call == "store.update(Task.by_id(task_id='t-1'), attr(Task.status).set(Status.COMPLETED))"
    found = list(store.query(Task.by_status("COMPLETED")).items)  # type: ignore[arg-type]
    assert [(task.task_id, task.title) for task in found] == [("t-1", "<b>Order</b>")]
    run, _, _ = made(store, "delete Task", {"0.key.task_id": "t-1"})
    assert run.call == "store.delete(Task.by_id(task_id='t-1'))"
    assert store.get(Task.by_id("t-1")) is None


def test_invalid_input_is_reported_at_its_field(store: Store) -> None:
    run, asked, _ = made(store, "create task", {**CREATED, "0.set.priority": "SOME", "0.set.title": ""})
    assert {*run.fields} == {"0.set.priority", "0.set.title"}
    nothing, _, _ = made(store, "update Task", {"0.key.task_id": "t-1"})
    assert nothing.kind == "unchanged"
    missing, _, _ = made(store, "update Task", {"0.key.task_id": "t-9", "0.set.title": "x"})
    assert "t-9" in missing.detail
    assert asked == []


def test_several_items_are_one_transaction_with_members_as_json(store: Store) -> None:
    write = writes_of(DESIGN)["create user"]
    texts = {}
    for each in fields_of(DESIGN, write):
        if each.parameter.is_required:
            typed = {datetime: "2026-11-16T09:00:00Z", int: "1"}.get(each.parameter.annotation, "x")
            texts[each.key] = "[]" if each.has_members else (each.parameter.choices or (typed,))[0]
    texts = {**texts, "0.set.user_id": "ada", "0.set.email": "ada@example.org"}
    run, asked, _ = made(store, "create user", texts)
    assert isinstance(run, WriteRun), run
    assert [operation for operation, _ in asked] == ["TransactWriteItems"]
    assert run.call.startswith("store.transact(Create(User(")
    assert store.get(User.by_id("ada")) is not None
