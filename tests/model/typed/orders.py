"""A small design with declared patterns, which the snippets of ``test_typed_fields`` use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field

from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    KeyOnly,
    Keys,
    Lookup,
    MemberRead,
    Projection,
    Query,
    Table,
    attr,
    computed,
    raw,
)

shop = Table("Shop", "PK", "SK", indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK")])


class Status(StrEnum):
    OPEN = "open"
    PAID = "paid"


class Line(BaseModel):
    product: str
    quantity: int = 1


class Address(BaseModel):
    city: str
    street: str | None = None


class Customer(Entity, table=shop):
    customer_id: str
    name: str

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="PROFILE")

    @Get()
    def by_id(self, customer_id: str) -> None:
        """A customer."""


class Product(Entity, table=shop):
    shelf: str
    name: str

    keys = Keys(PK="SHELF#{shelf}", SK="PRODUCT#{name}")

    @Get(many=True)
    def by_name(self, shelf: str, name: str) -> None:
        """A product."""

    @Query()
    def of_shelf(self, shelf: str, *, begins_with: str | None = None) -> None:
        """The products of a shelf."""


class Order(Entity, table=shop):
    customer_id: str
    number: int
    status: Status = Status.OPEN
    placed_at: datetime
    total: Decimal = Decimal(0)
    visits: int = 0
    note: str | None = None
    tags: set[str] = Field(default_factory=set)
    lines: list[Line] = Field(default_factory=list)
    address: Address
    billing: Address | None = None
    gift: bool = False
    labels: set[str] | None = None
    counts: dict[str, int] = Field(default_factory=dict)

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="ORDER#{number:06}", GSI1PK="STATUS#{status}", GSI1SK="{placed_at}")

    @Get()
    def by_number(self, customer_id: str, number: int) -> None:
        """An order of a customer."""

    @Query(newest_first=True)
    def of_customer(self, customer_id: str, *, since: int | None = None) -> None:
        """The orders of a customer, newest first."""

    @Query("byStatus")
    def by_status(self, status: Status, *, since: datetime | None = None, before: datetime | None = None) -> None:
        """The orders of a status, in the order of time."""

    @Query("byStatus")
    def by_statuses(self, status: Sequence[Status]) -> None:
        """The orders of several statuses, in the order of time."""

    def customer(self) -> Lookup[Customer]:
        return Customer.by_id(self.customer_id)

    def products(self) -> list[Lookup[Product]]:
        return [Product.by_name("c", line.product) for line in self.lines]

    @Query("byStatus", newest_first=True)
    def open_ones(self, *, since: datetime | None = None) -> FieldCondition:
        """Open orders, newest first."""
        return attr(self.status) == Status.OPEN

    @Query("byStatus")
    def large_open(self, at_least: Decimal) -> FieldCondition:
        """Open orders from an amount."""
        return (attr(self.status) == Status.OPEN) & (attr(self.total) >= at_least)


class Account(Collection):
    customer: Customer
    orders: list[Order]

    @CollectionQuery()
    def of_customer(self, customer_id: str) -> None:
        """A customer and all orders."""


class OrderSummary(Projection[Order]):
    number: int
    status: Status
    total: Decimal

    @Query("byStatus", newest_first=True)
    def open_ones(self, *, since: datetime | None = None) -> FieldCondition:
        """Summaries of open orders, newest first."""
        return (attr(self.status) == Status.OPEN) & attr(Order.gift).is_(False)


class LatestOrders(Collection):
    customer: Customer
    orders: Annotated[list[Order], MemberRead(limit=5, newest_first=True)]

    @CollectionQuery()
    def of_customer(
        self, customer_id: str, *, orders_limit: int | None = None, orders_since: int | None = None
    ) -> None:
        """A customer and the last orders."""


depots = Table("Depots", "PK", "SK", type_attribute="kind")


class Parcel(Entity, table=depots):
    depot: Annotated[str, KeyOnly()]
    number: Annotated[int, KeyOnly()]
    town: str

    keys = Keys(PK=raw("depot_{depot}|{initial}", "|"), SK=raw("parcel {number:06}"))

    @computed
    def initial(self, town: str) -> str:
        return town[:1]

    @Get()
    def by_number(self, depot: str, initial: str, number: int) -> None:
        """A parcel."""

    @Query()
    def of_depot(self, depot: str, initial: str) -> None:
        """The parcels of a depot."""

    @Query()
    def to_rome(self) -> FieldCondition:
        """The parcels of the main depot to towns that begin as Rome does."""
        return (attr(self.depot) == "main") & (attr(self.initial) == "R")


class Letter(Parcel, table=depots):
    stamped: bool = False


class Mail(Collection):
    feed: list[Parcel | Letter]

    @CollectionQuery()
    def of_depot(self, depot: str, initial: str) -> None:
        """All mail of a depot."""
