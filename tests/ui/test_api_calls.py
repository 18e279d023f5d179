"""Screens make the calls of the APIs for whoever signed in, by the rules of the APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tablewright.runtime import Caller, Runtime, Settings, application, calls_of
from tablewright.runtime.http.application import prepare
from tablewright.systems import load
from tablewright.ui.api_calls import Api, Refused, SignedOut
from tablewright.ui.applications import Calls
from tablewright.ui.identity.session_cookie import Sessions
from tests.clocks import Clock

pytestmark = pytest.mark.requirement("AP1")

ADMIN, MEMBER = frozenset({"tasks:Admins"}), frozenset({"tasks:Members"})
TASK = {"title": "Fix it", "description": "It hums.", "priority": "LOW"}


def with_api(work: Callable[[Callable[[str, frozenset[str]], Api], Sessions], Awaitable[None]]) -> None:
    settings: dict[str, Any] = {"memory": True, "log_level": "ERROR"}
    systems = load("tasks")
    runtime = Runtime.open(Settings(**settings), systems)
    sessions = Sessions(b"s" * 32, 8, Clock())

    async def main() -> None:
        app = application(runtime, systems)
        await prepare(runtime, systems)
        calls = Calls(calls_of(systems[0]))

        def api(user_id: str, roles: frozenset[str]) -> Api:
            session, _ = sessions.begin(Caller(user_id, f"{user_id}@example.org", roles), user_id)
            return Api(app, "tasks", calls, session, sessions)

        await work(api, sessions)

    try:
        asyncio.run(main())
    finally:
        runtime.close()


def test_a_call_is_made_by_its_name_with_what_was_seen() -> None:
    async def work(api: Callable[[str, frozenset[str]], Api], _: Sessions) -> None:
        ada = api("ada", ADMIN)
        made = await ada.call("create_task", body=TASK, key="one")
        again = await ada.call("create_task", body=TASK, key="one")
        assert (made.status, made.body) == (201, again.body)
        found = await ada.call("get_task", taskId=made.body["taskId"])
        assert found.etag is not None
        changed = await ada.call("change_task", taskId=made.body["taskId"], body={"priority": "HIGH"}, seen=found.etag)
        assert changed.body["priority"] == "HIGH"
        with pytest.raises(Refused) as stale:
            await ada.call("change_task", taskId=made.body["taskId"], body={"priority": "LOW"}, seen=found.etag)
        assert (stale.value.status, stale.value.kind, stale.value.is_conflict) == (412, "precondition-failed", True)
        listed = await ada.call("list_tasks", status="OPEN", newestFirst=True, limit=1, cursor=None)
        assert [task["taskId"] for task in listed.body["tasks"]] == [made.body["taskId"]]
        audit = await ada.call("audit", taskId=made.body["taskId"])
        latest = audit.body["audit"][0]
        assert (latest["by"], latest["call"]) == ("ada", "change_task")

    with_api(work)


def test_what_is_offered_and_what_is_allowed_are_the_same() -> None:
    async def work(api: Callable[[str, frozenset[str]], Api], _: Sessions) -> None:
        grace = api("grace", MEMBER)
        assert grace.may("list_tasks", "get_task")
        assert not grace.may("list_tasks", "create_task")
        with pytest.raises(Refused) as refused:
            await grace.call("create_task", body=TASK)
        assert (refused.value.status, refused.value.kind) == (403, "forbidden")
        assert "tasks:Admins" in refused.value.detail
        with pytest.raises(KeyError):
            grace.may("no_such_call")

    with_api(work)


def test_errors_are_reported_by_field() -> None:
    async def work(api: Callable[[str, frozenset[str]], Api], _: Sessions) -> None:
        ada = api("ada", ADMIN)
        with pytest.raises(Refused) as refused:
            await ada.call("create_task", body={**TASK, "title": "", "priority": "NONE"})
        assert refused.value.fields.keys() == {"title", "priority"}
        made = await ada.call("create_task", body=TASK)
        with pytest.raises(Refused) as unknown:
            await ada.call("assign_task", taskId=made.body["taskId"], body={"userId": "nobody"})
        assert unknown.value.fields == {"userId": "there is no user nobody"}

    with_api(work)


@pytest.mark.parametrize("task_id", ["a/b", "a b", "a%2Fb", "../users", "ü?x=1#y"])
def test_a_value_in_a_path_is_one_step_of_it(task_id: str) -> None:
    async def work(api: Callable[[str, frozenset[str]], Api], _: Sessions) -> None:
        with pytest.raises(Refused) as refused:
            await api("ada", ADMIN).call("get_task", taskId=task_id)
        assert refused.value.status == 404

    with_api(work)


def test_a_deactivated_user_is_refused_at_once_regardless_of_the_session() -> None:
    async def work(api: Callable[[str, frozenset[str]], Api], _: Sessions) -> None:
        ada, grace = api("ada", ADMIN), api("grace", MEMBER)
        body = {"userId": "grace", "email": "grace@example.org", "groups": ["Members"]}
        await ada.call("create_user", body=body)
        await grace.call("list_tasks", status="OPEN")
        await ada.call("deactivate_user", userId="grace")
        with pytest.raises(Refused, match="deactivated"):
            await grace.call("list_tasks", status="OPEN")

    with_api(work)


def test_nothing_is_sent_after_signing_out() -> None:
    async def work(api: Callable[[str, frozenset[str]], Api], sessions: Sessions) -> None:
        ada = api("ada", ADMIN)
        await sessions.end(ada.session)
        with pytest.raises(SignedOut):
            await ada.call("list_tasks", status="OPEN")

    with_api(work)
