"""Admin routes: health, metrics, events, consumers, and dead letters of consumers and of mail.

``/healthz`` responds while the process runs, ``/readyz`` only if the database responds and no consumer is failing. They
and ``/metrics`` show no user data and need no token; the rest requires the runtime's own role, which no system grants.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tablewright.model import Selection
from tablewright.runtime.admin import people_routes, privacy_routes, search_routes
from tablewright.runtime.background.consumer_threads import ConsumerThreads
from tablewright.runtime.errors import ResourceNotFound, ServiceUnavailable
from tablewright.runtime.events.event_log import Event
from tablewright.runtime.http.deferred_routes import DeferredRoute
from tablewright.runtime.http.dependencies import Cursor, Limit, Probe, allow, runtime_of
from tablewright.runtime.http.json_values import ApiModel
from tablewright.runtime.http.problems import documented
from tablewright.runtime.identity.access import RUNTIME_ADMINS, Caller
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.mail.mail_records import DeadMail, MailRecord
from tablewright.runtime.table_readiness import check_tables
from tablewright.store import (
    AsyncTolerantReader,
    CheckpointTable,
    DeadLetter,
    ServiceError,
    StoreError,
    TolerantReader,
    Unavailable,
    Unreadable,
)

router = APIRouter(route_class=DeferredRoute)

_READY_WITHIN = 5.0
# What is wrong with a database that answers, by the code of its error.
_PROBLEMS = {"AccessDeniedException": "access denied", "ResourceNotFoundException": "a table is missing"}
# Dead letters that are read at once; one may have 300 KB.
_AT_ONCE = 20


Admin = Annotated[Caller, allow(RUNTIME_ADMINS)]


ConsumerName = Annotated[str, Path(max_length=200, examples=["tasks.events"])]
Sequence = Annotated[str, Path(max_length=100, description="the sequence number of a dead letter in its stream")]


class Health(ApiModel):
    status: Literal["ok"] = "ok"


class Readiness(ApiModel):
    status: Literal["ready", "failing"]
    failing: dict[str, str] = Field(description="the components that are failing, each with its error", examples=[{}])


class ConsumerState(ApiModel):
    name: str = Field(examples=["tasks.events"])
    failing: str | None = Field(description="the error it fails with", examples=[None])
    waiting: str | None = Field(
        description="what it is waiting for, such as a mail server that is down", examples=[None]
    )
    dead_letters: int = Field(description="number of dead letters", examples=[0])
    behind_seconds: float = Field(
        description="seconds since this process had handled all changes of its shards; 0 for up to one",
        examples=[0],
    )
    shards_elsewhere: int = Field(description="number of the stream's shards that other processes read", examples=[0])


class DeadLetterView(ApiModel):
    sequence: str = Field(description="its sequence number in the stream", examples=["000000000000000000042"])
    error: str = Field(examples=["ValueError: no such template"])
    attempts: int = Field(examples=[5])
    failed_at: datetime
    record: str = Field(description="the stream record, as JSON", examples=["{}"])


class DeadLetterPage(ApiModel):
    dead_letters: list[DeadLetterView]
    cursor: str | None = None
    # Items that are left out as they cannot be read, and why.
    unreadable: list[str] = Field([])


class DeadMailView(ApiModel):
    id: str
    event_id: str
    recipient: str
    subject: str
    # What the mail server responded with last.
    reason: str | None
    attempts: int
    failed_at: datetime


class DeadMailPage(ApiModel):
    dead_letters: list[DeadMailView]
    cursor: str | None = None
    unreadable: list[str] = Field([])


class EventPage(ApiModel):
    events: list[dict[str, Any]] = Field(examples=[[{"event_id": "e-1", "source": "tasks", "type": "TaskCreated"}]])
    cursor: str | None = None
    unreadable: list[str] = Field([])


@router.get("/healthz", tags=["health"])
async def healthz(_: Probe) -> Health:
    """Whether the process is running."""
    return Health()


@router.get("/readyz", tags=["health"], responses={200: {"model": Readiness}, 503: {"model": Readiness}})
async def readyz(request: Request, _: Probe) -> Response:
    """Whether the database responds, and consumers and background work are running; if not, 503 with what is wrong."""
    runtime = runtime_of(request)
    failing = _threads(request).failures()
    failing |= {each.name: "ended" for each in request.app.state.periodic if each.has_ended}
    try:
        async with asyncio.timeout(_READY_WITHIN):
            await check_tables(runtime, request.app.state.systems)
    except (StoreError, TimeoutError) as error:
        code = error.code if isinstance(error, ServiceError) else ""
        failing["database"] = _PROBLEMS.get(code, "unreachable")
    state = {"status": "failing" if failing else "ready", "failing": failing}
    return JSONResponse(state, 503 if failing else 200)


@router.get("/metrics", tags=["health"], response_class=PlainTextResponse)
async def metrics(request: Request, _: Probe) -> Response:
    """Metrics, for Prometheus."""
    return Response(runtime_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


class UnreadableView(ApiModel):
    system: str = Field(examples=["tasks"])
    entity: str = Field(examples=["Task"])
    key: str = Field(description="the item", examples=["task_id t-1"])
    reason: str = Field(description="what is wrong with it", examples=["priority: Field required"])
    latest: datetime = Field(description="when it was last read")
    times: int = Field(description="how often it was read", examples=[1])


@router.get("/runtime/unreadable", tags=["health"])
async def unreadable(request: Request, _: Admin) -> list[UnreadableView]:
    """Items that could not be read since this process started, by system, the latest first."""
    return [
        UnreadableView(
            system=name,
            entity=each.error.entity,
            key=str(each.error.key),
            reason=each.error.reason,
            latest=each.latest,
            times=each.times,
        )
        for name, service in request.app.state.services.items()
        for each in getattr(getattr(service, "unreadable_log", None), "latest", ())
    ]


@router.get("/runtime/events/{source}", tags=["events"], responses=documented(404))
async def events(
    source: Annotated[str, Path(max_length=100, description="the name of a system", examples=["tasks"])],
    request: Request,
    _: Admin,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> EventPage:
    """The events of a system, newest first."""
    runtime = runtime_of(request)
    if events_table not in runtime.internal_tables:
        raise ResourceNotFound(f"{source} publishes no events")
    reader = AsyncTolerantReader(runtime.store)
    page = await reader.page(Event.of_source(source), limit=limit, cursor=cursor)
    found = [event.model_dump(mode="json", exclude={"ttl"}) for event in page.items]
    return EventPage(events=found, cursor=page.cursor, unreadable=[str(error) for error in page.unreadable])


@router.get("/runtime/consumers", tags=["consumers"])
async def consumers(request: Request, _: Admin) -> list[ConsumerState]:
    """The consumers of this process: which are failing, which are waiting, and how many dead letters they have."""
    threads, store = _threads(request), runtime_of(request).consumer_store
    failing, waiting, behind, elsewhere = threads.failures(), threads.waiting(), threads.behind(), threads.elsewhere()
    return [
        ConsumerState(
            name=name,
            failing=failing.get(name),
            waiting=waiting.get(name),
            dead_letters=await asyncio.to_thread(store.count, _dead_letters_of(name), consistent=True),
            behind_seconds=behind[name],
            shards_elsewhere=elsewhere[name],
        )
        for name in threads.names
    ]


@router.get("/runtime/consumers/{name}/dead-letters", tags=["consumers"], responses=documented(404))
async def dead_letters(
    name: ConsumerName, request: Request, _: Admin, limit: Limit = 20, cursor: Cursor = None
) -> DeadLetterPage:
    """The dead letters of a consumer, in stream order."""
    _known(request, name)
    reader = _consumer_reader(request)
    page = await asyncio.to_thread(reader.page, _dead_letters_of(name), limit=limit, cursor=cursor)
    return DeadLetterPage(
        dead_letters=[
            DeadLetterView(
                sequence=each.sequence,
                error=each.error,
                attempts=each.attempts,
                failed_at=each.failed_at,
                record=each.record,
            )
            for each in page.items
        ],
        cursor=page.cursor,
        unreadable=[str(error) for error in page.unreadable],
    )


@router.post(
    "/runtime/consumers/{name}/dead-letters/{sequence}/replay",
    status_code=204,
    tags=["consumers"],
    responses=documented(404, 409),
)
async def replay(name: ConsumerName, sequence: Sequence, request: Request, _: Admin) -> None:
    """Retry a dead letter, and delete it if that succeeds."""
    threads = _known(request, name)
    dead_letter = await asyncio.to_thread(_find_dead_letter, _consumer_reader(request), name, sequence)
    await asyncio.to_thread(threads.replay, dead_letter)


@router.get("/runtime/mail/dead-letters")
async def dead_mail(request: Request, _: Admin, limit: Limit = 20, cursor: Cursor = None) -> DeadMailPage:
    """Mail that was permanently refused, or not accepted by its mailbox for a day, newest first."""
    reader = _consumer_reader(request)
    page = await asyncio.to_thread(reader.page, DeadMail.newest(), limit=limit, cursor=cursor)
    lookups = [MailRecord.by_recipients(each.event_id, each.recipient) for each in page.items]
    found = await asyncio.to_thread(reader.each, lookups)
    errors = [*page.unreadable, *(each for each in found if isinstance(each, Unreadable))]
    return DeadMailPage(
        dead_letters=[
            DeadMailView(
                id=f"{each.event_id}.{each.recipient}",
                event_id=each.event_id,
                recipient=each.message.address,
                subject=each.message.subject,
                reason=each.reason,
                attempts=each.attempts,
                failed_at=each.failed_at,
            )
            for each in found
            # What was sent since is one no longer.
            if isinstance(each, MailRecord) and each.message is not None and each.failed_at is not None
        ],
        cursor=page.cursor,
        unreadable=[str(error) for error in errors],
    )


@router.post("/runtime/mail/dead-letters/{id}/replay", status_code=204)
async def replay_mail(id: str, request: Request, _: Admin) -> None:
    """Send a message again; if the mail server accepts it, it is no longer a dead letter."""
    event_id, dot, recipient = id.rpartition(".")
    if not (event_id and dot and recipient):
        raise ResourceNotFound(f"there is no dead letter {id}")
    try:
        runtime = runtime_of(request)
        await asyncio.to_thread(runtime.mailer.on(runtime.consumer_store).replay, event_id, recipient)
    except Unavailable as error:
        raise ServiceUnavailable(f"the message cannot be sent now: {error}") from error


router.routes += [*people_routes.router.routes, *privacy_routes.router.routes, *search_routes.router.routes]


def _dead_letters_of(name: str) -> Selection[DeadLetter]:
    """The dead letters of a consumer."""
    return CheckpointTable.of(internal_table).dead_letter.of_consumer(consumer=name)


def _find_dead_letter(reader: TolerantReader, name: str, sequence: str) -> DeadLetter:
    """A dead letter; the stream that it is from is part of its key as well, and there may have been several."""
    cursor = None
    while True:
        page = reader.page(_dead_letters_of(name), limit=_AT_ONCE, cursor=cursor)
        found = next((each for each in page.items if each.sequence == sequence), None)
        if found is not None:
            return found
        cursor = page.cursor
        if cursor is None:
            raise ResourceNotFound(f"{name} has no dead letter {sequence}")


def _consumer_reader(request: Request) -> TolerantReader:
    """Dead letters are the consumers', and are read with their credentials."""
    return TolerantReader(runtime_of(request).consumer_store)


def _known(request: Request, name: str) -> ConsumerThreads:
    threads = _threads(request)
    if name not in threads.names:
        raise ResourceNotFound(f"unknown consumer {name}; choose from {', '.join(threads.names)}")
    return threads


def _threads(request: Request) -> ConsumerThreads:
    threads: ConsumerThreads = request.app.state.consumer_threads
    return threads
