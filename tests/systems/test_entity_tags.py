"""ETag, ``If-Match`` and ``If-None-Match`` do the same for every thing that can be changed, in all five systems."""

from __future__ import annotations

import httpx
import pytest

from tests.systems import tagged_changes as changes
from tests.systems.harness import Served, at_once
from tests.systems.slow_reads import slow_reads
from tests.systems.tagged_changes import Change, MakeChange

CHANGES = [
    changes.a_desk_status,
    changes.a_desk_assignment,
    changes.a_desk_priority,
    changes.a_taken_ticket,
    changes.a_comment,
    changes.a_support_status,
    changes.an_escalation,
    changes.a_reassignment,
    changes.an_assignment,
    changes.a_priority,
    changes.a_payload,
    changes.a_large_payload,
    changes.a_cache_entry,
    changes.a_cache_deletion,
    changes.a_session_end,
    changes.a_call_status,
    changes.a_new_time,
    changes.another_user,
    changes.another_provider,
    changes.a_cancellation,
    changes.a_call_deletion,
    changes.task_details,
    changes.a_task_status,
    changes.an_attachment,
    changes.a_task_seen_in_full,
    changes.user_details,
    changes.a_deactivation,
    changes.a_reactivation,
    changes.a_program,
    changes.a_switch,
    changes.a_request_for_approval,
    changes.an_approval,
    changes.a_refusal_of_approval,
    changes.a_rejection,
    changes.a_candidate_deletion,
    changes.first_preferences,
    changes.further_preferences,
    changes.some_preferences,
    changes.a_run_deletion,
    changes.a_run_cancellation,
]
every_change = pytest.mark.parametrize("make", CHANGES)

STALE = '"0123456789abcdef0123456789abcdef"'


def refused(change: Change, if_match: str) -> None:
    """The change is refused, and nothing has become of it."""
    before = change.read()
    response = change.send(if_match)
    assert (response.status_code, response.json()["type"]) == (412, "/problems/precondition-failed"), response.text
    assert "read it again" in response.json()["detail"]
    assert "ETag" not in response.headers
    after = change.read()
    assert (after.content, after.headers["ETag"]) == (before.content, before.headers["ETag"])


def shows_the_new(changed: httpx.Response, tag: str) -> None:
    """The response to a change has the new tag, unless it can be a stored one, of an earlier request."""
    # That of a whole begins with that of the thing.
    if "ETag" in changed.headers:
        assert changed.headers["ETag"].strip('"') == tag.strip('"').partition(".")[0]


@every_change
def test_a_matching_if_none_match_gets_304(served: Served, make: MakeChange) -> None:
    change = make(served)
    tag = change.tag()
    assert change.tag() == tag
    for held in (tag, f"W/{tag}", f'"another", {tag}', "*"):
        response = change.read(If_None_Match=held)
        assert (response.status_code, response.content, response.headers["ETag"]) == (304, b"", tag), held
    assert change.read(If_None_Match=STALE).status_code == 200


@every_change
@pytest.mark.requirement("SD8", "CA4", "CA7", "TM5", "SU4")
def test_a_change_is_made_of_what_was_seen(served: Served, make: MakeChange) -> None:
    change = make(served)
    seen = change.tag()
    for stale in (STALE, f"W/{seen}", f'{STALE}, "another"'):
        refused(change, stale)
    changed = change.send(f"{STALE}, {seen}")
    assert changed.status_code == change.status, changed.text
    if change.method == "DELETE":
        assert change.read().status_code == (200 if change.stays else 404)
        return
    now = change.tag()
    assert now != seen
    shows_the_new(changed, now)
    refused(change, seen)


@every_change
@pytest.mark.requirement("SD8", "CA4", "CA7", "TM5", "SU4")
def test_of_many_who_saw_the_same_one_wins(served: Served, make: MakeChange, monkeypatch: pytest.MonkeyPatch) -> None:
    change = make(served)
    seen = change.tag()
    slow_reads(monkeypatch)
    responses = at_once(12, lambda number: change.send(seen, number))
    won = [response for response in responses if response.status_code == change.status]
    assert len(won) == 1, [response.text for response in responses]
    gone = {404} if change.method == "DELETE" else set()
    assert {response.status_code for response in responses} <= {change.status, 412, *gone}


@every_change
@pytest.mark.parametrize("if_match", ["*", None])
def test_any_state_will_do_for_a_star_or_nothing(served: Served, make: MakeChange, if_match: str | None) -> None:
    change = make(served)
    changed = change.send(if_match)
    if if_match is None and change.unseen is not None:
        assert changed.status_code == change.unseen
        return
    assert changed.status_code == change.status
    if change.method != "DELETE":
        shows_the_new(changed, change.tag())


@every_change
def test_a_tag_without_quotes_is_invalid(served: Served, make: MakeChange) -> None:
    change = make(served)
    response = change.send(change.tag().strip('"'))
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "header.If-Match"), response.text


# -- what is described ----------------------------------------------------------------------------------------------

SYSTEMS = ("servicedesk", "support", "engagement", "calls", "tasks")
# Changes without If-Match: nothing of what they change can be read by itself.
WITHOUT_TAG = {
    ("delete", "/tasks/{taskId}/assignments/{userId}"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_can_be_changed_has_a_tag_and_says_so(served: Served, name: str) -> None:
    paths = served.client().get(f"/{name}/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            headers = {each["name"] for each in operation.get("parameters", ())}
            if method in ("put", "patch", "delete") and (method, path) not in WITHOUT_TAG:
                assert "If-Match" in headers, (method, path)
            if "If-Match" in headers:
                assert "412" in operation["responses"], (method, path)
            if "If-None-Match" in headers:
                assert method == "get", path
                assert "ETag" in operation["responses"]["200"]["headers"], path
                assert "304" in operation["responses"], path
        # What is changed in place is read in place.
        if {"put", "patch", "delete"} & operations.keys() and "get" in operations:
            found = {each["name"] for each in operations["get"].get("parameters", ())}
            assert "If-None-Match" in found, path
