"""Calls over HTTP.

Schedulers and Admins see and change all calls. Customers see their own, schedule and reschedule them, choose
another provider and cancel them, but cannot book times in the past; their user id is the ``sub`` of their token. Only
staff complete calls, reassign them to another user and see a provider's calls; only Admins delete calls that have taken
place or were cancelled. For a customer, the calls of others do not exist.

Every call has a ``version``. A change names the version that it is based on, or has the ``ETag`` of the call in
``If-Match``; it is refused if the call has changed since.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired
from urllib.parse import quote

from fastapi import Depends, Path, Query, Request
from pydantic import ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel
from starlette.responses import Response
from typing_extensions import TypedDict

from tablewright.runtime import (
    Caller,
    Changing,
    Cursor,
    Forbidden,
    IdempotencyKey,
    Invalid,
    Limit,
    Public,
    Reading,
    Responder,
    allow,
    documented,
    runtime_of,
    service_of,
)
from tablewright.runtime.audit import AuditPage
from tablewright.runtime.http.json_values import ApiModel
from tablewright.runtime.mail.mail_addresses import MailAddress
from tablewright.runtime.parameter_texts import matching
from tablewright.store import TolerantPage
from tablewright.systems.calls.calendar_settings import SECRET_LENGTH
from tablewright.systems.calls.icalendar import MEDIA_TYPE
from tablewright.systems.calls.model import (
    DEFAULT_MINUTES,
    MAX_MINUTES,
    MAX_REMIND_MINUTES,
    MAX_VERSIONS,
    MIN_REMIND_MINUTES,
    CalendarSettings,
    Call,
    Status,
)
from tablewright.systems.calls.roles import ADMINS, CUSTOMERS, SCHEDULERS
from tablewright.systems.calls.service import Basis, Bounds, Calls, NewCall
from tablewright.systems.key_times import LAST_MILLIS, millis, moment_of
from tablewright.systems.response_views import page_end
from tablewright.systems.system_router import SystemRouter, UnreadableList
from tablewright.systems.unreadable_log import UnreadableItem

router = SystemRouter("service")

Service = Annotated[Calls, Depends(service_of)]
Anyone = Annotated[Caller, allow(CUSTOMERS.own, SCHEDULERS, ADMINS)]
Staff = Annotated[Caller, allow(SCHEDULERS, ADMINS)]
Admin = Annotated[Caller, allow(ADMINS)]

_ID = matching(
    r"^[A-Za-z0-9][A-Za-z0-9._:@|+~=-]*$",
    "start with a letter or a digit, then use letters, digits and . _ : @ | + ~ = -",
)
_MAX_ID_LENGTH = 128


Id = Annotated[str, Field(min_length=1, max_length=_MAX_ID_LENGTH, pattern=_ID)]
Millis = Annotated[int, Field(ge=0, le=LAST_MILLIS)]
Minutes = Annotated[int, Field(ge=1, le=MAX_MINUTES)]
_VERSION = "the version of the call that the change is based on; optional if If-Match is sent"
BasedOn = Annotated[int | None, Field(ge=0, le=MAX_VERSIONS, description=_VERSION, examples=[1])]
CallId = Annotated[str, Path(alias="callId", min_length=1, max_length=_MAX_ID_LENGTH, pattern=_ID, examples=["call-9"])]
ProviderId = Annotated[
    str, Path(alias="providerId", min_length=1, max_length=_MAX_ID_LENGTH, pattern=_ID, examples=["p-1"])
]
SubscribedUser = Annotated[
    str, Path(alias="userId", min_length=1, max_length=_MAX_ID_LENGTH, pattern=_ID, examples=["ada"])
]
CalendarSecret = Annotated[
    str,
    Path(
        min_length=SECRET_LENGTH,
        max_length=SECRET_LENGTH,
        pattern=matching(r"^[A-Za-z0-9_-]+$", "use the address exactly as it was issued"),
    ),
]
Since = Annotated[
    int | None, Query(ge=0, le=LAST_MILLIS, description="only calls at or after this time, in milliseconds since 1970")
]
Until = Annotated[
    int | None,
    Query(ge=0, le=LAST_MILLIS, description="only calls at or before this time, in milliseconds since 1970"),
]

_EXAMPLE: dict[str, Any] = {
    "callId": "call-9",
    "userId": "ada",
    "providerId": "p-1",
    "status": "SCHEDULED",
    "scheduledFor": 1900000800000,
    "durationMinutes": 30,
    "version": 1,
}
_TIME = "start of the call, in milliseconds since 1970"
_MINUTES = "duration of the call; neither the user nor the provider can have another call at that time"


async def _whose_calls(
    user_id: Annotated[
        str, Path(alias="userId", min_length=1, max_length=_MAX_ID_LENGTH, pattern=_ID, examples=["ada"])
    ],
    caller: Anyone,
) -> str:
    """The user whose calls are requested; customers can only request their own."""
    if _owner(caller) not in (None, user_id):
        raise Forbidden("customers can only see their own calls")
    return user_id


UserId = Annotated[str, Depends(_whose_calls)]


class Body(ApiModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class CallRequest(Body):
    user_id: Id = Field(examples=["ada"])
    provider_id: Id = Field(examples=["p-1"])
    scheduled_for: Millis = Field(description=_TIME, examples=[1900000800000])
    duration_minutes: Minutes = Field(DEFAULT_MINUTES, description=_MINUTES, examples=[45])
    call_id: Id | None = Field(
        None,
        description="an id of your own, unique among all calls; generated if omitted",
        examples=["my-call-1"],
    )


class StatusChange(Body):
    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "COMPLETED", "version": 1}]})

    status: Status
    version: BasedOn = None


class NewTime(Body):
    scheduled_for: Millis = Field(description=_TIME, examples=[1900004400000])
    duration_minutes: Minutes | None = Field(None, description="a new duration; unchanged if omitted")
    version: BasedOn = None


class NewUser(Body):
    user_id: Id = Field(examples=["bob"])
    version: BasedOn = None


class NewProvider(Body):
    provider_id: Id = Field(examples=["p-2"])
    version: BasedOn = None


@with_config(ConfigDict(json_schema_extra={"examples": [_EXAMPLE]}))
class CallView(TypedDict):
    """A call."""

    callId: str
    userId: str
    providerId: str
    status: Status
    scheduledFor: Annotated[int, Field(description=_TIME)]
    durationMinutes: Annotated[int, Field(description=_MINUTES)]
    version: Annotated[int, Field(description="incremented by every change")]


class CallPage(TypedDict):
    """Some calls."""

    calls: list[CallView]
    cursor: NotRequired[Annotated[str | None, Field(description="for the next page; null on the last one")]]
    unreadable: list[UnreadableItem]


class RemindersBody(Body):
    email: MailAddress | None
    remind_minutes: Annotated[int, Field(ge=MIN_REMIND_MINUTES, le=MAX_REMIND_MINUTES)] | None = Field(
        description="minutes before a call at which to remind", examples=[60]
    )


class CalendarView(TypedDict):
    """How a user follows their calls."""

    userId: str
    email: str | None
    remindMinutes: Annotated[int | None, Field(description="minutes before a call at which to remind")]
    hasAddress: Annotated[bool, Field(description="whether the user's calendar has a secret address")]


class CalendarAddress(TypedDict):
    """The secret address of a calendar."""

    url: str


# -- one call -------------------------------------------------------------------------------------------------------


@router.post("/calls", status_code=201, responses=documented(409), tags=["calls"])
async def create_call(
    body: CallRequest, service: Service, caller: Anyone, idempotency_key: IdempotencyKey = None
) -> CallView:
    """Schedule a call.

    It is refused if the user or the provider has another call at that time, and for customers if the time is past.

    Repeating the request with its `Idempotency-Key` returns the same response for 24 hours; repeating it with the same
    `callId` but without a key returns the call as it is then. Either with different content is refused.
    """
    if _owner(caller) not in (None, body.user_id):
        raise Forbidden("customers can only schedule calls for themselves")
    new = NewCall(body.user_id, body.provider_id, moment_of(body.scheduled_for), body.duration_minutes, body.call_id)
    return await service.create(new, Responder(_view, caller.user_id, idempotency_key), owner=_owner(caller))


@router.get("/calls/{callId}", responses=documented(404, 409), tags=["calls"])
async def get_call(
    call_id: CallId,
    service: Service,
    caller: Anyone,
    reading: Reading,
    consistent: Annotated[bool, Query(description="strongly consistent read")] = False,
) -> CallView:
    """A call, by id."""
    return _view(reading.of(await service.get(call_id, owner=_owner(caller), consistent=consistent)))


@router.put("/calls/{callId}/status", responses=documented(404, 409), tags=["calls"])
async def change_status(
    call_id: CallId, body: StatusChange, service: Service, _: Staff, changing: Changing
) -> CallView:
    """Complete or cancel a scheduled call, or set one back to scheduled.

    A cancelled call can be set back only if its time is still free for the user and the provider.
    """
    basis = _basis(body.version, changing)
    return _view(changing.of(await service.change_status(call_id, body.status, basis=basis)))


@router.put("/calls/{callId}/schedule", responses=documented(404, 409), tags=["calls"])
async def reschedule(call_id: CallId, body: NewTime, service: Service, caller: Anyone, changing: Changing) -> CallView:
    """Move a scheduled call to another time, or change its duration; 409 if that time is not free."""
    when, basis = moment_of(body.scheduled_for), _basis(body.version, changing)
    changed = await service.reschedule(call_id, when, body.duration_minutes, basis=basis, owner=_owner(caller))
    return _view(changing.of(changed))


@router.put("/calls/{callId}/user", responses=documented(404, 409), tags=["calls"])
async def reassign(call_id: CallId, body: NewUser, service: Service, _: Staff, changing: Changing) -> CallView:
    """Move a scheduled call to another user, who must have no other call at that time."""
    return _view(changing.of(await service.reassign(call_id, body.user_id, basis=_basis(body.version, changing))))


@router.put("/calls/{callId}/provider", responses=documented(404, 409), tags=["calls"])
async def change_provider(
    call_id: CallId, body: NewProvider, service: Service, caller: Anyone, changing: Changing
) -> CallView:
    """Assign a scheduled call to another provider, who must have no other call at that time."""
    basis = _basis(body.version, changing)
    return _view(
        changing.of(await service.change_provider(call_id, body.provider_id, basis=basis, owner=_owner(caller)))
    )


@router.delete("/calls/{callId}", status_code=204, responses=documented(404, 409), tags=["calls"])
async def cancel(
    call_id: CallId,
    service: Service,
    caller: Anyone,
    changing: Changing,
    version: Annotated[int | None, Query(ge=0, le=MAX_VERSIONS, description=_VERSION)] = None,
) -> None:
    """Cancel a scheduled call: it stays, as CANCELLED, and frees its time. Admins permanently delete any other call."""
    basis = _basis(version, changing, "query.version")
    await service.cancel(call_id, basis=basis, owner=_owner(caller), may_delete=caller.has(ADMINS))


@router.get("/calls/{callId}/audit", responses=documented(400, 404), tags=["calls"])
async def audit(call_id: CallId, service: Service, _: Admin, limit: Limit = 50, cursor: Cursor = None) -> AuditPage:
    """The audit of a call, newest first: who changed what, when and how; also of deleted calls. Admins only."""
    return await service.audit(call_id, limit=limit, cursor=cursor)


# -- calls of a user, and of a provider -----------------------------------------------------------------------------


@router.get("/users/{userId}/calls", responses=documented(400), tags=["users"])
async def calls_of_user(
    user_id: UserId,
    service: Service,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> CallPage:
    """All calls of a user, ordered by time."""
    bounds = _bounds(since, until)
    return _page(await service.of_user(user_id, bounds, limit=limit, cursor=cursor))


@router.get(
    "/users/{userId}/calls/calendar.ics",
    response_class=Response,
    responses={200: {"content": {"text/calendar": {}}, "description": "an iCalendar (RFC 5545)"}},
    tags=["users"],
)
async def calendar_of_user(user_id: UserId, service: Service) -> Response:
    """A user's calls of the last 30 days, and later ones, as an iCalendar: the first 1,000, with cancelled ones."""
    content = await service.icalendar(user_id)
    return Response(content, media_type=MEDIA_TYPE, headers={"Content-Disposition": 'attachment; filename="calls.ics"'})


