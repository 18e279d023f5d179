"""Calls: scheduled, completed and cancelled calls between users and providers.

One table, ``Calls``, with the calls of a user ordered by time. Indexes find a call by its id, the calls of a provider
newest first, and those of a user by status: upcoming ones ascending, completed ones descending. The id of a call is
unique in the whole table. Rescheduling or reassigning a call moves its item, in one transaction.

Calls of one person cannot overlap: each user and each provider has an item per day with the booked times, which changes
in the transaction that changes a call. These items are in no index.

Settings of a user turn on reminders by mail, and a calendar with a secret address. A reminder is stored in the
partition of the hour in which it is due; a stream consumer puts it there, and a scheduled job sends those that are due.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tablewright.model import (
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Personal,
    Query,
    Reaction,
    Table,
    Traffic,
    Unique,
    Version,
    Volume,
    Write,
    attr,
    camel_case,
)
from tablewright.runtime import Event
from tablewright.runtime.audit import AUDITED, READ_AUDIT
from tablewright.runtime.idempotency import KEEP_RESPONSE
from tablewright.runtime.identity.deny_list import CHECK_CALLER
from tablewright.runtime.internal_tables import events_table, internal_table
from tablewright.runtime.mail.mail_records import CLAIM_MAIL, COMPLETE_MAIL, QUEUE_MAIL, RECORD_MAIL, SETTLE_MAIL
from tablewright.systems.key_times import KeyMillis

MAX_VERSIONS = 10**15
# A call takes a day at most, so it is on two days at most. At one call a minute, the item of a day has 1,440 calls.
MAX_MINUTES = 24 * 60
# For calls that were stored before calls had a duration.
DEFAULT_MINUTES = 30

calls = Table(
    "Calls",
    "userId",
    "sk",
    indexes=[
        GlobalIndex("byCallId", "callId"),
        GlobalIndex("byProvider", "providerId", "sk"),
        GlobalIndex("byUserStatus", "userStatus", "sk"),
    ],
    stream="NEW_AND_OLD_IMAGES",
)


class Status(StrEnum):
    SCHEDULED = "SCHEDULED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"


class Call(Entity, table=calls, naming=camel_case):
    """A call of a user with a provider."""

    user_id: Annotated[str, Personal("subject", keep="the provider keeps a record of the call")]
    call_id: Annotated[str, Unique()]
    provider_id: Annotated[str, Personal("reference")]
    status: Status = Status.SCHEDULED
    scheduled_for: KeyMillis
    duration_minutes: Annotated[int, Field(ge=1, le=MAX_MINUTES)] = DEFAULT_MINUTES
    # The largest integer that JSON parsers read exactly.
    version: Annotated[Version, Field(ge=0, le=MAX_VERSIONS)] = 0
    # A digest of the request that created the call with the caller's own id or key: the same request is recognized
    # when it is sent again, even if the call has changed since.
    request_digest: str | None = None

    keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

    @Get("byCallId")
    def by_id(self, call_id: str) -> None:
        """A call."""

    @Query(expected=20)
    def of_user(self, user_id: str, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The calls of a user, ordered by time."""

    @Query("byProvider", newest_first=True, expected=20)
    def of_provider(self, provider_id: str, *, since: datetime | None = None, until: datetime | None = None) -> None:
        """The calls of a provider, newest first."""

    @Query("byUserStatus", expected=10)
    def upcoming(self, user_id: str, *, since: datetime | None = None, until: datetime | None = None) -> FieldCondition:
        """The scheduled calls of a user, ordered by time."""
        return attr(self.status) == Status.SCHEDULED

    @Query("byUserStatus", newest_first=True, expected=10)
    def completed(
        self, user_id: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> FieldCondition:
        """The completed calls of a user, newest first."""
        return attr(self.status) == Status.COMPLETED

    @Query("byUserStatus", expected=1)
    def next_scheduled(self, user_id: str, *, since: datetime | None = None) -> FieldCondition:
        """The next scheduled call of a user."""
        return attr(self.status) == Status.SCHEDULED

    @Query("byUserStatus", newest_first=True, expected=1)
    def last_completed(self, user_id: str) -> FieldCondition:
        """The latest completed call of a user."""
        return attr(self.status) == Status.COMPLETED

    @property
    def duration(self) -> timedelta:
        return timedelta(minutes=self.duration_minutes)


class Side(StrEnum):
    """One of the two sides of a call."""

    USER = "user"
    PROVIDER = "provider"


class BookedDay(Entity, table=calls, naming=camel_case):
    """The times of a day (UTC) at which a user or a provider has calls."""

    side: Side
    person_id: Annotated[str, Personal("subject", keep="the time of a call that is kept")]
    day: date
    # By call id: its start and end, in milliseconds since 1970.
    times: dict[str, tuple[int, int]] = Field(default_factory=dict)
    # A day is never deleted, so a version never occurs twice.
    version: Version = 0

    keys = Keys(userId="BOOKED#{side}#{person_id}", sk="DAY#{day}")

    @Get(consistent=True)
    def of_day(self, side: Side, person_id: str, day: date) -> None:
        """The times of a user or a provider on a day."""


# A change reads the call, and the days of its old and its new time.
_CALL = [Call.by_id]
_DAY = [BookedDay.of_day]


# The longest time before a call that a reminder can be set for.
MIN_REMIND_MINUTES = 5
MAX_REMIND_MINUTES = 7 * 24 * 60


class CalendarSettings(Entity, table=calls, naming=camel_case):
    """How a user follows their calls outside of the application."""

    person_id: Annotated[str, Personal("subject")]
    # The digest of the secret in the address of their calendar; None if there is no address.
    feed_digest: str | None = None
    email: Annotated[str | None, Personal()] = None
    remind_minutes: Annotated[int | None, Field(ge=MIN_REMIND_MINUTES, le=MAX_REMIND_MINUTES)] = None
    version: Version = 0

    keys = Keys(userId="CALENDAR#{person_id}", sk="SETTINGS")

    @Get(consistent=True)
    def of_user(self, person_id: str) -> None:
        """The settings of a user."""


class Reminder(Entity, table=calls, naming=camel_case):
    """A reminder of a call that is to be sent; whether it is still right is checked when it is due."""

    # When it is sent: when it is due, or immediately if the call is scheduled after that.
    at: datetime
    due: datetime
    reminded_call: str
    reminded_user: Annotated[str, Personal("subject")]

    keys = Keys(userId="REMINDERS#{at:hour}", sk="{at}#{reminded_call}#{reminded_user}")

    @Query(expected=20)
    def due_between(self, since: datetime, until: datetime) -> None:
        """Reminders that are due, ordered by time."""


def _booking(days: int) -> ItemWrite:
    """The days that a write changes, of the user and of the provider."""
    return ItemWrite(BookedDay, "put", count=days)


design = Design(
    "Calls",
    about=__doc__,
    tables=[calls],
    internal_tables=[events_table, internal_table],
    writes=[
        Write("create call", ItemWrite(Call, "create"), _booking(2), AUDITED, reads=2 * _DAY),
        Write("complete", ItemWrite(Call, "update", sets=[Call.status]), AUDITED, reads=_CALL),
        Write(
            "cancel",
            ItemWrite(Call, "update", sets=[Call.status]),
            _booking(2),
            AUDITED,
            reads=[*_CALL, *(2 * _DAY)],
            about="its time becomes free",
        ),
        Write(
            "change provider",
            ItemWrite(Call, "update", sets=[Call.provider_id]),
            _booking(2),
            AUDITED,
            reads=[*_CALL, *(3 * _DAY)],
        ),
        Write(
            "reschedule",
            ItemWrite(Call, "delete"),
            ItemWrite(Call, "create"),
            _booking(4),
            AUDITED,
            reads=[*_CALL, *(4 * _DAY)],
            about="the time is part of the key",
        ),
        Write(
            "reassign",
            ItemWrite(Call, "delete"),
            ItemWrite(Call, "create"),
            _booking(2),
            AUDITED,
            reads=[*_CALL, *(3 * _DAY)],
            about="the user is the partition",
        ),
        Write("delete call", ItemWrite(Call, "delete"), _booking(2), AUDITED, reads=[*_CALL, *(2 * _DAY)]),
        Write(
            "change calendar settings", ItemWrite(CalendarSettings, "put"), AUDITED, reads=[CalendarSettings.of_user]
        ),
        Write("record reminder", ItemWrite(Reminder, "put"), about="by the consumer of the table's stream"),
        Write(
            "remind",
            ItemWrite(Reminder, "delete"),
            ItemWrite(Event, "put"),
            reads=[Call.by_id, CalendarSettings.of_user],
            about="when it is due",
        ),
        CLAIM_MAIL,
        RECORD_MAIL,
        QUEUE_MAIL,
        SETTLE_MAIL,
        COMPLETE_MAIL,
        KEEP_RESPONSE,
    ],
    reactions=[
        Reaction("reminder of a call", Call, consumer="reminders", write="record reminder"),
        Reaction("reminders of existing calls", CalendarSettings, consumer="reminders", write="record reminder"),
        Reaction(
            "mail about a call",
            Event,
            events=frozenset(["INSERT"]),
            effect="notify",
            consumer="notifications",
            write="complete mail",
        ),
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
            "BookedDay.of_day",
            "create call",
            "complete",
            "cancel",
            "change provider",
            "reschedule",
            "reassign",
            "delete call",
            "CalendarSettings.of_user",
            "change calendar settings",
        ],
        "reminders": [
            "CalendarSettings.of_user",
            "Call.by_id",
            "Call.upcoming",
            "Reminder.due_between",
            "Event.by_id",
            "record reminder",
            "remind",
        ],
        "notifications": [
            "CalendarSettings.of_user",
            "Call.by_id",
            "MailRecord.by_recipient",
            "MailRecord.by_recipients",
            "MailCompleted.by_event",
            "QueuedMail.waiting",
            "DeadMail.newest",
            "claim mail",
            "record mail",
            "queue mail",
            "settle mail",
        ],
        "customer": ["Call.of_user", "Call.upcoming", "Call.completed"],
        "runtime": [CHECK_CALLER, READ_AUDIT, "Event.of_source", "keep response"],
    },
    tenants={"customer": Call.user_id},
    volume={
        Call: Volume(
            items=1_000_000, size=350, distinct={"userId": 50_000, "providerId": 2_000, "userStatus": 100_000}
        ),
        BookedDay: Volume(items=1_200_000, size=300, distinct={"userId": 52_000}),
        CalendarSettings: Volume(items=10_000, size=200),
        Reminder: Volume(items=5_000, size=150, distinct={"userId": 168}),
    },
    traffic={
        "create call": Traffic(per_second=2, peak=20),
        "complete": Traffic(per_second=2, peak=20),
        "change provider": Traffic(per_second=0.1, peak=2),
        "reschedule": Traffic(per_second=0.3, peak=5),
        "reassign": Traffic(per_second=0.01, peak=1),
        "cancel": Traffic(per_second=0.2, peak=5),
        "delete call": Traffic(per_second=0.01, peak=1),
        "BookedDay.of_day": Traffic(per_second=6, peak=60),
        "Call.by_id": Traffic(per_second=20, peak=100),
        "Call.of_user": Traffic(per_second=5, peak=40),
        "Call.of_provider": Traffic(per_second=5, peak=40),
        "Call.upcoming": Traffic(per_second=20, peak=100),
        "Call.completed": Traffic(per_second=5, peak=40),
        "Call.next_scheduled": Traffic(per_second=20, peak=100),
        "Call.last_completed": Traffic(per_second=2, peak=20),
        "CalendarSettings.of_user": Traffic(per_second=2, peak=20),
        "record reminder": Traffic(per_second=0.5, peak=5),
        "remind": Traffic(per_second=0.3, peak=5),
    },
)
