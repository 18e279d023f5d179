"""The order in which patterns read."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from pydantic import Field

from tablewright.model import (
    Collection,
    CollectionQuery,
    CreatedAt,
    Design,
    Entity,
    EpochMillis,
    EpochSeconds,
    GlobalIndex,
    Keys,
    Query,
    Table,
)
from tests.declared_patterns import taking
from tests.design.lint.cases.case import Case, design_of, entity


class State(StrEnum):
    OPEN = "OPEN"
    SHUT = "SHUT"


def orders(kind: Any, sort: str = "ORDER#{order_id}", *, timed: bool = True) -> Design:
    extra: dict[str, Any] = {"placed_at": datetime} if timed else {}
    keys = Keys(PK="CUSTOMER#{customer_id}", SK=sort)
    fields = {"customer_id": str, "order_id": kind, **extra}
    return design_of(
        entity(
            "Order",
            Table("orders", "PK", "SK"),
            fields,
            keys=keys,
            recent=taking(Query(newest_first=True), "customer_id"),
        )
    )


def timeline(first: str, second: str) -> Design:
    table = Table("tickets", "PK", "SK")

    class Comment(Entity, table=table):
        ticket_id: str
        comment_id: str
        at: datetime

        keys = Keys(PK="TICKET#{ticket_id}", SK=first)

    class Change(Entity, table=table):
        ticket_id: str
        change_id: str
        at: datetime

        keys = Keys(PK="TICKET#{ticket_id}", SK=second)

    class Timeline(Collection):
        entries: list[Comment | Change]

        @CollectionQuery()
        def of_ticket(self, ticket_id: str) -> None: ...

    return Design("Tickets", tables=[table], collections=[Timeline])


class Priority(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def ranked(kind: Any, sort: str, *, required: bool = False) -> Design:
    table = Table("issues", "id", indexes=[GlobalIndex("byTeam", "team", "GSI1SK")])

    class Issue(Entity, table=table):
        id: str
        team: str
        priority: kind

        keys = Keys(GSI1SK=sort)

        if required:

            @Query("byTeam")
            def of_team(self, team: str, priority: str) -> None: ...
        else:

            @Query("byTeam")
            def of_team(self, team: str) -> None: ...

    return design_of(Issue)


def photos(sort: str, *, reverse: bool = True) -> Design:
    class Photo(Entity, table=Table("photos", "PK", "SK")):
        album: str
        photo_id: str
        title: str
        taken_at: datetime

        keys = Keys(PK="ALBUM#{album}", SK=sort)

        @Query(newest_first=reverse)
        def recent(self, album: str) -> None: ...

    return design_of(Photo)


def new_ulid() -> str:
    return "01"


def sorted_by(sort: Sequence[str], template: str | None) -> Design:
    table = Table("logs", "id", indexes=[GlobalIndex("byHost", "host", sort)])

    class Log(Entity, table=table):
        id: str
        host: str
        at: CreatedAt = None

        locals()["keys"] = Keys({} if template is None else {"GSI1SK": template})

        @Query("byHost", newest_first=True)
        def latest(self, host: str) -> None: ...

    return design_of(Log)


def tasks(*, required: bool) -> Design:
    table = Table("tasks", "id", indexes=[GlobalIndex("byTeam", "team", "GSI1SK")])

    class Task(Entity, table=table):
        id: str
        team: str
        state: State
        at: datetime

        keys = Keys(GSI1SK="{state}#{at}")

        if required:

            @Query("byTeam", newest_first=True)
            def of_team(self, team: str, state: State) -> None: ...
        else:

            @Query("byTeam", newest_first=True)
            def of_team(self, team: str, state: State | None = None) -> None: ...

    return design_of(Task)


def feed(first: Any, second: Any, forms: tuple[str, str], head: str = "") -> Design:
    table = Table("feed", "PK", "SK", indexes=[GlobalIndex("byUser", "GSI1PK", "GSI1SK")])

    class Like(Entity, table=table):
        user: str
        like_id: str
        at: first

        keys = Keys(PK="L#{like_id}", SK="LIKE", GSI1PK="USER#{user}", GSI1SK=f"{head}{{at{forms[0]}}}#{{like_id}}")

    class Post(Entity, table=table):
        user: str
        post_id: str
        at: second

        keys = Keys(PK="P#{post_id}", SK="POST", GSI1PK="USER#{user}", GSI1SK=f"{head}{{at{forms[1]}}}#{{post_id}}")

    return design_of(Like, Post)


CASES = [
    Case("random-order", "Order.recent", lambda: orders(UUID), lambda: orders(UUID, "{placed_at}#{order_id}"), "error"),
    Case(
        "random-order",
        "Order.recent",
        lambda: orders(Annotated[str, Field(default_factory=lambda: str(uuid4()))]),
        lambda: orders(Annotated[str, Field(default_factory=new_ulid)]),
        "error",
    ),
    Case("random-order", "Order.recent", lambda: orders(str), lambda: orders(int, "ORDER#{order_id:08}"), "advice"),
    Case(
        "random-order",
        "Order.recent",
        lambda: orders(str, timed=False),
        lambda: orders(Annotated[str, Field(description="begins with the time")]),
        "advice",
    ),
    Case(
        "alphabetical-order",
        "Issue.of_team",
        lambda: ranked(Literal["low", "medium", "high"], "{priority}#{id}"),
        lambda: ranked(int, "{priority:02}#{id}"),
    ),
    Case(
        "alphabetical-order",
        "Issue.of_team",
        lambda: ranked(Priority, "{priority}#{id}"),
        lambda: ranked(Priority, "{priority}#{id}", required=True),
    ),
    Case(
        "newest-by-name",
        "Photo.recent",
        lambda: photos("{title}#{photo_id}"),
        lambda: photos("{taken_at}#{title}#{photo_id}"),
    ),
    Case(
        "newest-by-name", "Photo.recent", lambda: photos("{title}#{photo_id}"), lambda: photos("{title}", reverse=False)
    ),
    Case("no-order", "Log.latest", lambda: sorted_by((), None), lambda: sorted_by(["GSI1SK"], "{at}#{id}")),
    Case("no-order", "Log.latest", lambda: sorted_by(["GSI1SK"], "LOG"), lambda: sorted_by(["GSI1SK"], "LOG#{at}")),
    Case(
        "order-within-part",
        "Timeline.entries",
        lambda: timeline("COMMENT#{at}#{comment_id}", "CHANGE#{at}#{change_id}"),
        lambda: timeline("AT#{at}#COMMENT#{comment_id}", "AT#{at}#STATE#{change_id}"),
        "warning",
    ),
    Case("order-within-part", "Task.of_team", lambda: tasks(required=False), lambda: tasks(required=True)),
    Case(
        "two-shapes",
        "Like.GSI1SK",
        lambda: feed(datetime, EpochMillis, ("", ":013")),
        lambda: feed(datetime, datetime, ("", "")),
    ),
    Case(
        "two-shapes",
        "Like.GSI1SK",
        lambda: feed(EpochSeconds, EpochMillis, (":013", ":013"), "AT#"),
        lambda: feed(EpochMillis, EpochMillis, (":013", ":013"), "AT#"),
    ),
]
