"""People who use the systems while processes are killed, what they were told is done, and whether that is so."""

from __future__ import annotations

import random
import threading
from collections import Counter
from email import message_from_bytes
from pathlib import Path
from typing import Any

import httpx

from tablewright.runtime.identity.local_issuer import LocalIssuer
from tablewright.runtime.settings import Secrets
from tablewright.systems import roles
from tests.systems.harness import wait_for

MEMBERS = ("m-1", "m-2", "m-3")
ROLES = [role.name for role in roles()]


class Letters:
    """A mail server that remembers what it has accepted."""

    def __init__(self) -> None:
        self.accepted: list[tuple[str, str]] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        message = message_from_bytes(envelope.content)
        self.accepted.append((message["Message-ID"].strip(), envelope.rcpt_tos[0]))
        return "250 accepted"


class Acknowledged:
    """What the service has said is done."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tickets: list[str] = []
        self.calls: list[str] = []
        self.support: list[str] = []
        self.tasks: list[str] = []
        self.assigned: list[tuple[str, str]] = []
        self.moved: list[str] = []

    def note(self, kind: str, what: Any) -> None:
        with self.lock:
            getattr(self, kind).append(what)

    @property
    def number(self) -> int:
        return sum(len(getattr(self, kind)) for kind in ("tickets", "calls", "support", "tasks", "assigned", "moved"))


def client(folder: Path, url: str, user: str, *roles: str) -> httpx.Client:
    token = LocalIssuer(Secrets(folder)).token(user, roles=roles, email=f"{user}@example.org")
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=20)


def make_people(admin: httpx.Client) -> None:
    for user, group in (("boss", "Admins"), *((member, "Members") for member in MEMBERS)):
        made = admin.post("/tasks/users", json={"userId": user, "email": f"{user}@example.org", "groups": [group]})
        assert made.status_code == 201, made.text


def write(api: httpx.Client, done: Acknowledged, stop: threading.Event, choices: random.Random, life: int) -> None:
    """Use the services until they are gone, or it is enough."""
    number = 0
    try:
        while not stop.is_set():
            number += 1
            name = f"{life}-{threading.get_ident()}-{number}"
            body: dict[str, Any] = {"caller_id": name, "issue_description": "no sound"}
            answer = api.post("/servicedesk/tickets", json=body, headers={"Idempotency-Key": name})
            if answer.status_code == 201:
                done.note("tickets", answer.json()["ticket_id"])
            body = {"callId": f"call-{name}", "userId": "u-1", "providerId": "p-1", "durationMinutes": 1}
            # No two at one time: in one of a hundred years, and of its minutes.
            body["scheduledFor"] = 1_900_000_000_000 + choices.randrange(50_000_000) * 60_000
            if api.post("/calls/calls", json=body).status_code == 201:
                done.note("calls", f"call-{name}")
            body = {"customer_id": "cust_1", "symptom_text": "The pump stops"}
            answer = api.post("/support/tickets", json=body, headers={"Idempotency-Key": name})
            if answer.status_code == 201:
                done.note("support", answer.json()["ticket_id"])
            body = {"title": f"Task {name}", "description": "As it says.", "priority": "LOW"}
            answer = api.post("/tasks/tasks", json=body)
            if answer.status_code != 201:
                continue
            task = answer.json()["taskId"]
            done.note("tasks", task)
            member = choices.choice(MEMBERS)
            if api.post(f"/tasks/tasks/{task}/assign", json={"userId": member}).status_code == 200:
                done.note("assigned", (task, member))
            if api.put(f"/tasks/tasks/{task}/status", json={"status": "IN_PROGRESS"}).status_code == 200:
                done.note("moved", task)
    except httpx.HTTPError:
        return


def check_acknowledged(admin: httpx.Client, done: Acknowledged) -> None:
    for kind, path in (
        ("tickets", "/servicedesk/tickets"),
        ("calls", "/calls/calls"),
        ("support", "/support/tickets"),
        ("tasks", "/tasks/tasks"),
    ):
        for each in getattr(done, kind):
            assert admin.get(f"{path}/{each}").status_code == 200, f"{kind} {each} is lost"
    for task, member in done.assigned:
        found = admin.get(f"/tasks/tasks/{task}/assignments").json()
        assert member in str(found), f"the assignment of {task} is lost"


def published(admin: httpx.Client) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    while True:
        parameters: dict[str, str | int] = {"limit": 100}
        if cursor is not None:
            parameters["cursor"] = cursor
        page = admin.get("/runtime/events/tasks", params=parameters).json()
        found += page["events"]
        cursor = page["cursor"]
        if cursor is None:
            return found


def settled(admin: httpx.Client, done: Acknowledged) -> bool:
    """Whether every event has come that has to."""
    kinds = {(event["type"], event["detail"]["taskId"]) for event in published(admin)}
    wanted = {("TaskCreated", task) for task in done.tasks}
    wanted |= {("TaskAssigned", task) for task, _ in done.assigned}
    wanted |= {("TaskStatusUpdated", task) for task in done.moved}
    return wanted <= kinds


def check_events(admin: httpx.Client, done: Acknowledged, events: list[Any]) -> None:
    kinds = Counter((event["type"], event["detail"]["taskId"]) for event in events)
    assert set(kinds.values()) == {1}, "an event was published twice"
    for task in done.tasks:
        assert kinds["TaskCreated", task] == 1
    for task, _ in done.assigned:
        assert kinds["TaskAssigned", task] == 1
    for task in done.moved:
        assert kinds["TaskStatusUpdated", task] == 1
    # And none for a write that failed.
    for (kind, task), _ in kinds.items():
        found = admin.get(f"/tasks/tasks/{task}")
        assert found.status_code == 200, f"{kind} tells of {task}, which is not there"
        if kind == "TaskStatusUpdated":
            assert found.json()["status"] == "IN_PROGRESS"


def check_letters(events: list[Any], letters: Letters) -> None:
    """Each assignment and each change reached everybody whom it concerns, under one Message-ID for each."""

    def missing() -> set[tuple[str, str]]:
        got = {(identity.strip("<>").partition(".")[0], to) for identity, to in letters.accepted}
        want = set()
        members = {
            each["detail"]["taskId"]: each["detail"]["userId"] for each in events if each["type"] == "TaskAssigned"
        }
        for event in events:
            task = event["detail"]["taskId"]
            if event["type"] == "TaskAssigned":
                want.add((event["event_id"], f"{members[task]}@example.org"))
            if event["type"] == "TaskStatusUpdated":
                want.add((event["event_id"], "boss@example.org"))
                if task in members:
                    want.add((event["event_id"], f"{members[task]}@example.org"))
        return want - got

    wait_for(lambda: not missing(), seconds=120)
    # A letter may come twice after a crash, but not as two letters.
    about: dict[tuple[str, str], set[str]] = {}
    for identity, to in letters.accepted:
        about.setdefault((identity.partition(".")[0], to), set()).add(identity)
    assert all(len(identities) == 1 for identities in about.values())
