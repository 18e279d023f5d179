"""Access patterns and indexes."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from tablewright.model import (
    Collection,
    CollectionQuery,
    Design,
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    Keys,
    Projection,
    Query,
    RequiredRead,
    Table,
    Unique,
    Volume,
    attr,
)
from tests.declared_patterns import taking
from tests.design.lint.cases.case import Case, design_of


class Status(StrEnum):
    NEW = "NEW"
    OPEN = "OPEN"
    DONE = "DONE"
    CLOSED = "CLOSED"


def programs(*, indexed: bool, by: Sequence[str] = ("marketplace",)) -> Design:
    table = Table("programs", "PK", "SK", indexes=[GlobalIndex("byMarketplace", "GSI1PK", "GSI1SK")] if indexed else [])
    keys = {"PK": "PROGRAM#{program}", "SK": "MARKETPLACE#{marketplace}"}
    patterns: dict[str, Any] = {}
    if indexed:
        keys |= {"GSI1PK": "MARKETPLACE#{marketplace}", "GSI1SK": "{program}"}
        patterns["of_marketplace"] = taking(Query("byMarketplace"), "marketplace")

    class Program(Entity, table=table):
        program: str
        marketplace: str

        locals().update(patterns, keys=Keys(keys))

    return Design(
        "Programs",
        tables=[table],
        required_reads=[RequiredRead("programs of a marketplace", Program, by=[getattr(Program, name) for name in by])],
    )


def is_open(self: Any) -> FieldCondition:
    return attr(self.status) == Status.OPEN


def lists(optional: str = "", where: Callable[[Any], FieldCondition] | None = None, **arguments: Any) -> Design:
    table = Table("tickets", "id", indexes=[GlobalIndex("byCustomer", "customer", "GSI1SK")])

    class Ticket(Entity, table=table):
        id: str
        customer: str
        status: Status
        created_at: datetime

        keys = Keys(GSI1SK="{status}#{created_at}")

        of_customer = taking(
            Query("byCustomer", **arguments),
            "customer",
            optional=optional,
            where=where,
        )

    return design_of(Ticket)


def accounts(*, marker: bool, primary: bool = False) -> Design:
    table = Table("accounts", "id", indexes=[GlobalIndex("byEmail", "email", "id" if primary else ())])
    kind = Annotated[str, Unique()] if marker else str

    class Account(Entity, table=table):
        id: str
        email: kind  # type: ignore[valid-type]

        @Get("byEmail")
        def by_email(self, email: str) -> None: ...

    return design_of(Account)


def filtered(
    where: Callable[[Any], FieldCondition] | None, expected: int | None = None, volume: Volume | None = None
) -> Design:
    class Order(Entity, table=Table("orders", "customer", "id")):
        customer: str
        id: str
        status: Status
        city: str

        open = taking(
            Query(expected=expected), "customer", where=None if where is None else lambda self, **_: where(self)
        )

    return Design("Orders", tables=[Order.schema_.table], volume={} if volume is None else {Order: volume})


def in_rome(order: Any) -> FieldCondition:
    return attr(order.city) == "Rome"


def projected(*include: str, project: bool = True, typed: bool = False) -> Design:
    table = Table(
        "feedback",
        "id",
        indexes=[GlobalIndex("byOperator", "operator", "at", include=include)],
        type_attribute="type" if typed else None,
    )

    class Feedback(Entity, table=table):
        id: str
        operator: str
        at: datetime
        rating: int
        text: str

        if not project:

            @Query("byOperator")
            def of_operator(self, operator: str) -> None: ...

    if project:

        class Rating(Projection[Feedback]):
            rating: int

            @Query("byOperator")
            def of_operator(self, operator: str) -> None: ...

    return design_of(Feedback)


def gathered(*include: str) -> Design:
    table = Table("tasks", "id", indexes=[GlobalIndex("byOwner", "owner", include=include)])

    class Task(Entity, table=table):
        id: str
        owner: str
        title: str

    class Tasks(Collection):
        tasks: list[Task]

        @CollectionQuery("byOwner")
        def of_owner(self, owner: str) -> None: ...

    return Design("Tasks", tables=[table], collections=[Tasks])


def indexed(*, used: bool) -> Design:
    table = Table("calls", "id", indexes=[GlobalIndex("byProvider", "provider", "id")])
    patterns = {"of_provider": taking(Query("byProvider"), "provider")} if used else {}

    class Call(Entity, table=table):
        id: str
        provider: str

        locals().update(patterns)

    return design_of(Call)


def neighbours(second: str, *, sort: str = "{second_id}") -> Design:
    table = Table("both", "PK", "SK", type_attribute="type")

    class First(Entity, table=table):
        first_id: str

        keys = Keys(PK="FIRST#{first_id}", SK="METADATA")

    class Second(Entity, table=table):
        second_id: str

        keys = Keys(PK=second, SK=sort)

    return design_of(First, Second)


def timeline(event: str, note: str, *, partition: str = "TICKET#{ticket}") -> Design:
    table = Table("tickets", "PK", "SK", type_attribute="type")

    class Event(Entity, table=table):
        ticket: str
        at: datetime
        id: str

        keys = Keys(PK="TICKET#{ticket}", SK=event)

        @Query()
        def of_ticket(self, ticket: str) -> None: ...

    class Note(Entity, table=table):
        ticket: str
        at: datetime
        id: str

        keys = Keys(PK=partition, SK=note)

    return design_of(Event, Note)


HALF = Volume(items=10_000, size=100, distinct={"customer": 500})
PLENTY = Volume(items=10_000_000, size=100, distinct={"customer": 500})

CASES = [
    Case("no-key", "programs of a marketplace", lambda: programs(indexed=False), lambda: programs(indexed=True)),
    Case(
        "no-key",
        "programs of a marketplace",
        lambda: programs(indexed=False),
        lambda: programs(indexed=False, by=["marketplace", "program"]),
    ),
    Case(
        "order-within-part",
        "Ticket.of_customer",
        lambda: lists(newest_first=True),
        lambda: lists(newest_first=True, where=is_open),
    ),
    Case(
        "order-within-part",
        "Ticket.of_customer",
        lambda: lists("since", newest_first=True),
        lambda: lists("status since", newest_first=True),
    ),
    Case("index-not-unique", "Account.by_email", lambda: accounts(marker=False), lambda: accounts(marker=True)),
    Case(
        "index-not-unique",
        "Account.by_email",
        lambda: accounts(marker=False),
        lambda: accounts(marker=False, primary=True),
    ),
    Case(
        "filter-reads-most",
        "Order.open",
        lambda: filtered(lambda order: attr(order.status) == Status.OPEN),
        lambda: filtered(lambda order: attr(order.status).is_in(Status.NEW, Status.OPEN)),
        "warning",
    ),
    Case(
        "filter-reads-most",
        "Order.open",
        lambda: filtered(in_rome, 10, PLENTY),
        lambda: filtered(in_rome, 10, HALF),
        "warning",
    ),
    Case("filter-reads-most", "Order.open", lambda: filtered(in_rome), lambda: filtered(None), "advice"),
    Case("projection-gap", "Rating.of_operator", lambda: projected("text"), lambda: projected("rating")),
    Case(
        "projection-gap",
        "Feedback.of_operator",
        lambda: projected("rating", project=False),
        lambda: projected("rating", "text", project=False),
    ),
    Case(
        "projection-gap",
        "Rating.of_operator",
        lambda: projected("rating", typed=True),
        lambda: projected("rating", "type", typed=True),
    ),
    Case("projection-gap", "Tasks.of_owner", gathered, lambda: gathered("title")),
    Case("unused-index", "calls/byProvider", lambda: indexed(used=False), lambda: indexed(used=True)),
    Case(
        "same-key",
        "Second",
        lambda: neighbours("FIRST#{second_id}", sort="METADATA"),
        lambda: neighbours("SECOND#{second_id}", sort="METADATA"),
    ),
    Case(
        "same-key",
        "Second",
        lambda: neighbours("FIRST#{second_id}", sort="{second_id}"),
        lambda: neighbours("FIRST#{second_id}", sort="SECOND"),
    ),
    Case(
        "shared-prefix",
        "Event.of_ticket",
        lambda: timeline("{at}#{id}", "NOTE#{id}"),
        lambda: timeline("EVENT#{at}#{id}", "NOTE#{id}"),
    ),
    Case(
        "shared-prefix",
        "Event.of_ticket",
        lambda: timeline("EVENT#{at}#{id}", "EVENT#NOTE#{id}"),
        lambda: timeline("{at}#{id}", "NOTE#{id}", partition="NOTES#{ticket}"),
    ),
]
