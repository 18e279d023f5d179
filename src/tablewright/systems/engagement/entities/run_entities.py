"""Batch runs: their progress, the process that executes the run of a program, and due times of schedules."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tablewright.model import Entity, ExpiresAt, Get, Keys, Personal, Query, camel_case
from tablewright.systems.engagement.entities.engagement_tables import Stored, candidates, programs
from tablewright.systems.engagement.runs.cron_schedule import check_cron, check_time_zone

MAX_SAMPLES = 20


class RunState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    # It has waited for a model for too long.
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Checkpoint(Stored):
    """The last customer that was processed: each connector returns rows in this order."""

    connector: int = 0
    customer_id: Annotated[str | None, Personal("reference")] = None
    subject_type: str = ""
    subject_id: str = ""


class Counts(Stored):
    """The counts of a run so far."""

    read: int = 0
    candidates: int = 0
    rejected: int = 0
    failed: int = 0
    # Rows without a customer id, which are not counted as read.
    without_id: int = 0
    # Scores from the cache, and those from models.
    cached: int = 0
    scored: int = 0


class Sample(Stored):
    """A customer who could not be processed, and why."""

    customer_id: Annotated[str, Personal("subject")]
    reason: str


class Run(Entity, table=programs, naming=camel_case):
    """A batch run of a program."""

    program_id: str
    marketplace_id: str
    run_id: str = Field(description="starts with the time, so that runs sort by it")
    state: RunState = RunState.RUNNING
    trigger: Literal["manual", "schedule"] = "manual"
    # A request to stop or cancel that the executing process has not handled yet.
    requested: Literal["stop", "cancel"] | None = None
    # The model that it is waiting for, and why.
    waiting_for: str | None = Field(default=None, max_length=500)
    # 1, and one more each time it is resumed.
    attempt: int = 1
    program_version: int
    started: datetime
    updated: datetime
    finished: datetime | None = None
    total: int | None = None
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    counts: Counts = Field(default_factory=Counts)
    # Number of occurrences by error, and some of the customers.
    errors: dict[str, int] = Field(default_factory=dict, max_length=50)
    samples: list[Sample] = Field(default_factory=list, max_length=MAX_SAMPLES)
    # Why it failed as a whole, or was paused.
    failure: str | None = Field(default=None, max_length=500)

    keys = Keys(PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="RUN#{run_id}")

    @Get(consistent=True)
    def by_id(self, program_id: str, marketplace_id: str, run_id: str) -> None:
        """A run."""

    @Query(newest_first=True, expected=20)
    def of_program(self, program_id: str, marketplace_id: str) -> None:
        """The runs of a program, newest first."""


class FailedCustomer(Entity, table=candidates, naming=camel_case):
    """A customer that a run could not process, who is retried when it is resumed."""

    program_id: str
    marketplace_id: str
    run_id: str
    connector: int
    # Its position among the rows of the connector, and a digest of that, as all of it may be too long for a key.
    customer_id: Annotated[str, Personal("subject")]
    subject_type: str
    subject_id: str
    digest: str
    reason: str
    # The latest attempt of the run that failed.
    attempt: int
    ttl: ExpiresAt = None

    keys = Keys(
        PK="RUN#{run_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="FAILED#{connector:04}#{digest}"
    )

    @Query(expected=10)
    def of_run(self, program_id: str, marketplace_id: str, run_id: str) -> None:
        """The customers that a run could not process."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.customer_id, self.subject_type, self.subject_id


class Slot(Entity, table=programs, naming=camel_case):
    """The lease on a program's run; every write of a run depends on it."""

    program_id: str
    marketplace_id: str
    run_id: str
    # The owner; a new name each time that the slot is taken.
    owner: str
    lease_end: datetime
    # How often others took over since the last write of the run.
    taken_over: int = 0

    keys = Keys(
        PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SLOT",
        GSI2PK="RUNNING",
        GSI2SK="{lease_end}#{program_id}#{marketplace_id}",
    )

    @Get(consistent=True)
    def of_program(self, program_id: str, marketplace_id: str) -> None:
        """The slot of a program."""

    @Query("DueIndex", expected=5)
    def held_until(self, *, until: datetime | None = None) -> None:
        """The slots that are held, by the end of their lease."""


class ScheduleKind(StrEnum):
    BATCH = "batch"
    DELIVERY = "delivery"


class Schedule(Entity, table=programs, naming=camel_case):
    """When a program's next run, or its next deliveries, are due."""

    program_id: str
    marketplace_id: str
    kind: ScheduleKind
    cron: Annotated[str, AfterValidator(check_cron)]
    time_zone: Annotated[str, AfterValidator(check_time_zone)]
    due: datetime

    keys = Keys(
        PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SCHEDULE#{kind}",
        GSI2PK="SCHEDULE",
        GSI2SK="{due}#{program_id}#{marketplace_id}",
    )

    @Get(consistent=True)
    def of_program(self, program_id: str, marketplace_id: str, kind: ScheduleKind) -> None:
        """A schedule of a program."""

    @Query("DueIndex", expected=10)
    def due_until(self, *, until: datetime | None = None) -> None:
        """Schedules by due time, the earliest first."""
