"""Programs, their approval, and their configuration in each version.

    edited ──▶ draft ──▶ requested ──▶ approved ──▶ enabled, disabled, enabled, ...
                 ▲            └──▶ declined                 │
                 └──────────── edited ◀─────────────────────┘

Every step is a version of its own. A program does nothing unless it is approved and enabled.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from tablewright.model import AttributeName, Entity, Get, Keys, Personal, Query, Version, camel_case
from tablewright.runtime import StateConflict
from tablewright.systems.engagement.configuration import Channel, Configuration, Connector, FilterChain, ScoringModel
from tablewright.systems.engagement.entities.engagement_tables import MAX_CHANNELS, Stored, programs

# Maximum people who have changed a program since its last approval.
MAX_EDITORS = 50


class ApprovalState(StrEnum):
    DRAFT = "draft"
    REQUESTED = "requested"
    DECLINED = "declined"
    APPROVED = "approved"


class Approval(Stored):
    """The approval of a program by someone who has not changed it."""

    state: ApprovalState = ApprovalState.DRAFT
    editors: Annotated[list[str], Personal("reference")] = Field(
        default_factory=list, max_length=MAX_EDITORS, description="who has changed it since its last approval"
    )
    enables: bool = Field(default=True, description="whether it is enabled as soon as it is approved")
    requested_by: Annotated[str | None, Personal("reference")] = None
    requested_at: datetime | None = None
    decided_by: Annotated[str | None, Personal("reference")] = Field(
        default=None, description="who approved or declined it"
    )
    decided_at: datetime | None = None
    reason: str | None = Field(default=None, max_length=500, description="why it was declined")


Step = Literal["edited", "requested", "approved", "declined", "enabled", "disabled"]


class Program(Entity, table=programs, naming=camel_case):
    """Whom to reach among the customers of a marketplace, about what, and how."""

    program_id: str
    marketplace_id: str
    program_name: str
    enabled: bool
    data_connectors: list[Connector] = Field(max_length=10)
    scoring_models: list[ScoringModel] = Field(max_length=10)
    filter_chain: FilterChain
    channels: list[Channel] = Field(max_length=MAX_CHANNELS)
    batch_schedule: str | None = None
    delivery_schedule: str | None = None
    time_zone: str = "UTC"
    reactive_enabled: bool = False
    candidate_ttl_days: Annotated[int, AttributeName("candidateTTLDays")]
    event_attributes: list[str] = Field(default_factory=list, max_length=50)
    max_failed_share: Decimal = Decimal("0.5")
    approval: Approval = Field(default_factory=Approval)
    version: Version = 0

    keys = Keys(
        PK="PROGRAM#{program_id}",
        SK="MARKETPLACE#{marketplace_id}",
        GSI1PK="MARKETPLACE#{marketplace_id}",
        GSI1SK="PROGRAM#{program_id}",
        GSI3PK="PROGRAMS#{approval.state}",
        GSI3SK="{marketplace_id}#{program_id}",
    )

    @Get(many=True)
    def by_id(self, program_id: str, marketplace_id: str) -> None:
        """A program of a marketplace."""

    @Query("MarketplaceIndex", expected=20)
    def of_marketplace(self, marketplace_id: str) -> None:
        """The programs of a marketplace."""

    @Query("ApprovalIndex", expected=20)
    def in_state(self, approval__state: ApprovalState) -> None:
        """The programs of all marketplaces in a state of approval."""

    @property
    def is_approved(self) -> bool:
        return self.approval.state is ApprovalState.APPROVED

    @property
    def is_active(self) -> bool:
        """Whether it runs, reacts and delivers."""
        return self.enabled and self.is_approved

    def require_active(self) -> None:
        """Raise StateConflict unless the program is approved and enabled."""
        if not self.is_approved:
            raise not_approved(self)
        if not self.enabled:
            raise StateConflict(f"program {self.program_id} is disabled; enable it first")

    @property
    def configuration(self) -> Configuration:
        """All settings; StateConflict if the stored ones are no longer valid."""
        return self.configured()

    def configured(self, **changes: Any) -> Configuration:
        """All settings, with some changed; StateConflict if they are not valid."""
        values = {name: getattr(self, name) for name in Configuration.model_fields}
        try:
            return Configuration(**{**values, **changes})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            reason = f"{where}: {first['msg']}" if where else first["msg"]
            raise StateConflict(
                f"program {self.program_id} is no longer valid as it is stored ({reason}): put it again"
            ) from None


class ProgramVersion(Entity, table=programs, naming=camel_case):
    """A program in one of its versions; runs use the version that they were started with."""

    program_id: str
    marketplace_id: str
    number: int
    configuration: Configuration
    # What was done: only an edit changes the configuration, apart from ``enabled``.
    step: Step = "edited"
    changed_by: Annotated[str, Personal("reference")]
    at: datetime

    keys = Keys(PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="VERSION#{number:08}")

    @Get()
    def by_number(self, program_id: str, marketplace_id: str, number: int) -> None:
        """A program as it was in a version."""

    @Query(newest_first=True, expected=20)
    def of_program(self, program_id: str, marketplace_id: str) -> None:
        """All versions of a program, newest first."""


def not_approved(program: Program) -> StateConflict:
    waits = {
        ApprovalState.REQUESTED: "someone who has not changed it must approve it",
        ApprovalState.DECLINED: "it was declined; change it, and request approval again",
    }
    todo = waits.get(program.approval.state, "request approval by someone who has not changed it")
    return StateConflict(f"program {program.program_id} is not approved: {todo}")
