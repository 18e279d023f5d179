"""Programs, and what they were in each version."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, ValidationError

from tablewright.model import AttributeName, Entity, Get, Keys, Query, Version, camel_case
from tablewright.runtime import StateConflict
from tablewright.systems.engagement.configuration import Channel, Configuration, Connector, FilterChain, ScoringModel
from tablewright.systems.engagement.entities.engagement_tables import MAX_CHANNELS, programs


class Program(Entity, table=programs, naming=camel_case):
    """What is done for the customers of a marketplace, and how."""

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
    version: Version = 0

    keys = Keys(
        PK="PROGRAM#{program_id}",
        SK="MARKETPLACE#{marketplace_id}",
        GSI1PK="MARKETPLACE#{marketplace_id}",
        GSI1SK="PROGRAM#{program_id}",
    )

    @Get()
    def by_id(self, program_id: str, marketplace_id: str) -> None:
        """A program of a marketplace."""

    @Query("MarketplaceIndex", expected=20)
    def of_marketplace(self, marketplace_id: str) -> None:
        """The programs of a marketplace."""

    @property
    def configuration(self) -> Configuration:
        """All of it that can be set; StateConflict, if what was stored once cannot be any more."""
        return self.configured()

    def configured(self, **changes: Any) -> Configuration:
        """The same, with some of it otherwise."""
        values = {name: getattr(self, name) for name in Configuration.model_fields}
        try:
            return Configuration(**{**values, **changes})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            reason = f"{where}: {first['msg']}" if where else first["msg"]
            raise StateConflict(
                f"program {self.program_id} is not valid any more as it is stored ({reason}): put it again"
            ) from None


class ProgramVersion(Entity, table=programs, naming=camel_case):
    """What a program was in one of its versions; runs go by the version that they began with."""

    program_id: str
    marketplace_id: str
    number: int
    configuration: Configuration
    changed_by: str
    at: datetime

    keys = Keys(PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}", SK="VERSION#{number:08}")

    @Get()
    def by_number(self, program_id: str, marketplace_id: str, number: int) -> None:
        """A program as it was in a version."""

    @Query(newest_first=True, expected=20)
    def of_program(self, program_id: str, marketplace_id: str) -> None:
        """All versions of a program, newest first."""
