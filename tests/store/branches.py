"""A small chain of shops: entities in two tables, with relations, an index that has a part of them, and projections."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tablewright.model import (
    Entity,
    ExpiresAt,
    Get,
    GlobalIndex,
    Keys,
    Large,
    LocalIndex,
    Lookup,
    Projection,
    Query,
    Table,
    Unique,
    Upgrades,
    Version,
    sharded,
)

branches = Table(
    "branches",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("byState", "GSI1PK", "GSI1SK"),
        GlobalIndex("keysOnly", "GSI2PK", "GSI2SK", include=[]),
        LocalIndex("byTotal", "LSI1SK", include=[]),
    ],
    ttl="expires",
)
goods = Table("goods", "PK")


class State(StrEnum):
    OPEN = "open"
    PAID = "paid"
    SENT = "sent"


class Buyer(Entity, table=branches):
    buyer_id: str
    name: str
    email: Annotated[str | None, Unique()] = None
    version: Version = 0

    keys = Keys(PK="BUYER#{buyer_id}", SK="PROFILE")

    @Get(many=True)
    def by_id(self, buyer_id: str) -> None:
        """A buyer."""


class Article(Entity, table=goods):
    sku: str
    title: str = ""

    keys = Keys(PK="ARTICLE#{sku}")

    @Get(many=True)
    def by_sku(self, sku: str) -> None:
        """An article."""


class Deal(Entity, table=branches):
    shop: str
    number: int
    state: State = State.OPEN
    at: datetime
    buyer_id: str | None = None
    articles: list[str] = Field(default_factory=list)
    note: str = ""
    text: Annotated[str, Large(threshold=2_000)] = ""
    expires: ExpiresAt = None

    keys = Keys(
        PK="SHOP#{shop}",
        SK="DEAL#{number:06}",
        GSI1PK=sharded("STATE#{state}", 2),
        GSI1SK="{at}#{number:06}",
        GSI2PK="SHOP#{shop}#{state}",
        GSI2SK="{number:06}",
        LSI1SK="N#{note}",
    )

    @Get(many=True)
    def by_number(self, shop: str, number: int) -> None:
        """A deal."""

    @Query()
    def of_shop(self, shop: str, *, since: int | None = None, after: int | None = None) -> None:
        """The deals of a shop."""

    @Query("byState", newest_first=True)
    def latest(self, state: Sequence[State], *, since: datetime | None = None, before: datetime | None = None) -> None:
        """The deals of some states, newest first."""

    @Query("keysOnly")
    def of_shops(self, shop: list[str], state: list[State], *, after: int | None = None) -> None:
        """The deals of some shops in some states."""

    def buyer(self) -> Lookup[Buyer] | None:
        return None if self.buyer_id is None else Buyer.by_id(self.buyer_id)

    def lines(self) -> list[Lookup[Article]]:
        return [Article.by_sku(sku) for sku in self.articles]

    def previous(self) -> Lookup[Deal]:
        return Deal.by_number(self.shop, self.number - 1)


class DealLine(Projection[Deal]):
    number: int
    state: State
    note: str


class DealText(Projection[Deal]):
    number: int
    text: str


class BuyerName(Projection[Buyer]):
    name: str


class Place(Entity, table=branches):
    """A part of a company, by where it is: every level can be read."""

    company: str
    country: str
    city: str
    building: str

    keys = Keys(PK="COMPANY#{company}", SK="PLACE#{country}#{city}#{building}")

    @Query()
    def of_company(self, company: str, *, begins_with: str | None = None) -> None:
        """The places of a company."""

    @Query()
    def of_country(self, company: str, country: str, *, begins_with: str | None = None) -> None:
        """The places of a country."""

    @Query()
    def of_city(self, company: str, country: str, city: str, *, begins_with: str | None = None) -> None:
        """The places of a city."""


def renamed(values: dict[str, object]) -> dict[str, object]:
    values["label"] = values.pop("title", "")
    return values


class Shelf(Entity, table=Table("shelves", "id")):
    id: str
    title: str = ""

    @Get()
    def by_id(self, id: str) -> None:
        """A shelf."""


class LabelledShelf(Entity, table=Table("shelves", "id"), type_name="Shelf"):
    id: str
    label: str
    count: int = 0

    upgrades = Upgrades(renamed)

    @Get()
    def by_id(self, id: str) -> None:
        """A shelf."""


class ShelfLabel(Projection[LabelledShelf]):
    label: str
