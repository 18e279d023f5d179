"""Who changed what, when and by which call: every call that changes a thing is in its audit, or says why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.runtime import calls_of
from tablewright.systems import load
from tablewright.systems.support.model import SYSTEM_EVENTS
from tests.systems.calls.call_clients import HOUR, NOON, changed, new_id, schedule
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served, at_once
from tests.systems.servicedesk.desk import open_ticket
from tests.systems.slow_reads import slow_reads
from tests.systems.support.tickets import opened
from tests.systems.tasks.team import Team, pages


@dataclass(frozen=True)
class Story:
    """What was done to a thing: where its audit is, and what it should have, oldest first."""

    admin: httpx.Client
    path: str
    told: list[tuple[str, str, dict[str, tuple[Any, Any]]]]


def service_desk(served: Served) -> Story:
    agent, sam = (
        served.client(name, role, path="/servicedesk") for name, role in (("ivr", "VoiceAgents"), ("sam", "Agents"))
    )
    path = f"/tickets/{open_ticket(agent)['ticket_id']}"
    agent.post(f"{path}/comments", json={"comment_text": "it is worse"})
    sam.patch(path, json={"status": "in_progress"})
    sam.post(f"{path}/comments", json={"comment_text": "looking"}, headers={"Idempotency-Key": uuid4().hex})
    sam.post(f"{path}/take")
    sam.put(f"{path}/priority", json={"priority": "P1"})
    sam.put(f"{path}/assignee", json={"assignee": "kim"})
    sam.patch(path, json={"status": "resolved"})
    comments = agent.get(path).json()["comments"]
    assert [each["added_by"] for each in comments] == ["ivr", "sam"]
    assert agent.get(path).json()["created_by"] == "ivr"
    return Story(
        served.client("dora", "Admins", path="/servicedesk"),
        f"{path}/audit",
        [
            ("ivr", "create_ticket", {}),
            ("ivr", "add_comment", {"comment_text": (None, "it is worse")}),
            ("sam", "change_status", {"status": ("open", "in_progress")}),
            ("sam", "add_comment", {"comment_text": (None, "looking")}),
            ("sam", "take", {"assignee": (None, "sam")}),
            ("sam", "set_priority", {"priority": ("P3", "P1")}),
            ("sam", "assign", {"assignee": ("sam", "kim")}),
            ("sam", "change_status", {"status": ("in_progress", "resolved")}),
        ],
    )


def support(served: Served) -> Story:
    staff, admin = (
        served.client(name, role, path="/support") for name, role in (("op_1", "Operators"), ("ines", "Admins"))
    )
    path = f"/tickets/{opened(staff)['ticket_id']}"
    staff.post(f"{path}/status", json={"status": "PROCESSING"})
    staff.put(f"{path}/data", json={"data": "0123456789"})
    staff.post(f"{path}/escalate", json={"reason": "hot", "engineer": "eng_1"})
    admin.post(f"{path}/escalate", json={"reason": "too hot", "engineer": "eng_2"})
    staff.put(f"{path}/assignee", json={"assignee": None})
    staff.put(f"{path}/priority", json={"priority": "CRITICAL"})
    return Story(
        admin,
        f"{path}/audit",
        [
            ("op_1", "create_ticket", {}),
            ("op_1", "change_status", {"status": ("NEW", "PROCESSING")}),
            ("op_1", "put_data", {"data": (None, "10 characters")}),
            (
                "op_1",
                "escalate",
                {
                    "status": ("PROCESSING", "ESCALATED"),
                    "assigned_to": (None, "eng_1"),
                    "escalation_reason": (None, "hot"),
                },
            ),
            ("ines", "escalate", {"assigned_to": ("eng_1", "eng_2"), "escalation_reason": ("hot", "too hot")}),
            ("op_1", "assign", {"assigned_to": ("eng_2", None)}),
            ("op_1", "set_priority", {"priority": ("MEDIUM", "CRITICAL")}),
        ],
    )


def calls(served: Served) -> Story:
    cleo, root = (
        served.client(name, role, path="/calls") for name, role in (("cleo", "Schedulers"), ("root", "Admins"))
    )
    user, provider = new_id("u"), new_id("p")
    call = schedule(cleo, userId=user, providerId=provider)
    later = changed(cleo, call, "schedule", scheduledFor=NOON + HOUR)
    given = changed(cleo, later, "provider", providerId=f"{provider}-2")
    moved = changed(cleo, given, "user", userId=f"{user}-2")
    done = changed(root, moved, "status", status="COMPLETED")
    path = f"/calls/{call['callId']}"
    assert root.delete(path, params={"version": done["version"]}).status_code == 204
    assert root.get(path).status_code == 404
    return Story(
        root,
        f"{path}/audit",
        [
            ("cleo", "create_call", {"user_id": (None, user), "provider_id": (None, provider)}),
            ("cleo", "reschedule", {"scheduled_for": ("2030-03-17T17:46:40Z", "2030-03-17T18:46:40Z")}),
            ("cleo", "change_provider", {"provider_id": (provider, f"{provider}-2")}),
            ("cleo", "reassign", {"user_id": (user, f"{user}-2")}),
            ("root", "change_status", {"status": ("SCHEDULED", "COMPLETED")}),
            ("root", "cancel", {"user_id": (f"{user}-2", None), "status": ("COMPLETED", None)}),
        ],
    )


def calendars(served: Served) -> Story:
    cleo, root = (
        served.client(name, role, path="/calls") for name, role in (("cleo", "Schedulers"), ("root", "Admins"))
    )
    path = f"/users/{new_id('u')}/calendar"
    cleo.put(path, json={"email": "ada@example.org", "remindMinutes": 60})
    cleo.post(f"{path}/address")
    root.delete(f"{path}/address")
    return Story(
        root,
        f"{path}/audit",
        [
            ("cleo", "change_calendar_settings", {"email": (None, "ada@example.org"), "remind_minutes": (None, 60)}),
            ("cleo", "new_calendar_address", {"feed": (False, True)}),
            ("root", "end_calendar_address", {"feed": (True, False)}),
        ],
    )


def tasks(served: Served) -> Story:
    team = Team(served)
    grace = team.member("grace")
    task_id = team.task()
    team.admin.patch(f"/tasks/{task_id}", json={"title": "Fix it", "priority": "HIGH"})
    team.assign(task_id, grace)
    team.move(task_id, "IN_PROGRESS", by=team.client(grace, "Members"))
    team.admin.delete(f"/tasks/{task_id}/assignments/{grace}")
    files = f"/tasks/{task_id}/attachments"
    attached = team.admin.post(files, json={"name": "plan", "content": "aGVsbG8="}).json()["attachmentId"]
    team.admin.delete(f"{files}/{attached}")
    ada = team.admin_id
    return Story(
        team.admin,
        f"/tasks/{task_id}/audit",
        [
            (ada, "create_task", {}),
            # What stays as it is, is no change.
            (ada, "change_task", {"title": ("Fix the login page", "Fix it")}),
            (ada, "assign_task", {"assigned_to": (None, grace)}),
            (grace, "change_status", {"status": ("OPEN", "IN_PROGRESS")}),
            (ada, "unassign_task", {"assigned_to": (grace, None)}),
            (ada, "attach", {"attachment": (None, "plan")}),
            (ada, "detach", {"attachment": ("plan", None)}),
        ],
    )


def users(served: Served) -> Story:
    team = Team(served)
    grace = team.member("grace")
    team.admin.patch(f"/users/{grace}", json={"email": "g@example.org"})
    team.admin.post(f"/users/{grace}/deactivate", headers={"Idempotency-Key": uuid4().hex})
    team.admin.post(f"/users/{grace}/reactivate")
    ada = team.admin_id
    return Story(
        team.admin,
        f"/users/{grace}/audit",
        [
            (ada, "create_user", {"groups": (None, ["Members"]), "user_status": (None, "ACTIVE")}),
            (ada, "change_user", {"email": (team.address(grace), "g@example.org")}),
            (ada, "deactivate_user", {"user_status": ("ACTIVE", "DEACTIVATED")}),
            (ada, "reactivate_user", {"user_status": ("DEACTIVATED", "ACTIVE")}),
        ],
    )


def program(served: Served) -> Story:
    marketer, admin = (
        served.client(name, role, path="/engagement") for name, role in (("mark", "Marketers"), ("root", "Admins"))
    )
    made = Programme(served, marketer, approved=False)
    path = made.path
    version = marketer.post(f"{path}/approval/request").json()["version"]
    declined = admin.post(f"{path}/approval/decline", json={"version": version, "reason": "too often"})
    assert declined.status_code == 200
    made.approve()
    assert admin.post(f"{path}/disable").status_code == 200
    assert marketer.post(f"{path}/enable").status_code == 200
    made.run()
    run_id = admin.get(f"{path}/runs").json()["runs"][0]["runId"]
    assert marketer.post(f"{path}/deliveries", json={}).status_code == 200
    assert marketer.post(f"{path}/deliveries/retry", json={"channelId": "push"}).status_code == 200
    assert admin.delete(f"{path}/runs/{run_id}").status_code == 204
    return Story(
        admin,
        f"{path}/audit",
        [
            ("mark", "put_program", {"enabled": (None, False), "approval": (None, "draft")}),
            ("mark", "request_approval", {"approval": ("draft", "requested")}),
            ("root", "decline", {"approval": ("requested", "declined")}),
            ("mark", "request_approval", {"approval": ("declined", "requested")}),
            ("vera", "approve", {"approval": ("requested", "approved"), "enabled": (False, True)}),
            ("root", "disable", {"enabled": (True, False)}),
            ("mark", "enable", {"enabled": (False, True)}),
            ("mark", "begin_run", {f"run {run_id}": (None, "running")}),
            ("mark", "deliver", {"deliveries": (None, "wanted")}),
            (
                "mark",
                "retry_deliveries",
                {"deliveries": (None, {"wanted": "again", "channel_id": "push", "customer_id": None})},
            ),
            ("root", "forget_run", {f"run {run_id}": ("completed", None)}),
        ],
    )


STORIES: list[Callable[[Served], Story]] = [
    service_desk,
    support,
    calls,
    calendars,
    tasks,
    users,
    program,
]


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_the_audit_tells_who_did_what_newest_first(served: Served, tell: Callable[[Served], Story]) -> None:
    story = tell(served)
    (whole,) = pages(story.admin, story.path, "audit")
    assert [(each["by"], each["call"]) for each in reversed(whole)] == [(by, call) for by, call, _ in story.told]
    for entry, (_, call, changes) in zip(reversed(whole), story.told, strict=True):
        found = {name: (value["old"], value["new"]) for name, value in entry["changes"].items()}
        # What is created or deleted is told with all that it is.
        assert changes.items() <= found.items(), (call, found)
        if "create" not in call and call not in ("put_program", "cancel"):
            assert found == changes
    times = [each["at"] for each in whole]
    assert times == sorted(times, reverse=True)
    for limit in (1, 2, 3):
        several = pages(story.admin, story.path, "audit", limit=limit)
        assert [len(page) for page in several[:-1]] == [limit] * (len(several) - 1)
        assert [entry for page in several for entry in page] == whole


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_a_cursor_that_was_altered_is_refused(served: Served, tell: Callable[[Served], Story]) -> None:
    story = tell(served)
    for cursor in ("x", "2026-01-01", "2026-01-01T00:00:00~a", "0001-01-01T00:00:00+14:00~a", "~", "a~b" * 100):
        answer = story.admin.get(story.path, params={"cursor": cursor})
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/invalid-cursor"), cursor
    cursor = story.admin.get(story.path, params={"limit": 1}).json()["cursor"]
    # Another character, one more, and the audit of another one.
    other = tell(served).path
    for path, altered in ((story.path, cursor[:-2] + "AA"), (story.path, cursor + "A"), (other, cursor)):
        answer = story.admin.get(path, params={"cursor": altered, "limit": 1})
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/invalid-cursor"), (path, altered)


def test_what_was_never_there_has_no_audit(served: Served) -> None:
    admin = served.client("root", "Admins")
    for path in (
        f"/servicedesk/tickets/{uuid4()}/audit",
        "/support/tickets/tkt_none/audit",
        "/calls/calls/none/audit",
        "/tasks/tasks/none/audit",
        "/tasks/users/none/audit",
        "/engagement/programs/none/marketplaces/none/audit",
    ):
        assert admin.get(path).status_code == 404, path


def test_a_change_that_is_refused_is_in_no_audit(served: Served) -> None:
    sam = served.client("sam", "Agents", path="/servicedesk")
    path = f"/tickets/{open_ticket(sam)['ticket_id']}"
    assert sam.patch(path, json={"status": "closed"}).status_code == 409
    assert sam.patch(path, json={"status": "in_progress", "expected": "resolved"}).status_code == 409
    won = at_once(10, lambda _: sam.patch(path, json={"status": "in_progress", "expected": "open"}).status_code)
    assert sorted(won) == [200, *[409] * 9]
    audit = served.client("dora", "Admins", path="/servicedesk").get(f"{path}/audit").json()["audit"]
    assert [each["call"] for each in audit] == ["change_status", "create_ticket"]


def test_each_change_says_what_the_one_before_it_left(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many change the same field at once."""
    team = Team(served)
    task_id = team.task(title="0")
    slow_reads(monkeypatch, 0.01)
    answers = at_once(
        4, lambda number: team.admin.patch(f"/tasks/{task_id}", json={"title": str(number + 1)}).status_code
    )
    assert set(answers) <= {200, 409}
    audit = team.admin.get(f"/tasks/{task_id}/audit").json()["audit"]
    *changes, _ = [each["changes"].get("title", {}) for each in reversed(audit)][::-1]
    told = [(each["old"], each["new"]) for each in reversed(changes)]
    assert len(told) == answers.count(200)
    assert [old for old, _ in told] == ["0", *(new for _, new in told[:-1])]
    assert team.admin.get(f"/tasks/{task_id}").json()["title"] == told[-1][1]


