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
    Get,
    GlobalIndex,
    Keys,
    LocalIndex,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Version,
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

    itself = Get()
    by_id = Get("byCallId")
    of_user = Query(range="scheduled_for")
    of_provider = Query("byProvider", range="scheduled_for", newest_first=True)
    upcoming = Query("byUserStatus", fixed={"status": CallStatus.SCHEDULED}, range="scheduled_for")
    completed = Query("byUserStatus", fixed={"status": CallStatus.COMPLETED}, range="scheduled_for", newest_first=True)
    long_ones = Query(where={"minutes": [45, 60]})
    hour_long = Query(where={"minutes": 60})
    none_such = Query(where={"minutes": []})


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

    by_id = Get()
    untouched = Query("customer", where={"escalated_at": None, "status": [TicketStatus.OPEN, TicketStatus.CLOSED]})
    of_customer = Query("customer", range="opened_at", newest_first=True)
    by_status = Query("status", range="opened_at", newest_first=True)
    oldest_by_status = Query("status", range="opened_at")
    escalated = Query("escalations", range="escalated_at", newest_first=True)


class Event(Entity, table=desk):
    ticket_id: str
    at: datetime
    sequence: int
    text: str = ""

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{at:date}#{sequence:04}")

    timeline = Query(range="at")
    on_day = Query()


class Feedback(Entity, table=desk):
    ticket_id: str
    feedback_id: str
    operator_id: str
    rating: int
    remark: str = ""

    keys = Keys(PK="TICKET#{ticket_id}", SK="FEEDBACK#{feedback_id}")

    by_id = Get()
    of_ticket = Query()
    of_operator = Query("operator")
    ratings = Query("operator", project=["rating", "ticket_id"])
    remarks = Query("operator", project=["remark"])
    thanked = Query("operator", where={"remark": "thanks"})


class Session(Entity, table=desk):
    session_id: str
    user_id: str
    ttl: Annotated[EpochSeconds | None, Expiry(timedelta(hours=24))] = None

    keys = Keys(PK="SESSION#{session_id}", SK="META", GSI1PK="USER#{user_id}", GSI1SK="{session_id}")

    by_id = Get()
    of_user = Query("customer")
    latest_of_user = Get("customer")


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

    of_ticket = CollectionQuery()
    latest_first = CollectionQuery(newest_first=True)


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

    at_time = Get()
    of_meter = Query(range="at")
    by_value = Query("byValue", range="value")
    by_unit = Query("byUnit")
    of_day = Query("byDay", range="digest")


# -- an optional part at the end of a sort key ----------------------------------------------------------------------

files = Table("files", "owner", "path")


class File(Entity, table=files):
    owner: str
    folder: str
    name: str | None = None

    keys = Keys(path="{folder}[#{name}]")

    at_path = Get()
    within = Query()
    by_folder = Query(range="folder")


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

    by_id = Get()
    of_round = Query("byRound", range="bracket")
    from_round = Query("byRound", range="round")


# What every endpoint can hold.
TABLES = (calls, desk, meters, files)