@router.get("/users/{userId}/calendar", tags=["calendars"])
async def calendar_settings(user_id: UserId, service: Service, reading: Reading) -> CalendarView:
    """How a user follows their calls: reminders by mail, and a calendar with a secret address."""
    return _settings_view(reading.of(await service.settings.get(user_id)))


@router.put("/users/{userId}/calendar", responses=documented(409), tags=["calendars"])
async def change_calendar_settings(
    user_id: UserId, body: RemindersBody, service: Service, changing: Changing
) -> CalendarView:
    """Set reminders by mail, so many minutes before each call; null for both turns them off."""
    if (body.email is None) != (body.remind_minutes is None):
        message = "set both an address and the minutes before a call, or both to null"
        errors = [{"field": "body.email", "message": message}]
        raise Invalid(f"body.email: {message}", kind="invalid-request", errors=errors)
    changed = await service.settings.remind(user_id, body.email, body.remind_minutes, seen=changing.seen)
    return _settings_view(changing.of(changed))


@router.post("/users/{userId}/calendar/address", status_code=201, tags=["calendars"])
async def new_calendar_address(user_id: UserId, service: Service, request: Request) -> CalendarAddress:
    """Create a secret address of a user's calls, for calendars to subscribe to; shown once. It replaces any other."""
    secret = await service.settings.new_feed(user_id)
    base = runtime_of(request).public_url or ""
    return {"url": f"{base.rstrip('/')}/calls/calendars/{quote(user_id, safe='')}/{secret}.ics"}


