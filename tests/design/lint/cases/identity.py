"""What tells two items apart."""

from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from tablewright.model import Design, Entity, Get, GlobalIndex, Keys, Numbered, Query, Table, Unique
from tests.declared_patterns import taking
from tests.design.lint.cases.case import Case, design_of, entity


class State(StrEnum):
    OPEN = "OPEN"
    SHUT = "SHUT"


def orders(sort: str) -> Design:
    class Order(Entity, table=Table("orders", "PK", "SK")):
        customer_id: str
        order_id: str
        state: State
        placed_on: date

        keys = Keys(PK="CUSTOMER#{customer_id}", SK=sort)

        @Query()
        def of_customer(self, customer_id: str) -> None: ...

    return design_of(Order)


def letture(sort: str, *, named: bool = False) -> Design:
    table = Table("letture", "PK", "SK")
    keys = Keys(PK="S#{sensore}", SK=sort)
    fields = {"sensore": str, "lettura_id": str, "cognome": str, "valore": int}
    read = taking(Get(), "sensore", "cognome") if named else taking(Query(), "sensore")
    return design_of(entity("Lettura", table, fields, keys=keys, di_sensore=read))


def scores_of(sort: str, game: str = "game_id") -> Design:
    class Result(Entity, table=Table("results", "PK", "SK")):
        game_id: str
        player_id: str
        points: int

        keys = Keys(PK=f"GAME#{{{game}}}", SK=sort)

        @Query(newest_first=True)
        def best(self, game_id: str) -> None: ...

    return design_of(Result)


def lines(sort: str) -> Design:
    class OrderLine(Entity, table=Table("lines", "PK", "SK")):
        order_id: str
        line_id: str
        product_id: str

        keys = Keys(PK="ORDER#{order_id}", SK=sort)

        @Query()
        def of_order(self, order_id: str) -> None: ...

    return design_of(OrderLine)


def notes(kind: Any, sort: str) -> Design:
    class Note(Entity, table=Table("notes", "PK", "SK")):
        owner_id: str
        title: str
        id: kind = 0

        keys = Keys(PK="OWNER#{owner_id}", SK=sort)

        @Query()
        def of_owner(self, owner_id: str) -> None: ...

    return design_of(Note)


def users(kind: Any, name: str = "User", field: str = "email") -> Design:
    table = Table("users", "user_id", indexes=[GlobalIndex("byName", "GSI1PK", "user_id")])
    keys = Keys(GSI1PK=f"NAME#{{{field}}}")
    return design_of(
        entity(name, table, {"user_id": str, field: kind}, keys=keys, by_name=taking(Query("byName"), field))
    )


CASES = [
    Case("key-not-unique", "Order.SK", lambda: orders("ORDER#{state}"), lambda: orders("ORDER#{state}#{order_id}")),
    Case("key-not-unique", "Order.SK", lambda: orders("{placed_on}"), lambda: orders("{placed_on}#{order_id}")),
    Case(
        "key-not-unique",
        "Result.SK",
        lambda: scores_of("{points:number}"),
        lambda: scores_of("{points:number}#{player_id}"),
    ),
    Case("key-not-unique", "OrderLine.SK", lambda: lines("LINE"), lambda: lines("{product_id}#{line_id}"), "warning"),
    # Two ids are what a relation between two is made of.
    Case("key-not-unique", "OrderLine.SK", lambda: lines("LINE"), lambda: lines("{product_id}"), "warning"),
    Case(
        "key-not-unique",
        "Note.SK",
        lambda: notes(int, "{title}"),
        lambda: notes(Annotated[int, Numbered()], "{title}#{id:06}"),
    ),
    Case("key-not-unique", "OrderLine.SK", lambda: lines("LINE#{product_id}"), lambda: lines("PRODUCT#{product_id}")),
    # Nothing takes it for the name of one of them, and they have ids.
    Case(
        "key-not-unique",
        "Lettura.SK",
        lambda: letture("{cognome}"),
        lambda: letture("{cognome}", named=True),
        "warning",
    ),
    Case(
        "key-not-unique",
        "Lettura.SK",
        lambda: letture("{valore:08}"),
        lambda: letture("{valore:08}#{lettura_id}"),
        "warning",
    ),
    Case("login-not-unique", "User.email", lambda: users(str), lambda: users(Annotated[str, Unique()])),
    Case(
        "login-not-unique",
        "Player.username",
        lambda: users(str, "Player", "username"),
        lambda: users(Annotated[str, Unique()], "Player", "username"),
    ),
    Case(
        "login-not-unique",
        "Article.slug",
        lambda: users(str, "Article", "slug"),
        lambda: users(Annotated[str, Unique()], "Article", "slug"),
    ),
    # Whoever is mailed about an order may have several of them.
    Case("login-not-unique", "User.email", lambda: users(str), lambda: users(str, "Order")),
]
