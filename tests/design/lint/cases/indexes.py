"""Indexes beside each other."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from tablewright.model import Design, Entity, GlobalIndex, Index, Keys, LocalIndex, Projection, Query, Table, attr, when
from tests.declared_patterns import taking
from tests.design.lint.cases.case import Case, design_of


class State(StrEnum):
    OPEN = "OPEN"
    SHUT = "SHUT"
    LOST = "LOST"


def orders(indexes: list[Index], **keys: Any) -> Design:
    table = Table("orders", "PK", "SK", indexes=indexes)

    class Order(Entity, table=table):
        shop: str
        order_id: str
        state: State
        city: str

        locals()["keys"] = Keys({"PK": "SHOP#{shop}", "SK": "ORDER#{order_id}", **keys})

    return design_of(Order)


ONE, TWO = GlobalIndex("one", "GSI1PK", "GSI1SK"), GlobalIndex("two", "GSI2PK", "GSI2SK")
CITY = {"GSI1PK": "CITY#{city}", "GSI1SK": "{order_id}"}


def found(states: Any, *, fixed: State | None = None, filtered: Sequence[State] = ()) -> Design:
    table = Table("orders", "order_id", indexes=[GlobalIndex("waiting", "GSI1PK", "GSI1SK")])

    class Order(Entity, table=table):
        order_id: str
        state: State

        keys = Keys(GSI1PK=when("WAITING", state=states), GSI1SK="{order_id}")

        waiting = taking(
            Query("waiting"),
            where=(lambda self: attr(self.state) == fixed)
            if fixed is not None
            else (lambda self: attr(self.state).is_in(*filtered))
            if filtered
            else None,
        )

    return design_of(Order)


def projected(include: list[str] | None, *, whole: bool = False) -> Design:
    table = Table("posts", "post_id", indexes=[GlobalIndex("byAuthor", "author", "post_id", include=include)])

    class Post(Entity, table=table):
        post_id: str
        author: str
        title: str
        text: str
        summary: str

        if whole:

            @Query("byAuthor")
            def of_author(self, author: str) -> None: ...

    class PostTitle(Projection[Post]):
        post_id: str
        title: str

        @Query("byAuthor")
        def titles(self, author: str) -> None: ...

    return design_of(Post)


CASES = [
    Case("over-projection", "posts/byAuthor", lambda: projected(None), lambda: projected(["title"])),
    Case("over-projection", "posts/byAuthor", lambda: projected(None), lambda: projected(None, whole=True)),
    Case(
        "equal-indexes",
        "orders/two",
        lambda: orders([ONE, GlobalIndex("two", "GSI1PK", "GSI1SK")], **CITY),
        lambda: orders([ONE], **CITY),
    ),
    Case(
        "equal-indexes",
        "orders/two",
        lambda: orders([ONE, TWO], **CITY, GSI2PK="CITY#{city}", GSI2SK="{order_id}"),
        lambda: orders([ONE, TWO], **CITY, GSI2PK="STATE#{state}", GSI2SK="{order_id}"),
    ),
    Case(
        "equal-indexes",
        "orders/two",
        lambda: orders([ONE, TWO], **CITY, GSI2PK="CITY#{city}", GSI2SK="{order_id}"),
        lambda: orders([ONE, TWO], **CITY, GSI2PK=when("CITY#{city}", state=State.OPEN), GSI2SK="{order_id}"),
    ),
    Case(
        "equal-indexes",
        "orders/short",
        lambda: orders([GlobalIndex("short", "GSI1PK"), ONE], **CITY),
        lambda: orders([GlobalIndex("short", "GSI1PK", include=["state"]), ONE], **CITY),
    ),
    Case(
        "index-like-table",
        "orders/short",
        lambda: orders([GlobalIndex("short", "GSI1PK")], GSI1PK="SHOP#{shop}"),
        lambda: orders([GlobalIndex("short", "GSI1PK")], GSI1PK="CITY#{city}"),
    ),
    Case(
        "index-like-table",
        "orders/again",
        lambda: orders([GlobalIndex("again", "PK", "SK")]),
        lambda: orders([GlobalIndex("again", "SK", "PK")]),
    ),
    Case(
        "index-like-table",
        "orders/one",
        lambda: orders([ONE], GSI1PK="SHOP#{shop}", GSI1SK="ORDER#{order_id}"),
        lambda: orders([ONE], GSI1PK="SHOP#{shop}", GSI1SK="{city}#{order_id}"),
    ),
    # Other text between the same fields finds the same items in the same order.
    Case(
        "equal-indexes",
        "orders/two",
        lambda: orders([ONE, TWO], **CITY, GSI2PK="C#{city}", GSI2SK="ORDER#{order_id}"),
        lambda: orders([ONE, TWO], **CITY, GSI2PK="C#{city}", GSI2SK="ORDER#{state}#{order_id}"),
    ),
    Case(
        "index-like-table",
        "orders/one",
        lambda: orders([ONE], GSI1PK="S#{shop}", GSI1SK="{order_id}"),
        lambda: orders([ONE], GSI1PK="S#{shop}", GSI1SK="{city}"),
    ),
    Case(
        "index-like-table",
        "orders/local",
        lambda: orders([LocalIndex("local", "LSK")], LSK="ORDER#{order_id}"),
        lambda: orders([LocalIndex("local", "LSK")], LSK="{city}#{order_id}"),
    ),
    Case(
        "never-found",
        "Order.waiting",
        lambda: found(State.OPEN, fixed=State.SHUT),
        lambda: found(State.OPEN, fixed=State.OPEN),
    ),
    Case(
        "never-found",
        "Order.waiting",
        lambda: found([State.OPEN, State.SHUT], filtered=[State.LOST]),
        lambda: found([State.OPEN, State.SHUT], filtered=[State.LOST, State.SHUT]),
    ),
]
