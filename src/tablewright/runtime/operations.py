"""Routes for those who run it: health, metrics, and what consumers are at.

``/healthz`` says that the process answers, ``/readyz`` that the database does and consumers go on. They and
``/metrics`` show no data of users, and are open; the rest is for Admins.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from tablewright.runtime.dependencies import Cursor, Limit, allow, runtime_of
from tablewright.runtime.errors import Clash, Missing
from tablewright.runtime.events import Event
from tablewright.runtime.identity import ADMINS, Caller
from tablewright.runtime.workers import Workers
from tablewright.store import DeadLetter, StoreError

router = APIRouter()

_READY_WITHIN = 5.0


async def _admitted(request: Request, caller: Annotated[Caller, allow(ADMINS)]) -> Caller:
    """An admin whom no system has shut out."""
    for admit in request.app.state.admissions:
        caller = await admit(caller)
    caller.require(ADMINS)
    return caller


Admin = Annotated[Caller, Depends(_admitted)]


class ConsumerState(BaseModel):
    name: str
    failing: str | None
    # What it waits for, such as a mail server that is down.
    waiting: str | None
    dead_letters: int


class Letter(BaseModel):
    sequence: str
    error: str
    attempts: int
    failed_at: datetime
    record: str


class EventPage(BaseModel):
    events: list[dict[str, Any]]
    cursor: str | None = None


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    runtime = runtime_of(request)
    failing = _workers(request).failures()
    try:
        async with asyncio.timeout(_READY_WITHIN):
            await runtime.store.get(Event.by_id(event_id="readiness"))
    except (StoreError, TimeoutError):
        failing["database"] = "unreachable"
    state = {"status": "failing" if failing else "ready", "failing": failing}
    return JSONResponse(state, 503 if failing else 200)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    return Response(runtime_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/runtime/events/{source}")
async def events(
    source: Annotated[str, Path(max_length=100)],
    request: Request,
    _: Admin,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> EventPage:
    """What a system has published, newest first."""
    page = await runtime_of(request).store.query(Event.of_source(source=source), limit=limit, cursor=cursor)
    return EventPage(
        events=[event.model_dump(mode="json", exclude={"ttl"}) for event in page.items], cursor=page.cursor
    )


@router.get("/runtime/consumers")
async def consumers(request: Request, _: Admin) -> list[ConsumerState]:
    workers = _workers(request)
    failing, waiting = workers.failures(), workers.waiting()
    return [
        ConsumerState(
            name=name,
            failing=failing.get(name),
            waiting=waiting.get(name),
            dead_letters=len(await _letters(workers, name)),
        )
        for name in workers.names
    ]


@router.get("/runtime/consumers/{name}/dead-letters")
async def dead_letters(name: str, request: Request, _: Admin) -> list[Letter]:
    """Records that a consumer could not deal with."""
    return [
        Letter(
            sequence=letter.sequence,
            error=letter.error,
            attempts=letter.attempts,
            failed_at=letter.failed_at,
            record=letter.record,
        )
        for letter in await _letters(_workers(request), name)
    ]


@router.post("/runtime/consumers/{name}/dead-letters/{sequence}/replay", status_code=204)
async def replay(name: str, sequence: str, request: Request, _: Admin) -> None:
    """Have a dead letter handled after all."""
    workers = _workers(request)
    letter = next((each for each in await _letters(workers, name) if each.sequence == sequence), None)
    if letter is None:
        raise Missing(f"{name} has no dead letter {sequence}")
    try:
        await asyncio.to_thread(workers.consumer(name).replay, letter)
    except Exception as error:
        raise Clash(f"it failed again: {type(error).__name__}") from error


async def _letters(workers: Workers, name: str) -> list[DeadLetter]:
    if name not in workers.names:
        raise Missing(f"there is no consumer {name}; there are {', '.join(workers.names)}")
    return await asyncio.to_thread(workers.dead_letters, name)


def _workers(request: Request) -> Workers:
    workers: Workers = request.app.state.workers
    return workers
