"""Whom to reach about what: candidates, their places in the lists of channels, and the scores of models."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from tablewright.model import Entity, EpochSeconds, ExpiresAt, Get, Keys, Personal, Query, Version, camel_case
from tablewright.systems.engagement.configuration import Settings
from tablewright.systems.engagement.entities.engagement_tables import (
    MAX_CHANNELS,
    CustomerId,
    Stored,
    candidates,
    scores,
)

# Maximum rejections in a candidate's history; the latest are kept.
MAX_REJECTIONS = 50


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
    """When and by what a candidate was created and refreshed."""

    created: datetime
    # The day of it, in UTC.
    day: date
    updated: datetime
    # The run that wrote it last; None if that was an event.
    run_id: str | None = None


class Rejection(Stored):
    """Why a customer was left out, by which filter, and when; ``manual`` is a person."""

    reason: str = Field(max_length=500)
    filter: str = Field(max_length=64)
    at: datetime


class Candidate(Entity, table=candidates, naming=camel_case):
    """A customer who may be reached about a subject."""

    customer_id: Annotated[CustomerId, Personal("subject")]
    program_id: str
    marketplace_id: str
    subject: Subject
    context: Annotated[list[dict[str, Any]], Personal()] = Field(default_factory=list, max_length=20)
    scores: dict[str, ModelScore] = Field(default_factory=dict, max_length=10)
    # The weighted sum of all scores.
    score: Decimal
    channels: list[str] = Field(default_factory=list, max_length=MAX_CHANNELS)
    attributes: Annotated[dict[str, Any], Personal()] = Field(default_factory=dict)
    metadata: Metadata
    rejected: bool = False
    rejection_history: list[Rejection] = Field(default_factory=list, max_length=MAX_REJECTIONS)
    ttl: ExpiresAt = None
    version: Version = 0

    keys = Keys(
        PK="CUSTOMER#{customer_id}#PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}",
        SK="SUBJECT#{subject.type}#{subject.id}",
        GSI2PK="PROGRAM#{program_id}#DATE#{metadata.day}",
        GSI2SK="CREATED#{metadata.created}#CUSTOMER#{customer_id}",
    )

    @Get(many=True)
    def by_subject(
        self, customer_id: str, program_id: str, marketplace_id: str, subject__type: str, subject__id: str
    ) -> None:
        """A candidate."""

    @Query("ProgramDateIndex", expected=100)
    def of_day(self, program_id: str, metadata__day: date) -> None:
        """The candidates of a program that were created on a day, in order of creation."""


class ChannelEntry(Entity, table=candidates, naming=camel_case):
    """A candidate in the list of one channel."""

    customer_id: Annotated[CustomerId, Personal("subject")]
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
        GSI3PK="PROGRAM#{program_id}#MARKETPLACE#{marketplace_id}#CHANNEL#{channel_id}",
        GSI3SK="SCORE#{score:number}#CUSTOMER#{customer_id}",
    )

    @Get()
    def by_channel(
        self,
        customer_id: str,
        program_id: str,
        marketplace_id: str,
        channel_id: str,
        subject__type: str,
        subject__id: str,
    ) -> None:
        """A candidate in the list of a channel."""

    @Query(expected=5)
    def of_customer(self, customer_id: str, program_id: str, marketplace_id: str) -> None:
        """The lists of channels that a customer is in, of a program."""

    @Query("ProgramChannelIndex", newest_first=True, expected=100)
    def top(self, program_id: str, channel_id: str) -> None:
        """The candidates of a channel, best score first."""

    @Query("MarketplaceChannelIndex", newest_first=True, expected=100)
    def top_of_marketplace(self, program_id: str, marketplace_id: str, channel_id: str) -> None:
        """The candidates of a channel in a marketplace, best score first."""


class Score(Entity, table=scores, naming=camel_case):
    """A score of a model, for as long as it is valid."""

    customer_id: Annotated[CustomerId, Personal("subject")]
    subject_id: str
    model_id: str
    # Not part of the key; a score for a subject of another type with the same id must not be used.
    subject_type: str
    score: ModelScore
    ttl: ExpiresAt = None

    keys = Keys(PK="CUSTOMER#{customer_id}#SUBJECT#{subject_id}", SK="MODEL#{model_id}")

    @Get(many=True)
    def by_model(self, customer_id: str, subject_id: str, model_id: str) -> None:
        """What a model found."""

    @Query(expected=3)
    def of_subject(self, customer_id: str, subject_id: str) -> None:
        """The scores of all models for a customer and a subject."""
