"""Engagement: whom to reach, about what, and how (Customer Engagement & Action Platform, CEAP).

Candidates
    CUSTOMER#<c>#PROGRAM#<p>#MARKETPLACE#<m>   SUBJECT#<type>#<id>                     Candidate
                                               CHANNEL#<channel>#SUBJECT#<type>#<id>   ChannelEntry, for each channel
                                               DELIVERY#<channel>#SUBJECT#...          Delivery, what was sent
    CUSTOMER#<c>                               PREFERENCES, CONTACTS                   Preferences, Contacts
    QUOTA#PROGRAM#<p>#MARKETPLACE#<m>          CHANNEL#<channel>#<day>                 Quota, sent in a day
    IDEMPOTENCY#<key>                          METADATA                                Once

    ProgramChannelIndex   candidates of a program and channel, best score first
    ProgramDateIndex      candidates of a program by the day they were made; its deliveries by the day they were sent

ProgramConfig
    PROGRAM#<p>                   MARKETPLACE#<m>     Program
    PROGRAM#<p>#MARKETPLACE#<m>   VERSION#<number>    ProgramVersion, what it was in each version
                                  RUN#<id>            Run, of a batch
                                  SLOT                Slot, whoever carries out the one run that there may be
                                  SCHEDULE#<kind>     Schedule, when the next is due

    MarketplaceIndex      programs of a marketplace
    DueIndex              schedules that are due, and runs whose process is gone

ScoreCache
    CUSTOMER#<c>#SUBJECT#<id>   MODEL#<model>    Score, for 24 to 48 hours

An index entry serves one channel, so a candidate has an entry for each. It is written, moved and removed in the same
transaction as the candidate. Scores in keys are in a form that sorts as numbers do.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tablewright.model import (
    Accepted,
    Attr,
    Design,
    Entity,
    EpochMillis,
    EpochSeconds,
    ExpiresAt,
    Get,
    GlobalIndex,
    Keys,
    Need,
    Query,
    Table,
    Touch,
    Traffic,
    Version,
    Volume,
    Write,
    camel_case,
)
from tablewright.store import IdempotencyRecord
from tablewright.systems.engagement.configuration import (
    Channel,
    Configuration,
    Connector,
    FilterChain,
    ScoringModel,
    Settings,
)

TAGS = {"Environment": "dev", "Application": "ceap-platform", "ManagedBy": "tablewright"}
# A candidate's history of rejections has so many at most; the latest are kept.
MOST_REJECTIONS = 50
MOST_SAMPLES = 20
MOST_CHANNELS = 10
# Deliveries that are remembered of a customer, and for how long: filters look no further back.
MOST_CONTACTS = 200
CONTACT_DAYS = 90

CustomerId = Annotated[str, Field(min_length=1, max_length=200)]

candidates = Table(
    "Candidates",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("ProgramChannelIndex", "GSI1PK", "GSI1SK"),
        GlobalIndex("ProgramDateIndex", "GSI2PK", "GSI2SK"),
    ],
    ttl="ttl",
    point_in_time_recovery=True,
    encryption=True,
    tags=TAGS,
)
programs = Table(
    "ProgramConfig",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("MarketplaceIndex", "GSI1PK", "GSI1SK"),
        GlobalIndex("DueIndex", "GSI2PK", "GSI2SK"),
    ],
    point_in_time_recovery=True,
    encryption=True,
    tags=TAGS,
)
scores = Table("ScoreCache", "PK", "SK", ttl="ttl", point_in_time_recovery=True, encryption=True, tags=TAGS)


class Stored(BaseModel):
    """A map in an item."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


# -- candidates ---------------------------------------------------------------------------------------------------


class Subject(Stored):
    """What a customer may be interested in."""

    type: str = Field(min_length=1, max_length=50, examples=["product"])
    id: str = Field(min_length=1, max_length=150, examples=["PRODUCT-ABC"])
    attributes: Settings = Field(default_factory=dict)


class ModelScore(Stored):
    """What a model found."""

    value: Decimal
    confidence: Decimal | None = None
    timestamp: EpochSeconds


class Metadata(Stored):
    """When a candidate was made and refreshed, and by what."""

    created: datetime
    # The day of it, in UTC.
    day: date
    updated: datetime
    # The run that wrote it last; none if that was an event.
    run_id: str | None = None


class Rejection(Stored):
    """Why a customer was left out, by which filter, and when; ``manual`` is a person."""

    reason: str = Field(max_length=500)
    filter: str = Field(max_length=64)
    at: datetime


