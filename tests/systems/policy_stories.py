"""What each system does in a day, by its API: every kind of request, for tests of what that takes permission for."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import httpx

from tablewright.systems.calls.model import Reminder
from tablewright.systems.calls.reminders import ReminderTurns
from tests.systems import keyed_posts as posts
from tests.systems import tagged_changes as changes
from tests.systems.calls.call_clients import changed, schedule
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served, wait_for
from tests.systems.keyed_posts import MakePost
from tests.systems.servicedesk.desk import open_ticket
from tests.systems.support.tickets import opened
from tests.systems.tagged_changes import MakeChange
from tests.systems.tasks.team import TASK, Team


def ok(response: httpx.Response) -> Any:
    assert response.status_code < 400, f"{response.request.method} {response.request.url}: {response.text}"
    return response.json() if response.content else None


def _made(served: Served, posted: Sequence[MakePost], changed_: Sequence[MakeChange]) -> None:
    """Each POST with an idempotency key, twice, and each change of what was seen."""
    for number, make in enumerate(posted):
        post = make(served)
        for _ in range(2):
            ok(post.send(f"key-{number}"))
    for make_change in changed_:
        change = make_change(served)
        ok(change.send(change.tag()))


def service_desk(served: Served) -> None:
    desk = [changes.a_desk_status, changes.a_desk_assignment, changes.a_desk_priority, changes.a_taken_ticket]
    _made(served, [posts.a_ticket, posts.a_comment], [*desk, changes.a_comment])
    agent = served.client("sam", "Agents", path="/servicedesk")
    for params in ({}, {"assignee": "sam"}, {"unassigned": "true"}):
        ok(agent.get("/queue", params=params))
    ok(agent.get(f"/numbers/{open_ticket(agent)['number']}"))
    ticket = open_ticket(agent, "caller-1")
    ok(agent.get(f"/tickets/{ticket['ticket_id']}"))
    ok(served.client("dora", "Admins", path="/servicedesk").get(f"/tickets/{ticket['ticket_id']}/audit"))
    for params in ({"caller": "caller-1"}, {"caller": "caller-1", "open_only": "true"}):
        ok(agent.get("/tickets", params=params))
    _found(served, agent, ticket["number"])


def _found(served: Served, client: httpx.Client, query: str) -> None:
    """A search finds something, once its consumer has heard of it; functions say that they have none."""
    if served.has_search:
        wait_for(lambda: ok(client.get("/search", params={"q": query}))["results"])
    else:
        refused = client.get("/search", params={"q": query})
        assert (refused.status_code, refused.json()["type"]) == (501, "/problems/not-offered")


def support(served: Served) -> None:
    of_status = [changes.a_support_status, changes.an_escalation, changes.a_reassignment]
    of_people = [changes.an_assignment, changes.a_priority]
    of_tickets = [*of_status, *of_people, changes.a_payload, changes.a_large_payload]
    others = [changes.a_cache_entry, changes.a_cache_deletion, changes.a_session_end]
    said = [posts.a_message_of_a_customer, posts.a_message_to_a_customer, posts.a_note]
    _made(served, [posts.a_support_ticket, posts.a_feedback, *said], [*of_tickets, *others])
    staff = served.client("op_1", "Services", path="/support")
    ticket = f"/tickets/{opened(staff, 'cust_1')['ticket_id']}"
    ok(staff.post(f"{ticket}/status", json={"status": "PROCESSING"}))
    ok(staff.post(f"{ticket}/events", json={"event_type": "customer_called", "details": {}}))
    ok(staff.post(f"{ticket}/escalate", json={"reason": "hot", "engineer": "eng_7"}))
    customer = served.client("cust_1", "Customers", path="/support")
    ok(customer.post(f"{ticket}/feedback", json={"operator_id": "op_1", "rating": 5}))
    for path in ("", "/data", "/case", "/events", "/feedback"):
        ok(customer.get(ticket + path))
    ok(served.client("ines", "Admins", path="/support").get(f"{ticket}/audit"))
    ok(staff.post("/tickets/batch-get", json={"ticket_ids": [ticket.rpartition("/")[2]]}))
    ok(customer.get("/my/tickets"))
    ok(customer.get("/customers/cust_1/tickets"))
    ok(customer.get("/customers/cust_1/tickets", params={"status": "ESCALATED"}))
    for path in (
        "/tickets",
        "/tickets?status=ESCALATED",
        "/tickets?assigned_to=eng_7",
        "/tickets?unanswered=true",
        "/escalations",
        "/escalations?engineer=eng_7",
        "/operators/op_1/feedback",
        "/metrics",
        "/metrics/trends",
        "/metrics/operators",
    ):
        ok(staff.get(path))


def calls(served: Served) -> None:
    by_change = [changes.a_new_time, changes.another_user, changes.another_provider, changes.a_cancellation]
    _made(served, [posts.a_call], [changes.a_call_status, *by_change])
    staff = served.client("cleo", "Schedulers", path="/calls")
    call = schedule(staff)
    user = f"/users/{call['userId']}/calls"
    for path in (f"/calls/{call['callId']}", user, f"{user}/upcoming", f"{user}/next-scheduled"):
        ok(staff.get(path))
    ok(served.client("root", "Admins", path="/calls").get(f"/calls/{call['callId']}/audit"))
    changed(staff, call, "status", status="COMPLETED")
    for path in (f"{user}/completed", f"{user}/last-completed", f"/providers/{call['providerId']}/calls"):
        ok(staff.get(path))
    _reminded(served, staff)


def _reminded(served: Served, staff: httpx.Client) -> None:
    store, now = served.runtime.consumer_store, served.runtime.now()
    soon = int((now + timedelta(minutes=30)).timestamp() * 1000)
    call = schedule(staff, scheduledFor=soon)
    path = f"/users/{call['userId']}/calendar"
    ok(staff.get(path))
    address = httpx.URL(ok(staff.post(f"{path}/address"))["url"]).path
    assert served.client().get(address).status_code == 200
    ok(staff.delete(f"{path}/address"))
    waiting = Reminder.due_between(since=now - timedelta(hours=1), until=now + timedelta(hours=1))
    # Twice: what was sent before is not sent again.
    for _ in range(2):
        ok(staff.put(path, json={"email": "ada@example.org", "remindMinutes": 60}))
        wait_for(lambda: store.query(waiting, limit=1).items)
        ReminderTurns(store, served.runtime.now).turn()
        ok(staff.put(path, json={"email": None, "remindMinutes": None}))
    # One that is not wanted any more.
    ok(staff.put(path, json={"email": "ada@example.org", "remindMinutes": 50}))
    wait_for(lambda: store.query(waiting, limit=1).items)
    changed(staff, call, "status", status="COMPLETED")
    ReminderTurns(store, served.runtime.now).turn()
    later = schedule(staff, userId=call["userId"], scheduledFor=soon + 3_600_000)
    wait_for(lambda: store.query(waiting, limit=1).items)
    assert later["userId"] == call["userId"]
    root = served.client("root", "Admins")
    wait_for(lambda: ok(root.get("/runtime/events/calls"))["events"])


def tasks(served: Served) -> None:
    of_users = [posts.a_user, posts.a_deactivation, posts.a_reactivation]
    of_tasks = [changes.task_details, changes.a_task_status, changes.a_task_seen_in_full, changes.user_details]
    of_others = [posts.a_task_comment, posts.an_attachment]
    _made(served, [posts.a_task, posts.an_assignment, *of_others, *of_users], of_tasks)
    team = Team(served)
    grace = team.member("grace")
    task = f"/tasks/{team.task()}"
    team.assign(task.rpartition("/")[2], grace)
    member = team.client(grace, "Members")
    ok(member.put(f"{task}/status", json={"status": "IN_PROGRESS"}))
    for path in (
        task,
        f"{task}/full",
        f"{task}/assignments",
        f"{task}/comments",
        f"{task}/attachments",
        "/tasks?status=OPEN",
        "/tasks?status=OPEN&newestFirst=true",
    ):
        ok(team.admin.get(path))
    for path in (f"{task}/audit", f"/users/{grace}/audit"):
        ok(team.admin.get(path))
    for path in (f"/users/{grace}", f"/users/{grace}/tasks", "/users?status=ACTIVE"):
        ok(team.admin.get(path))
    ok(team.admin.delete(f"{task}/assignments/{grace}"))
    large = base64.b64encode(b"x" * 600_000).decode()
    attached = ok(team.admin.post(f"{task}/attachments", json={"name": "a", "content": large}))["attachmentId"]
    assert ok(team.admin.get(f"{task}/attachments/{attached}"))["content"] == large
    ok(team.admin.delete(f"{task}/attachments/{attached}"))
    ok(served.client("tess", "Admins", path="/tasks").post("/tasks", json=TASK))
    root = served.client(team.admin_id, "Admins", email=team.address(team.admin_id))
    wait_for(lambda: ok(root.get("/runtime/events/tasks"))["events"])
    ok(root.get("/runtime/consumers"))
    ok(root.get("/runtime/mail/dead-letters"))


def engagement(served: Served) -> None:
    of_programs = [changes.a_program, changes.a_switch, changes.a_run_deletion]
    of_customers = [
        changes.a_rejection,
        changes.a_candidate_deletion,
        changes.further_preferences,
        changes.some_preferences,
    ]
    _made(served, [posts.a_run, posts.an_event], [*of_programs, *of_customers])
    admin = served.client("root", "Admins", path="/engagement")
    letter = {"subject": "For you, $name", "text": "Hello $name"}
    programme = Programme(
        served,
        admin,
        [("c-1", "Ada", "ada@example.org", 1), ("c-2", "Bob", "nobody", 2)],
        header=("customer_id", "name", "email", "points"),
        channels=[{"channelId": "email", "priority": 1, "config": letter}],
    )
    programme.run()
    for _ in range(2):
        ok(admin.post(f"{programme.path}/deliveries", json={}))
    for only in ({}, {"customerId": "c-2"}):
        ok(admin.post(f"{programme.path}/deliveries/retry", json=only))
    ok(admin.post("/programs/check", json=programme.body))
    for trial in ("dry-run", "preview"):
        ok(admin.post(f"{programme.path}/{trial}", json={}))
    program, day = programme.id, served.runtime.now().date().isoformat()
    for path in (
        programme.path,
        "/marketplaces/US/programs",
        "/programs?approval=approved",
        f"{programme.path}/versions/1",
        f"{programme.path}/versions",
        f"{programme.path}/audit",
        f"{programme.path}/runs",
        f"{programme.path}/channels/email/candidates",
        f"/programs/{program}/channels/email/candidates",
        f"/programs/{program}/candidates?date={day}",
        f"/programs/{program}/deliveries?date={day}",
        f"{programme.path}/customers/c-1/deliveries",
        "/customers/c-1/preferences",
        "/customers/c-1/preferences/history",
        f"/customers/c-1/subjects/{program}/scores",
    ):
        ok(admin.get(path))
    _found(served, admin, programme.id)


STORIES: dict[str, Callable[[Served], None]] = {
    "servicedesk": service_desk,
    "support": support,
    "engagement": engagement,
    "calls": calls,
    "tasks": tasks,
}


def administration(served: Served) -> None:
    """What an administrator does about people."""
    admin = served.client("rita", "Admins")
    people = "/runtime/people"
    ok(admin.post(people, json={"person_id": "nina", "roles": []}, headers={"Idempotency-Key": "nina"}))
    ok(admin.post(people, json={"person_id": "rita", "roles": ["runtime:Admins"]}))
    ok(admin.get(people))
    ok(admin.put(f"{people}/nina/roles", json={"roles": []}))
    for step in ("deactivate", "activate"):
        ok(admin.post(f"{people}/nina/{step}"))
    ok(admin.get(f"{people}/nina/audit"))


def personal_data(served: Served, person: str) -> None:
    """An administrator finds what there is about a person, and erases it."""
    admin = served.client("rita", "Admins")
    for action in ("find", "erase"):
        ok(admin.post(f"/runtime/privacy/{person}/{action}"))
        job = wait_for(lambda: None if (found := ok(admin.get("/runtime/privacy")))["state"] == "running" else found)
        assert job["state"] == "done", job
        assert job["findings"]
