"""A single-table design: four access patterns from one table, checked by lint and priced before anything is deployed.

    python examples/single_table.py
    tablewright lint examples/single_table.py
    tablewright plan examples/single_table.py
    tablewright docs examples/single_table.py --out shop-document

It shows Table, Entity, key templates, a sparse index over shards, a collection, a Design, and what a month costs.
"""

from datetime import UTC, datetime
from enum import StrEnum

from tablewright.design.cost import plan_costs
from tablewright.design.lint import lint
from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Traffic,
    Volume,
    Write,
    attr,
    sharded,
    when,
)
from tablewright.store import Store

shop = Table("shop", "PK", "SK", indexes=[GlobalIndex("openOrders", "GSI1PK", "GSI1SK")])


class Status(StrEnum):
    OPEN = "OPEN"
    SENT = "SENT"


class Customer(Entity, table=shop):
    """Somebody who orders."""

    customer_id: str
    name: str

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="CUSTOMER")

    @Get()
    def by_id(self, customer_id: str) -> None:
        """A customer."""


class Order(Entity, table=shop):
    """An order of a customer. While it is open, and no longer, it is in the index `openOrders`."""

    customer_id: str
    placed_at: datetime
    order_id: str
    status: Status = Status.OPEN

    keys = Keys(
        PK="CUSTOMER#{customer_id}",
        SK="ORDER#{placed_at}#{order_id}",
        GSI1PK=when(sharded("OPEN", 4), status=Status.OPEN),
        GSI1SK=when("{placed_at}#{order_id}", status=Status.OPEN),
    )

    @Query(newest_first=True, expected=20)
    def of_customer(self, customer_id: str, *, before: datetime | None = None) -> None:
        """The orders of a customer, newest first."""

    @Query("openOrders", expected=50)
    def open(self, *, since: datetime | None = None) -> FieldCondition:
        """All orders that are open, in the order that they were placed."""
        return attr(self.status) == Status.OPEN


class Account(Collection):
    """A customer with all orders, by one query."""

    customer: Customer
    orders: list[Order]

    @CollectionQuery(expected=20)
    def of_customer(self, customer_id: str) -> None:
        """A customer, and all orders."""


design = Design(
    "Shop",
    tables=[shop],
    collections=[Account],
    writes=[
        Write("register", ItemWrite(Customer, "create")),
        Write("place", ItemWrite(Order, "create")),
        Write("send", ItemWrite(Order, "update", sets=[Order.status])),
    ],
    roles={"website": ["Customer.by_id", "Order.of_customer", "Account.of_customer", "register", "place"]},
    volume={Customer: Volume(items=100_000, size=200), Order: Volume(items=2_000_000, size=300)},
    traffic={
        "Customer.by_id": Traffic(per_second=50, peak=200),
        "Order.of_customer": Traffic(per_second=20, peak=100),
        "Order.open": Traffic(per_second=0.1),
        "Account.of_customer": Traffic(per_second=5, peak=20),
        "register": Traffic(per_second=0.1),
        "place": Traffic(per_second=2, peak=10),
        "send": Traffic(per_second=2, peak=10),
    },
)


def main() -> None:
    with Store.open() as store:  # in memory; Store.open("./shop") for a folder, Store.connect(...) for DynamoDB
        store.ensure_tables(shop)
        store.create(Customer(customer_id="ada", name="Ada"))
        monday = datetime(2026, 3, 2, 9, tzinfo=UTC)
        order = store.create(Order(customer_id="ada", placed_at=monday, order_id="o-1"))
        assert store.query(Order.open(since=monday)).items == [order]

        store.update(order, attr(Order.status).set(Status.SENT))
        assert store.query(Order.open()).items == []

        account = store.collect(Account.of_customer("ada"))
        assert account is not None
        print(f"{account.customer.name} has {len(account.orders)} order, {account.orders[0].status.lower()}")

    findings = [finding for finding in lint(design) if finding.severity != "advice"]
    print(f"lint: {len(findings)} errors and warnings")
    plan = plan_costs(design)
    print(f"on demand: ${plan.bill('on-demand').total:,.2f} a month; cheapest: {plan.cheapest.name}")


if __name__ == "__main__":
    main()
