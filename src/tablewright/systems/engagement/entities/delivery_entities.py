"""Deliveries, contacts, and the preferences of customers."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tablewright.model import (
    Entity,
    EpochMillis,
    EpochSeconds,
    ExpiresAt,
    Get,
    Keys,
    Personal,
    Query,
    Version,
    camel_case,
)
from tablewright.systems.engagement.entities.candidate_entities import Subject
from tablewright.systems.engagement.entities.engagement_tables import CustomerId, Stored, candidates
from tablewright.systems.engagement.runs.cron_schedule import check_time_zone

# Stored contacts per customer, and for how many days: filters look no further back.
MAX_CONTACTS = 200
CONTACT_DAYS = 90
MAX_PROGRAMS_OFF = 100


class DeliveryState(StrEnum):
    SENDING = "sending"
    SENT = "sent"
    REFUSED = "refused"


class Delivery(Entity, table=candidates, naming=camel_case):
    """A candidate that was sent through a channel, or is being sent."""

    customer_id: Annotated[CustomerId, Personal("subject")]
    program_id: str
    marketplace_id: str
    subject: Subject
    channel_id: str
    # The creation of its candidate: one that expired and was created again is a different one.
    candidate_created: datetime
    delivery_id: str
    state: DeliveryState = DeliveryState.SENDING
    claim: str
    claimed_until: EpochMillis
    at: datetime
    day: date
    # How often it was refused and retried.
    retries: int = 0
    reason: str | None = Field(default=None, max_length=200)
    ttl: ExpiresAt = None

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="DELIVERY#{channel_id}#SUBJECT#{subject.type}#{subject.id}#{candidate_created}",
        GSI2PK="PROGRAM#{program_id}#DELIVERIES#{day}",
        GSI2SK="CREATED#{at}#CUSTOMER#{customer_id}",
    )

    @Get(many=True, consistent=True)
    def by_candidate(
        self,
        customer_id: str,
        program_id: str,
        marketplace_id: str,
        channel_id: str,
        subject__type: str,
        subject__id: str,
        candidate_created: datetime,
    ) -> None:
        """The delivery of a candidate through a channel."""

    @Query(expected=5)
    def of_customer(self, customer_id: str, program_id: str, marketplace_id: str) -> None:
        """Deliveries of a program to a customer, including those being sent."""

    @Query("ProgramDateIndex", expected=100)
    def of_day(self, program_id: str, day: date) -> None:
        """Deliveries of a program on a day, in the order in which they were sent."""


class QuietHours(Stored):
    """When a customer must not be disturbed, in local time: from 22 to 7 is a night, from 0 to 0 a whole day."""

    start: str = Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["22:00"])
    end: str = Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["07:00"])
    time_zone: Annotated[str, AfterValidator(check_time_zone)] = Field(default="UTC", max_length=64)


class Preferences(Entity, table=candidates, naming=camel_case):
    """What a customer wants."""

    customer_id: Annotated[CustomerId, Personal("subject")]
    opted_out: bool = False
    channels_off: list[str] = Field(default_factory=list, max_length=50)
    programs_off: list[str] = Field(default_factory=list, max_length=MAX_PROGRAMS_OFF)
    quiet_hours: QuietHours | None = None
    version: Version = 0

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="PREFERENCES")

    @Get(many=True)
    def of_customer(self, customer_id: str) -> None:
        """What a customer wants."""


class PreferenceChange(Entity, table=candidates, naming=camel_case):
    """A change of a customer's preferences: who made it, when, how, and the values before and after."""

    customer_id: Annotated[CustomerId, Personal("subject", keep="proof of consent")]
    # The version of the preferences that it created.
    number: int
    at: datetime
    changed_by: Annotated[str, Personal("reference")]
    source: str
    changes: dict[str, Any]

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="PREFERENCES#{number:08}")

    @Query(newest_first=True, expected=5)
    def of_customer(self, customer_id: str) -> None:
        """The changes of a customer's preferences, newest first."""


class Contacts(Entity, table=candidates, naming=camel_case):
    """When a customer was reached lately, oldest first."""

    customer_id: Annotated[CustomerId, Personal("subject")]
    times: list[EpochSeconds] = Field(default_factory=list, max_length=MAX_CONTACTS)
    ttl: ExpiresAt = None
    version: Version = 0

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="CONTACTS")

    @Get(many=True)
    def of_customer(self, customer_id: str) -> None:
        """When a customer was reached lately."""


class Quota(Entity, table=candidates, naming=camel_case):
    """How many were sent through a channel in a day."""

    program_id: str
    marketplace_id: str
    channel_id: str
    day: date
    sent: int = 0
    ttl: ExpiresAt = None
    version: Version = 0

    keys = Keys(PK="QUOTA#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="CHANNEL#{channel_id}#{day}")

    @Get(consistent=True)
    def of_day(self, program_id: str, marketplace_id: str, channel_id: str, day: date) -> None:
        """How many were sent through a channel in a day."""
