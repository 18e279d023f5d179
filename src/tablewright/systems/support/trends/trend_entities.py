"""What the dashboard shows over time, and of each operator: counted from the stream, in a table of its own.

    TREND#<unit>   <period>            Trend, of an hour or a day (UTC)
    OPERATORS      <day>#<operator>    OperatorDay

Hours and days are parts of times, and no fields of a ticket, so these are no counters that a model can declare
(``count_of``): the consumer of the metrics adds to them, as it does to the metrics, by what each item is worth.
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
    # A dashboard that is open is told when to read again.
    stream="NEW_AND_OLD_IMAGES",
    tags={"Environment": "production", "Application": "ai-technical-support"},
)


class Unit(StrEnum):
    HOUR = "HOUR"
    DAY = "DAY"


class Trend(Entity, table=trends, type_name="trend"):
    """An hour or a day: what was opened, resolved and rated in it."""

    unit: Unit
    # 2026-11-16T14, or 2026-11-16.
    period: str
    opened: int = 0
    resolved: int = 0
    # Of those that were resolved in it, from when each was opened.
    total_time: Decimal = Decimal(0)
    ratings: int = 0
    total_ratings: int = 0

    keys = Keys(PK="TREND#{unit}", SK="{period}")

    @Get()
    def by_period(self, unit: Unit, period: str) -> None:
        """An hour or a day."""

    @Query(expected=30)
    def between(self, unit: Unit, *, since: str | None = None, until: str | None = None) -> None:
        """Some hours or days, in their order."""


class OperatorDay(Entity, table=trends, type_name="operator"):
    """What somebody resolved on a day, and how their help was rated on it."""

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
