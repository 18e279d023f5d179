"""A design that has something of everything that costs: indexes of all kinds, guards, counters, shards, states."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from tablewright.model import (
    AcceptedFinding,
    Collection,
    CollectionQuery,
    Design,
    Entity,
    FieldCondition,
    FieldGroup,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    LocalIndex,
    Numbered,
    Projection,
    Query,
    Reaction,
    RequiredRead,
    Table,
    Traffic,
    Unique,
    UpdatedAt,
    Version,
    Volume,
    Write,
    attr,
    sharded,
    when,
)

orders = Table(
    "Orders",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("byState", "GSI1PK", "GSI1SK"),
        GlobalIndex("byShop", "GSI2PK", "GSI2SK", include=["total"]),
        GlobalIndex("late", "GSI3PK", "GSI3SK"),
        LocalIndex("byTotal", "LSK", include=["state"]),
    ],
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    tags={"Team": "shop"},
)


class State(StrEnum):
    PLACED = "PLACED"
    PICKED = "PICKED"
    DELAYED = "LATE"
    CLOSED = "CLOSED"


class Order(Entity, table=orders):
    """What a customer ordered."""

    customer_id: str
    order_id: str
    number: Annotated[str, Unique()]
    shop: str
    state: State = State.PLACED
    placed_at: datetime
    total: int = 100
    remark: str = "none"
    updated_at: UpdatedAt = None
    version: Version = 0

    keys = Keys(
        PK="CUSTOMER#{customer_id}",
        SK="ORDER#{order_id}",
        GSI1PK=sharded("STATE#{state}", 4),
        GSI1SK="{placed_at}",
        GSI2PK="SHOP#{shop}",
        GSI2SK="{placed_at}",
        GSI3PK=when("LATE", state=State.DELAYED),
        GSI3SK=when("{placed_at}", state=State.DELAYED),
        LSK="{total:09}",
    )

    @Get()
    def by_id(self, customer_id: str, order_id: str) -> None: ...

    @Get(consistent=True)
    def by_id_now(self, customer_id: str, order_id: str) -> None: ...

    @Query(expected=3)
    def of_customer(self, customer_id: str) -> None: ...

    @Query(consistent=True, expected=3)
    def of_customer_now(self, customer_id: str) -> None: ...

    @Query("byState", newest_first=True, expected=6)
    def in_state(self, state: State) -> None: ...

    @Query("byShop", expected=3)
    def of_shop(self, shop: str) -> None: ...

    @Query("byTotal", expected=3)
    def by_total(self, customer_id: str, *, since: int | None = None) -> None: ...

    @Query("late")
    def late(self) -> None: ...

    @Query(expected=2)
    def placed(self, customer_id: str) -> FieldCondition:
        return attr(self.state) == State.PLACED


class OrderTotal(Projection[Order]):
    total: int

    @Query("byShop", expected=3)
    def totals_of_shop(self, shop: str) -> None: ...


class Line(Entity, table=orders):
    """A line of an order."""

    customer_id: str
    order_id: str
    position: int = 0
    product: str

    keys = Keys(PK="CUSTOMER#{customer_id}", SK="LINE#{order_id}#{position:04}")

    @Numbered()
    def position_per_customer_and_order(self) -> FieldGroup[int]:
        return attr(self.position).per(self.customer_id, self.order_id)

    @Query(expected=3)
    def of_order(self, customer_id: str, *, order_id: str | None = None) -> None: ...


class Account(Collection):
    orders: list[Order]
    lines: list[Line]

    @CollectionQuery(expected=6)
    def of_customer(self, customer_id: str) -> None: ...


WRITES = [
    Write("place", ItemWrite(Order, "create"), about="a new order"),
    Write("place_all", ItemWrite(Order, "create"), ItemWrite(Line, "create")),
    Write("add_line", ItemWrite(Line, "create")),
    Write("add_to_order", ItemWrite(Line, "create"), checks=[Order]),
    Write("pick", ItemWrite(Order, "update", sets=[Order.state])),
    Write("remark", ItemWrite(Order, "update", sets=[Order.remark])),
    Write("renumber", ItemWrite(Order, "update", sets=[Order.number])),
    Write("hand_over", ItemWrite(Order, "update", sets=[Order.customer_id])),
    Write("drop", ItemWrite(Order, "delete")),
    Write("drop_line", ItemWrite(Line, "delete")),
]

# Sizes are those of sample items.
bare = Design("Orders, bare", tables=[orders], collections=[Account], writes=WRITES)

design = Design(
    "Orders",
    about="Orders of customers, in one table.",
    tables=[orders],
    collections=[Account],
    writes=WRITES,
    reactions=[
        Reaction("count_orders", Order, effect="count"),
        Reaction("tell_customer", Order, events=frozenset(["INSERT"]), effect="notify"),
    ],
    required_reads=[RequiredRead("orders of a customer", Order, by=[Order.customer_id])],
    roles={"api": ["Order.by_id", "place"]},
    accepted=[AcceptedFinding("unused-index", "Orders/late", "a report reads it")],
    volume={
        Order: Volume(items=10_000_000, size=1_050, distinct={"GSI1PK": 4, "GSI2PK": 2_000}),
        Line: Volume(items=30_000_000, size=300),
    },
    traffic={
        "Order.by_id": Traffic(per_second=100, peak=400),
        "Order.in_state": Traffic(per_second=2, peak=10),
        "place": Traffic(per_second=200, peak=1_600),
        "pick": Traffic(per_second=200, peak=900),
        "add_line": Traffic(per_second=40, peak=300, hottest=0.01),
    },
)
