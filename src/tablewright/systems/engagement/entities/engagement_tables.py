"""The three tables of engagement, and common types of their entities."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tablewright.model import GlobalIndex, Table

TAGS = {"Environment": "dev", "Application": "ceap-platform", "ManagedBy": "tablewright"}
MAX_CHANNELS = 10

CustomerId = Annotated[str, Field(min_length=1, max_length=200)]

candidates = Table(
    "Candidates",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("ProgramChannelIndex", "GSI1PK", "GSI1SK"),
        GlobalIndex("ProgramDateIndex", "GSI2PK", "GSI2SK"),
        GlobalIndex("MarketplaceChannelIndex", "GSI3PK", "GSI3SK"),
    ],
    ttl="ttl",
    stream="NEW_AND_OLD_IMAGES",
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
        GlobalIndex("ApprovalIndex", "GSI3PK", "GSI3SK"),
    ],
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    encryption=True,
    tags=TAGS,
)
scores = Table("ScoreCache", "PK", "SK", ttl="ttl", point_in_time_recovery=True, encryption=True, tags=TAGS)


class Stored(BaseModel):
    """A map in an item."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