class Candidate(Entity, table=candidates, naming=camel_case):
    """A customer who may be reached about a subject."""

    customer_id: CustomerId
    program_id: str
    marketplace_id: str
    subject: Subject
    context: list[dict[str, Any]] = Field(default_factory=list, max_length=20)
    scores: dict[str, ModelScore] = Field(default_factory=dict, max_length=10)
    # All of them by weight.
    score: Decimal
    channels: list[str] = Field(default_factory=list, max_length=MOST_CHANNELS)
    attributes: dict[str, Any] = Field(default_factory=dict)
    metadata: Metadata
    rejected: bool = False
    rejection_history: list[Rejection] = Field(default_factory=list, max_length=MOST_REJECTIONS)
    ttl: ExpiresAt = None
    version: Version = 0

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SUBJECT#{subject.type}#{subject.id}",
        GSI2PK="PROGRAM#{program_id}#DATE#{metadata.day}",
        GSI2SK="CREATED#{metadata.created}#CUSTOMER#{customer_id}",
    )

    by_subject = Get(many=True)
    of_day = Query("ProgramDateIndex", expected=100)


class ChannelEntry(Entity, table=candidates, naming=camel_case):
    """A candidate in the list of one channel."""

    customer_id: CustomerId
    program_id: str
    marketplace_id: str
    subject: Subject
    channel_id: str
    score: Decimal
    created: datetime
    ttl: ExpiresAt = None

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="CHANNEL#{channel_id}#SUBJECT#{subject.type}#{subject.id}",
        GSI1PK="PROGRAM#{program_id}#CHANNEL#{channel_id}",
        GSI1SK="SCORE#{score:number}#CUSTOMER#{customer_id}",
    )

    by_channel = Get()
    top = Query("ProgramChannelIndex", newest_first=True, expected=100)


class DeliveryState(StrEnum):
    SENDING = "sending"
    SENT = "sent"
    REFUSED = "refused"


class Delivery(Entity, table=candidates, naming=camel_case):
    """A candidate that was sent through a channel, or is being sent."""

    customer_id: CustomerId
    program_id: str
    marketplace_id: str
    subject: Subject
    channel_id: str
    # The candidate that it is of: one that expired and was made again is another one.
    candidate_created: datetime
    delivery_id: str
    state: DeliveryState = DeliveryState.SENDING
    claim: str
    claimed_until: EpochMillis
    at: datetime
    day: date
    reason: str | None = Field(default=None, max_length=200)
    ttl: ExpiresAt = None

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="DELIVERY#{channel_id}#SUBJECT#{subject.type}#{subject.id}#{candidate_created}",
        GSI2PK="PROGRAM#{program_id}#DELIVERIES#{day}",
        GSI2SK="CREATED#{at}#CUSTOMER#{customer_id}",
    )

    by_candidate = Get(many=True, consistent=True)
    of_customer = Query(expected=5)
    of_day = Query("ProgramDateIndex", expected=100)


# -- customers ----------------------------------------------------------------------------------------------------


class QuietHours(Stored):
    """When a customer is not to be disturbed, in his own time; from 22 to 7 is a night."""

    start: str = Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["22:00"])
    end: str = Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["07:00"])
    time_zone: str = Field(default="UTC", max_length=64)


class Preferences(Entity, table=candidates, naming=camel_case):
    """What a customer wants."""

    customer_id: CustomerId
    opted_out: bool = False
    channels_off: list[str] = Field(default_factory=list, max_length=50)
    programs_off: list[str] = Field(default_factory=list, max_length=100)
    quiet_hours: QuietHours | None = None

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="PREFERENCES")

    of_customer = Get(many=True)


class Contacts(Entity, table=candidates, naming=camel_case):
    """When a customer was reached lately, oldest first."""

    customer_id: CustomerId
    times: list[EpochSeconds] = Field(default_factory=list, max_length=MOST_CONTACTS)
    ttl: ExpiresAt = None
    version: Version = 0

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="CONTACTS")

    of_customer = Get(many=True)


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

    of_day = Get(consistent=True)


class Once(IdempotencyRecord, table=candidates):
    """A request that was carried out, and its answer."""

    keys = Keys(PK="IDEMPOTENCY#{idempotency_key}", SK="METADATA")


# -- programs -----------------------------------------------------------------------------------------------------


class Program(Entity, table=programs, naming=camel_case):
    """What is done for the customers of a marketplace, and how."""

    program_id: str
    marketplace_id: str
    program_name: str
    enabled: bool
    data_connectors: list[Connector] = Field(max_length=10)
    scoring_models: list[ScoringModel] = Field(max_length=10)
    filter_chain: FilterChain
    channels: list[Channel] = Field(max_length=MOST_CHANNELS)
    batch_schedule: str | None = None
    delivery_schedule: str | None = None
    time_zone: str = "UTC"
    reactive_enabled: bool = False
    candidate_ttl_days: Annotated[int, Attr("candidateTTLDays")]
    version: Version = 0

    keys = Keys(
        PK="PROGRAM#{program_id}",
        SK="MARKETPLACE#{marketplace_id}",
        GSI1PK="MARKETPLACE#{marketplace_id}",
        GSI1SK="PROGRAM#{program_id}",
    )

    by_id = Get()
    of_marketplace = Query("MarketplaceIndex", expected=20)

    @property
    def configuration(self) -> Configuration:
        values = {name: getattr(self, name) for name in Configuration.model_fields}
        return Configuration(**values)


