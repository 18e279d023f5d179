"""``Idempotency-Key`` does the same for every POST that takes one, in all five systems."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tablewright.runtime.idempotency import KeyedRequest
from tablewright.runtime.internal_tables import internal_table
from tablewright.store.backends.embedded_backend import EmbeddedBackend
from tablewright.store.backends.endpoint_backend import EndpointBackend
from tablewright.store.flow.driver import Request
from tablewright.systems.servicedesk.model import tickets
from tablewright.systems.support import model as support
from tests.systems import keyed_posts as posts
from tests.systems import stored_items
from tests.systems.calls.call_clients import changed, new_id
from tests.systems.dying_backend import Died
from tests.systems.harness import Served, at_once
from tests.systems.keyed_posts import MakePost
from tests.systems.servicedesk.desk import open_ticket

SYSTEMS = ("servicedesk", "support", "engagement", "calls", "tasks")
# POSTs that have no key: they only read, are harmless to repeat, or are refused by the state that the first one left.
WITHOUT_KEY = {
    "servicedesk": {"/tickets/{ticket_id}/take"},
    # A secret, which is stored nowhere.
    "calls": {"/users/{userId}/calendar/address"},
    "support": {
        "/tickets/batch-get",
        "/tickets/{ticket_id}/status",
        "/tickets/{ticket_id}/escalate",
        "/tickets/{ticket_id}/events",
        "/sessions",
        "/metrics/rebuild",
        "/maintenance/{job}",
    },
    "engagement": {
        "/programs/check",
        "/programs/{program_id}/marketplaces/{marketplace_id}/dry-run",
        "/programs/{program_id}/marketplaces/{marketplace_id}/preview",
        "/programs/{program_id}/marketplaces/{marketplace_id}/approval/request",
        "/programs/{program_id}/marketplaces/{marketplace_id}/approval/approve",
        "/programs/{program_id}/marketplaces/{marketplace_id}/approval/decline",
        "/programs/{program_id}/marketplaces/{marketplace_id}/enable",
        "/programs/{program_id}/marketplaces/{marketplace_id}/disable",
        "/programs/{program_id}/marketplaces/{marketplace_id}/customers/{customer_id}/candidates/"
        "{subject_type}/{subject_id}/reject",
        "/programs/{program_id}/marketplaces/{marketplace_id}/runs/{run_id}/stop",
        "/programs/{program_id}/marketplaces/{marketplace_id}/runs/{run_id}/cancel",
        "/programs/{program_id}/marketplaces/{marketplace_id}/runs/{run_id}/resume",
        "/programs/{program_id}/marketplaces/{marketplace_id}/deliveries",
        "/programs/{program_id}/marketplaces/{marketplace_id}/deliveries/retry",
        "/unsubscribe/{token}",
    },
}
POSTS = [
    posts.a_ticket,
    posts.a_comment,
    posts.a_support_ticket,
    posts.a_feedback,
    posts.a_message_to_a_customer,
    posts.a_note,
    posts.a_call,
    posts.a_named_call,
    posts.a_task,
    posts.an_assignment,
    posts.a_task_comment,
    posts.an_attachment,
    posts.a_user,
    posts.a_deactivation,
    posts.a_reactivation,
    posts.a_run,
    posts.an_event,
]

every_post = pytest.mark.parametrize("make", POSTS)


def dying(monkeypatch: pytest.MonkeyPatch, *, committed: bool) -> None:
    """Have the process die at the next transaction: before it is sent, or before anybody gets the answer."""
    alive = [True]

    def dies(request: Request) -> bool:
        if request.operation != "TransactWriteItems" or "request_digest" not in str(request.body):
            return False
        died, alive[0] = alive[0], False
        return died

    def patch(backend: type[Any]) -> None:
        call, call_async = backend.call, backend.call_async

        def dying_call(self: Any, request: Request) -> Any:
            dead = dies(request)
            if dead and not committed:
                raise Died
            response = call(self, request)
            if dead:
                raise Died
            return response

        async def dying_call_async(self: Any, request: Request) -> Any:
            dead = dies(request)
            if dead and not committed:
                raise Died
            response = await call_async(self, request)
            if dead:
                raise Died
            return response

        monkeypatch.setattr(backend, "call", dying_call)
        monkeypatch.setattr(backend, "call_async", dying_call_async)

    patch(EmbeddedBackend)
    patch(EndpointBackend)


def sent(send: Callable[[], httpx.Response]) -> int | None:
    """The status of a response; None where the connection ended without one."""
    try:
        return send().status_code
    except httpx.TransportError:
        return None


@every_post
@pytest.mark.requirement("SD2", "SU9", "CA1", "CE8", "CE9", "TM3", "TM4")
def test_the_same_request_gets_the_stored_response_word_for_word(served: Served, make: MakePost) -> None:
    post, key = make(served), uuid4().hex
    first = post.send(key)
    assert first.status_code == post.status, first.text
    once = post.count()
    for _ in range(2):
        again = post.send(key)
        assert (again.status_code, again.content) == (first.status_code, first.content)
    assert post.count() == once


@every_post
@pytest.mark.requirement("SD2", "SU9", "CA1", "CE8", "CE9", "TM3", "TM4")
def test_another_request_under_the_key_is_refused_and_has_no_effect(served: Served, make: MakePost) -> None:
    post, key = make(served), uuid4().hex
    first = post.send(key)
    assert first.status_code == post.status, first.text
    once = post.count()
    for path, body in post.others:
        response = post.send(key, path, body)
        assert (response.status_code, response.json()["type"]) == (422, "/problems/idempotency-mismatch"), response.text
        assert f"the idempotency key {key} was used before, for another " in response.json()["detail"]
    assert post.count() == once
    assert post.send(key).content == first.content


@every_post
@pytest.mark.requirement("SD2", "SU9", "SU14", "CA1", "CE8", "CE9", "TM3", "TM4")
def test_a_key_belongs_to_its_caller(served: Served, make: MakePost) -> None:
    post, key = make(served), uuid4().hex
    first = post.send(key)
    post.count()
    path, body = post.others[0]
    somebody = post.send(key, path, body, by=post.client(f"somebody-{uuid4().hex[:8]}"))
    assert somebody.status_code == post.status, somebody.text
    assert post.send(key).content == first.content


@every_post
@pytest.mark.requirement("SD2", "SU9", "CA1", "CE8", "CE9", "TM3", "TM4")
def test_duplicates_at_the_same_time_have_one_effect_and_one_response(served: Served, make: MakePost) -> None:
    post, key = make(served), uuid4().hex
    client = post.client()
    responses = at_once(8, lambda _: post.send(key, by=client))
    assert [response.status_code for response in responses] == [post.status] * 8, responses[-1].text
    assert {response.content for response in responses} == {responses[0].content}
    assert post.count() == 1


@every_post
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.requirement("SD2", "SU9", "CA1", "CE8", "CE9", "TM3", "TM4")
def test_a_process_that_dies_at_the_transaction_leaves_all_or_nothing(
    served: Served, make: MakePost, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, key = make(served), uuid4().hex
    before = post.count()
    with monkeypatch.context() as patched:
        dying(patched, committed=committed)
        assert sent(lambda: post.send(key)) in (None, 500)
    # Leases of the dead run out.
    served.clock.advance(61)
    assert post.count() - before == committed
    retried = post.send(key)
    assert retried.status_code == post.status, retried.text
    assert post.count() - before == 1
    assert post.send(key).content == retried.content


@every_post
@pytest.mark.requirement("SD2", "SU9", "CA1", "CE8", "CE9", "TM3", "TM4")
def test_a_key_is_good_for_a_day(served: Served, make: MakePost) -> None:
    post, key = make(served), uuid4().hex
    path, body = post.others[0]
    assert post.send(key).status_code == post.status
    served.clock.advance(24 * 3600 - 60)
    assert post.send(key, path, body).status_code == 422
    served.clock.advance(61)
    assert post.send(key, path, body).status_code == post.status


@every_post
def test_without_a_key_nothing_is_stored_for_it(served: Served, make: MakePost) -> None:
    post = make(served)
    before = {str(item["idempotency_key"]) for item in records(served)}
    assert post.send(None).status_code == post.status
    assert {str(item["idempotency_key"]) for item in records(served)} <= before
    post.count()


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_post_says_whether_it_takes_a_key(served: Served, name: str) -> None:
    description = served.client().get(f"/{name}/openapi.json").json()
    found = {path: methods["post"] for path, methods in description["paths"].items() if "post" in methods}
    without = {
        path
        for path, post in found.items()
        if "Idempotency-Key" not in [each["name"] for each in post.get("parameters", ())]
    }
    assert without == WITHOUT_KEY.get(name, set())
    for path in found.keys() - without:
        assert {"409", "422"} <= found[path]["responses"].keys(), path


# -- what a replay shows when the world has changed since -------------------------------------------------------------


@pytest.mark.requirement("SD2", "SD4")
def test_a_replay_shows_nothing_that_happened_since(served: Served) -> None:
    agent = served.client("sam", "Agents", path="/servicedesk")
    opened, commented = posts.a_ticket(served), posts.a_comment(served)
    keys = uuid4().hex, uuid4().hex
    first, second = opened.send(keys[0]), commented.send(keys[1])
    assert second.json()["masked"]
    agent.post(f"/tickets/{first.json()['ticket_id']}/comments", json={"comment_text": "Checked the cable"})
    assert len(commented.send(None).json()["comments"]) == 2
    assert opened.send(keys[0]).content == first.content
    assert commented.send(keys[1]).content == second.content
    # Nor does it need what it is about to be readable.
    stored_items.spoil(served, tickets, {"ticket_id": {"S": first.json()["ticket_id"]}}, created_at={"S": "yesterday"})
    assert opened.send(keys[0]).content == first.content


@pytest.mark.requirement("TM4")
def test_what_was_undone_is_not_done_again_by_a_replay(served: Served) -> None:
    post, key = posts.an_assignment(served), uuid4().hex
    first, client = post.send(key), post.client()
    place = f"{post.path.removesuffix('assign')}assignments/{first.json()['userId']}"
    assert client.delete(place).status_code == 204
    assert (post.send(key).content, post.count()) == (first.content, 0)
    assert (post.send(None).status_code, post.count()) == (200, 1)

    post, key = posts.a_deactivation(served), uuid4().hex
    first = post.send(key)
    assert post.send(None, post.path.replace("deactivate", "reactivate")).json()["status"] == "ACTIVE"
    assert (post.send(key).content, post.count()) == (first.content, 0)


@pytest.mark.requirement("CA1")
def test_a_call_that_was_cancelled_is_not_scheduled_again_by_a_replay(served: Served) -> None:
    post, key = posts.a_named_call(served), uuid4().hex
    first, client = post.send(key), post.client()
    call = changed(client, first.json(), "provider", providerId=new_id("p"))
    assert post.send(key).content == first.content
    gone = client.delete(f"/calls/{call['callId']}", params={"version": call["version"]})
    assert gone.status_code == 204
    assert post.send(key).content == first.content
    assert client.get(f"/calls/{call['callId']}").json()["status"] == "CANCELLED"


@pytest.mark.requirement("CA1", "TM4")
def test_an_id_of_ones_own_does_what_it_does_without_a_key(served: Served) -> None:
    call = posts.a_named_call(served)
    first = call.send(None).json()
    assert call.send(uuid4().hex).json() == first
    taken = call.send(uuid4().hex, "/calls", {**(call.body or {}), "providerId": "p-9"})
    assert (taken.status_code, taken.json()["type"]) == (409, "/problems/already-exists")
    for post in (posts.an_assignment(served), posts.a_user(served)):
        assert post.send(uuid4().hex).status_code == post.status
        taken = post.send(uuid4().hex)
        assert (taken.status_code, taken.json()["type"]) == (409, "/problems/already-exists")


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SD7")
def test_what_is_refused_leaves_the_key_free(served: Served) -> None:
    agent = served.client("sam", "Agents", path="/servicedesk")
    key = {"Idempotency-Key": uuid4().hex}
    unknown = f"/tickets/{uuid4()}/comments"
    assert agent.post(unknown, json={"comment_text": "hello"}, headers=key).status_code == 404
    ticket_id = open_ticket(agent)["ticket_id"]
    stored_items.spoil(served, tickets, {"ticket_id": {"S": ticket_id}}, issue_description={"S": "x" * 380_000})
    full = agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": "y" * 40_000}, headers=key)
    assert (full.status_code, full.json()["type"]) == (413, "/problems/too-large"), full.text
    assert "open another ticket" in full.json()["detail"]
    assert agent.get(f"/tickets/{ticket_id}").json()["comments"] == []
    assert agent.post(f"/tickets/{ticket_id}/comments", json={"comment_text": "y"}, headers=key).status_code == 201


@pytest.mark.requirement("SD4")
def test_many_comments_under_keys_of_their_own_are_all_kept(served: Served) -> None:
    agent = served.client("sam", "Agents", path="/servicedesk")
    path = f"/tickets/{open_ticket(agent)['ticket_id']}/comments"

    def comment(number: int) -> int:
        body, headers = {"comment_text": f"comment {number}"}, {"Idempotency-Key": f"{path}/{number}"}
        return agent.post(path, json=body, headers=headers).status_code

    assert at_once(40, comment) == [201] * 40
    comments = agent.get(path.removesuffix("/comments")).json()["comments"]
    assert sorted(each["comment_text"] for each in comments) == sorted(f"comment {number}" for number in range(40))


# -- what is stored ---------------------------------------------------------------------------------------------------


def records(served: Served) -> list[stored_items.Item]:
    """The records of all keys."""
    own = [
        item for item in stored_items.items(served, support.tickets) if item.get("entity_type") == {"S": "idempotency"}
    ]
    return [
        *own,
        *(item for item in stored_items.items(served, internal_table) if item["kind"] == {"S": KeyedRequest.__name__}),
    ]


@pytest.mark.requirement("SU9")
def test_the_record_of_a_ticket_has_the_attributes_of_the_document(served: Served) -> None:
    post = posts.a_support_ticket(served)
    first = post.send(uuid4().hex).json()
    (record,) = [item for item in records(served) if item.get("ticket_id") == {"S": first["ticket_id"]}]
    assert record["PK"]["S"].startswith("IDEMPOTENCY#")
    assert record["SK"] == {"S": "METADATA"}
    assert json.loads(record["response"]["S"]) == first
    created = datetime.fromisoformat(record["created_at"]["S"])
    assert created == datetime.fromisoformat(first["created_at"])
    assert int(record["ttl"]["N"]) == int(created.timestamp()) + 24 * 3600


@pytest.mark.requirement("SU9", "SD6")
def test_a_record_tells_neither_key_nor_caller_nor_secrets(served: Served) -> None:
    key = uuid4().hex
    for make in (posts.a_comment, posts.a_support_ticket, posts.a_task):
        assert make(served).send(key).is_success
    stored = records(served)
    assert stored
    for word in (key, "hunter2"):
        assert not any(word in str(item) for item in stored)
    # A response names authors, to whoever sent the request.
    assert not any("voice-agent" in str({**item, "response": None}) for item in stored)
    assert all({"request_digest", "response", "ttl"} <= item.keys() for item in stored)
