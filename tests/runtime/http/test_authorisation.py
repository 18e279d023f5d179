"""The matrix of calls and identities, in full and over HTTP: every call of every system, made by everybody.

What a call should answer comes from its declaration by ``allowed`` alone, as the matrix in the documentation does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Annotated, Any

import httpx
import jwt
import pytest
from fastapi import APIRouter, Depends

from tablewright.model import Design
from tablewright.runtime import Call, Caller, Grant, Public, Role, System, allow, allowed
from tablewright.runtime.http.declared_calls import UndeclaredCall, calls_of, runtime_calls
from tablewright.runtime.identity.local_issuer import LocalIssuer
from tablewright.runtime.settings import Secrets
from tablewright.systems import load, roles
from tests.systems.harness import Served, serving

SYSTEMS = load()
CALLS = [*runtime_calls(), *(call for system in SYSTEMS for call in calls_of(system))]
CLOSED = [call for call in CALLS if not call.is_open]
ROLES = [role.name for role in roles()]
# Who calls, and all that a path names: what is asked for is the caller's own, as far as it belongs to anybody.
SELF = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(SYSTEMS, memory=True) as served:
        yield served


@cache
def nobody(served: Served) -> httpx.Client:
    """One client for all requests: making one takes longer than a request."""
    return served.client()


def answer(served: Served, call: Call, token: str | None) -> httpx.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    prefix = "" if call.system == "runtime" else f"/{call.system}"
    address = prefix + re.sub(r"\{[^}]+\}", SELF, call.path)
    with nobody(served).stream(call.method, address, headers=headers, json={}) as found:
        # A stream of events has no end to wait for.
        if not found.headers.get("content-type", "").startswith("text/event-stream"):
            found.read()
    return found


def test_the_matrix_has_every_system_and_every_role() -> None:
    assert {call.system for call in CALLS} == {"runtime", *(system.name for system in SYSTEMS)}
    used = {grant.role.name for call in CALLS for grant in call.grants}
    assert used == set(ROLES)
    names = [(call.system, call.name, call.method) for call in CALLS]
    assert len(names) == len(set(names))


def strangers(served: Served) -> dict[str, str | None]:
    issuer = served.runtime.issuer
    assert issuer is not None
    claims = jwt.decode(issuer.token(SELF, roles=ROLES), options={"verify_signature": False})
    pem = served.runtime.secrets.get("issuer_key")

    def signed(**changes: Any) -> str:
        return jwt.encode({**claims, **changes}, pem, algorithm="RS256", headers={"kid": "local"})

    good = issuer.token(SELF, roles=ROLES)
    head, body, signature = good.split(".")
    return {
        "no token": None,
        "nonsense": "a.b.c",
        "expired": issuer.token(SELF, roles=ROLES, lifetime=timedelta(minutes=-5)),
        "another issuer's name": signed(iss="https://evil.example"),
        "another client's": signed(aud="somebody-else"),
        "another key's": LocalIssuer(Secrets(None)).token(SELF, roles=ROLES),
        "unsigned": jwt.encode(claims, "", algorithm="none"),
        "altered": f"{head}.{body[:-4]}AAAA.{signature}",
        "without a subject": signed(sub=None),
    }


@pytest.mark.requirement("TM6")
@pytest.mark.parametrize(
    "who",
    [
        "no token",
        "nonsense",
        "expired",
        "another issuer's name",
        "another client's",
        "another key's",
        "unsigned",
        "altered",
        "without a subject",
    ],
)
def test_strangers_are_turned_away_everywhere(served: Served, who: str) -> None:
    token = strangers(served)[who]
    for call in CLOSED:
        assert not allowed(None, call)
        found = answer(served, call, token)
        assert found.status_code == 401, (call, found.text)
        assert found.headers["content-type"] == "application/problem+json"
        assert found.headers["www-authenticate"] == "Bearer"


def test_what_is_open_needs_no_token(served: Served) -> None:
    for call in CALLS:
        if call.is_open:
            assert allowed(None, call)
            assert answer(served, call, None).status_code not in (401, 403, 500), call


@pytest.mark.parametrize(
    "names",
    [(), *((role,) for role in ROLES), ("Admins",), ("Members",), ("tasks:admins",), ("Tasks:Admins", "tasks:Admins ")],
    ids=lambda names: "+".join(names) or "no role",
)
def test_a_token_opens_what_its_roles_name_and_nothing_else(served: Served, names: tuple[str, ...]) -> None:
    assert served.runtime.issuer is not None
    token = served.runtime.issuer.token(SELF, roles=names)
    caller = Caller(SELF, None, frozenset(names))
    for call in CLOSED:
        found = answer(served, call, token)
        if allowed(caller, call):
            assert found.status_code not in (401, 403, 500), (call, found.text)
        else:
            assert (found.status_code, found.json()["type"]) == (403, "/problems/forbidden"), (call, found.text)
            assert "this requires the role" in found.json()["detail"]


@pytest.mark.requirement("TM6")
def test_a_deactivated_user_is_refused_by_every_call_at_once(served: Served) -> None:
    assert served.runtime.issuer is not None
    everything = served.runtime.issuer.token("leaver", roles=ROLES)
    admin = served.client("boss", "Admins", path="/tasks")
    body = {"userId": "leaver", "email": "leaver@example.org", "groups": ["Admins", "Members"]}
    assert admin.post("/users", json=body).status_code == 201
    assert admin.post("/users", json={**body, "userId": "boss"}).status_code == 201

    def refused() -> list[Call]:
        return [call for call in CLOSED if answer(served, call, everything).status_code == 403]

    # Neither operators nor customers see everything of others, whatever else they may be.
    before = refused()
    assert len(before) < 5
    assert admin.post("/users/leaver/deactivate").status_code == 200
    for call in CLOSED:
        found = answer(served, call, everything)
        assert (found.status_code, "deactivated" in found.json()["detail"]) == (403, True), (call, found.text)
    assert admin.post("/users/leaver/reactivate").status_code == 200
    assert refused() == before


# -- declarations ---------------------------------------------------------------------------------------------------

EDITORS = Role("notes:Editors")


async def note_of(note_id: str, caller: Annotated[Caller, allow(EDITORS.own)]) -> str:
    return note_id


def made(router: APIRouter, *roles: Role) -> System:
    return System("notes", "Notes", "", Design("Notes", tables=[]), router, service=lambda runtime: None, roles=roles)


def test_a_route_without_a_declaration_is_not_served() -> None:
    router = APIRouter()

    @router.get("/notes/{note_id}")
    async def read(note_id: str) -> None: ...

    system = made(router, EDITORS)
    told = r"GET /notes/\{note_id\} of notes does not declare who may call it: give read the parameter"
    with pytest.raises(UndeclaredCall, match=told), serving([system]):
        pass


def test_a_route_of_another_systems_role_is_not_served() -> None:
    router = APIRouter()

    @router.get("/notes")
    async def read(caller: Annotated[Caller, allow(EDITORS, Role("tasks:Admins"))]) -> None: ...

    with pytest.raises(UndeclaredCall, match="allows tasks:Admins, which notes does not declare; it has notes:Editors"):
        calls_of(made(router, EDITORS))


def test_routes_of_a_router_inside_of_a_router_are_not_overlooked() -> None:
    router, inner = APIRouter(), APIRouter()

    @inner.get("/notes")
    async def read() -> None: ...

    router.include_router(inner)
    with pytest.raises(UndeclaredCall):
        calls_of(made(router, EDITORS))


def test_a_declaration_is_found_behind_a_dependency_and_in_the_options_of_a_route() -> None:
    router = APIRouter()

    @router.get("/notes/{note_id}")
    async def read(note: Annotated[str, Depends(note_of)]) -> None: ...

    @router.delete("/notes/{note_id}", dependencies=[allow(EDITORS)])
    async def delete(note_id: str) -> None: ...

    @router.get("/about")
    async def about(_: Public) -> None: ...

    calls = calls_of(made(router, EDITORS))
    assert [(call.name, call.method, call.grants) for call in calls] == [
        ("read", "GET", (EDITORS.own,)),
        ("delete", "DELETE", (Grant(EDITORS),)),
        ("about", "GET", ()),
    ]
    editor = Caller("ada", None, frozenset({"notes:Editors"}))
    assert [allowed(editor, call) for call in calls] == [True, True, True]
    assert [allowed(Caller("ada", None, frozenset({"notes:Readers"})), call) for call in calls] == [False, False, True]
    assert [allowed(None, call) for call in calls] == [False, False, True]


def test_a_declaration_names_roles() -> None:
    with pytest.raises(ValueError, match="say which roles may make this call"):
        allow()
    with pytest.raises(ValueError, match="the name of a role is system:Role"):
        Role("Admins")
