"""What stands in a key."""

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from tablewright.model import (
    Design,
    Entity,
    EpochMillis,
    Get,
    GlobalIndex,
    ItemWrite,
    Keys,
    Numbered,
    Query,
    Table,
    Unique,
    UpdatedAt,
    Write,
    sharded,
    when,
)
from tests.declared_patterns import fields_in, grouped, taking
from tests.design.lint.cases.case import Case, design_of, entity


class Status(StrEnum):
    OPEN = "OPEN"
    CLOSED = "CLOSED"


def board(template: str, *, raw: bool = False) -> Design:
    """Scores in an index, sorted by a template, or by the number itself."""
    index = GlobalIndex("best", "game", "score" if raw else "GSI1SK")
    table = Table("board", "id", indexes=[index], types={"score": "N"} if raw else {})

    if raw:

        class Raw(Entity, table=table, type_name="Play"):
            id: str
            game: str
            score: Decimal

            @Query("best", newest_first=True)
            def best(self, game: str) -> None: ...

        return design_of(Raw)

    class Play(Entity, table=table):
        id: str
        game: str
        score: Decimal
        ended: EpochMillis

        keys = Keys(GSI1SK=template)

        @Query("best", newest_first=True)
        def best(self, game: str) -> None: ...

    return design_of(Play)


def queue(*, by_time: bool) -> Design:
    table = Table("tickets", "id", indexes=[GlobalIndex("escalated", "GSI1PK", "GSI1SK")])
    by_queue = {"GSI1PK": "{queue}", "GSI1SK": "{escalated_at}"}
    rules = {"GSI1PK": "{escalated_at}", "GSI1SK": "{id}"} if by_time else by_queue

    class Ticket(Entity, table=table):
        id: str
        queue: str
        escalated_at: datetime | None = None

        keys = Keys(rules)

        escalated = taking(Query("escalated"), *fields_in(rules["GSI1PK"]))

    return design_of(Ticket)


def escalations(sort: str | None, *, by_time: bool) -> Design:
    """The index of a document: the time itself is the partition key, and perhaps somebody is the sort key."""
    time, person = ("escalated_at", sort) if by_time else (sort or "id", "escalated_at")
    index = GlobalIndex("escalated", time, person or (), include=["escalation_reason"])
    table = Table("tickets", "id", indexes=[index])

    class Ticket(Entity, table=table):
        id: str
        escalated_at: datetime | None = None
        assigned_to: str | None = None
        escalation_reason: str | None = None

        escalated = taking(Query("escalated"), time)

    return design_of(Ticket)


def visits(kind: type) -> Design:
    class Visit(Entity, table=Table("visits", "page", "SK")):
        page: str
        visit_id: str
        seen_at: kind  # type: ignore[valid-type]

        keys = Keys(SK="{seen_at}#{visit_id}")

        @Query()
        def of_page(self, page: str) -> None: ...

    return design_of(Visit)


def feedback(template: str, kind: type = datetime) -> Design:
    class Feedback(Entity, table=Table("feedback", "PK", "SK")):
        ticket_id: str
        feedback_id: UUID
        submitted_at: kind  # type: ignore[valid-type]

        keys = Keys(PK="TICKET#{ticket_id}", SK=template)

        @Query()
        def of_ticket(self, ticket_id: str) -> None: ...

    return design_of(Feedback)


def one_a_day() -> Design:
    """A day may well be an identity: there is one report a day."""

    class Report(Entity, table=Table("reports", "site", "day")):
        site: str
        day: date

        @Query()
        def of_site(self, site: str, *, since: date | None = None, before: date | None = None) -> None: ...

    return design_of(Report)


def events(*, counted: bool) -> Design:
    class Event(Entity, table=Table("events", "PK", "SK")):
        ticket_id: str
        sequence: int = 0

        keys = Keys(PK="TICKET#{ticket_id}", SK="EVENT#{sequence:04}")
        if counted:
            numbered = grouped(Numbered(), "sequence", "ticket_id")

        @Query()
        def of_ticket(self, ticket_id: str) -> None: ...

    return design_of(Event)


def drafts(kind: Any) -> Design:
    keys = Keys(PK="TEXT#{text_id}", SK="V#{revision:06}" if kind is int else "V#{revision}")
    fields = {"text_id": str, "revision": kind}
    return design_of(entity("Draft", Table("drafts", "PK", "SK"), fields, keys=keys, all=taking(Query(), "text_id")))


def listed(template: str) -> Design:
    table = Table("posts", "PK", "SK", indexes=[GlobalIndex("listed", "GSI1PK")])
    keys = Keys(PK="TOPIC#{topic}", SK="{number}", GSI1PK=sharded(template, 4))
    return design_of(entity("Post", table, {"topic": str, "number": str}, keys=keys))


