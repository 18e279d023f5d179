"""The seeds' designs as models: their keys, to the letter."""

# ruff: noqa: RUF012 (an entity copies its defaults)

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel

from tablewright.model import (
    AttributeName,
    Collection,
    CollectionQuery,
    CreatedAt,
    Entity,
    EpochMillis,
    ExpiresAt,
    Expiry,
    FieldCondition,
    FieldGroup,
    Get,
    GlobalIndex,
    Keys,
    Numbered,
    Projection,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Version,
    attr,
    camel_case,
    pascal_case,
    sharded,
    when,
)

# -- calls ----------------------------------------------------------------------------------------------------------

CALLS = Table(
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


class Call(Entity, table=CALLS, naming=camel_case):
    user_id: str
    call_id: Annotated[str, Unique()]
    provider_id: str
    status: CallStatus = CallStatus.SCHEDULED
    scheduled_for: EpochMillis
    version: Version = 0

    keys = Keys(sk="{scheduled_for:013}#{call_id}", userStatus="{user_id}#{status}")

    @Get()
    def by_key(self, user_id: str, scheduled_for: datetime, call_id: str) -> None: ...

    @Get("byCallId")
    def by_id(self, call_id: str) -> None: ...

    @Query()
    def of_user(self, user_id: str, *, since: datetime | None = None, before: datetime | None = None) -> None: ...

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
    ) -> FieldCondition:
        return attr(self.status) == CallStatus.SCHEDULED

    @Query("byUserStatus", newest_first=True)
    def completed(self, user_id: str) -> FieldCondition:
        return attr(self.status) == CallStatus.COMPLETED


# -- tasks ----------------------------------------------------------------------------------------------------------

TASKS = Table(
    "TaskManagement",
    "PK",
    "SK",
    indexes=[GlobalIndex("GSI1", "GSI1PK", "GSI1SK"), GlobalIndex("GSI2", "GSI2PK", "GSI2SK")],
    type_attribute="EntityType",
)


class Task(Entity, table=TASKS, naming=pascal_case, type_name="TASK"):
    task_id: str
    title: str
    status: str = "OPEN"
    created_at: datetime

    keys = Keys(
        PK="TASK#{task_id}",
        SK="METADATA",
        GSI2PK="STATUS#{status}",
        GSI2SK="CREATED_AT#{created_at}#{task_id}",
    )

    @Get()
    def by_id(self, task_id: str) -> None: ...

    @Query("GSI2", expected=25)
    def by_status(self, status: str, *, since: datetime | None = None, before: datetime | None = None) -> None: ...


class User(Entity, table=TASKS, naming=pascal_case, type_name="USER"):
    user_id: str
    email: str
    groups: set[str] = set()

    keys = Keys(PK="USER#{user_id}", SK="PROFILE")

    @Get(consistent=True)
    def by_id(self, user_id: str) -> None: ...


class Assignment(Entity, table=TASKS, naming=pascal_case, type_name="ASSIGNMENT"):
    task_id: str
    user_id: str
    assigned_by: str

    keys = Keys(PK="TASK#{task_id}", SK="ASSIGNMENT#{user_id}", GSI1PK="USER#{user_id}", GSI1SK="TASK#{task_id}")

    @Query(consistent=True)
    def of_task(self, task_id: str) -> None: ...

    @Query("GSI1")
    def of_user(self, user_id: str) -> None: ...


class TaskWithAssignments(Collection):
    task: Task
    assignments: list[Assignment]

    @CollectionQuery()
    def of_task(self, task_id: str) -> None: ...


# -- support --------------------------------------------------------------------------------------------------------

TICKETS = Table(
    "prod-tickets-unified",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("GSI1-customer-index", "GSI1PK", "GSI1SK"),
        GlobalIndex("GSI2-status-index", "GSI2PK", "GSI2SK"),
        GlobalIndex("GSI3-operator-index", "GSI3PK", "GSI3SK", include=["ticket_id", "rating", "was_helpful"]),
        GlobalIndex("GSI4-escalation-index", "GSI4PK", "GSI4SK"),
    ],
    ttl="ttl",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
)


