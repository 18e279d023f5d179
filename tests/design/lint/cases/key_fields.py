"""The fields that keys are made of."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints, field_validator

from tablewright.model import (
    CreatedAt,
    Design,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    Query,
    Table,
    Unique,
    when,
)
from tests.design.lint.cases.case import Case, design_of


def pages(kind: Any, template: str = "PAGE#{page_number}") -> Design:
    table = Table("documents", "PK", "SK")

    class Page(Entity, table=table):
        document_id: str
        page_number: kind

        keys = Keys(PK="DOCUMENT#{document_id}", SK=template)

        @Query(newest_first=True)
        def of_document(self, document_id: str) -> None: ...

    return design_of(Page)


def ranking(kind: Any, template: str) -> Design:
    table = Table("games", "player_id", indexes=[GlobalIndex("byScore", "game", "GSI1SK")])

    class Play(Entity, table=table):
        player_id: str
        game: str
        high_score: kind

        keys = Keys(GSI1SK=template)

        @Query("byScore", newest_first=True)
        def best(self, game: str) -> None: ...

    return design_of(Play)


def stored_as_it_is(kind: Any, types: dict[str, str]) -> Design:
    class Page(Entity, table=Table("pages", "book", "page_number", types=types)):
        book: str
        page_number: kind

        @Query()
        def of_book(self, book: str) -> None: ...

    return design_of(Page)


ANY_DIGITS = Annotated[str, StringConstraints(pattern=r"^\d+$")]
DIGITS = Annotated[str, StringConstraints(pattern=r"^[0-9]{6}$")]


def rooms(kind: Any) -> Design:
    class Room(Entity, table=Table("rooms", "PK", "SK")):
        house: str
        room_id: str
        floor: kind

        keys = Keys(PK="HOUSE#{house}", SK="ROOM#{floor}#{room_id}")

        @Get()
        def by_id(self, house: str, floor: str, room_id: str) -> None: ...

    return design_of(Room)


def tickets(due: Any, **keys: Any) -> Design:
    table = Table("tickets", "ticket_id", indexes=[GlobalIndex("byQueue", "GSI1PK", "GSI1SK")])

    class Ticket(Entity, table=table):
        ticket_id: str
        queue: str
        status: str = "open"
        due_at: due = None

        locals()["keys"] = Keys({"GSI1PK": "QUEUE#{queue}", "GSI1SK": "{due_at}#{ticket_id}", **keys})

        @Query("byQueue")
        def of_queue(self, queue: str) -> None: ...

    return design_of(Ticket)


def raw_key(optional: bool) -> Design:
    kind = str | None if optional else str

    class Seat(Entity, table=Table("seats", "hall", "seat")):
        hall: str
        seat: kind  # type: ignore[valid-type]

    return design_of(Seat)


def prices(kind: Any, template: str | None) -> Design:
    table = Table(
        "offers",
        "offer_id",
        indexes=[GlobalIndex("byRate", "shop", "rate_key" if template else "rate")],
        types={} if template else {"rate": "N"},
    )

    class Offer(Entity, table=table):
        offer_id: str
        shop: str
        rate: kind

        locals()["keys"] = Keys({"rate_key": template} if template else {})

        @Query("byRate")
        def of_shop(self, shop: str) -> None: ...

    return design_of(Offer)


def readers(kind: Any) -> Design:
    class Reader(Entity, table=Table("readers", "PK")):
        email: kind

        keys = Keys(PK="READER#{email}")

        @Get()
        def by_email(self, email: str) -> None: ...

    return design_of(Reader)


def members(kind: Any) -> Design:
    class Member(Entity, table=Table("members", "member_id")):
        member_id: str
        contact_email: kind

    return design_of(Member)


def validated() -> Design:
    class Reader(Entity, table=Table("readers", "PK")):
        email: str

        keys = Keys(PK="READER#{email}")

        @field_validator("email")
        @classmethod
        def lower(cls, value: str) -> str:
            return value.lower()

        @Get()
        def by_email(self, email: str) -> None: ...

    return design_of(Reader)


LOWER = Annotated[str, StringConstraints(to_lower=True)]

CASES = [
    Case(
        "number-as-text",
        "Page.page_number",
        lambda: pages(str),
        lambda: pages(int, "PAGE#{page_number:number}"),
    ),
    Case("number-as-text", "Page.page_number", lambda: pages(str), lambda: pages(DIGITS)),
    Case("number-as-text", "Page.page_number", lambda: pages(ANY_DIGITS), lambda: pages(DIGITS)),
    Case(
        "number-as-text",
        "Play.high_score",
        lambda: ranking(str, "{high_score}#{player_id}"),
        lambda: ranking(int, "{high_score:number}#{player_id}"),
    ),
    Case(
        "number-as-text",
        "Page.page_number",
        lambda: stored_as_it_is(str, {}),
        lambda: stored_as_it_is(int, {"page_number": "N"}),
    ),
    Case("optional-key-field", "Room.floor", lambda: rooms(str | None), lambda: rooms(str), "error"),
    Case("optional-key-field", "Seat.seat", lambda: raw_key(True), lambda: raw_key(False), "error"),
    Case(
        "optional-key-field", "Ticket.due_at", lambda: tickets(datetime | None), lambda: tickets(CreatedAt), "warning"
    ),
    Case(
        "optional-key-field",
        "Ticket.due_at",
        lambda: tickets(datetime | None),
        lambda: tickets(datetime | None, GSI1PK=when("QUEUE#{queue}", status="open")),
        "warning",
    ),
    Case(
        "narrow-padding",
        "Page.SK",
        lambda: pages(Annotated[int, Field(ge=0, le=99_999)], "{page_number:03}"),
        lambda: pages(Annotated[int, Field(ge=0, le=999)], "{page_number:03}"),
    ),
    Case(
        "narrow-padding",
        "Page.SK",
        lambda: pages(Annotated[int, Field(ge=0, lt=10_000)], "{page_number:03}"),
        lambda: pages(Annotated[int, Field(ge=0, lt=10_000)], "{page_number:number}"),
    ),
    Case(
        "narrow-padding",
        "Page.SK",
        lambda: pages(Annotated[int, Field(ge=-5, le=99)], "{page_number:03}"),
        lambda: pages(Annotated[int, Field(ge=-5, le=99)], "{page_number:number}"),
    ),
    Case("float-in-key", "Offer.rate", lambda: prices(float, None), lambda: prices(int, None)),
    Case("float-in-key", "Offer.rate", lambda: prices(float, "{rate:number}"), lambda: prices(int, "{rate:number}")),
    Case("case-sensitive-key", "Reader.email", lambda: readers(str), lambda: readers(LOWER)),
    Case("case-sensitive-key", "Reader.email", lambda: readers(str), validated),
    Case(
        "case-sensitive-key",
        "Member.contact_email",
        lambda: members(Annotated[str, Unique()]),
        lambda: members(Annotated[LOWER, Unique()]),
    ),
    Case(
        "case-sensitive-key",
        "Member.contact_email",
        lambda: members(Annotated[str, Unique()]),
        lambda: members(Annotated[str, Unique(ignore_case=True)]),
    ),
]