def by_shard(*, by_hand: bool) -> Design:
    table = Table("feed", "id", indexes=[GlobalIndex("byTopic", "GSI1PK", "GSI1SK")])
    partition = "TOPIC#{topic}#{shard}" if by_hand else sharded("TOPIC#{topic}", 4)

    class Post(Entity, table=table):
        id: str
        topic: str
        shard: int = 0
        posted_at: datetime

        keys = Keys(GSI1PK=partition, GSI1SK="{posted_at}#{id}")

        of_topic = taking(Query("byTopic"), "topic", *(["shard"] if by_hand else []), optional="since before")

    return design_of(Post)


def shards_of(template: str) -> Design:
    table = Table("posts", "PK", "SK")

    class Post(Entity, table=table):
        post_id: str
        topic: str

        keys = Keys(PK=sharded(template, 4), SK="POST#{post_id}")

        @Query()
        def of_topic(self, post_id: str, topic: str) -> None: ...

    return design_of(Post)


def shards_of_one_item() -> Design:
    """Shards of a partition key that one item has, and a sort key that every item has."""
    keys = Keys(PK=sharded("NOTE#{word}", 10), SK="METADATA")
    return design_of(entity("Note", Table("notes", "PK", "SK"), {"word": str, "note": str}, keys=keys))


def shards_of_unique() -> Design:
    class Account(Entity, table=Table("accounts", "PK")):
        email: Annotated[str, Unique()]

        keys = Keys(PK=sharded("ACCOUNT#{email}", 4))

        @Get()
        def by_email(self, email: str) -> None: ...

    return design_of(Account)


def offers(several: str = "") -> Design:
    table = Table("offers", "id", indexes=[GlobalIndex("byChannel", "GSI1PK", "GSI1SK")])

    class Offer(Entity, table=table):
        id: str
        channel_id: str
        channel_history: list[str]
        if several == "channels":
            channels: list[str]
        if several == "channel_ids":
            channel_ids: set[str]

        keys = Keys(GSI1PK="CHANNEL#{channel_id}", GSI1SK="{id}")

        @Query("byChannel")
        def of_channel(self, channel_id: str) -> None: ...

    return design_of(Offer)


def moved(*sets: str) -> Design:
    class Parcel(Entity, table=Table("parcels", "PK", "SK")):
        depot: str
        parcel_id: str
        weight: int = 0

        keys = Keys(PK="DEPOT#{depot}", SK="PARCEL#{parcel_id}")

        @Query()
        def of_depot(self, depot: str) -> None: ...

    table = Parcel.schema_.table
    return Design(
        "Parcels",
        tables=[table],
        writes=[Write("weigh", ItemWrite(Parcel, "update", sets=[getattr(Parcel, name) for name in sets]))],
    )


def stamped(*, in_key: bool) -> Design:
    class Note(Entity, table=Table("notes", "PK", "SK")):
        owner_id: str
        note_id: str
        updated_at: UpdatedAt = None

        keys = Keys(PK="OWNER#{owner_id}", SK="{updated_at}#{note_id}" if in_key else "{note_id}")

        @Query()
        def of_owner(self, owner_id: str) -> None: ...

    return design_of(Note)


def by_state(*, in_key: bool) -> Design:
    class Job(Entity, table=Table("jobs", "PK", "SK")):
        worker: str
        job_id: str
        status: Status = Status.OPEN

        keys = Keys(PK="WORKER#{worker}", SK="JOB#{status}#{job_id}" if in_key else "JOB#{job_id}")

        @Query()
        def of_worker(self, worker: str) -> None: ...

    return design_of(Job)


def sparse_queue() -> Design:
    table = Table("tickets", "id", indexes=[GlobalIndex("escalated", "GSI1PK", "GSI1SK")])

    class Ticket(Entity, table=table):
        id: str
        engineer: str
        status: Status = Status.OPEN
        escalated_at: datetime | None = None

        keys = Keys(GSI1PK=when("ENGINEER#{engineer}", status=Status.OPEN), GSI1SK="{escalated_at}")

        @Query("escalated")
        def escalated(
            self, engineer: str, *, since: datetime | None = None, before: datetime | None = None
        ) -> None: ...

    return design_of(Ticket)


def issues(*, numbered: bool) -> Design:
    class Issue(Entity, table=Table("issues", "PK", "SK")):
        repo: str
        issue_number: int = 0

        keys = Keys(PK="REPO#{repo}", SK="ISSUE#{issue_number:08}")
        if numbered:
            number_per_repo = grouped(Numbered(), "issue_number", "repo")

        @Query()
        def of_repo(self, repo: str) -> None: ...

    return design_of(Issue)