def test_the_author_is_always_the_subject_of_the_token(served: Served) -> None:
    """Whoever a body names, the author is the sub of the token."""
    sam = served.client("sam", "Agents", path="/servicedesk")
    for body in ({"created_by": "eve"}, {"createdBy": "eve"}, {"author": "eve"}):
        answer = sam.post("/tickets", json={"caller_id": "c", "issue_description": "hello", **body})
        assert answer.status_code == 422
    staff = served.client("op_1", "Operators", path="/support")
    path = f"/tickets/{opened(staff)['ticket_id']}/events"
    assert staff.post(path, json={"event_type": "called", "author": "eve"}).status_code == 422
    told = staff.post(path, json={"event_type": "called", "details": {"author": "eve", "changed_by": "eve"}}).json()
    assert told["author"] == "op_1"


@pytest.mark.parametrize("event_type", sorted(SYSTEM_EVENTS))
def test_events_that_the_system_writes_cannot_be_posted(served: Served, event_type: str) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    path = f"/tickets/{opened(staff)['ticket_id']}/events"
    answer = staff.post(path, json={"event_type": event_type})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body.event_type")
    assert [each["event_type"] for each in staff.get(path).json()["events"]] == ["ticket_created"]


def test_every_event_of_a_ticket_has_an_author(served: Served) -> None:
    staff = served.client("op_1", "Operators", path="/support")
    path = f"/tickets/{opened(staff)['ticket_id']}"
    staff.post(f"{path}/status", json={"status": "PROCESSING"})
    served.client("op_2", "Operators", path="/support").post(f"{path}/events", json={"event_type": "called"})
    events = staff.get(f"{path}/events").json()["events"]
    assert [(each["event_type"], each["author"]) for each in events] == [
        ("called", "op_2"),
        ("status_changed", "op_1"),
        ("ticket_created", "op_1"),
    ]


