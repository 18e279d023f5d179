"""Every address of every application, opened by everybody: who may not see a view gets nothing of it but that.

Who may see what comes from the declarations of views and calls alone. What a handler of a screen does is a call of the
API, so that the matrix of ``tests/runtime/http/test_authorisation.py`` holds for it; here it is only checked that
screens have no other way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import httpx
import pytest

import tablewright
from tablewright.runtime import Caller, calls_of
from tablewright.runtime.http.declared_calls import runtime_calls
from tablewright.systems import load, roles
from tablewright.ui.applications import Application, Calls
from tablewright.ui.screens import OTHERS
from tests.systems.harness import wait_for
from tests.ui.screen_browser import Screens

pytestmark = [pytest.mark.requirement("AP1")]

SYSTEMS = load()
CALLS = {"runtime": Calls(runtime_calls()), **{system.name: Calls(calls_of(system)) for system in SYSTEMS}}
MODULES = [*(system.screens for system in SYSTEMS if system.screens is not None), *OTHERS]
APPLICATIONS: list[Application] = [import_module(module).app for module in MODULES]
NOT_YOURS, NOTHING_HERE = "You do not have access to this page", "Page not found"


def demo_people() -> dict[str, Caller]:
    """The demo people, of whom each role has one."""
    found: dict[str, set[str]] = {}
    for system in SYSTEMS:
        for user in system.demo_users:
            found.setdefault(user.user_id, set()).update(role.name for role in user.roles)
    return {name: Caller(name, None, frozenset(given)) for name, given in found.items()}


PEOPLE = demo_people()


@dataclass(frozen=True, slots=True)
class Thing:
    """Something real: the values of addresses that lead to it, and what is read there."""

    values: Mapping[str, str]
    words: str


@contextmanager
def signed_in(screens: Screens, user: str) -> Iterator[httpx.Client]:
    """A browser of somebody, as far as the first HTML of a page: a view is drawn into it by the server."""
    with httpx.Client(base_url=screens.url, headers={"Accept-Language": "en"}, timeout=60) as client:
        form = {"user": user, "to": "/"}
        answer = client.post("/app/sign-in", data=form, headers={"Origin": screens.url})
        assert answer.status_code == 303, answer.text
        yield client


@cache
def things(url: str) -> dict[str, Thing]:
    """One of each application."""
    tokens = {each["user"]: each["token"] for each in httpx.get(f"{url}/tokens.json").json()}
    headers = {"Authorization": f"Bearer {tokens['admin']}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as admin:

        def first(path: str, name: str) -> dict[str, str]:
            answer = admin.get(path)
            assert answer.status_code == 200, answer.text
            found: dict[str, str] = answer.json()[name][0]
            return found

        task = first("/tasks/tasks?status=OPEN", "tasks")
        desk = first("/servicedesk/queue", "tickets")
        support = first("/support/customers/cust_1/tickets", "tickets")
        call = first("/calls/users/ada/calls/upcoming", "calls")
        program = first("/engagement/programs?approval=approved", "programs")
    place = {"marketplace_id": program["marketplaceId"], "program_id": program["programId"], "section": "runs"}
    candidate = {"customer_id": "c-0000064", "subject_type": "product", "subject_id": "p-1"}
    return {
        "tasks": Thing({"task_id": task["taskId"]}, task["title"]),
        "servicedesk": Thing({"ticket_id": desk["ticket_id"]}, desk["issue_description"]),
        "support": Thing({"ticket_id": support["ticket_id"]}, support["symptom_text"]),
        "calls": Thing({"call_id": call["callId"], "span": "week", "day": "2026-11-16"}, call["providerId"]),
        "engagement": Thing(place | candidate, program["programName"]),
        "runtime": Thing({"name": "tasks.events"}, "servicedesk.search"),
    }


def address(application: Application, path: str, thing: Thing) -> str:
    return f"/app/{application.name}" + re.sub(r"\{(\w+)\}", lambda found: thing.values[found[1]], path)


def test_screens_do_nothing_but_by_calls_of_the_api() -> None:
    """Of their system they use what names things: its model, and rules that its views share; no service, no store."""
    root = Path(tablewright.__file__).parent
    found: dict[str, set[str]] = {}
    for module in [*root.glob("systems/*/app/*.py"), *root.glob("ui/admin/*.py")]:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names = {alias.name for alias in node.names}
                if node.module.endswith((".service", "_service", ".runtime.system")) or (
                    node.module.startswith("tablewright.store") and not names <= {"AnyChange", "Change"}
                ):
                    found[module.name] = names
    assert not found


def shows(client: httpx.Client, path: str, thing: Thing) -> bool:
    return thing.words in client.get(path).text


def test_everybody_is_there() -> None:
    given = {role for caller in PEOPLE.values() for role in caller.roles}
    assert {role.name for role in roles()} - given <= {"runtime:Admins"}


def walk(screens: Screens, *, every: bool) -> None:
    """Open what is not for somebody; of applications that are not theirs at all, every address, or few for some."""
    for user, caller in PEOPLE.items():
        with signed_in(screens, user) as client:
            for application in APPLICATIONS:
                calls, thing = CALLS[application.name], things(screens.url)[application.name]
                shown = calls.views_of(application, caller) if calls.may_any(caller) else []
                paths = [path for view in application.views if view not in shown for path in view.paths]
                # What is refused before any view is looked up is refused to all in the same way.
                few = paths[-1:] if user in ("cust_1", "grace", "voice-agent") else []
                for path in paths if shown or every else few:
                    page = client.get(address(application, path, thing)).text
                    assert (NOT_YOURS if shown else NOTHING_HERE) in page, (user, application.name, path)
                    assert thing.words not in page, (user, application.name, path)


def test_a_forbidden_address_shows_nothing_of_its_content(screens: Screens) -> None:
    walk(screens, every=False)


@pytest.mark.slow
def test_no_address_at_all_shows_anything_of_an_application_to_who_may_not_use_it(screens: Screens) -> None:
    walk(screens, every=True)


def test_an_allowed_address_shows_its_content(screens: Screens) -> None:
    """So what others do not see would have been found."""
    seen = {
        "tasks": ("grace", "/list/{task_id}"),
        "servicedesk": ("sam", "/queue/{ticket_id}"),
        "support": ("cust_1", "/mine/{ticket_id}"),
        "calls": ("ada", "/call/{call_id}"),
        "engagement": ("viewer", "/programs/{marketplace_id}/{program_id}"),
        "runtime": ("admin", "/consumers"),
    }
    assert {*seen} == {application.name for application in APPLICATIONS}
    for application in APPLICATIONS:
        user, path = seen[application.name]
        thing = things(screens.url)[application.name]
        with signed_in(screens, user) as client:
            # What takes longer to read comes behind the first HTML, and is in it the next time.
            wait_for(partial(shows, client, address(application, path, thing), thing))


def test_what_belongs_to_another_is_not_shown_to_a_customer(screens: Screens) -> None:
    ticket = things(screens.url)["support"]
    with signed_in(screens, "cust_2") as client:
        page = client.get(f"/app/support/mine/{ticket.values['ticket_id']}").text
        assert NOTHING_HERE in page
        assert ticket.words not in page
    # Whose calls are named in the address is for those who plan them: customers see their own.
    call = things(screens.url)["calls"]
    with signed_in(screens, "ada") as client:
        wait_for(partial(shows, client, f"/app/calls/call/{call.values['call_id']}", call))
        shown = client.get("/app/calls/week/2026-11-16?who=user:alan,provider:p-okafor").text
        assert "user:alan" not in shown
        assert "alan" not in re.findall(r'"text":"([^"]*)"', shown)
