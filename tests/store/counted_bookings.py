"""Bookings, and what is counted of them: by the transaction of each write, and by the stream."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from tablewright.model import Entity, Get, GlobalIndex, Keys, Query, Table, Unique, attr, count_of, sum_of

ledger = Table("ledger", "PK", "SK", indexes=[GlobalIndex("byKind", "GSI1PK", "SK")], stream="NEW_AND_OLD_IMAGES")
totals = Table("totals", "PK", "SK", ttl="ttl")


class Kind(StrEnum):
    OPEN = "open"
    PAID = "paid"


class Booking(Entity, table=ledger):
    account: str
    number: int
    kind: Kind = Kind.OPEN
    amount: Decimal = Decimal(0)
    owner: str | None = None
    note: str = ""
    code: Annotated[str | None, Unique()] = None

    keys = Keys(PK="ACCOUNT#{account}", SK="BOOKING#{number:06}", GSI1PK="KIND#{kind}")

    @Get()
    def by_number(self, account: str, number: int) -> None:
        """A booking."""

    @Query()
    def of_account(self, account: str) -> None:
        """The bookings of an account."""

    @Get("byKind")
    def any_of_kind(self, kind: Kind) -> None:
        """A booking of a kind."""


class AccountTotals(Entity, table=ledger):
    account: str
    bookings: int = count_of(Booking)
    paid: int = count_of(Booking, where=attr(Booking.kind) == Kind.PAID)
    revenue: Decimal = sum_of(Booking.amount, where=attr(Booking.kind) == Kind.PAID)

    keys = Keys(PK="ACCOUNT#{account}", SK="TOTALS")

    @Get()
    def of_account(self, account: str) -> None:
        """The totals of an account."""


class OwnerTotals(Entity, table=totals):
    name: str
    bookings: int = count_of(Booking, by=[Booking.owner])
    streamed: int = count_of(Booking, by=[Booking.owner], kept_by="stream")
    amount: Decimal = sum_of(Booking.amount, by=[Booking.owner], kept_by="stream")

    keys = Keys(PK="OWNER#{name}", SK="TOTALS")

    @Get()
    def by_name(self, name: str) -> None:
        """The totals of an owner."""