def seats() -> Design:
    """Seats, whose numbers are written on them."""

    class Seat(Entity, table=Table("seats", "PK", "SK")):
        hall: str
        seat_number: int

        keys = Keys(PK="HALL#{hall}", SK="SEAT#{seat_number:03}")

    return design_of(Seat)


def comments(parent: str = "issue_number") -> Design:
    """Comments of an issue, whose number is the issue's."""
    keys = Keys(PK=f"ISSUE#{{repo}}#{{{parent}:08}}", SK="COMMENT#{comment_id}")
    fields = {"repo": str, parent: int, "comment_id": str}
    return design_of(entity("Comment", Table("comments", "PK", "SK"), fields, keys=keys))


CASES = [
    Case("partition-range", "Ticket.escalated_at", lambda: queue(by_time=True), lambda: queue(by_time=False)),
    Case("partition-range", "Ticket.escalated_at", lambda: queue(by_time=True), sparse_queue),
    Case(
        "partition-range",
        "Ticket.escalated_at",
        lambda: escalations("assigned_to", by_time=True),
        lambda: escalations("assigned_to", by_time=False),
    ),
    Case(
        "partition-range",
        "Ticket.escalated_at",
        lambda: escalations(None, by_time=True),
        lambda: escalations("assigned_to", by_time=False),
    ),
    Case("unpadded-number", "Play.GSI1SK", lambda: board("{score}"), lambda: board("{score:number}")),
    Case("unpadded-number", "Play.GSI1SK", lambda: board("{ended}#{id}"), lambda: board("{ended:013}#{id}")),
    Case("unpadded-number", "Play.GSI1SK", lambda: board("AT#{ended}"), lambda: board("", raw=True)),
    Case("text-time", "Visit.seen_at", lambda: visits(str), lambda: visits(datetime)),
    Case(
        "time-as-identity",
        "Feedback.SK",
        lambda: feedback("{submitted_at}"),
        lambda: feedback("{submitted_at}#{feedback_id}"),
    ),
    Case("time-as-identity", "Feedback.SK", lambda: feedback("AT#{submitted_at}", str), one_a_day),
    Case(
        "time-as-identity",
        "Feedback.SK",
        lambda: feedback("AT#{submitted_at}"),
        lambda: feedback("DAY#{submitted_at:date}"),
    ),
    Case(
        "time-as-identity",
        "Feedback.SK",
        lambda: feedback("AT#{submitted_at:minute}"),
        lambda: feedback("AT#{submitted_at:minute}#{feedback_id}"),
        "warning",
    ),
    Case("narrow-padding", "Play.GSI1SK", lambda: board("{ended:06}#{id}"), lambda: board("{ended:013}#{id}")),
    Case("counted-by-hand", "Draft.revision", lambda: drafts(int), lambda: drafts(str)),
    Case("counted-by-hand", "Event.sequence", lambda: events(counted=False), lambda: events(counted=True)),
    Case("counted-by-hand", "Issue.issue_number", lambda: issues(numbered=False), lambda: issues(numbered=True)),
    Case("counted-by-hand", "Issue.issue_number", lambda: issues(numbered=False), comments),
    Case("counted-by-hand", "Issue.issue_number", lambda: issues(numbered=False), seats),
    Case("counted-by-hand", "Issue.issue_number", lambda: issues(numbered=False), lambda: comments("number")),
    Case("shard-by-hand", "Post.shard", lambda: by_shard(by_hand=True), lambda: by_shard(by_hand=False)),
    Case("useless-shards", "Post.PK", lambda: shards_of("POST#{post_id}#{topic}"), lambda: shards_of("TOPIC#{topic}")),
    Case("useless-shards", "Post.GSI1PK", lambda: listed("POST#{topic}#{number}"), lambda: listed("TOPIC#{topic}")),
    Case("useless-shards", "Note.PK", shards_of_one_item, lambda: shards_of("TOPIC#{topic}")),
    Case("useless-shards", "Account.PK", shards_of_unique, lambda: shards_of("TOPIC#{topic}")),
    Case("many-valued-key", "Offer.GSI1PK", lambda: offers("channels"), offers),
    Case("many-valued-key", "Offer.GSI1PK", lambda: offers("channel_ids"), offers),
    Case("mutable-key", "Parcel.depot", lambda: moved("depot"), lambda: moved("weight")),
    Case("mutable-key", "Note.updated_at", lambda: stamped(in_key=True), lambda: stamped(in_key=False)),
    Case("mutable-key", "Job.status", lambda: by_state(in_key=True), lambda: by_state(in_key=False), "advice"),
]
