"""Which view an address leads to, who is shown it, and what a declaration has to have."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tablewright.runtime import Call, Caller, Grant, Role
from tablewright.ui.applications import Application, Calls, check
from tablewright.ui.texts import Catalogue

pytestmark = pytest.mark.requirement("AP1")

AGENTS, ADMINS = Role("desk:Agents"), Role("desk:Admins")
CALLS = Calls(
    [
        Call("desk", "list_tickets", "GET", "/tickets", (Grant(AGENTS), Grant(ADMINS))),
        Call("desk", "audit", "GET", "/audit", (Grant(ADMINS),)),
        Call("desk", "healthz", "GET", "/healthz", ()),
    ]
)
TEXTS = Catalogue("desk", {"title": ("Desk", "Sportello"), "queue": ("Queue", "Coda"), "audit": ("Audit", "Registro")})


def desk() -> Application:
    app = Application("desk", title="desk.title", icon="phone", texts=TEXTS)

    async def draw(*_: Any) -> None: ...

    app.view("/queue", "/queue/{ticket_id}", title="desk.queue", tab=True, needs=["list_tickets"])(draw)
    app.view("/audit", title="desk.audit", tab=True, needs=["audit"])(draw)
    return app


def caller(*roles: Role) -> Caller:
    return Caller("sam", None, frozenset(role.name for role in roles))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/queue", ("/queue", {})),
        ("/queue/t-1", ("/queue", {"ticket_id": "t-1"})),
        ("/queue/a%2Fb%20c", ("/queue", {"ticket_id": "a/b c"})),
        ("/queue/t-1/more", None),
        ("/queues", None),
        ("/", None),
        ("/audit", ("/audit", {})),
    ],
)
def test_an_address_leads_to_a_view(path: str, expected: tuple[str, dict[str, str]] | None) -> None:
    found = desk().find(path)
    assert (None if found is None else (found[0].paths[0], found[1])) == expected


def test_a_view_is_shown_to_users_who_may_make_its_calls() -> None:
    app = desk()
    shown = {
        names: [view.paths[0] for view in CALLS.views_of(app, caller(*names))] for names in ((), (AGENTS,), (ADMINS,))
    }
    assert shown == {(): [], (AGENTS,): ["/queue"], (ADMINS,): ["/queue", "/audit"]}
    assert [CALLS.may_any(caller(*names)) for names in ((), (AGENTS,), (Role("other:Agents"),))] == [False, True, False]


def test_what_a_view_names_has_to_be_there() -> None:
    check(desk(), CALLS, TEXTS.texts)
    with pytest.raises(ValueError, match="needs the call list_tickets, which does not exist"):
        check(desk(), Calls([]), TEXTS.texts)
    with pytest.raises(ValueError, match=r"there is no text desk\.title"):
        check(desk(), CALLS, {})
    with pytest.raises(ValueError, match="starts with a slash"):
        desk().view("queue", title="desk.queue")


def test_neither_the_core_nor_the_apis_import_what_screens_need() -> None:
    program = (
        "import sys, tablewright.cli\n"
        "from tablewright.runtime.http.serve import serve\n"
        "from tablewright.systems import load\n"
        "load()\n"
        "print([name for name in sys.modules if name.startswith(('nicegui', 'tablewright.ui'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr
