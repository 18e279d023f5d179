"""A value that is given for a field is taken as the field takes it, or refused: it never just finds nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationInfo, field_validator

from tablewright.model import (
    Collection,
    CollectionQuery,
    Entity,
    EpochMillis,
    EpochSeconds,
    FieldCondition,
    Get,
    GlobalIndex,
    Keys,
    ModelError,
    Projection,
    Query,
    Table,
    Unique,
    Version,
    attr,
    when,
)
from tablewright.store import Absent, Check, ConditionFailed, Store
from tests.store.bench import Bench

OWNER = UUID(int=0xABCDEF)
IN_CAPITALS = str(OWNER).upper()
NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


class Kind(StrEnum):
    CHAIR = "CHAIR"
    DESK = "DESK"


class Maker(BaseModel):
    number: UUID


things = Table(
    "given-things",
    "PK",
    "SK",
    indexes=[
        GlobalIndex("byCount", "shelf", "count"),
        GlobalIndex("bySeen", "shelf", "seen"),
        GlobalIndex("byDay", "shelf", "day"),
        GlobalIndex("byOwner", "owner"),
        GlobalIndex("byPrice", "shelf", "price"),
        GlobalIndex("byMade", "shelf", "made"),
        GlobalIndex("inUse", "useKey", "SK"),
    ],
    types={"count": "N", "seen": "N", "price": "N"},
)


class Thing(Entity, table=things):
    owner: UUID
    shelf: str
    kind: Kind = Kind.CHAIR
    state: Literal["new", "used"] = "new"
    count: int
    price: Decimal = Decimal("2.5")
    day: date
    made: datetime
    seen: EpochMillis
    maker: Maker = Maker(number=OWNER)
    tags: set[str] = Field(default_factory=set)
    uses: int = 0

    keys = Keys(
        PK="OWNER#{owner}#{kind}#{state}",
        SK="{made}#{day}#{seen:013}#{count:05}#{maker.number}",
        useKey=when("USED#{owner}", count="7"),
    )

    @Get()
    def by_id(
        self,
        owner: UUID,
        kind: Kind,
        state: Literal["new", "used"],
        made: datetime,
        day: date,
        seen: datetime,
        count: int,
        maker__number: UUID,
    ) -> None: ...

    @Get("byOwner")
    def by_owner(self, owner: UUID) -> None: ...

    @Query()
    def of_owner(self, owner: UUID, kind: Kind, state: Literal["new", "used"]) -> None: ...

    @Query("byCount")
    def by_count(
        self,
        shelf: str,
        *,
        since: int | None = None,
        after: int | None = None,
        until: int | None = None,
        before: int | None = None,
    ) -> None: ...

    @Query("bySeen")
    def by_seen(
        self,
        shelf: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...

    @Query("byDay")
    def by_day(
        self,
        shelf: str,
        *,
        since: date | None = None,
        after: date | None = None,
        until: date | None = None,
        before: date | None = None,
    ) -> None: ...

    @Query("byPrice")
    def by_price(self, shelf: str, *, since: Decimal | None = None, before: Decimal | None = None) -> None: ...

    @Query("byMade")
    def by_made(
        self,
        shelf: str,
        *,
        since: datetime | None = None,
        after: datetime | None = None,
        until: datetime | None = None,
        before: datetime | None = None,
    ) -> None: ...

    @Query("inUse")
    def in_use(self, owner: UUID) -> None: ...

    @Query("byCount")
    def of_maker(self, shelf: str, *, count: int | None = None) -> FieldCondition:
        maker, day = cast("Any", self.maker), cast("Any", self.day)
        return (attr(maker.number) == IN_CAPITALS) & (attr(day) == "2025-11-18")


class Things(Collection):
    things: list[Thing]

    @CollectionQuery()
    def of_owner(self, owner: UUID, kind: Kind, state: Literal["new", "used"]) -> None: ...


# For values of other types than are declared.
thing: Any = Thing
THING = Thing(owner=OWNER, shelf="s", count=7, day=NOON.date(), made=NOON, seen=NOON)
KEY: dict[str, Any] = {
    "owner": OWNER,
    "kind": Kind.CHAIR,
    "state": "new",
    "made": NOON,
    "day": NOON.date(),
    "seen": NOON,
    "count": 7,
    "maker__number": OWNER,
}


@pytest.fixture
def store(embedded: Bench) -> Iterator[Store]:
    embedded.create_own(things)
    embedded.store.create(THING.model_copy())
    yield embedded.store
    assert embedded.store.verify(things).is_clean


# What a field takes, beside values of its own type.
TAKEN: list[tuple[str, Any]] = [
    ("owner", IN_CAPITALS),
    ("owner", str(OWNER)),
    ("owner", OWNER.hex),
    ("kind", "CHAIR"),
    ("made", "2025-11-18T12:00:00Z"),
    ("made", "2025-11-18T13:00:00+01:00"),
    ("made", NOON.astimezone(timezone(timedelta(hours=5)))),
    ("made", NOON.timestamp()),
    ("day", "2025-11-18"),
    ("day", datetime(2025, 11, 18, tzinfo=UTC)),
    ("seen", "2025-11-18T12:00:00Z"),
    ("seen", int(NOON.timestamp() * 1000)),
    ("seen", NOON + timedelta(microseconds=7)),
    ("count", "7"),
    ("count", 7.0),
    ("count", Decimal(7)),
    ("maker__number", IN_CAPITALS),
    ("maker__number", str(OWNER)),
]


@pytest.mark.parametrize(("name", "value"), TAKEN)
def test_what_a_field_takes_finds_its_item(store: Store, name: str, value: Any) -> None:
    key = {other: known for other, known in KEY.items() if other != name.replace(".", "__")} | {name: value}
    lookup = Thing.by_id(**key)
    # Twice: the second time, the pattern has been seen.
    for _ in range(2):
        assert store.get(lookup) == THING
        assert store.get_many([lookup]) == [THING]
        partition = {each: key[each] for each in ("owner", "kind", "state")}
        assert store.query(Thing.of_owner(**partition)).items == [THING]
        gathered = store.collect(Things.of_owner(**partition))
        assert gathered is not None
        assert gathered.things == [THING]
    assert store.update(lookup, attr(Thing.uses).set(1)).uses == 1
    assert store.delete(lookup) is True


def test_so_it_does_by_an_index(store: Store) -> None:
    for _ in range(2):
        assert store.get(thing.by_owner(owner=IN_CAPITALS)) == THING
        assert store.query(thing.in_use(owner=IN_CAPITALS)).items == [THING]
        assert store.query(thing.of_maker(shelf=b"s", count="7")).items == [THING]
    assert store.update(thing.by_owner(owner=IN_CAPITALS), attr(Thing.uses).set(2)).uses == 2
    assert store.delete(thing.by_owner(owner=IN_CAPITALS)) is True


# What a field refuses.
REFUSED: list[tuple[str, Any, str]] = [
    ("owner", "nobody", "Input should be a valid UUID"),
    ("owner", 7, "UUID input should be"),
    ("kind", "LAMP", "Input should be 'CHAIR' or 'DESK'"),
    ("state", "old", "Input should be 'new' or 'used'"),
    ("made", date(2025, 11, 18), "Input should have timezone info"),
    ("made", datetime(2025, 11, 18, 12), "2025-11-18T12:00:00 has no time zone"),
    ("made", "2025-11-18", "Input should have timezone info"),
    ("made", "yesterday", "Input should be a valid datetime"),
    ("seen", date(2025, 11, 18), "Input should have timezone info"),
    ("seen", "soon", "Input should be a valid datetime"),
    ("day", NOON, "zero time"),
    ("day", "18.11.2025", "Input should be a valid date"),
    ("count", "seven", "Input should be a valid integer"),
    ("count", 7.5, "Input should be a valid integer"),
    ("count", b"\xff", "Input should be a valid"),
    ("maker__number", 5, "UUID input should be"),
]


@pytest.mark.parametrize(("name", "value", "reason"), REFUSED)
def test_what_a_field_refuses_is_refused_by_name(store: Store, name: str, value: Any, reason: str) -> None:
    for read in (store.get, store.delete, lambda lookup: store.update(lookup, attr(Thing.uses).set(1))):
        with pytest.raises(ModelError) as refused:
            read(Thing.by_id(**{**KEY, name: value}))
        assert str(refused.value).startswith(f"Thing.{name}: {value!r} is not valid: ")
        assert reason in str(refused.value)


# -- bounds ---------------------------------------------------------------------------------------------------------

BOUNDS: list[tuple[Callable[..., Any], Any, Any]] = [
    (Thing.by_count, "7", "8"),
    (Thing.by_count, 7.0, Decimal(8)),
    (Thing.by_seen, "2025-11-18T12:00:00Z", "2025-11-18T12:00:01Z"),
    (Thing.by_seen, int(NOON.timestamp() * 1000), int(NOON.timestamp() * 1000) + 1),
    (Thing.by_seen, date(2025, 11, 18), date(2025, 11, 19)),
    (Thing.by_made, "2025-11-18T13:00:00+01:00", "2025-11-18T13:00:01+01:00"),
    (Thing.by_made, date(2025, 11, 18), date(2025, 11, 19)),
    (Thing.by_day, "2025-11-18", "2025-11-19"),
    (Thing.by_price, "2.5", "3"),
    (Thing.by_price, 2, 3),
]


@pytest.mark.parametrize(("pattern", "low", "high"), BOUNDS)
def test_bounds_are_taken_as_the_field_takes_values(
    store: Store, pattern: Callable[..., Any], low: Any, high: Any
) -> None:
    for _ in range(2):
        assert store.query(pattern(shelf="s", since=low, before=high)).items == [THING]
        assert store.query(pattern(shelf="s", since=high)).items == []


@pytest.mark.parametrize(
    ("pattern", "name", "value", "reason"),
    [
        (Thing.by_count, "count", "many", "Input should be a valid integer"),
        (Thing.by_count, "count", 1.5, "Input should be a valid integer"),
        (Thing.by_seen, "seen", "2025-11-18", "Input should have timezone info"),
        (Thing.by_made, "made", "yesterday", "Input should be a valid datetime"),
        (Thing.by_made, "made", datetime(2025, 11, 18), "has no time zone"),
        (Thing.by_day, "day", NOON, "zero time"),
    ],
)
@pytest.mark.parametrize("bound", ["since", "until", "after", "before"])
def test_a_bound_that_the_field_does_not_take_is_refused_by_name(
    store: Store, pattern: Callable[..., Any], name: str, value: Any, reason: str, bound: str
) -> None:
    with pytest.raises(ModelError) as refused:
        store.query(pattern(shelf="s", **{bound: value}))
    assert str(refused.value).startswith(f"Thing.{name}, {bound}: {value!r} is not valid: ")
    assert reason in str(refused.value)


class Score(Entity, table=Table("given-scores", "PK", "SK")):
    game: str
    points: Annotated[int, Field(ge=1, le=99)]
    name: Annotated[str, Field(min_length=3)]

    keys = Keys(PK="GAME#{game}", SK="{points:02}#{name}")

    @Get()
    def by_id(self, game: str, points: int, name: str) -> None: ...

    @Query()
    def of_game(self, game: str, *, after: int | None = None, until: int | None = None) -> None: ...

    @Query()
    def of_points(
        self, game: str, *, points: int | None = None, since: str | None = None, before: str | None = None
    ) -> None: ...


def test_a_bound_need_not_be_a_value_that_the_field_may_have(embedded: Bench) -> None:
    embedded.create_own(Score.schema_.table)
    score = embedded.store.create(Score(game="g", points=5, name="Ada"))
    assert embedded.store.query(Score.of_game(game="g", after=0, until=500)).items == [score]
    assert embedded.store.query(Score.of_points(game="g", points=5, since="A", before="B")).items == [score]


# -- expectations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expect",
    [
        attr(thing.owner) == IN_CAPITALS,
        attr(thing.owner).is_in(UUID(int=1), IN_CAPITALS),
        attr(thing.made) == "2025-11-18T12:00:00Z",
        attr(thing.seen) == "2025-11-18T12:00:00Z",
        attr(thing.count) == "7",
        attr(thing.maker) == {"number": IN_CAPITALS},
        attr(thing.maker.number) == IN_CAPITALS,
        attr(thing.tags) == [],
        attr(thing.price) == "2.50",
    ],
    ids=lambda each: each.text,
)
def test_what_is_expected_is_taken_as_the_field_takes_it(store: Store, expect: FieldCondition) -> None:
    lookup = Thing.by_id(**KEY)
    store.transact(Check(lookup, expect))
    assert store.update(lookup, attr(Thing.uses).set(1), expect=expect).uses == 1
    assert store.delete(lookup, expect=expect) is True


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (lambda: attr(thing.owner) == "nobody", "Thing.owner: 'nobody' is not valid: Input should be a valid UUID"),
        (lambda: attr(thing.count).is_in("7", "x"), "Thing.count: 'x' is not valid: Input should be a valid integer"),
        (lambda: attr(thing.made) == datetime(2025, 1, 1), "2025-01-01T00:00:00 has no time zone"),
        (lambda: attr(thing.maker.number) == 5, "Thing.maker.number: 5 is not valid: UUID input should be"),
    ],
)
def test_what_it_refuses_is_refused_by_name(condition: Callable[[], FieldCondition], reason: str) -> None:
    with pytest.raises(ModelError, match=re.escape(reason)):
        condition()


def test_an_expectation_of_the_right_type_that_does_not_hold_is_a_condition(store: Store) -> None:
    with pytest.raises(ConditionFailed, match="count = 8 does not hold: count is 7"):
        store.update(Thing.by_id(**KEY), attr(Thing.uses).set(1), expect=attr(thing.count) == "8")


# -- fields that make something of their values ---------------------------------------------------------------------

people = Table("given-people", "PK", "SK", indexes=[GlobalIndex("byMail", "mail")])


def trimmed(value: str) -> str:
    return value.strip()


class Person(Entity, table=people):
    country: Annotated[str, StringConstraints(to_upper=True)]
    name: Annotated[str, AfterValidator(trimmed)]
    mail: Annotated[str, Unique()] = ""
    alias: str = ""
    version: Version = 0

    keys = Keys(PK="COUNTRY#{country}", SK="{name}#{alias}")

    @Get()
    def by_id(self, country: str, name: str, alias: str) -> None: ...

    @Get("byMail")
    def by_mail(self, mail: str) -> None: ...

    @Query()
    def of_country(self, country: str) -> None: ...

    @field_validator("mail")
    @classmethod
    def in_small_letters(cls, value: str) -> str:
        return value.lower()

    @field_validator("alias")
    @classmethod
    def not_the_name(cls, value: str, info: ValidationInfo) -> str:
        assert value != info.data["name"]
        return value


def test_a_value_is_what_the_validators_of_its_field_make_of_it(embedded: Bench) -> None:
    embedded.create_own(people)
    store = embedded.store
    ada = store.create(Person(country="uk", name=" Ada ", mail="Ada@X", alias="a"))
    assert ada.country == "UK"
    for _ in range(2):
        assert store.get(Person.by_id(country="uk", name="Ada ", alias="a")) == ada
        assert store.query(Person.of_country(country="uk")).items == [ada]
        assert store.get(Person.by_mail(mail="ADA@X")) == ada
        assert store.get(Person.by_mail(mail="ADA@X"), consistent=True) == ada
        store.transact(Absent(Person.by_id(country="uk", name="Eve", alias="")))


# -- fields that are frozen -----------------------------------------------------------------------------------------


class Coin(Entity, table=Table("given-coins", "PK", "SK")):
    owner: UUID = Field(frozen=True)
    value: int = Field(frozen=True)
    at: EpochSeconds = NOON

    keys = Keys(PK="{owner}", SK="{value:05}")

    @Get()
    def by_id(self, owner: UUID, value: int) -> None: ...


class CoinValue(Projection[Coin]):
    value: int

    @Query()
    def values(self, owner: UUID) -> None: ...


def test_a_field_that_is_frozen_is_given_and_read_in_part_all_the_same(embedded: Bench) -> None:
    embedded.create_own(Coin.schema_.table)
    coin = embedded.store.create(Coin(owner=OWNER, value=5))
    coins: Any = Coin
    assert embedded.store.get(coins.by_id(owner=IN_CAPITALS, value="5")) == coin
    assert [part.value for part in embedded.store.query(CoinValue.values(owner=OWNER)).items] == [5]
