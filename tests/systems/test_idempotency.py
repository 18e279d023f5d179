"""Idempotency-Key does the same for every POST of Service Desk, Calls and Tasks, whatever else makes it safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.runtime.idempotency import KeyedRequest
from tablewright.runtime.internal_tables import internal_table
from tablewright.systems.servicedesk.model import tickets
from tests.systems import raw
from tests.systems.calls.planner import NOON, changed, new_id
from tests.systems.harness import Served, at_once
from tests.systems.servicedesk.desk import open_ticket
from tests.systems.tasks.team import TASK, Team

SYSTEMS = ("servicedesk", "calls", "tasks")


@dataclass(frozen=True, slots=True)
class Post:
    """A request, and others that are like it but not the same."""

    client: httpx.Client
    path: str
    body: dict[str, Any] | None
    others: tuple[tuple[str, dict[str, Any] | None], ...]
    status: int = 201

    def send(self, key: str | None, path: str | None = None, body: dict[str, Any] | None = None) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        if path is None:
            path, body = self.path, self.body
        return self.client.post(path, headers=headers, json=body)


def a_ticket(served: Served) -> Post:
    agent = served.client("voice-agent", "Services", path="/servicedesk")
    body = {"caller_id": "c", "issue_description": "no sound"}
    return Post(agent, "/tickets", body, (("/tickets", {**body, "caller_id": "d"}),))


def a_comment(served: Served) -> Post:
    agent = served.client("voice-agent", "Services", path="/servicedesk")
    path, other = (f"/tickets/{open_ticket(agent)['ticket_id']}/comments" for _ in range(2))
    body = {"comment_text": "The password is hunter2, and it still hums"}
    return Post(agent, path, body, ((path, {"comment_text": "It hums no more"}), (other, body)))


def a_call(served: Served) -> Post:
    staff = served.client("cleo", "Members", path="/calls")
    body = {"userId": new_id("u"), "providerId": "p", "scheduledFor": NOON}
    others = {**body, "scheduledFor": NOON + 1}, {**body, "callId": new_id("c")}
    return Post(staff, "/calls", body, tuple(("/calls", other) for other in others))


def a_named_call(served: Served) -> Post:
    plain = a_call(served)
    assert plain.body is not None
    body = {**plain.body, "callId": new_id("c")}
    others = plain.body, {**body, "callId": new_id("c")}, {**body, "providerId": "p-2"}
    return replace(plain, body=body, others=tuple(("/calls", other) for other in others))


def a_task(served: Served) -> Post:
    return Post(Team(served).admin, "/tasks", TASK, (("/tasks", {**TASK, "title": "Another"}),))


def an_assignment(served: Served) -> Post:
    team = Team(served)
    grace, linus = team.member("grace"), team.member("linus")
    path, other = (f"/tasks/{team.task()}/assign" for _ in range(2))
    body = {"userId": grace}
    return Post(team.admin, path, body, ((path, {"userId": linus}), (other, body)), 200)


def a_user(served: Served) -> Post:
    team = Team(served)
    body = {"userId": new_id("u"), "email": "member@example.org", "groups": ["Members", "Admins"]}
    others = {**body, "userId": new_id("u")}, {**body, "groups": ["Members"]}
    return Post(team.admin, "/users", body, tuple(("/users", other) for other in others))


def a_deactivation(served: Served) -> Post:
    team = Team(served)
    grace, linus = team.member("grace"), team.member("linus")
    others = (f"/users/{linus}/deactivate", None), (f"/users/{grace}/reactivate", None)
    return Post(team.admin, f"/users/{grace}/deactivate", None, others, 200)


def a_reactivation(served: Served) -> Post:
    deactivation = a_deactivation(served)
    assert deactivation.send(None).status_code == 200
    path = deactivation.path.replace("deactivate", "reactivate")
    return replace(deactivation, path=path, others=((deactivation.path, None),))


POSTS = [a_ticket, a_comment, a_call, a_named_call, a_task, an_assignment, a_user, a_deactivation, a_reactivation]
Made = Callable[[Served], Post]


@pytest.mark.parametrize("made", POSTS)
def test_the_same_request_under_a_key_is_carried_out_once(served: Served, made: Made) -> None:
    post, key = made(served), uuid4().hex
    answers = at_once(6, lambda _: post.send(key))
    assert [answer.status_code for answer in answers] == [post.status] * 6, answers[-1].text
    assert [answer.json() for answer in answers] == [answers[0].json()] * 6
    assert post.send(key).json() == answers[0].json()


@pytest.mark.parametrize("made", POSTS)
def test_another_request_under_the_key_is_refused_and_does_nothing(served: Served, made: Made) -> None:
    post, key = made(served), uuid4().hex
    first = post.send(key)
    assert first.status_code == post.status, first.text
    for path, body in post.others:
        answer = post.send(key, path, body)
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/idempotency-mismatch"), answer.text
        assert key in answer.json()["detail"]
    assert post.send(key).json() == first.json()


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_post_says_that_it_takes_a_key(served: Served, name: str) -> None:
    description = served.client().get(f"/{name}/openapi.json").json()
    posts = {path: methods["post"] for path, methods in description["paths"].items() if "post" in methods}
    assert posts
    for path, post in posts.items():
        assert "Idempotency-Key" in [each["name"] for each in post.get("parameters", ())], path
        assert {"409", "422"} <= post["responses"].keys(), path


@pytest.mark.requirement("SD4")
def test_a_comment_that_is_sent_again_is_there_once_and_others_between_them_stay(served: Served) -> None:
    post, key = a_comment(served), uuid4().hex
    first = post.send(key).json()
    assert first["masked"]
    assert len(post.send(None).json()["comments"]) == 2
    again = post.send(key).json()
    assert (len(again["comments"]), again["masked"]) == (2, first["masked"])
    other = served.client("somebody-else", "Services", path="/servicedesk")
    assert len(replace(post, client=other).send(key).json()["comments"]) == 3


@pytest.mark.requirement("SD4")
def test_many_comments_under_keys_of_their_own_are_all_kept(served: Served) -> None:
    agent = served.client("voice-agent", "Services", path="/servicedesk")
    path = f"/tickets/{open_ticket(agent)['ticket_id']}/comments"

    def comment(number: int) -> int:
        body, headers = {"comment_text": f"comment {number}"}, {"Idempotency-Key": f"{path}/{number}"}
        return agent.post(path, json=body, headers=headers).status_code

    assert at_once(40, comment) == [201] * 40
    comments = agent.get(path.removesuffix("/comments")).json()["comments"]
    assert sorted(each["comment_text"] for each in comments) == sorted(f"comment {number}" for number in range(40))


@pytest.mark.requirement("SD7")
def test_what_is_refused_leaves_the_key_free(served: Served) -> None:
    agent = served.client("voice-agent", "Services", path="/servicedesk")
    key = {"Idempotency-Key": uuid4().hex}
    unknown = f"/tickets/{uuid4()}/comments"
    assert agent.post(unknown, json={"comment_text": "hello"}, headers=key).status_code == 404
    ticket_id = open_ticket(agent)["ticket_id"]
    raw.spoil(served, tickets, {"ticket_id": {"S": ticket_id}}, issue_description={"S": "x" * 380_000})
    full = agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": "y" * 40_000}, headers=key)
    assert (full.status_code, full.json()["type"]) == (413, "/problems/too-large"), full.text
    assert "open another ticket" in full.json()["detail"]
    assert agent.get(f"/tickets/{ticket_id}").json()["comments"] == []
    assert agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": "y"}, headers=key).status_code == 201


@pytest.mark.requirement("TM4")
def test_what_was_done_under_a_key_is_not_done_again_after_it_was_undone(served: Served) -> None:
    post, key = an_assignment(served), uuid4().hex
    post.send(key)
    grace = post.body["userId"] if post.body else ""
    place = post.path.replace("assign", f"assignments/{grace}")
    assert post.client.delete(place).status_code == 204
    again = post.send(key)
    assert (again.status_code, "taken away since" in again.json()["detail"]) == (409, True)
    assert post.send(None).status_code == 200

    deactivation, key = a_deactivation(served), uuid4().hex
    deactivation.send(key)
    back = deactivation.client.post(deactivation.path.replace("deactivate", "reactivate")).json()
    assert (back["status"], deactivation.send(key).json()) == ("ACTIVE", back)

    call, key = a_named_call(served), uuid4().hex
    made = call.send(key).json()
    made = changed(call.client, made, "provider", providerId="p-3")
    assert call.send(key).json() == made
    gone = call.client.delete(f"/calls/{made['callId']}", params={"version": made["version"]})
    assert gone.status_code == 204
    again = call.send(key)
    assert (again.status_code, "not there any more" in again.json()["detail"]) == (409, True)
    assert call.client.get(f"/calls/{made['callId']}").status_code == 404


def test_a_natural_key_does_what_it_did(served: Served) -> None:
    call = a_named_call(served)
    first = call.send(None).json()
    assert call.send(uuid4().hex).json() == first
    taken = call.send(uuid4().hex, "/calls", {**(call.body or {}), "providerId": "p-9"})
    assert (taken.status_code, taken.json()["type"]) == (409, "/problems/already-exists")
    for post in (an_assignment(served), a_user(served)):
        assert post.send(uuid4().hex).status_code == post.status
        taken = post.send(uuid4().hex)
        assert (taken.status_code, taken.json()["type"]) == (409, "/problems/already-exists")


def test_what_is_remembered_of_a_key_says_nothing_of_it(served: Served) -> None:
    post, key = a_comment(served), uuid4().hex
    post.send(key)
    kept = [item for item in raw.items(served, internal_table) if item["kind"] == {"S": KeyedRequest.__name__}]
    assert kept
    for word in (key, "voice-agent", "hums", "hunter2"):
        assert not any(word in str(item) for item in kept)
    assert all("ttl" in item for item in kept)