class ProgramVersion(Entity, table=programs, naming=camel_case):
    """What a program was in one of its versions; runs go by the version that they began with."""

    program_id: str
    marketplace_id: str
    number: int
    configuration: Configuration
    changed_by: str
    at: datetime

    keys = Keys(PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="VERSION#{number:08}")

    by_number = Get()
    of_program = Query(newest_first=True, expected=20)


class RunState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Checkpoint(Stored):
    """The last customer that was dealt with: rows come in this order from each connector."""

    connector: int = 0
    customer_id: str | None = None
    subject_type: str = ""
    subject_id: str = ""


class Counts(Stored):
    """What a run has done so far."""

    read: int = 0
    candidates: int = 0
    rejected: int = 0
    failed: int = 0
    # Scores that were in the cache, and those that a model was asked for.
    cached: int = 0
    scored: int = 0


class Sample(Stored):
    """A customer who could not be dealt with, and why."""

    customer_id: str
    reason: str


class Run(Entity, table=programs, naming=camel_case):
    """A batch run of a program."""

    program_id: str
    marketplace_id: str
    # Begins with the time, so that runs sort by it.
    run_id: str
    state: RunState = RunState.RUNNING
    trigger: Literal["manual", "schedule"] = "manual"
    # A person's wish that whoever carries it out has yet to notice.
    requested: Literal["stop", "cancel"] | None = None
    program_version: int
    started: datetime
    updated: datetime
    finished: datetime | None = None
    total: int | None = None
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    counts: Counts = Field(default_factory=Counts)
    # How often each thing went wrong, and some of the customers.
    errors: dict[str, int] = Field(default_factory=dict, max_length=50)
    samples: list[Sample] = Field(default_factory=list, max_length=MOST_SAMPLES)
    # Why it failed as a whole.
    failure: str | None = Field(default=None, max_length=500)

    keys = Keys(PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="RUN#{run_id}")

    by_id = Get(consistent=True)
    of_program = Query(newest_first=True, expected=20)


class Slot(Entity, table=programs, naming=camel_case):
    """The right to carry out a program's run, for a while; every write of a run depends on it."""

    program_id: str
    marketplace_id: str
    run_id: str
    # Whoever has it; a new name each time that it is taken.
    owner: str
    until: datetime
    # How often others went on since something was written last.
    taken_over: int = 0

    keys = Keys(
        PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SLOT",
        GSI2PK="RUNNING",
        GSI2SK="{until}#{program_id}#{marketplace_id}",
    )

    of_program = Get(consistent=True)
    held_until = Query("DueIndex", range="until", expected=5)


class ScheduleKind(StrEnum):
    BATCH = "batch"
    DELIVERY = "delivery"


class Schedule(Entity, table=programs, naming=camel_case):
    """When a program's next run, or its next deliveries, are due."""

    program_id: str
    marketplace_id: str
    kind: ScheduleKind
    cron: str
    time_zone: str
    due: datetime

    keys = Keys(
        PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SCHEDULE#{kind}",
        GSI2PK="SCHEDULE",
        GSI2SK="{due}#{program_id}#{marketplace_id}",
    )

    of_program = Get(consistent=True)
    due_until = Query("DueIndex", range="due", expected=10)


# -- scores -------------------------------------------------------------------------------------------------------


class Score(Entity, table=scores, naming=camel_case):
    """What a model found, for as long as it is good."""

    customer_id: CustomerId
    subject_id: str
    model_id: str
    # The key has no room for it; a score of another type's subject with this id is none of this one.
    subject_type: str
    score: ModelScore
    ttl: ExpiresAt = None

    keys = Keys(PK="CUSTOMER#{customer_id}#SUBJECT#{subject_id}", SK="MODEL#{model_id}")

    by_model = Get(many=True)
    of_subject = Query(expected=3)