@router.delete("/users/{userId}/calendar/address", status_code=204, responses=documented(409), tags=["calendars"])
async def end_calendar_address(user_id: UserId, service: Service, changing: Changing) -> None:
    """Revoke the secret address."""
    await service.settings.end_feed(user_id, seen=changing.seen)


@router.get("/users/{userId}/calendar/audit", responses=documented(400, 404), tags=["calendars"])
async def audit_calendar(
    user_id: SubscribedUser, service: Service, _: Admin, limit: Limit = 50, cursor: Cursor = None
) -> AuditPage:
    """The audit of a user's settings, newest first: who changed what, when and how. Admins only."""
    return await service.settings.audit(user_id, limit=limit, cursor=cursor)


@router.get(
    "/calendars/{userId}/{secret}.ics",
    response_class=Response,
    responses={200: {"content": {"text/calendar": {}}, "description": "an iCalendar (RFC 5545)"}, **documented(404)},
    tags=["calendars"],
)
async def subscribed_calendar(user_id: SubscribedUser, secret: CalendarSecret, service: Service, _: Public) -> Response:
    """The calls of a user, by the secret address of their calendar; open to anyone who knows it."""
    await service.settings.require_secret(user_id, secret)
    return Response(await service.icalendar(user_id), media_type=MEDIA_TYPE)


