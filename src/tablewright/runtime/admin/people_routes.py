"""Admin routes for people: list them, invite them, change their roles, deactivate them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import AfterValidator, ConfigDict, Field

from tablewright.runtime.audit import AuditPage
from tablewright.runtime.http.conditional_requests import Changing, Reading
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.dependencies import Cursor, IdempotencyKey, Limit, allow, runtime_of
from tablewright.runtime.http.json_values import UNIQUE, ApiModel, each_once
from tablewright.runtime.http.path_ids import Id
from tablewright.runtime.http.problems import documented
from tablewright.runtime.idempotency import Responder
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Caller
from tablewright.runtime.identity.people import Person, PersonStatus
from tablewright.runtime.mail.invitation_mail import InvitationLanguage
from tablewright.runtime.mail.mail_addresses import MailAddress

router = APIRouter(route_class=DeferredRoute)

Admin = Annotated[Caller, allow(RUNTIME_ADMINS)]
Roles = Annotated[
    list[Annotated[str, Field(max_length=130)]],
    Field(max_length=100, json_schema_extra=UNIQUE, examples=[["tasks:Members"]]),
    AfterValidator(each_once),
]


class Strict(ApiModel):
    model_config = ConfigDict(extra="forbid")


class Invitation(Strict):
    person_id: Annotated[Id, Field(description="the `sub` of their tokens", examples=["u-789"])]
    email: MailAddress | None = None
    roles: Roles = Field(description="their roles, which override those of their token")
    language: InvitationLanguage = None


class RoleChange(Strict):
    roles: Roles | None = Field(description="exactly these roles, regardless of the token; null: those of the token")


class PersonView(ApiModel):
    person_id: str = Field(examples=["ada"])
    email: str | None = Field(examples=["ada@example.org"])
    status: PersonStatus
    roles: list[str] | None = Field(description="null: those of the token", examples=[["tasks:Admins"]])
    token_roles: list[str] = Field(
        description="the roles of their token at their last sign-in", examples=[["tasks:Admins"]]
    )
    invited_by: str | None = Field(examples=[None])
    signed_in_at: datetime | None = Field(description="their last sign-in to the applications")
    created_at: datetime | None


class PeoplePage(ApiModel):
    people: list[PersonView]
    cursor: str | None = None
    # Items that are left out as they cannot be read, and why.
    unreadable: list[str] = Field([])


class RoleView(ApiModel):
    name: str = Field(examples=["tasks:Members"])
    system: str = Field(examples=["tasks"])
    about: str = Field(examples=["the team"])


def _view(person: Person) -> PersonView:
    return PersonView(**person.model_dump(include={*PersonView.model_fields}))


@router.get("/runtime/roles", tags=["people"])
async def roles(request: Request, _: Admin) -> list[RoleView]:
    """The roles of all systems of this process, and of the runtime."""
    known = [*(role for system in request.app.state.systems for role in system.roles), RUNTIME_ADMINS]
    return [RoleView(name=role.name, system=role.system, about=role.about) for role in known]


@router.get("/runtime/people", tags=["people"])
async def people(request: Request, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> PeoplePage:
    """People who have signed in or were invited, ordered by id."""
    page = await runtime_of(request).people.page(limit=limit, cursor=cursor)
    found = [_view(each) for each in page.items]
    return PeoplePage(people=found, cursor=page.cursor, unreadable=[str(error) for error in page.unreadable])


@router.post("/runtime/people", status_code=201, tags=["people"], responses=documented(403, 409))
async def invite_person(
    body: Invitation, request: Request, caller: Admin, idempotency_key: IdempotencyKey = None
) -> PersonView:
    """Invite a person, who has these roles after signing in with this `sub`."""
    responder = Responder(_view, caller.user_id, idempotency_key, PersonView.model_validate)
    invite = runtime_of(request).people.invite
    return await invite(body.person_id, body.email, body.roles, responder, admin=caller, language=body.language)


@router.get("/runtime/people/{person_id}", tags=["people"], responses=documented(404))
async def get_person(person_id: Id, request: Request, _: Admin, reading: Reading) -> PersonView:
    """A person."""
    return _view(reading.of(await runtime_of(request).people.get(person_id)))


@router.put("/runtime/people/{person_id}/roles", tags=["people"], responses=documented(403, 404, 409))
async def change_roles(
    person_id: Id, body: RoleChange, request: Request, caller: Admin, changing: Changing
) -> PersonView:
    """Give a person exactly these roles, in all systems; or go back to those of their token."""
    change = runtime_of(request).people.change_roles
    return _view(changing.of(await change(person_id, body.roles, admin=caller, seen=changing.seen)))


@router.post("/runtime/people/{person_id}/deactivate", tags=["people"], responses=documented(403, 404, 409))
async def deactivate_person(person_id: Id, request: Request, caller: Admin, changing: Changing) -> PersonView:
    """Deactivate a person: every system refuses them from the next request on."""
    deactivate = runtime_of(request).people.deactivate
    return _view(changing.of(await deactivate(person_id, admin=caller, seen=changing.seen)))


@router.post("/runtime/people/{person_id}/activate", tags=["people"], responses=documented(404, 409))
async def activate_person(person_id: Id, request: Request, caller: Admin, changing: Changing) -> PersonView:
    """Reactivate a person."""
    activate = runtime_of(request).people.activate
    return _view(changing.of(await activate(person_id, admin=caller, seen=changing.seen)))


@router.get("/runtime/people/{person_id}/audit", tags=["people"], responses=documented(400, 404))
async def person_audit(
    person_id: Id, request: Request, _: Admin, limit: Limit = 50, cursor: Cursor = None
) -> AuditPage:
    """The audit of a person: who changed what, when and by which call, newest first."""
    return await runtime_of(request).people.audit(person_id, limit=limit, cursor=cursor)
