"""Batch runs: the progress of each, which process executes the one of a program, and when the next is due."""

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
    """The last customer that was dealt with: rows come in this order from each connector."""

    connector: int = 0
    customer_id: Annotated[str | None, Personal("reference")] = None
    subject_type: str = ""
    subject_id: str = ""


class Counts(Stored):
    """What a run has done so far."""

    read: int = 0
    candidates: int = 0
    rejected: int = 0
    failed: int = 0
    # Rows that name no customer; they are not among those that were read.
    without_id: int = 0
    # Scores that were in the cache, and those that a model was asked for.
    cached: int = 0
    scored: int = 0


class Sample(Stored):
    """A customer who could not be dealt with, and why."""

    customer_id: Annotated[str, Personal("subject")]
    reason: str


class Run(Entity, table=programs, naming=camel_case):
    """A batch run of a program."""

    program_id: str
    marketplace_id: str
    run_id: str = Field(description="begins with the time, so that runs sort by it")
    state: RunState = RunState.RUNNING
    trigger: Literal["manual", "schedule"] = "manual"
    # A request to stop or cancel that the executing process has yet to notice.
    requested: Literal["stop", "cancel"] | None = None
    # The model that it waits for at the moment, and why.
    waiting_for: str | None = Field(default=None, max_length=500)
    # One more than how often it was resumed.
    attempt: int = 1
    program_version: int
    started: datetime
    updated: datetime
    finished: datetime | None = None
    total: int | None = None
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    counts: Counts = Field(default_factory=Counts)
    # How often each thing went wrong, and some of the customers.
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
    """A customer whom a run could not deal with, and who is tried again when it is resumed."""

    program_id: str
    marketplace_id: str
    run_id: str
    connector: int
    # Its place among the rows of the connector, and a digest of that, as keys have no room for all of it.
    customer_id: Annotated[str, Personal("subject")]
    subject_type: str
    subject_id: str
    digest: str
    reason: str
    # The run's attempt that failed last.
    attempt: int
    ttl: ExpiresAt = None

    keys = Keys(
        PK="RUN#{run_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="FAILED#{connector:04}#{digest}"
    )

    @Query(expected=10)
    def of_run(self, program_id: str, marketplace_id: str, run_id: str) -> None:
        """The customers that a run could not deal with."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.customer_id, self.subject_type, self.subject_id


class Slot(Entity, table=programs, naming=camel_case):
    """The lease on a program's run; every write of a run depends on it."""

    program_id: str
    marketplace_id: str
    run_id: str
    # Whoever has it; a new name each time that it is taken.
    owner: str
    lease_end: datetime
    # How often others went on since something was written last.
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
        """What is due, the first first."""