@router.get("/users/{userId}/calls/upcoming", responses=documented(400), tags=["users"])
async def upcoming_calls(
    user_id: UserId,
    service: Service,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> CallPage:
    """Scheduled calls of a user from now on (or since `since`), the next one first."""
    bounds = _bounds(since, until)
    return _page(await service.upcoming(user_id, bounds, limit=limit, cursor=cursor))


@router.get("/users/{userId}/calls/completed", responses=documented(400), tags=["users"])
async def completed_calls(
    user_id: UserId,
    service: Service,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> CallPage:
    """Completed calls of a user, the latest first."""
    bounds = _bounds(since, until)
    return _page(await service.completed(user_id, bounds, limit=limit, cursor=cursor))


@router.get("/users/{userId}/calls/next-scheduled", responses=documented(404, 409), tags=["users"])
async def next_scheduled(user_id: UserId, service: Service, reading: Reading) -> CallView:
    """The next scheduled call of a user, from now on."""
    return _view(reading.of(await service.next_scheduled(user_id)))


@router.get("/users/{userId}/calls/last-completed", responses=documented(404, 409), tags=["users"])
async def last_completed(user_id: UserId, service: Service, reading: Reading) -> CallView:
    """The latest completed call of a user."""
    return _view(reading.of(await service.last_completed(user_id)))


@router.get("/providers/{providerId}/calls", responses=documented(400), tags=["providers"])
async def calls_of_provider(
    provider_id: ProviderId,
    service: Service,
    _: Staff,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> CallPage:
    """All calls of a provider, newest first."""
    bounds = _bounds(since, until)
    return _page(await service.of_provider(provider_id, bounds, limit=limit, cursor=cursor))


@router.get("/unreadable", tags=["maintenance"])
async def unreadable(service: Service, _: Admin) -> UnreadableList:
    """Items that could not be read since this process started, the latest first: their keys, reasons and counts."""
    return UnreadableList.of(service.unreadable_log)


def _owner(caller: Caller) -> str | None:
    """The user to whose calls the caller is limited; None for staff, who are not limited."""
    return None if caller.has(SCHEDULERS, ADMINS) else caller.user_id


def _basis(version: int | None, changing: Changing, field: str = "body.version") -> Basis:
    """What a change is based on; Invalid if the request does not say."""
    if version is None and changing.seen.tags is None:
        message = "Field required, unless the ETag of the call is sent in If-Match"
        errors = [{"field": field, "message": message}]
        raise Invalid(f"{field}: {message}", kind="invalid-request", errors=errors)
    return Basis(version, changing.seen)


def _bounds(since: int | None, until: int | None) -> Bounds:
    return Bounds(None if since is None else moment_of(since), None if until is None else moment_of(until))


def _view(call: Call) -> CallView:
    return {
        "callId": call.call_id,
        "userId": call.user_id,
        "providerId": call.provider_id,
        "status": call.status,
        "scheduledFor": millis(call.scheduled_for),
        "durationMinutes": call.duration_minutes,
        "version": call.version,
    }


def _settings_view(settings: CalendarSettings) -> CalendarView:
    return {
        "userId": settings.person_id,
        "email": settings.email,
        "remindMinutes": settings.remind_minutes,
        "hasAddress": settings.feed_digest is not None,
    }


def _page(page: TolerantPage[Call]) -> CallPage:
    found = [_view(call) for call in page.items]
    return {"calls": found, **page_end(page)}
