"""Calls: scheduled and completed calls between users and providers.

One table, ``Calls``, with the calls of a user in order of time. A call is found by its id, the calls of a provider
newest first, and those of a user by status: upcoming ones ascending, completed ones descending. The id of a call is
unique in the whole table. Who reschedules or reassigns a call moves it, in one transaction.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tablewright.model import (
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Traffic,
    Unique,
    Version,
    Volume,
    Write,
    camel_case,
)
from tablewright.systems.key_times import KeyMillis

MAX_VERSIONS = 10**15

calls = Table(
    "Calls",
    "userId",
    "sk",
    indexes=[
        GlobalIndex("byCallId", "callId"),
        GlobalIndex("byProvider", "providerId", "sk"),
        GlobalIndex("byUserStatus", "userStatus", "sk"),
    ],
)


class Status(StrEnum):
    SCHEDULED = "SCHEDULED"
    COMPLETED = "COMPLETED"


class Call(Entity, table=calls, naming=camel_case):
    """A call of a user with a provider."""

    user_id: str
    call_id: Annotated[str, Unique()]
    provider_id: str
    status: Status = Status.SCHEDULED
    scheduled_for: KeyMillis
    # As large as JSON's readers take a number exactly.
    version: Annotated[Version, Field(ge=0, le=MAX_VERSIONS)] = 0
    # A digest of the request that created the call under the caller's own id or key: the same request is recognized
    # when it is sent again, however the call has changed.
    request_digest: str | None = None

    keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

    by_id = Get("byCallId")
    of_user = Query(range="scheduled_for", expected=20)
    of_provider = Query("byProvider", range="scheduled_for", newest_first=True, expected=20)
    upcoming = Query("byUserStatus", fixed={"status": Status.SCHEDULED}, range="scheduled_for", expected=10)
    completed = Query(
        "byUserStatus", fixed={"status": Status.COMPLETED}, range="scheduled_for", newest_first=True, expected=10
    )
    next_scheduled = Query("byUserStatus", fixed={"status": Status.SCHEDULED}, range="scheduled_for", expected=1)
    last_completed = Query("byUserStatus", fixed={"status": Status.COMPLETED}, newest_first=True, expected=1)


design = Design(
    "Calls",
    about=__doc__,
    tables=[calls],
    writes=[
        Write("create call", ItemWrite(Call, "create")),
        Write("change status", ItemWrite(Call, "update", sets=["status"])),
        Write("change provider", ItemWrite(Call, "update", sets=["provider_id"])),
        Write("reschedule", ItemWrite(Call, "delete"), ItemWrite(Call, "create"), about="the time is part of the key"),
        Write("reassign", ItemWrite(Call, "delete"), ItemWrite(Call, "create"), about="the user is the partition"),
        Write("cancel", ItemWrite(Call, "delete")),
    ],
    roles={
        "api": [
            "Call.by_id",
            "Call.of_user",
            "Call.of_provider",
            "Call.upcoming",
            "Call.completed",
            "Call.next_scheduled",
            "Call.last_completed",
            "create call",
            "change status",
            "change provider",
            "reschedule",
            "reassign",
            "cancel",
        ]
    },
    volume={
        Call: Volume(items=1_000_000, size=330, distinct={"userId": 50_000, "providerId": 2_000, "userStatus": 100_000})
    },
    traffic={
        "create call": Traffic(per_second=2, peak=20),
        "change status": Traffic(per_second=2, peak=20),
        "change provider": Traffic(per_second=0.1, peak=2),
        "reschedule": Traffic(per_second=0.3, peak=5),
        "reassign": Traffic(per_second=0.01, peak=1),
        "cancel": Traffic(per_second=0.2, peak=5),
        "Call.by_id": Traffic(per_second=20, peak=100),
        "Call.of_user": Traffic(per_second=5, peak=40),
        "Call.of_provider": Traffic(per_second=5, peak=40),
        "Call.upcoming": Traffic(per_second=20, peak=100),
        "Call.completed": Traffic(per_second=5, peak=40),
        "Call.next_scheduled": Traffic(per_second=20, peak=100),
        "Call.last_completed": Traffic(per_second=2, peak=20),
    },
)
