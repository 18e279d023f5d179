"""An e-commerce site, after the design in "The DynamoDB Book" of Alex DeBrie.

    python examples/designs/ecommerce.py

It shows a customer with the latest orders by one query, because order keys sort before the customer's; unique names and
addresses without lookup items of one's own; and an index that has an order beside its lines.
"""

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field

from tablewright.model import (
    AcceptedFinding,
    Collection,
    CollectionQuery,
    Design,
    Entity,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    MemberRead,
    Query,
    Table,
    Unique,
    Write,
    attr,
)
from tablewright.store import Create, NotUnique, Store

shop = Table("EcommerceTable", "PK", "SK", indexes=[GlobalIndex("GSI1", "GSI1PK", "GSI1SK")])


class Status(StrEnum):
    PLACED = "PLACED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"


class Address(BaseModel):
    street: str
    city: str


class Customer(Entity, table=shop):
    username: str
    email: Annotated[str, Unique(ignore_case=True)]
    name: str
    addresses: dict[str, Address] = Field(default_factory=dict)

    keys = Keys(PK="CUSTOMER#{username}", SK="CUSTOMER#{username}")

    @Get()
    def by_username(self, username: str) -> None:
        """A customer."""


class Order(Entity, table=shop):
    username: str
    order_id: str
    status: Status = Status.PLACED
    placed_at: datetime
    total: Decimal

    # An order begins with "#", so that the orders of a customer come before the customer.
    keys = Keys(
        PK="CUSTOMER#{username}",
        SK="#ORDER#{placed_at}#{order_id}",
        GSI1PK="ORDER#{order_id}",
        GSI1SK="ORDER#{order_id}",
    )

    @Get("GSI1")
    def by_id(self, order_id: str) -> None:
        """An order, whoever has placed it."""

    @Query(newest_first=True)
    def of_customer(self, username: str, *, since: datetime | None = None) -> None:
        """The orders of a customer, newest first."""


class Line(Entity, table=shop):
    order_id: str
    item_id: str
    product: str
    price: Decimal

    keys = Keys(
        PK="ORDER#{order_id}#ITEM#{item_id}",
        SK="ORDER#{order_id}#ITEM#{item_id}",
        GSI1PK="ORDER#{order_id}",
        GSI1SK="ITEM#{item_id}",
    )


class Account(Collection):
    """A customer, and the latest orders."""

    customer: Customer
    orders: Annotated[list[Order], MemberRead(limit=10, newest_first=True)]

    @CollectionQuery()
    def latest(self, username: str, *, orders_cursor: str | None = None) -> None:
        """A customer and the ten latest orders, by one query."""


class OrderWithLines(Collection):
    order: Order
    lines: list[Line]

    @CollectionQuery("GSI1")
    def by_id(self, order_id: str) -> None:
        """An order with its lines."""


design = Design(
    "E-commerce",
    tables=[shop],
    collections=[Account, OrderWithLines],
    writes=[
        Write("register", ItemWrite(Customer, "create")),
        Write("save address", ItemWrite(Customer, "update", sets=[Customer.addresses])),
        Write("place order", ItemWrite(Order, "create"), ItemWrite(Line, "create", count=50)),
        Write("change status", ItemWrite(Order, "update", sets=[Order.status])),
    ],
    accepted=[AcceptedFinding("index-not-unique", "Order.by_id", "order ids are random")],
)

MONDAY = datetime(2026, 1, 5, 9, tzinfo=UTC)


def fill(store: Store) -> None:
    store.ensure_tables(shop)
    store.create(Customer(username="ada", email="Ada@example.org", name="Ada"))
    for number in range(12):
        order = Order(
            username="ada", order_id=f"o-{number:02}", placed_at=MONDAY.replace(hour=number), total=Decimal(9)
        )
        lines = [Line(order_id=order.order_id, item_id=each, product=f"p-{each}", price=Decimal(3)) for each in "ab"]
        store.transact(Create(order), *map(Create, lines))


def try_patterns(store: Store) -> None:
    try:
        store.create(Customer(username="ida", email="ada@example.org", name="Ida"))
        raise AssertionError("the address is taken")
    except NotUnique:
        pass
    home = {"home": Address(street="Main Street", city="Zeist")}
    customer = store.update(Customer.by_username("ada"), attr(Customer.addresses).set(home))
    assert store.get_or_raise(Customer.by_username("ada")).addresses["home"].city == "Zeist"
    account = store.collect(Account.latest("ada"))
    assert account is not None
    assert account.customer == customer
    assert [order.order_id for order in account.orders] == [f"o-{number:02}" for number in reversed(range(2, 12))]
    rest = store.collect(Account.latest("ada", orders_cursor=account.cursor_of("orders")))
    assert rest is not None
    assert [order.order_id for order in rest.orders] == ["o-01", "o-00"]
    order = store.get_or_raise(Order.by_id("o-03"))
    store.update(order, attr(Order.status).set(Status.SHIPPED), expect=attr(Order.status) == Status.PLACED)
    with_lines = store.collect(OrderWithLines.by_id("o-03"))
    assert with_lines is not None
    assert with_lines.order.status is Status.SHIPPED
    assert [line.item_id for line in with_lines.lines] == ["a", "b"]
    late = store.query(Order.of_customer("ada", since=MONDAY.replace(hour=10))).items
    assert [order.order_id for order in late] == ["o-11", "o-10"]


def main() -> None:
    with Store.open() as store:
        fill(store)
        try_patterns(store)
        print(f"{len(design.patterns)} access patterns of an e-commerce site")


if __name__ == "__main__":
    main()