class Ticket(Entity, table=TICKETS):
    ticket_id: str
    customer_id: str
    status: str = "PROCESSING"
    created_at: datetime
    escalated_at: datetime | None = None
    updated_at: UpdatedAt = None

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="METADATA",
        GSI1PK="CUSTOMER#{customer_id}",
        GSI1SK="STATUS#{status}#{created_at}",
        GSI2PK=sharded("STATUS#{status}", 4),
        GSI2SK="{created_at}",
        GSI4PK=when("ESCALATED", status="ESCALATED"),
        GSI4SK=when("{escalated_at}#{ticket_id}", status="ESCALATED"),
    )

    @Get()
    def by_id(self, ticket_id: str) -> None: ...

    @Query("GSI1-customer-index", newest_first=True)
    def of_customer(self, customer_id: str) -> None: ...

    @Query("GSI2-status-index", newest_first=True)
    def by_status(self, status: str, *, since: datetime | None = None, before: datetime | None = None) -> None: ...

    @Query("GSI4-escalation-index", newest_first=True)
    def escalated(self, *, since: datetime | None = None, before: datetime | None = None) -> None: ...


class Event(Entity, table=TICKETS):
    ticket_id: str
    day: date
    number: int = 0
    kind: str

    keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{day}#{number:04}")

    @Numbered()
    def number_per_ticket(self) -> FieldGroup[int]:
        return attr(self.number).per(self.ticket_id)

    @Query(newest_first=True)
    def of_ticket(self, ticket_id: str, *, since: date | None = None, before: date | None = None) -> None: ...


class Feedback(Entity, table=TICKETS):
    ticket_id: str
    feedback_id: str
    operator_id: str
    rating: int
    was_helpful: bool
    comment: str = ""
    submitted_at: datetime

    keys = Keys(
        PK="TICKET#{ticket_id}",
        SK="FEEDBACK#{submitted_at}#{feedback_id}",
        GSI3PK="OPERATOR#{operator_id}",
        GSI3SK="{submitted_at}",
    )

    @Query()
    def of_ticket(self, ticket_id: str) -> None: ...


class Rating(Projection[Feedback]):
    ticket_id: str
    rating: int
    was_helpful: bool

    @Query("GSI3-operator-index")
    def by_operator(self, operator_id: str) -> None: ...


class Session(Entity, table=TICKETS):
    session_id: str
    user: str
    created_at: CreatedAt = None
    expires_at: Annotated[ExpiresAt, Expiry(timedelta(hours=24)), AttributeName("ttl")] = None

    keys = Keys(PK="SESSION#{session_id}", SK="METADATA")

    @Get()
    def by_id(self, session_id: str) -> None: ...


class Case(Collection):
    ticket: Ticket
    feedback: list[Feedback]
    events: list[Event]

    @CollectionQuery()
    def of_ticket(self, ticket_id: str) -> None: ...


# -- engagement -----------------------------------------------------------------------------------------------------

CANDIDATES = Table(
    "Candidates",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("ProgramChannelIndex", "GSI1PK", "GSI1SK"),
        GlobalIndex("ProgramDateIndex", "GSI2PK", "GSI2SK"),
    ],
    ttl="ttl",
)


class Subject(BaseModel):
    type: str
    id: str


class Candidate(Entity, table=CANDIDATES, naming=camel_case):
    customer_id: str
    program_id: str
    marketplace_id: str
    subject: Subject
    channel_id: str | None = None
    score: Decimal | None = None
    created_at: datetime
    ttl: ExpiresAt = None

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SUBJECT#{subject.type}#{subject.id}",
        GSI1PK="PROGRAM#{program_id}#CHANNEL#{channel_id}",
        GSI1SK="SCORE#{score:number}#CUSTOMER#{customer_id}",
        GSI2PK="PROGRAM#{program_id}#DATE#{created_at:date}",
        GSI2SK="CREATED#{created_at}#CUSTOMER#{customer_id}",
    )

    @Get()
    def by_subject(
        self, customer_id: str, program_id: str, marketplace_id: str, subject__type: str, subject__id: str
    ) -> None: ...

    @Query("ProgramChannelIndex", newest_first=True)
    def top(
        self, program_id: str, channel_id: str, *, since: Decimal | None = None, before: Decimal | None = None
    ) -> None: ...

    @Query("ProgramDateIndex")
    def of_day(
        self, program_id: str, created_at: datetime, *, since: datetime | None = None, before: datetime | None = None
    ) -> None: ...