design = Design(
    "Engagement",
    about=__doc__,
    tables=[candidates, programs, scores],
    needs=[
        Need("programs of a marketplace", Program, by=["marketplace_id"]),
        Need("best candidates of a program and channel", ChannelEntry, by=["program_id", "channel_id"]),
    ],
    writes=[
        Write(
            "write candidates",
            Touch(Slot, "update", sets=["until", "taken_over"]),
            Touch(Run, "update", sets=["checkpoint", "counts", "errors", "samples", "updated"]),
            Touch(Candidate, "put", count=20),
            Touch(ChannelEntry, "put", count=75),
        ),
        Write(
            "refresh candidate",
            Touch(Candidate, "put"),
            Touch(ChannelEntry, "put", count=MOST_CHANNELS),
            Touch(Once, "update", sets=["response"]),
        ),
        Write(
            "reject",
            Touch(Candidate, "update", sets=["rejected", "channels", "rejection_history"]),
            Touch(ChannelEntry, "delete", count=MOST_CHANNELS),
        ),
        Write("delete candidate", Touch(Candidate, "delete"), Touch(ChannelEntry, "delete", count=MOST_CHANNELS)),
        Write("cache scores", Touch(Score, "put", count=25, conditional=False)),
        Write(
            "claim delivery",
            Touch(Delivery, "create"),
            Touch(Contacts, "put"),
            Touch(Quota, "put"),
        ),
        Write("take claim over", Touch(Delivery, "update", sets=["claim", "claimed_until"])),
        Write("give claim back", Touch(Delivery, "delete"), Touch(Contacts, "put"), Touch(Quota, "put")),
        Write("finish delivery", Touch(Delivery, "update", sets=["state", "reason"])),
        Write("set preferences", Touch(Preferences, "put")),
        Write(
            "put program",
            Touch(Program, "put"),
            Touch(ProgramVersion, "create"),
            Touch(Schedule, "put", count=2),
        ),
        Write(
            "begin run",
            Touch(Run, "create"),
            Touch(Slot, "create"),
            Touch(Schedule, "update", sets=["due"]),
            Touch(Once, "update", sets=["response"]),
        ),
        Write("take run over", Touch(Slot, "update", sets=["owner", "until", "taken_over"])),
        Write("ask run to end", Touch(Run, "update", sets=["requested"])),
        Write("move schedule on", Touch(Schedule, "update", sets=["due"])),
        Write("end run", Touch(Run, "update", sets=["state", "finished"]), Touch(Slot, "delete")),
    ],
    roles={
        "api": [
            "Candidate.by_subject",
            "Candidate.of_day",
            "ChannelEntry.by_channel",
            "ChannelEntry.top",
            "Delivery.by_candidate",
            "Delivery.of_customer",
            "Delivery.of_day",
            "Preferences.of_customer",
            "Contacts.of_customer",
            "Quota.of_day",
            "Program.by_id",
            "Program.of_marketplace",
            "ProgramVersion.by_number",
            "ProgramVersion.of_program",
            "Run.by_id",
            "Run.of_program",
            "Slot.of_program",
            "Slot.held_until",
            "Schedule.of_program",
            "Schedule.due_until",
            "Score.by_model",
            "Score.of_subject",
            "write candidates",
            "refresh candidate",
            "reject",
            "delete candidate",
            "cache scores",
            "claim delivery",
            "take claim over",
            "give claim back",
            "finish delivery",
            "set preferences",
            "put program",
            "begin run",
            "take run over",
            "ask run to end",
            "move schedule on",
            "end run",
        ]
    },
    volume={
        Candidate: Volume(items=1_000_000, size=900),
        ChannelEntry: Volume(items=2_000_000, size=350),
        Delivery: Volume(items=200_000, size=450),
        Preferences: Volume(items=100_000, size=200),
        Contacts: Volume(items=200_000, size=250),
        Quota: Volume(items=100, size=150),
        Program: Volume(items=100, size=1_500),
        ProgramVersion: Volume(items=1_000, size=1_500),
        Run: Volume(items=10_000, size=900),
        Slot: Volume(items=10, size=200),
        Schedule: Volume(items=100, size=200),
        Score: Volume(items=2_000_000, size=200),
    },
    traffic={
        "write candidates": Traffic(per_second=5, peak=20),
        "ChannelEntry.top": Traffic(per_second=5, peak=20),
        "Candidate.by_subject": Traffic(per_second=20, peak=100),
        "Score.by_model": Traffic(per_second=100, peak=500),
        "Schedule.due_until": Traffic(per_second=1, peak=2),
        "Slot.held_until": Traffic(per_second=1, peak=2),
        "put program": Traffic(per_second=0.01, peak=1),
        "begin run": Traffic(per_second=0.01, peak=1),
        "end run": Traffic(per_second=0.01, peak=1),
        "take run over": Traffic(per_second=0.1, peak=1),
        "move schedule on": Traffic(per_second=0.01, peak=1),
    },
    accepted=[
        Accepted(
            "counted-by-hand",
            "ProgramVersion.number",
            "it is the program's version, which the same transaction counts and checks",
        )
    ],
)
