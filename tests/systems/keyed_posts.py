"""Every POST of the five systems that takes an ``Idempotency-Key``, with what a test has to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from tests.systems.calls.call_clients import HOUR, NOON, new_id
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served
from tests.systems.servicedesk.desk import open_ticket
from tests.systems.support.tickets import opened
from tests.systems.tasks.team import TASK, Team

Body = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Post:
    """A request, and others that are like it but not the same."""

    served: Served
    # Who sends it: the user id and a group.
    caller: tuple[str, str]
    system: str
    path: str
    body: Body
    others: tuple[tuple[str, Body], ...]
    # How often it has had its effect.
    count: Callable[[], int]
    status: int = 201

    def client(self, user_id: str | None = None) -> httpx.Client:
        """A client of the caller, or of somebody else of the same group, with a fresh token."""
        own, group = self.caller
        name = user_id or own
        return self.served.client(name, group, email=f"{name}@example.org", path=f"/{self.system}")

    def send(
        self, key: str | None, path: str | None = None, body: Body = None, *, by: httpx.Client | None = None
    ) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        if path is None:
            path, body = self.path, self.body
        return (by or self.client()).post(path, headers=headers, json=body)


MakePost = Callable[[Served], Post]


# -- Service Desk ---------------------------------------------------------------------------------------------------

AGENT = "voice-agent", "VoiceAgents"


def a_ticket(served: Served) -> Post:
    caller_id = uuid4().hex
    body = {"caller_id": caller_id, "issue_description": "no sound"}
    others = (("/tickets", {**body, "caller_id": "d"}), ("/tickets", {**body, "issue_description": "no picture"}))

    def count() -> int:
        return len(post.client().get("/tickets", params={"caller": caller_id}).json()["tickets"])

    post = Post(served, AGENT, "servicedesk", "/tickets", body, others, count)
    return post


def a_comment(served: Served) -> Post:
    agent = served.client(*AGENT, path="/servicedesk")
    ticket, another = (f"/tickets/{open_ticket(agent)['ticket_id']}" for _ in range(2))
    body = {"comment_text": "The password is hunter2, and it still hums"}
    others = ((f"{ticket}/comments", {"comment_text": "It hums no more"}), (f"{another}/comments", body))

    def count() -> int:
        return len(post.client().get(ticket).json()["comments"])

    post = Post(served, AGENT, "servicedesk", f"{ticket}/comments", body, others, count)
    return post


# -- Support --------------------------------------------------------------------------------------------------------


def a_support_ticket(served: Served) -> Post:
    customer = f"cust_{uuid4().hex}"
    body = {"symptom_text": "The pump stops", "data": "a log"}
    others = (("/tickets", {**body, "symptom_text": "The fan stops"}), ("/tickets", {**body, "data": "another log"}))

    def count() -> int:
        tickets = post.client().get(f"/customers/{customer}/tickets").json()["tickets"]
        events = [post.client().get(f"/tickets/{each['ticket_id']}/events").json()["events"] for each in tickets]
        # Each has its first event.
        assert [[event["event_type"] for event in each] for each in events] == [["ticket_created"]] * len(tickets)
        return len(tickets)

    post = Post(served, (customer, "Customers"), "support", "/tickets", body, others, count)
    return post


def a_feedback(served: Served) -> Post:
    operator = f"op_{uuid4().hex}", "Operators"
    client = served.client(*operator, path="/support")
    one, another = (f"/tickets/{opened(client)['ticket_id']}/feedback" for _ in range(2))
    body = {"rating": 4, "was_helpful": True}
    others = ((one, {**body, "rating": 5}), (one, {**body, "comment": "quick"}), (another, body))

    def count() -> int:
        found = post.client().get(f"/operators/{operator[0]}/feedback").json()["feedback"]
        return len([each for each in found if each["ticket_id"] == one.split("/")[2]])

    post = Post(served, operator, "support", one, body, others, count)
    return post


def _said(served: Served, kind: str, role: str) -> Post:
    """A message or a note, and those that are like it."""
    customer = f"cust_{uuid4().hex}"
    machine = served.client("backend", "Services", path="/support")
    one, another = (f"/tickets/{opened(machine, customer)['ticket_id']}" for _ in range(2))
    body = {"text": "It hums again"}
    others = ((f"{one}/{kind}", {"text": "It hums no more"}), (f"{another}/{kind}", body))

    def count() -> int:
        return len(machine.get(f"{one}/events").json()["events"]) - 1

    caller = customer if role == "Customers" else f"op_{uuid4().hex}"
    return Post(served, (caller, role), "support", f"{one}/{kind}", body, others, count)


def a_message_of_a_customer(served: Served) -> Post:
    return _said(served, "messages", "Customers")


def a_message_to_a_customer(served: Served) -> Post:
    return _said(served, "messages", "Operators")


def a_note(served: Served) -> Post:
    return _said(served, "notes", "Engineers")


# -- Calls ----------------------------------------------------------------------------------------------------------


def _call(served: Served, body: dict[str, Any], *others: dict[str, Any]) -> Post:
    def count() -> int:
        return len(post.client().get(f"/users/{body['userId']}/calls").json()["calls"])

    different = tuple(("/calls", other) for other in others)
    caller = "cleo", "Schedulers"
    post = Post(served, caller, "calls", "/calls", body, different, count)
    return post


def a_call(served: Served) -> Post:
    body = {"userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON}
    others = {**body, "scheduledFor": NOON + HOUR}, {**body, "durationMinutes": 31}, {**body, "callId": new_id("c")}
    return _call(served, body, *others)


def a_named_call(served: Served) -> Post:
    plain = {"userId": new_id("u"), "providerId": new_id("p"), "scheduledFor": NOON}
    body = {**plain, "callId": new_id("c")}
    later = {**plain, "scheduledFor": NOON + HOUR}
    others = later, plain, {**body, "callId": new_id("c")}, {**body, "providerId": new_id("p")}
    return _call(served, body, *others)


# -- Tasks ----------------------------------------------------------------------------------------------------------


def a_task(served: Served) -> Post:
    team = Team(served)
    body = {**TASK, "title": f"Fix {uuid4().hex}"}

    def count() -> int:
        params: dict[str, Any] = {"status": "OPEN", "newestFirst": True, "limit": 100}
        tasks = post.client().get("/tasks", params=params).json()["tasks"]
        return sum(task["title"] == body["title"] for task in tasks)

    others = (("/tasks", {**body, "title": "Another"}), ("/tasks", {**body, "priority": "LOW"}))
    post = Post(served, (team.admin_id, "Admins"), "tasks", "/tasks", body, others, count)
    return post


def an_assignment(served: Served) -> Post:
    team = Team(served)
    grace, linus = team.member("grace"), team.member("linus")
    task, another = (f"/tasks/{team.task()}" for _ in range(2))
    body = {"userId": grace}

    def count() -> int:
        return len(post.client().get(f"{task}/assignments").json()["assignments"])

    others = ((f"{task}/assign", {"userId": linus}), (f"{another}/assign", body))
    caller = team.admin_id, "Admins"
    post = Post(served, caller, "tasks", f"{task}/assign", body, others, count, 200)
    return post


def a_task_comment(served: Served) -> Post:
    team = Team(served)
    task, another = (f"/tasks/{team.task()}" for _ in range(2))
    body = {"text": "The keys are in the vault"}

    def count() -> int:
        return len(post.client().get(f"{task}/comments").json()["comments"])

    others = ((f"{task}/comments", {"text": "They are not"}), (f"{another}/comments", body))
    post = Post(served, (team.admin_id, "Admins"), "tasks", f"{task}/comments", body, others, count)
    return post


def an_attachment(served: Served) -> Post:
    team = Team(served)
    task, another = (f"/tasks/{team.task()}" for _ in range(2))
    body = {"name": "plan.txt", "contentType": "text/plain", "content": "aGVsbG8="}

    def count() -> int:
        return len(post.client().get(f"{task}/attachments").json()["attachments"])

    others = (
        (f"{task}/attachments", {**body, "name": "other.txt"}),
        (f"{task}/attachments", {**body, "content": "aGVsbA=="}),
        (f"{another}/attachments", body),
    )
    post = Post(served, (team.admin_id, "Admins"), "tasks", f"{task}/attachments", body, others, count)
    return post


def a_user(served: Served) -> Post:
    team = Team(served)
    body = {"userId": new_id("u"), "email": "member@example.org", "groups": ["Members", "Admins"]}
    others = {**body, "userId": new_id("u")}, {**body, "groups": ["Members"]}

    def count() -> int:
        return int(post.client().get(f"/users/{body['userId']}").status_code == 200)

    different = tuple(("/users", other) for other in others)
    caller = team.admin_id, "Admins"
    post = Post(served, caller, "tasks", "/users", body, different, count)
    return post


def _activation(served: Served, wanted: str) -> Post:
    team = Team(served)
    grace, linus = (f"/users/{team.member(name)}" for name in ("grace", "linus"))
    done = {"deactivate": "DEACTIVATED", "reactivate": "ACTIVE"}
    if wanted == "reactivate":
        assert team.admin.post(f"{grace}/deactivate").status_code == 200
    (opposite,) = done.keys() - {wanted}

    def count() -> int:
        return int(post.client().get(grace).json()["status"] == done[wanted])

    others = ((f"{linus}/{wanted}", None), (f"{grace}/{opposite}", None))
    caller = team.admin_id, "Admins"
    post = Post(served, caller, "tasks", f"{grace}/{wanted}", None, others, count, 200)
    return post


def a_deactivation(served: Served) -> Post:
    return _activation(served, "deactivate")


def a_reactivation(served: Served) -> Post:
    return _activation(served, "reactivate")


# -- Engagement -----------------------------------------------------------------------------------------------------


def _program(served: Served) -> Programme:
    return Programme(served, served.client("root", "Admins", path="/engagement"), reactiveEnabled=True)


def a_run(served: Served) -> Post:
    program = _program(served)
    path = f"{program.path}/runs"

    def count() -> int:
        runs = post.client().get(path).json()["runs"]
        # There is one run of a program at a time.
        assert [program.ended(run["runId"])["state"] for run in runs] == ["completed"] * len(runs)
        return len(runs)

    others = ((f"{_program(served).path}/runs", None),)
    post = Post(served, ("root", "Admins"), "engagement", path, None, others, count, 202)
    return post


def an_event(served: Served) -> Post:
    program = _program(served)
    body = {
        "marketplaceId": "US",
        "programId": program.id,
        "customerId": "c-1",
        "attributes": {"points": 1},
        "context": {"event": "visit"},
    }

    def count() -> int:
        found = program.candidate("c-1")
        return len(found.json()["context"]) if found.status_code == 200 else 0

    others = (("/events", {**body, "customerId": "c-2"}), ("/events", {**body, "context": {"event": "order"}}))
    return Post(served, ("shop", "EventSources"), "engagement", "/events", body, others, count, 200)