def test_feedback_that_a_program_asked_for_says_who_sent_it(served: Served) -> None:
    staff, machine = (
        served.client(name, role, path="/support") for name, role in (("op_1", "Operators"), ("bot", "Services"))
    )
    ticket = opened(staff)
    path = f"/tickets/{ticket['ticket_id']}"
    staff.post(f"{path}/status", json={"status": "PROCESSING"})
    body = {"operator_id": "op_1", "rating": 5}
    assert machine.post(f"{path}/feedback", json={**body, "submitted_by": "eve"}).status_code == 422
    found = machine.post(f"{path}/feedback", json=body).json()
    assert (found["given_by"], found["submitted_by"]) == (ticket["customer_id"], "bot")


# -- every call -----------------------------------------------------------------------------------------------------

# Calls that change nothing that has an audit, and why.
EXEMPT = {
    ("tasks", "add_comment"): "a comment names its author itself",
    ("support", "get_tickets"): "it reads",
    ("support", "add_event"): "an event names its author itself",
    ("support", "send_message"): "a message is an event, which names its author itself",
    ("support", "add_note"): "a note is an event, which names its author itself",
    ("support", "give_feedback"): "feedback names its author itself, and who sent it",
    ("support", "begin_session"): "a session is its user's, and expires",
    ("support", "end_session"): "a session is its user's, and expires",
    ("support", "cache"): "a cache of programs, which expires",
    ("support", "forget"): "a cache of programs, which expires",
    ("support", "rebuild"): "what follows from the tickets is written again",
    ("support", "start_maintenance"): "nothing of a ticket changes but where it is",
    ("engagement", "put_preferences"): "preferences have a history of their own, which names who changed them",
    ("engagement", "patch_preferences"): "preferences have a history of their own, which names who changed them",
    ("engagement", "unsubscribe"): "preferences have a history of their own, which names who changed them",
    ("engagement", "check_program"): "nothing changes",
    ("engagement", "dry_run"): "nothing changes",
    ("engagement", "preview"): "nothing changes",
    ("engagement", "react"): "candidates are made by programs; a reaction names its event",
}
# Calls that other tests show in an audit, or that do by the same code what a story above does.
ELSEWHERE = {
    ("engagement", "reject"),
    ("engagement", "delete_candidate"),
    ("engagement", "stop_run"),
    ("engagement", "cancel_run"),
    ("engagement", "resume_run"),
}


