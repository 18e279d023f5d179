"""How load spreads."""

from datetime import date, datetime
from enum import StrEnum
from types import new_class
from typing import Any

from tablewright.model import (
    Design,
    Entity,
    GlobalIndex,
    ItemWrite,
    Keys,
    Query,
    Table,
    Traffic,
    Volume,
    Write,
    count_of,
    sharded,
    when,
)
from tests.declared_patterns import fields_in, taking
from tests.design.lint.cases.case import Case


class Status(StrEnum):
    OPEN = "OPEN"
    DONE = "DONE"


def tickets(rule: Any, *, kind: type = Status, traffic: Traffic | None = None, **volume: int) -> Design:
    table = Table("tickets", "id", indexes=[GlobalIndex("byStatus", "GSI1PK", "GSI1SK")])

    class Ticket(Entity, table=table):
        id: str
        tenant: str
        status: kind  # type: ignore[valid-type]
        created_at: datetime
        day: date

        keys = Keys(GSI1PK=rule, GSI1SK="{created_at}")

        listed = taking(Query("byStatus"), *fields_in(rule))

    return Design(
        "Tickets",
        tables=[table],
        writes=[Write("create", ItemWrite(Ticket, "create"))],
        traffic={} if traffic is None else {"create": traffic},
        volume={Ticket: Volume(items=1_000_000, size=500, distinct=volume)} if volume else {},
    )


LITTLE = Traffic(per_second=10, peak=900)
MUCH = Traffic(per_second=10, peak=1_100)
EXTREME = Traffic(per_second=10, peak=1_100, hottest=0.95)
SPREAD = Traffic(per_second=10, peak=1_100, hottest=0.5)


def counted(traffic: Traffic, *, group: str = "status", kept_by: Any = "transaction") -> Design:
    table = Table("tickets", "PK")

    class Ticket(Entity, table=table):
        id: str
        tenant: str
        status: Status

        keys = Keys(PK="TICKET#{id}")

    namespace = {
        "__module__": __name__,
        "__annotations__": {
            group: Ticket.model_fields[group].annotation,
            "tickets": int,
        },
        "tickets": count_of(Ticket, kept_by=kept_by),
        "keys": Keys(PK=f"TOTALS#{{{group}}}"),
    }
    new_class("Totals", (Entity,), {"table": table}, lambda body: body.update(namespace))
    writes = [Write("create", ItemWrite(Ticket, "create"))]
    return Design("Tickets", tables=[table], writes=writes, traffic={"create": traffic})


def calls(traffic: Traffic) -> Design:
    class Call(Entity, table=Table("calls", "user", "id")):
        user: str
        id: str

        @Query()
        def of_user(self, user: str) -> None: ...

    return Design(
        "Calls",
        tables=[Call.schema_.table],
        writes=[Write("call", ItemWrite(Call, "create"))],
        volume={Call: Volume(items=1_000_000, size=2_000)},
        traffic={"call": traffic},
    )


CASES = [
    Case(
        "low-cardinality",
        "Ticket.GSI1PK",
        lambda: tickets("STATUS#{status}"),
        lambda: tickets(sharded("STATUS#{status}", 4)),
    ),
    Case(
        "low-cardinality",
        "Ticket.GSI1PK",
        lambda: tickets("STATUS#{status}", kind=str),
        lambda: tickets("TENANT#{tenant}#{status}", kind=str),
    ),
    Case(
        "low-cardinality",
        "Ticket.GSI1PK",
        lambda: tickets("STATUS#{status}", traffic=MUCH),
        lambda: tickets("STATUS#{status}", traffic=LITTLE),
        "warning",
    ),
    Case(
        "low-cardinality",
        "Ticket.GSI1PK",
        lambda: tickets(when("QUEUE", status=Status.OPEN)),
        lambda: tickets(when("QUEUE", status=Status.OPEN), traffic=LITTLE),
        "advice",
    ),
    Case("monotonic-partition", "Ticket.GSI1PK", lambda: tickets("DAY#{day}"), lambda: tickets("{tenant}#{day}")),
    Case(
        "monotonic-partition",
        "Ticket.GSI1PK",
        lambda: tickets("DAY#{created_at:date}", traffic=MUCH),
        lambda: tickets("DAY#{created_at:date}", traffic=LITTLE),
    ),
    Case("hot-partition", "Call.user", lambda: calls(EXTREME), lambda: calls(LITTLE)),
    Case("hot-partition", "Call.user", lambda: calls(SPREAD), lambda: calls(Traffic(per_second=10, hottest=1.0))),
    Case(
        "hot-partition",
        "Ticket.GSI1PK",
        lambda: tickets("{tenant}", traffic=MUCH, GSI1PK=1),
        lambda: tickets("{tenant}", traffic=MUCH, GSI1PK=10),
    ),
    Case("hot-counter", "Totals.tickets", lambda: counted(MUCH), lambda: counted(Traffic(per_second=300))),
    Case("hot-counter", "Totals.tickets", lambda: counted(MUCH), lambda: counted(MUCH, kept_by="stream")),
    Case(
        "hot-counter",
        "Totals.tickets",
        lambda: counted(Traffic(per_second=2000, hottest=0.5), group="tenant"),
        lambda: counted(MUCH, group="tenant"),
    ),
]
