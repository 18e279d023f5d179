"""Somebody's data across the five systems: found, exported, erased; again after a kill, and nothing twice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import tablewright
from tablewright.cli import main
from tablewright.model import Entity, attr
from tablewright.runtime.privacy.privacy import Privacy
from tablewright.systems import load
from tablewright.systems.support.model import Ticket
from tablewright.systems.tasks.model import Task
from tests.systems.calls.call_clients import schedule
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served, opened_runtime, serving, wait_for

pytestmark = pytest.mark.requirement("AP10")

PHONE = "+39 06 1234 5678"


def story(served: Served, name: str) -> None:
    """Somebody who is in all systems: has tasks, tickets and calls, writes, and is written about."""
    other = "colleague"
    tasks = served.client("boss", "Admins", path="/tasks")
    for user in (name, other):
        tasks.post("/users", json={"userId": user, "email": f"{user}@example.org", "groups": ["Members"]})
    task = tasks.post("/tasks", json={"title": "A task", "description": "of two", "priority": "LOW"}).json()["taskId"]
    tasks.post(f"/tasks/{task}/assign", json={"userId": name})
    tasks.post(f"/tasks/{task}/assign", json={"userId": other})
    for user in (name, other):
        own = served.client(user, "Members", path="/tasks")
        own.post(f"/tasks/{task}/comments", json={"text": f"said by {user}"})
    customer = served.client(name, "Customers", path="/support")
    ticket = customer.post("/tickets", json={"symptom_text": "the pump of theirs"}).json()["ticket_id"]
    operator = served.client(other, "Operators", path="/support")
    operator.post(f"/tickets/{ticket}/status", json={"status": "PROCESSING"})
    others = served.client("cust-other", "Customers", path="/support")
    kept = others.post("/tickets", json={"symptom_text": "somebody else's"}).json()["ticket_id"]
    served.client(name, "Operators", path="/support").post(f"/tickets/{kept}/status", json={"status": "PROCESSING"})
    calls = served.client("planner", "Schedulers", path="/calls")
    schedule(calls, userId=name, providerId="p-1")
    desk = served.client("sam", "Agents", path="/servicedesk")
    for caller in (name, PHONE):
        desk.post("/tickets", json={"caller_id": caller, "issue_description": "their issue"})
    root = served.client("root", "Admins", path="/engagement")
    programme = Programme(served, root, [(name, 40, "IT", 5), (other, 41, "IT", 6)])
    programme.run()
    shop = served.client("shop", "EventSources", path="/engagement")
    shop.put(f"/customers/{name}/preferences", json={"optedOut": True})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(load(), data=tmp_path / "data") as served:
        yield served


def finished(admin: httpx.Client) -> dict[str, Any]:
    def done() -> Any:
        job = admin.get("/privacy").json()
        return job if job["state"] != "running" else None

    job: dict[str, Any] = wait_for(done)
    assert job["state"] == "done", job
    return job


def test_a_persons_data_is_found_exported_and_erased_and_that_of_others_is_kept(served: Served) -> None:
    story(served, "giulia")
    admin = served.client("root", "runtime:Admins", path="/runtime")
    assert admin.post("/privacy/giulia/find").status_code == 202
    found = {(each["system"], each["entity"], each["action"]) for each in finished(admin)["findings"]}
    assert found >= {
        ("tasks", "User", "delete"),
        ("tasks", "Assignment", "delete"),
        ("tasks", "Comment", "replace"),
        ("support", "Ticket", "delete"),
        ("support", "Event", "delete"),
        ("support", "Event", "replace"),
        ("calls", "Call", "keep"),
        ("calls", "BookedDay", "keep"),
        ("servicedesk", "Ticket", "delete"),
        ("engagement", "Candidate", "delete"),
        ("engagement", "PreferenceChange", "keep"),
        ("runtime", "AuditEntry", "replace"),
    }
    exported = admin.get("/privacy/giulia/export").json()
    assert "said by giulia" in str(exported)
    assert "the pump of theirs" in str(exported)
    assert "said by colleague" not in str(exported)
    # Nothing was changed by that.
    assert served.client("boss", "Admins", path="/tasks").get("/users/giulia").status_code == 200

    assert admin.post("/privacy/giulia/erase").status_code == 202
    job = finished(admin)
    assert not [each for each in job["findings"] if each["action"] in ("remaining", "review")], job["findings"]
    pseudonym = job["pseudonym"]
    assert served.client("boss", "Admins", path="/tasks").get("/users/giulia").status_code == 404
    assert served.client("boss", "Admins", path="/tasks").get("/users/colleague").status_code == 200
    calls = served.client("planner", "Schedulers", path="/calls").get(f"/users/{pseudonym}/calls").json()
    assert len(calls["calls"]) == 1
    # Nobody finds them, now or when the index has caught up.
    member = served.client("colleague", "Members", path="/tasks")
    assert member.get("/search", params={"q": "giulia"}).json()["results"] == []
    assert member.get("/search", params={"q": "colleague"}).json()["results"]
    # Again: nothing is left to do.
    admin.post("/privacy/giulia/erase")
    assert [each for each in finished(admin)["findings"] if each["action"] in ("delete", "replace", "keep")] == []
    assert "giulia" not in stored(served)


def stored(served: Served) -> str:
    """All that the tables of the systems have, as text."""
    tables = [table for system in served.systems for table in system.tables]
    return "\n".join(json.dumps(item) for table in tables for item in scan(served, table))


def scan(served: Served, table: Any) -> list[dict[str, Any]]:
    engine = served.runtime.engine
    assert engine is not None
    items: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        page = engine.call("Scan", {"TableName": served.runtime.store.context.name_of(table), **start})
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def test_a_person_is_found_by_a_phone_number_of_which_only_the_hash_is_stored(served: Served) -> None:
    story(served, "marta")
    report = served.runtime.privacy.export([PHONE])
    assert [(each.system, each.entity, each.items) for each in report.findings if each.why == "subject"] == [
        ("servicedesk", "Ticket", 1)
    ]


def test_an_erasure_that_was_killed_goes_on_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(load(), data=tmp_path / "data") as served:
        story(served, "franco")
    runtime = opened_runtime(load(), data=tmp_path / "data")
    applied = 0
    apply = Privacy._apply

    def dies(self: Privacy, *arguments: Any) -> bool:
        nonlocal applied
        applied += 1
        if applied > 4:
            raise KeyboardInterrupt
        return apply(self, *arguments)

    monkeypatch.setattr(Privacy, "_apply", dies)
    with pytest.raises(KeyboardInterrupt):
        runtime.privacy.erase(["franco"], by="root")
    runtime.close()
    monkeypatch.setattr(Privacy, "_apply", apply)
    with serving(load(), data=tmp_path / "data") as served:
        admin = served.client("root", "runtime:Admins", path="/runtime")
        wait_for(lambda: admin.get("/privacy").status_code == 200)
        assert finished(admin)["action"] == "erase"
        assert "franco" not in stored(served)


@pytest.mark.parametrize(("changes", "left"), [(1, 0), (2, 0), (9, 1)])
def test_what_others_change_meanwhile_is_erased_as_it_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int, left: int
) -> None:
    apply, symptoms = Privacy._apply, [f"symptom {number}" for number in range(changes)]
    with serving(load("support"), data=tmp_path / "data") as served:
        store = served.runtime.sync_store
        ticket = Ticket(ticket_id="t-1", customer_id="someone", symptom_text="s", assigned_to="marta")
        store.create(ticket)

        def late(self: Privacy, entity: Entity, *rest: Any) -> bool:
            if isinstance(entity, Ticket) and symptoms:
                store.update(Ticket.by_id(ticket_id="t-1"), attr(Ticket.symptom_text).set(symptoms.pop()))
            return apply(self, entity, *rest)

        monkeypatch.setattr(Privacy, "_apply", late)
        report = served.runtime.privacy.erase(["marta"], by="root")
        remaining = [each for each in report.findings if each.action == "remaining"]
        assert sum(each.items for each in remaining if each.entity == "Ticket") == left
        found = store.get(Ticket.by_id(ticket_id="t-1"))
        assert found is not None
        assert (found.assigned_to == "marta") == bool(left)
        assert found.symptom_text.startswith("symptom")


def test_a_field_that_others_give_to_somebody_else_meanwhile_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Privacy._apply
    with serving(load("tasks"), data=tmp_path / "data") as served:
        boss = served.client("boss", "Admins", path="/tasks")
        new = {"title": "A task", "description": "of one", "priority": "LOW"}
        place = f"/tasks/{boss.post('/tasks', json=new).json()['taskId']}"
        other = served.client("other", "Admins", path="/tasks")

        def late(self: Privacy, entity: Entity, *rest: Any) -> bool:
            if isinstance(entity, Task) and entity.updated_by == "boss":
                assert other.patch(place, json={"title": "Another title"}).status_code == 200
            return apply(self, entity, *rest)

        monkeypatch.setattr(Privacy, "_apply", late)
        report = served.runtime.privacy.erase(["boss"], by="root")
        assert not [each for each in report.findings if each.action == "remaining" and each.entity == "Task"]
        found = served.runtime.sync_store.get(Task.by_id(task_id=place.rpartition("/")[2]))
        assert found is not None
        assert (found.updated_by, found.title) == ("other", "Another title")
        assert found.created_by.startswith("erased-")


def test_the_command_exports_to_a_file_of_ones_own_and_erases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    with serving(load(), data=data) as served:
        story(served, "nadia")
    out = tmp_path / "nadia.json"
    assert main(["privacy", "export", "nadia", "--data", str(data), "--out", str(out)]) == 0
    assert "tasks: User, subject: 1 delete" in capsys.readouterr().out
    assert out.stat().st_mode & 0o077 == 0
    assert {each["system"] for each in json.loads(out.read_text())["items"]} >= {"tasks", "support", "calls"}
    assert main(["privacy", "erase", "nadia", "--data", str(data)]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert main(["privacy", "erase", "nadia", "--data", str(data), "--yes"]) == 0
    assert "nadia is now erased-" in capsys.readouterr().out
    assert main(["privacy", "export", "nadia", "--data", str(data)]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == []


@pytest.mark.parametrize("person", ["", " ", "x"])
def test_a_name_that_would_find_everybody_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], person: str
) -> None:
    opened_runtime(load(), data=tmp_path).close()
    assert main(["privacy", "export", person, "--data", str(tmp_path)]) == 2
    assert "at least two characters" in capsys.readouterr().err


def test_only_admins_may_erase_and_never_themselves(served: Served) -> None:
    admin = served.client("root", "runtime:Admins", path="/runtime")
    assert admin.get("/privacy").status_code == 404
    assert admin.post("/privacy/root/erase").status_code == 409
    calls = (("", "GET"), ("/x1/find", "POST"), ("/x1/erase", "POST"), ("/x1/export", "GET"))
    for path, method in calls:
        eve = served.client("eve", "tasks:Admins", path="/runtime")
        assert eve.request(method, f"/privacy{path}").status_code == 403
        assert served.client(path="/runtime").request(method, f"/privacy{path}").status_code == 401


def test_every_entity_of_the_internal_tables_is_known_to_it() -> None:
    """Whichever process looks for somebody's data, and whatever else it has imported."""
    source = Path(tablewright.__file__).parent
    declared = re.compile(r"^class (\w+)\(.*\btable=(?:internal|events)_table\b", re.MULTILINE)
    wanted = {name for path in source.rglob("*.py") for name in declared.findall(path.read_text("utf-8"))}
    program = (
        "from tablewright.runtime.privacy import privacy\n"
        "from tablewright.runtime.internal_tables import events_table, internal_table\n"
        "print(*(each.__name__ for table in (events_table, internal_table) for each in table.entities))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert len(wanted) > 10
    assert wanted <= set(done.stdout.split())