def test_every_call_that_changes_a_thing_is_audited_or_says_why_not(served: Served) -> None:
    """A new call that writes needs a story above, or a reason in EXEMPT."""
    changing = {
        (system.name, call.name)
        for system in load()
        for call in calls_of(system)
        if call.method not in ("GET", "HEAD", "WEBSOCKET")
    }
    stories = [tell(served) for tell in STORIES]
    told = {(_system_of(story), call) for story in stories for _, call, _ in story.told}
    assert changing - told - EXEMPT.keys() - ELSEWHERE == set()
    assert (EXEMPT.keys() | ELSEWHERE) - changing == set()
    assert told <= changing


def _system_of(story: Story) -> str:
    return str(story.admin.base_url.path).strip("/")


def test_the_audit_of_a_deleted_candidate_is_kept(served: Served) -> None:
    admin = served.client("root", "Admins", path="/engagement")
    made = Programme(served, admin)
    made.run()
    path = f"{made.path}/customers/c-1/candidates/program/{made.id}"
    assert admin.post(f"{path}/reject", json={"reason": "asked us not to"}).status_code == 200
    assert admin.delete(path).status_code == 204
    audit = admin.get(f"{path}/audit").json()["audit"]
    assert [each["call"] for each in audit] == ["delete_candidate", "reject"]
    assert audit[1]["changes"]["reason"] == {"old": None, "new": "asked us not to"}
