"""Every change of one thing in the five systems that takes ``If-Match``, with what a test has to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from tests.systems.calls.call_clients import HOUR, NOON, new_id, schedule
from tests.systems.engagement.engagement_fixtures import Programme
from tests.systems.harness import Served
from tests.systems.servicedesk.desk import open_ticket
from tests.systems.support.tickets import opened
from tests.systems.tasks.team import Team

Body = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Change:
    """A thing, and a request that changes it: several of them, all different."""

    client: httpx.Client
    # Where it is read.
    place: str
    method: str
    path: str
    # The body of each of those who change it at the same time.
    body: Callable[[int], Body]
    status: int = 200
    # Read the thing as it was written just before.
    params: tuple[tuple[str, str], ...] = ()
    # The status for those who do not say what they saw.
    unseen: int | None = None
    # Whether it can be read after a DELETE: it has only another state.
    stays: bool = False

    def read(self, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.get(self.place, headers=named, params=dict(self.params))

    def tag(self) -> str:
        response = self.read()
        assert response.status_code == 200, response.text
        return response.headers["ETag"]

    def send(self, if_match: str | None, number: int = 0) -> httpx.Response:
        headers = {} if if_match is None else {"If-Match": if_match}
        return self.client.request(self.method, self.path, json=self.body(number), headers=headers)


MakeChange = Callable[[Served], Change]


def _always(body: Body) -> Callable[[int], Body]:
    return lambda _: body


# -- Service Desk ---------------------------------------------------------------------------------------------------


def resolved_ticket(served: Served) -> tuple[httpx.Client, str]:
    agent = served.client("sam", "Agents", path="/servicedesk")
    ticket = f"/tickets/{open_ticket(agent)['ticket_id']}"
    for status in ("in_progress", "resolved"):
        assert agent.patch(ticket, json={"status": status}).status_code == 200
    return agent, ticket


def a_desk_status(served: Served) -> Change:
    agent, ticket = resolved_ticket(served)
    return Change(agent, ticket, "PATCH", ticket, lambda number: {"status": ("closed", "open")[number % 2]})


def a_desk_assignment(served: Served) -> Change:
    agent = served.client("sam", "Agents", path="/servicedesk")
    ticket = f"/tickets/{open_ticket(agent)['ticket_id']}"
    return Change(agent, ticket, "PUT", f"{ticket}/assignee", lambda number: {"assignee": f"agent-{number}"})


def a_desk_priority(served: Served) -> Change:
    agent = served.client("sam", "Agents", path="/servicedesk")
    ticket = f"/tickets/{open_ticket(agent)['ticket_id']}"
    return Change(
        agent, ticket, "PUT", f"{ticket}/priority", lambda number: {"priority": ("P1", "P2", "P4")[number % 3]}
    )


def a_taken_ticket(served: Served) -> Change:
    agent = served.client("sam", "Agents", path="/servicedesk")
    ticket = f"/tickets/{open_ticket(agent)['ticket_id']}"
    return Change(agent, ticket, "POST", f"{ticket}/take", _always(None))


def a_comment(served: Served) -> Change:
    agent = served.client("sam", "Agents", path="/servicedesk")
    ticket = f"/tickets/{open_ticket(agent)['ticket_id']}"
    return Change(agent, ticket, "POST", f"{ticket}/comments", lambda number: {"comment_text": f"No. {number}"}, 201)


# -- Support --------------------------------------------------------------------------------------------------------

CONSISTENT = (("consistent", "true"),)


def _support(served: Served) -> tuple[httpx.Client, str]:
    staff = served.client("op_1", "Services", path="/support")
    return staff, f"/tickets/{opened(staff)['ticket_id']}"


def a_support_status(served: Served) -> Change:
    staff, ticket = _support(served)
    targets = "PROCESSING", "FAILED"
    return Change(
        staff, ticket, "POST", f"{ticket}/status", lambda number: {"status": targets[number % 2]}, params=CONSISTENT
    )


def an_escalation(served: Served) -> Change:
    staff, ticket = _support(served)
    return Change(
        staff,
        ticket,
        "POST",
        f"{ticket}/escalate",
        lambda number: {"reason": "hot", "engineer": f"eng_{number}"},
        params=CONSISTENT,
    )


def a_reassignment(served: Served) -> Change:
    change = an_escalation(served)
    first = {"reason": "hot", "engineer": "eng_first"}
    assert change.client.post(change.path, json=first).status_code == 200
    return change


def an_assignment(served: Served) -> Change:
    staff, ticket = _support(served)
    return Change(
        staff, ticket, "PUT", f"{ticket}/assignee", lambda number: {"assignee": f"eng_{number}"}, params=CONSISTENT
    )


def a_priority(served: Served) -> Change:
    staff, ticket = _support(served)
    urgent = "LOW", "HIGH", "CRITICAL"
    return Change(
        staff, ticket, "PUT", f"{ticket}/priority", lambda number: {"priority": urgent[number % 3]}, params=CONSISTENT
    )


def a_payload(served: Served) -> Change:
    staff, ticket = _support(served)
    return Change(staff, ticket, "PUT", f"{ticket}/data", lambda number: {"data": f"log {number}"}, params=CONSISTENT)


def a_large_payload(served: Served) -> Change:
    staff, ticket = _support(served)
    assert staff.put(f"{ticket}/data", json={"data": "x" * 500_000}).status_code == 200
    return Change(
        staff, ticket, "PUT", f"{ticket}/data", lambda number: {"data": "x" * 500_000 + str(number)}, params=CONSISTENT
    )


def a_cache_entry(served: Served) -> Change:
    machine = served.client("bot", "Services", path="/support")
    place = f"/cache/{uuid4().hex}"
    assert machine.put(place, json={"data": {"of": "old"}}).status_code == 200
    return Change(
        machine, place, "PUT", place, lambda number: {"data": {"of": number, "parts": [1.5, None, {"a": []}]}}
    )


def a_cache_deletion(served: Served) -> Change:
    machine = served.client("bot", "Services", path="/support")
    place = f"/cache/{uuid4().hex}"
    assert machine.put(place, json={"data": {"of": "old"}}).status_code == 200
    return Change(machine, place, "DELETE", place, _always(None), 204)


def a_session_end(served: Served) -> Change:
    machine = served.client("bot", "Services", path="/support")
    session = machine.post("/sessions", json={"user_id": "u-1"}).json()
    place = f"/sessions/{session['session_id']}"
    return Change(machine, place, "DELETE", place, _always(None), 204)


# -- Calls ----------------------------------------------------------------------------------------------------------


def _call_change(served: Served, part: str, body: Callable[[int], Body]) -> Change:
    staff = served.client("cleo", "Schedulers", path="/calls")
    place = f"/calls/{schedule(staff)['callId']}"
    return Change(staff, place, "PUT", f"{place}/{part}", body, params=CONSISTENT, unseen=422)


def a_call_status(served: Served) -> Change:
    return _call_change(served, "status", _always({"status": "COMPLETED"}))


def a_new_time(served: Served) -> Change:
    return _call_change(served, "schedule", lambda number: {"scheduledFor": NOON + HOUR + number})


def another_user(served: Served) -> Change:
    return _call_change(served, "user", lambda number: {"userId": new_id("u")})


def another_provider(served: Served) -> Change:
    return _call_change(served, "provider", lambda number: {"providerId": new_id("p")})


def a_cancellation(served: Served) -> Change:
    staff = served.client("cleo", "Schedulers", path="/calls")
    place = f"/calls/{schedule(staff)['callId']}"
    return Change(staff, place, "DELETE", place, _always(None), 204, params=CONSISTENT, unseen=422, stays=True)


def a_call_deletion(served: Served) -> Change:
    admin = served.client("root", "Admins", path="/calls")
    place = f"/calls/{schedule(admin)['callId']}"
    assert admin.delete(place, params={"version": 1}).status_code == 204
    return Change(admin, place, "DELETE", place, _always(None), 204, params=CONSISTENT, unseen=422)


# -- Tasks ----------------------------------------------------------------------------------------------------------


def task_details(served: Served) -> Change:
    team = Team(served)
    place = f"/tasks/{team.task()}"
    return Change(team.admin, place, "PATCH", place, lambda number: {"title": f"No. {number}", "priority": "LOW"})


def a_task_status(served: Served) -> Change:
    team = Team(served)
    place = f"/tasks/{team.task()}"
    targets = "IN_PROGRESS", "CLOSED"
    return Change(team.admin, place, "PUT", f"{place}/status", lambda number: {"status": targets[number % 2]})


def a_task_seen_in_full(served: Served) -> Change:
    team = Team(served)
    task_id = team.task()
    team.assign(task_id, team.member("grace"))
    return Change(
        team.admin,
        f"/tasks/{task_id}/full",
        "PUT",
        f"/tasks/{task_id}/status",
        lambda number: {"status": ("IN_PROGRESS", "CLOSED")[number % 2]},
    )


def an_attachment(served: Served) -> Change:
    team = Team(served)
    place = f"/tasks/{team.task()}/attachments"
    made = team.admin.post(place, json={"name": "plan.txt", "content": "aGVsbG8="}).json()
    return Change(
        team.admin, f"{place}/{made['attachmentId']}", "DELETE", f"{place}/{made['attachmentId']}", _always(None), 204
    )


def user_details(served: Served) -> Change:
    team = Team(served)
    place = f"/users/{team.member('grace')}"
    groups = ["Members", "Admins"]
    return Change(
        team.admin, place, "PATCH", place, lambda number: {"email": f"g{number}@example.org", "groups": groups}
    )


def a_deactivation(served: Served) -> Change:
    team = Team(served)
    place = f"/users/{team.member('grace')}"
    return Change(team.admin, place, "POST", f"{place}/deactivate", _always(None))


def a_reactivation(served: Served) -> Change:
    team = Team(served)
    place = f"/users/{team.member('grace')}"
    assert team.admin.post(f"{place}/deactivate").status_code == 200
    return Change(team.admin, place, "POST", f"{place}/reactivate", _always(None))


# -- Engagement -----------------------------------------------------------------------------------------------------


def _program(served: Served, **changes: Any) -> Programme:
    return Programme(served, served.client("root", "Admins", path="/engagement"), **changes)


def a_program(served: Served) -> Change:
    made = _program(served)
    return Change(
        made.admin,
        made.path,
        "PUT",
        made.path,
        lambda number: {**made.body, "programName": f"No. {number}"},
        params=CONSISTENT,
    )


def a_switch(served: Served) -> Change:
    made = _program(served)
    return Change(made.admin, made.path, "POST", f"{made.path}/disable", _always(None), params=CONSISTENT)


def a_request_for_approval(served: Served) -> Change:
    made = _program(served, approved=False)
    return Change(made.admin, made.path, "POST", f"{made.path}/approval/request", _always(None), params=CONSISTENT)


def _requested(served: Served) -> tuple[Programme, httpx.Client, dict[str, Any]]:
    made = _program(served, approved=False)
    approver = served.client("vera", "Approvers", path="/engagement")
    return made, approver, {"version": made.admin.post(f"{made.path}/approval/request").json()["version"]}


def an_approval(served: Served) -> Change:
    made, approver, body = _requested(served)
    return Change(approver, made.path, "POST", f"{made.path}/approval/approve", _always(body), params=CONSISTENT)


def a_refusal_of_approval(served: Served) -> Change:
    made, approver, body = _requested(served)
    body = {**body, "reason": "too often"}
    return Change(approver, made.path, "POST", f"{made.path}/approval/decline", _always(body), params=CONSISTENT)


def _candidate(served: Served) -> tuple[Programme, str]:
    made = _program(served)
    made.run()
    return made, f"{made.path}/customers/c-1/candidates/program/{made.id}"


def a_rejection(served: Served) -> Change:
    made, place = _candidate(served)
    body = {"reason": "asked us not to"}
    return Change(made.admin, place, "POST", f"{place}/reject", _always(body), params=CONSISTENT)


def a_candidate_deletion(served: Served) -> Change:
    made, place = _candidate(served)
    return Change(made.admin, place, "DELETE", place, _always(None), 204, params=CONSISTENT)


def first_preferences(served: Served) -> Change:
    admin = served.client("root", "Admins", path="/engagement")
    place = f"/customers/{new_id('c')}/preferences"
    hours = {"start": "22:00", "end": "07:00"}

    def body(number: int) -> Body:
        return {"optedOut": False, "channelsOff": [f"channel-{number}"], "quietHours": hours}

    return Change(admin, place, "PUT", place, body)


def further_preferences(served: Served) -> Change:
    change = first_preferences(served)
    assert change.client.put(change.place, json={"optedOut": True}).status_code == 200
    return change


def some_preferences(served: Served) -> Change:
    change = further_preferences(served)
    return Change(
        change.client, change.place, "PATCH", change.place, lambda number: {"channelsOff": [f"channel-{number}"]}
    )


def a_run_deletion(served: Served) -> Change:
    made = _program(served)
    place = f"{made.path}/runs/{made.run()['runId']}"
    return Change(made.admin, place, "DELETE", place, _always(None), 204)


def a_run_cancellation(served: Served) -> Change:
    made = _program(served)
    # Its source is gone, so that the run fails.
    made.file.unlink()
    place = f"{made.path}/runs/{made.run()['runId']}"
    return Change(made.admin, place, "POST", f"{place}/cancel", _always(None))
