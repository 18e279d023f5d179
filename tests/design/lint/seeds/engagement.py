"""An engagement platform as its document has it: raw scores in a sort key, one channel a candidate, a scan."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

from tablewright.model import (
    Design,
    Entity,
    ExpiresAt,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    RequiredRead,
    Table,
    Write,
    camel_case,
)

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
)
programs = Table("ProgramConfig", "PK", "SK", point_in_time_recovery=True, encryption=True)
scores = Table("ScoreCache", "PK", "SK", ttl="ttl", point_in_time_recovery=True, encryption=True)


class Subject(BaseModel):
    type: str
    id: str
    attributes: dict[str, Any] = {}


class Candidate(Entity, table=candidates, naming=camel_case):
    customer_id: str
    program_id: str
    marketplace_id: str
    subject: Subject
    # A candidate is scored for several channels, but its index key has room for one.
    channels: list[str] = Field(max_length=10)
    channel_id: str
    score_value: Decimal
    created_at: datetime
    rejection_history: list[dict[str, Any]] = Field(default_factory=list)
    ttl: ExpiresAt = None

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SUBJECT#{subject.type}#{subject.id}",
        GSI1PK="PROGRAM#{program_id}#CHANNEL#{channel_id}",
        GSI1SK="SCORE#{score_value}#CUSTOMER#{customer_id}",
        GSI2PK="PROGRAM#{program_id}#DATE#{created_at:date}",
        GSI2SK="CREATED#{created_at}#CUSTOMER#{customer_id}",
    )

    @Get()
    def itself(
        self, customer_id: str, program_id: str, marketplace_id: str, subject__type: str, subject__id: str
    ) -> None: ...

    @Query("ProgramChannelIndex", newest_first=True)
    def best(self, program_id: str, channel_id: str) -> None: ...

    @Query("ProgramDateIndex")
    def of_day(
        self, program_id: str, created_at: datetime, *, since: datetime | None = None, before: datetime | None = None
    ) -> None: ...


class Program(Entity, table=programs, naming=camel_case):
    program_id: str
    marketplace_id: str
    program_name: str
    enabled: bool = True
    batch_schedule: str
    candidate_ttl_days: int = 30

    keys = Keys(PK="PROGRAM#{program_id}", SK="MARKETPLACE#{marketplace_id}")

    @Get()
    def itself(self, program_id: str, marketplace_id: str) -> None: ...


class Score(Entity, table=scores, naming=camel_case):
    customer_id: str
    subject_id: str
    model_id: str
    value: Decimal
    ttl: ExpiresAt = None

    keys = Keys(PK="CUSTOMER#{customer_id}#SUBJECT#{subject_id}", SK="MODEL#{model_id}")

    @Get()
    def itself(self, customer_id: str, subject_id: str, model_id: str) -> None: ...

    @Query()
    def of_subject(self, customer_id: str, subject_id: str) -> None: ...


design = Design(
    "Engagement, as written",
    tables=[candidates, programs, scores],
    required_reads=[RequiredRead("list all programs for marketplace", Program, by=[Program.marketplace_id])],
    writes=[
        Write("put_candidate", ItemWrite(Candidate, "put")),
        Write("reject", ItemWrite(Candidate, "update", appends=[Candidate.rejection_history])),
        Write("put_program", ItemWrite(Program, "put")),
        Write("put_score", ItemWrite(Score, "put")),
    ],
)
