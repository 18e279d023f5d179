"""Sizes and numbers that DynamoDB bounds."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tablewright.model import (
    AttributeName,
    Design,
    Entity,
    EpochMillis,
    EpochSeconds,
    ExpiresAt,
    Expiry,
    GlobalIndex,
    Index,
    ItemWrite,
    Keys,
    Large,
    LocalIndex,
    Numbered,
    Query,
    Table,
    Unique,
    Volume,
    Write,
    schema_of,
)
from tests.declared_patterns import grouped
from tests.design.lint.cases.case import Case, design_of


class Group(StrEnum):
    ADMINS = "Admins"
    MEMBERS = "Members"


class Comment(BaseModel):
    text: str = Field(max_length=1_000)


def chat(kind: Any) -> Design:
    class Chat(Entity, table=Table("chats", "id")):
        id: str
        reactions: kind

    writes = [Write("react", ItemWrite(Chat, "update", sets=[Chat.reactions["a"]]))]
    return Design("Chats", tables=[schema_of(Chat).table], writes=writes)


def article(kind: Any, *, appended: bool = True) -> Design:
    class Article(Entity, table=Table("articles", "id")):
        id: str
        title: str = ""
        comments: kind = Field(default_factory=list)

    item_write = (
        ItemWrite(Article, "update", appends=[Article.comments])
        if appended
        else ItemWrite(Article, "update", sets=[Article.title])
    )
    return Design("Articles", tables=[Article.schema_.table], writes=[Write("change", item_write)])


def sized(kind: Any) -> Design:
    class Page(Entity, table=Table("pages", "id")):
        id: str
        title: str = Field(max_length=200)
        body: kind

    return design_of(Page)


def keyed(length: int, *, sort: bool = True) -> Design:
    class File(Entity, table=Table("files", "PK", "SK")):
        folder: str = Field(max_length=10 if sort else length)
        path: str = Field(max_length=length if sort else 10)

        keys = Keys(PK="FOLDER#{folder}", SK="FILE#{path}")

        @Query()
        def of_folder(self, folder: str) -> None: ...

    return design_of(File)


def local(volume: Volume | None, index: Index) -> Design:
    class Reading(Entity, table=Table("readings", "sensor", "at", indexes=[index])):
        sensor: str
        at: datetime
        value: str

        @Query()
        def of_sensor(self, sensor: str) -> None: ...

        @Query("byValue")
        def by_value(self, sensor: str) -> None: ...

    return Design("Readings", tables=[Reading.schema_.table], volume={} if volume is None else {Reading: volume})


def indexes(count: int, make: Any) -> Design:
    names = [f"part{number}" for number in range(count)]
    return Design("Many", tables=[Table("many", "id", "at", indexes=[make(name) for name in names])])


def included(count: int) -> Design:
    halves = [f"part{number}" for number in range(count)]
    index = GlobalIndex("wide", "owner", include=halves)
    return Design("Wide", tables=[Table("wide", "id", indexes=[index])])


def transaction(count: int, *, unique: bool = False, size: int = 100, checked: bool = False) -> Design:
    kind = Annotated[str, Unique()] if unique else str

    class Line(Entity, table=Table("lines", "order", "number", types={"number": "N"})):
        order: str
        number: int = 0
        code: kind  # type: ignore[valid-type]
        number_of_order = grouped(Numbered(), "number", "order")

    class Order(Entity, table=Table("orders", "id")):
        id: str

    return Design(
        "Orders",
        tables=[Order.schema_.table, Line.schema_.table],
        writes=[
            Write("place", ItemWrite(Line, "create", count=count), checks=[Order])
            if checked
            else Write("place", ItemWrite(Order, "create"), ItemWrite(Line, "create", count=count))
        ],
        volume={Line: Volume(items=1_000, size=size)},
    )


def expiring(kind: Any, attribute: str = "ttl") -> Design:
    class Session(Entity, table=Table("sessions", "id", ttl="ttl")):
        id: str
        gone: Annotated[kind, AttributeName(attribute)]

    return design_of(Session)


SECOND = LocalIndex("byValue", "value")
GIGABYTES = Volume(items=10_000_000, size=2_000, distinct={"sensor": 1})
SMALL = Volume(items=10_000_000, size=2_000, distinct={"sensor": 1_000})

CASES = [
    Case(
        "unbounded-list",
        "Article.comments",
        lambda: article(list[str]),
        lambda: article(Annotated[list[str], Field(max_length=9)]),
        "warning",
    ),
    Case(
        "unbounded-list",
        "Article.comments",
        lambda: article(list[str] | None),
        lambda: article(Annotated[list[str], Field(max_length=9)] | None),
        "warning",
    ),
    Case(
        "unbounded-list",
        "Article.comments",
        lambda: article(set[str], appended=False),
        lambda: article(tuple[str, str]),
        "advice",
    ),
    Case("unbounded-list", "Chat.reactions", lambda: chat(dict[str, int]), lambda: chat(dict[Group, int]), "warning"),
    Case("unbounded-list", "Article.comments", lambda: article(set[str]), lambda: article(set[Group]), "warning"),
    Case(
        "item-size",
        "Page.body",
        lambda: sized(Annotated[str, Field(max_length=500_000)]),
        lambda: sized(Annotated[str, Field(max_length=50_000)]),
        "warning",
    ),
    Case(
        "item-size",
        "Page.body",
        lambda: sized(Annotated[str, Field(max_length=200_000)]),
        lambda: sized(Annotated[str, Field(max_length=200_000), Large()]),
        "advice",
    ),
    Case(
        "item-size",
        "Page.body",
        lambda: sized(Annotated[list[Comment], Field(max_length=1_000)]),
        lambda: sized(Annotated[list[Comment], Field(max_length=50)]),
        "warning",
    ),
    Case("item-size", "Line", lambda: transaction(1, size=409_601), lambda: transaction(1, size=409_600), "error"),
    Case("key-size", "File.SK", lambda: keyed(2_000), lambda: keyed(200), "warning"),
    Case("key-size", "File.SK", lambda: keyed(500), lambda: keyed(500, sort=False), "advice"),
    Case("key-size", "File.PK", lambda: keyed(3_000, sort=False), lambda: keyed(200), "warning"),
    Case(
        "collection-size", "Reading.sensor", lambda: local(GIGABYTES, SECOND), lambda: local(SMALL, SECOND), "warning"
    ),
    Case(
        "collection-size",
        "Reading.sensor",
        lambda: local(None, SECOND),
        lambda: local(GIGABYTES, GlobalIndex("byValue", "sensor", "value")),
        "advice",
    ),
    Case(
        "too-many-indexes",
        "many",
        lambda: indexes(21, lambda name: GlobalIndex(name, name)),
        lambda: indexes(20, lambda name: GlobalIndex(name, name)),
    ),
    Case(
        "too-many-indexes",
        "many",
        lambda: indexes(6, lambda name: LocalIndex(name, name)),
        lambda: indexes(5, lambda name: LocalIndex(name, name)),
    ),
    Case("too-many-indexes", "wide", lambda: included(101), lambda: included(100)),
    Case("transaction-size", "place", lambda: transaction(99), lambda: transaction(98)),
    Case("transaction-size", "place", lambda: transaction(99, checked=True), lambda: transaction(98, checked=True)),
    Case("transaction-size", "place", lambda: transaction(50, unique=True), lambda: transaction(49, unique=True)),
    Case("transaction-size", "place", lambda: transaction(90, size=50_000), lambda: transaction(90, size=40_000)),
    Case("ttl-seconds", "Session.gone", lambda: expiring(EpochMillis), lambda: expiring(ExpiresAt), "error"),
    Case("ttl-seconds", "Session.gone", lambda: expiring(datetime), lambda: expiring(ExpiresAt), "error"),
    Case(
        "ttl-seconds",
        "Session.gone",
        lambda: expiring(int),
        lambda: expiring(Annotated[ExpiresAt, Expiry(timedelta(1))]),
        "warning",
    ),
    Case("ttl-seconds", "Session.gone", lambda: expiring(EpochSeconds), lambda: expiring(ExpiresAt), "warning"),
    Case("ttl-seconds", "sessions", lambda: expiring(datetime, "other"), lambda: expiring(ExpiresAt), "warning"),
]
