"""The designs that the tests of the store read and write: a few tables with every kind of key and index."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tablewright.model import (
    Collection,
    CollectionQuery,
    CreatedAt,
    Entity,
    EpochMillis,
    EpochSeconds,
    FieldCondition,
    Get,
    GlobalIndex,
    Keys,
    LocalIndex,
    Projection,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Version,
    attr,
    camel_case,
    sharded,
    when,
)
from tablewright.model.declarations import Expiry

# -- one entity, key attributes made by templates -------------------------------------------------------------------

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


class CallStatus(StrEnum):
    SCHEDULED = "SCHEDULED"
    COMPLETED = "COMPLETED"


class Call(Entity, table=calls, naming=camel_case):
    user_id: str
    call_id: Annotated[str, Unique()]
    provider_id: str
    status: CallStatus = CallStatus.SCHEDULED
    scheduled_for: EpochMillis
    notes: list[str] = Field(default_factory=list)
    minutes: int = 0
    version: Version = 0

    keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

    @Get()
    def itself(self, user_id: str, scheduled_for: datetime, call_id: str) -> None: ...

    @Get("byCallId")
    def by_id(self, call_id: str) -> None: ...

    @Query()
    def of_user(
        self,
        user_id: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...

    @Query()
    def at_time(self, user_id: str, *, scheduled_for: datetime | None = None, call_id: str | None = None) -> None: ...

    @Query("byProvider", newest_first=True)
    def of_provider(self, provider_id: str) -> None: ...

    @Query("byUserStatus")
    def upcoming(
        self,
        user_id: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> FieldCondition:
        return attr(self.status) == CallStatus.SCHEDULED

    @Query("byUserStatus", newest_first=True)
    def completed(self, user_id: str) -> FieldCondition:
        return attr(self.status) == CallStatus.COMPLETED

    @Query()
    def long_ones(self, user_id: str) -> FieldCondition:
        return attr(self.minutes).is_in(45, 60)

    @Query()
    def hour_long(self, user_id: str) -> FieldCondition:
        return attr(self.minutes) == 60

    @Query()
    def none_such(self, user_id: str) -> FieldCondition:
        return attr(self.minutes).is_in()


# -- several entities in one table, told apart by a type attribute --------------------------------------------------

desk = Table(
    "desk",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("customer", "GSI1PK", "GSI1SK"),
        GlobalIndex("status", "GSI2PK", "GSI2SK"),
        GlobalIndex("escalations", "GSI3PK", "GSI3SK"),
        GlobalIndex("operator", "operator_id", "SK", include=["ticket_id", "rating"]),
    ],
    type_attribute="kind",
    ttl="ttl",
)


class TicketStatus(StrEnum):
    OPEN = "OPEN"
    ESCALATED = "ESCALATED"
    CLOSED = "CLOSED"


class Ticket(Entity, table=desk):
    ticket_id: str
    customer_id: str
    status: TicketStatus = TicketStatus.OPEN
    opened_at: datetime
    escalated_at: datetime | None = None
    subject: str = ""
    tags: set[str] = Field(default_factory=set)
    created_at: CreatedAt = None
    updated_at: UpdatedAt = None

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="META",
        GSI1PK="CUSTOMER#{customer_id}",
        GSI1SK="{opened_at}#{ticket_id}",
        GSI2PK=sharded("STATUS#{status}", 4),
        GSI2SK="{opened_at}#{ticket_id}",
        GSI3PK=when("QUEUE", status=TicketStatus.ESCALATED),
        GSI3SK="{escalated_at}",
    )

    @Get()
    def by_id(self, ticket_id: str) -> None: ...

    @Query("customer")
    def untouched(self, customer_id: str) -> FieldCondition:
        return attr(self.escalated_at).is_(None) & attr(self.status).is_in(TicketStatus.OPEN, TicketStatus.CLOSED)

    @Query("customer", newest_first=True)
    def of_customer(
        self,
        customer_id: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...

    @Query("status", newest_first=True)
    def by_status(
        self,
        status: TicketStatus,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...

    @Query("status")
    def oldest_by_status(self, status: TicketStatus) -> None: ...

    @Query("escalations", newest_first=True)
    def escalated(
        self,
        *,
        status: TicketStatus | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...


class Event(Entity, table=desk):
    ticket_id: str
    at: datetime
    sequence: int
    text: str = ""

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{at:date}#{sequence:04}")

    @Query()
    def timeline(
        self,
        ticket_id: str,
        *,
        since: date | None = None,
        after: date | None = None,
        until: date | None = None,
        before: date | None = None,
    ) -> None: ...

    @Query()
    def on_day(self, ticket_id: str, *, at: date | None = None, sequence: int | None = None) -> None: ...


class Feedback(Entity, table=desk):
    ticket_id: str
    feedback_id: str
    operator_id: str
    rating: int
    remark: str = ""

    keys = Keys(PK="TICKET#{ticket_id}", SK="FEEDBACK#{feedback_id}")

    @Get()
    def by_id(self, ticket_id: str, feedback_id: str) -> None: ...

    @Query()
    def of_ticket(self, ticket_id: str) -> None: ...

    @Query("operator")
    def of_operator(self, operator_id: str) -> None: ...

    @Query("operator")
    def thanked(self, operator_id: str) -> FieldCondition:
        return attr(self.remark) == "thanks"


class Rating(Projection[Feedback]):
    rating: int
    ticket_id: str

    @Query("operator")
    def ratings(self, operator_id: str) -> None: ...


class Remark(Projection[Feedback]):
    remark: str

    @Query("operator")
    def remarks(self, operator_id: str) -> None: ...


class Session(Entity, table=desk):
    session_id: str
    user_id: str
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24))] = None

    keys = Keys(PK="SESSION#{session_id}", SK="META", GSI1PK="USER#{user_id}", GSI1SK="{session_id}")

    @Get()
    def by_id(self, session_id: str) -> None: ...

    @Query("customer")
    def of_user(self, user_id: str) -> None: ...

    @Get("customer")
    def latest_of_user(self, user_id: str) -> None: ...


class Note(Entity, table=desk):
    """A remark on a ticket that goes by itself."""

    ticket_id: str
    text: str
    ttl: Annotated[EpochSeconds | None, Expiry()] = None

    keys = Keys(PK="TICKET#{ticket_id}", SK="NOTE#{text}")


class Case(Collection):
    ticket: Ticket
    events: list[Event]
    notes: list[Note]
    feedback: list[Feedback]

    @CollectionQuery()
    def of_ticket(self, ticket_id: str) -> None: ...

    @CollectionQuery(newest_first=True)
    def latest_first(self, ticket_id: str) -> None: ...


# -- key attributes that are fields themselves, of all types; a local index -----------------------------------------

meters = Table(
    "meters",
    "meter",
    "at",
    indexes=[
        LocalIndex("byValue", "value"),
        LocalIndex("byUnit", "unit", include=["value"]),
        GlobalIndex("byDay", "day", "digest"),
    ],
    types={"at": "N", "value": "N", "digest": "B"},
)


class Reading(Entity, table=meters):
    meter: str
    at: int
    value: Decimal
    day: date
    digest: bytes = b"\x00"
    unit: str = "kWh"
    remark: str = ""

    @Get()
    def at_time(self, meter: str, at: int) -> None: ...

    @Query()
    def of_meter(
        self,
        meter: str,
        *,
        since: int | None = None,
        after: int | None = None,
        until: int | None = None,
        before: int | None = None,
    ) -> None: ...

    @Query("byValue")
    def by_value(
        self,
        meter: str,
        *,
        since: Decimal | None = None,
        after: Decimal | None = None,
        until: Decimal | None = None,
        before: Decimal | None = None,
    ) -> None: ...

    @Query("byUnit")
    def by_unit(self, meter: str) -> None: ...

    @Query("byDay")
    def of_day(
        self,
        day: date,
        *,
        since: bytes | None = None,
        after: bytes | None = None,
        until: bytes | None = None,
        before: bytes | None = None,
    ) -> None: ...


# -- an optional part at the end of a sort key ----------------------------------------------------------------------

files = Table("files", "owner", "path")


class File(Entity, table=files):
    owner: str
    folder: str
    name: str | None = None

    keys = Keys(path="{folder}[#{name}]")

    @Get()
    def at_path(self, owner: str, folder: str, name: str | None) -> None: ...

    @Query()
    def within(self, owner: str, *, folder: str | None = None, name: str | None = None) -> None: ...

    @Query()
    def by_folder(self, owner: str, *, after: str | None = None, before: str | None = None) -> None: ...


# -- keys of several attributes, which not every endpoint has -------------------------------------------------------

matches = Table(
    "matches",
    "match_id",
    indexes=[GlobalIndex("byRound", ["tournament", "region"], ["round", "bracket"])],
    types={"round": "N"},
)


class Match(Entity, table=matches):
    match_id: str
    tournament: str
    region: str
    round: int
    bracket: str

    @Get()
    def by_id(self, match_id: str) -> None: ...

    @Query("byRound")
    def of_round(
        self,
        tournament: str,
        region: str,
        *,
        round: int | None = None,
        bracket: str | None = None,
    ) -> None: ...

    @Query("byRound")
    def brackets(
        self,
        tournament: str,
        region: str,
        *,
        round: int | None = None,
        after: str | None = None,
        before: str | None = None,
    ) -> None: ...

    @Query("byRound")
    def from_round(self, tournament: str, region: str, *, since: int | None = None) -> None: ...


# What every endpoint can hold.
TABLES = (calls, desk, meters, files)
