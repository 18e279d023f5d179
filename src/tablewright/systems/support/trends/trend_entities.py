"""The dashboard's values over time and by operator: counted from the stream, in a table of their own.

    TREND#<unit>   <period>            Trend, of an hour or a day (UTC)
    OPERATORS      <day>#<operator>    OperatorDay

Hours and days are parts of times, not fields of a ticket, so a model cannot declare them as counters (``count_of``):
the consumer of the metrics adds to them what each item contributes, as it does to the metrics.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum

from tablewright.model import Entity, Get, Keys, Query, Table

__all__ = ["OperatorDay", "Trend", "Unit", "trends"]

trends = Table(
    "prod-metric-trends",
    "PK",
    "SK",
    type_attribute="entity_type",
    # Open dashboards read again when it changes.
    stream="NEW_AND_OLD_IMAGES",
    tags={"Environment": "production", "Application": "ai-technical-support"},
)


class Unit(StrEnum):
    HOUR = "HOUR"
    DAY = "DAY"


class Trend(Entity, table=trends, type_name="trend"):
    """An hour or a day: the tickets opened, resolved and rated in it."""

    unit: Unit
    # 2026-11-16T14, or 2026-11-16.
    period: str
    opened: int = 0
    resolved: int = 0
    # The resolution times of the tickets that were resolved in it.
    total_time: Decimal = Decimal(0)
    ratings: int = 0
    total_ratings: int = 0

    keys = Keys(PK="TREND#{unit}", SK="{period}")

    @Get()
    def by_period(self, unit: Unit, period: str) -> None:
        """An hour or a day."""

    @Query(expected=30)
    def between(self, unit: Unit, *, since: str | None = None, until: str | None = None) -> None:
        """A range of hours or days, in chronological order."""


class OperatorDay(Entity, table=trends, type_name="operator"):
    """The tickets that an operator resolved on a day, and the ratings of their help."""

    day: date
    operator_id: str
    resolved: int = 0
    total_time: Decimal = Decimal(0)
    ratings: int = 0
    total_ratings: int = 0

    keys = Keys(PK="OPERATORS", SK="{day}#{operator_id}")

    @Get()
    def by_day(self, day: date, operator_id: str) -> None:
        """The day of an operator."""

    @Query(newest_first=True, expected=100)
    def between(self, *, since: date | None = None, until: date | None = None) -> None:
        """The days of all operators, newest first."""
