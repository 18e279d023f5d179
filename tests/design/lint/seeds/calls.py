"""Call storage as its document has it: composites for every writer to compute, and an index that is taken as unique."""

from __future__ import annotations

from enum import StrEnum

from tablewright.model import Design, Entity, EpochMillis, Get, GlobalIndex, ItemWrite, Query, Table, Write, camel_case

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
    user_id: str
    call_id: str
    provider_id: str
    status: Status = Status.SCHEDULED
    scheduled_for: EpochMillis
    # "These must be computed client-side for every write."
    sk: str
    user_status: str

    @Get("byCallId")
    def by_call_id(self, call_id: str) -> None: ...

    @Query()
    def of_user(self, user_id: str, *, since: str | None = None, before: str | None = None) -> None: ...

    @Query("byProvider", newest_first=True)
    def of_provider(self, provider_id: str) -> None: ...

    @Query("byUserStatus")
    def of_user_by_status(self, user_status: str, *, since: str | None = None, before: str | None = None) -> None: ...


design = Design(
    "Calls, as written",
    tables=[calls],
    writes=[
        Write(
            "create",
            ItemWrite(Call, "create", keys={"sk": "{scheduled_for:013}#{call_id}", "userStatus": "{user_id}#{status}"}),
        ),
        Write("change_status", ItemWrite(Call, "update", sets=[Call.status, Call.user_status])),
        Write("change_provider", ItemWrite(Call, "update", sets=[Call.provider_id])),
        Write("reschedule", ItemWrite(Call, "delete"), ItemWrite(Call, "create")),
    ],
)
