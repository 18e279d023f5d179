"""An entity with a field of every type that can be stored, and values for each of them."""

# ruff: noqa: RUF012 (an entity copies its defaults)

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, Literal, NewType
from uuid import UUID

from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType

from tablewright.model import Entity, EpochMillis, EpochSeconds, Table


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Visit(BaseModel):
    """A nested model with names of its own, and times of every kind."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    started_at: EpochMillis
    ended_at: EpochSeconds | None = None
    all_times: list[EpochMillis] = []
    shop_name: str = Field(default="", alias="shop")
    none_or_five: int | None = 5
    required_or_none: int | None
    tags: set[str]
    more_tags: frozenset[str] = frozenset({"x"})


class Node(BaseModel):
    name: str
    children: "list[Node]" = []


UserId = NewType("UserId", str)
Moment = TypeAliasType("Moment", EpochMillis | None)

TABLE = Table("things", "id")


class Thing(Entity, table=TABLE):
    id: str = "1"
    text: str = ""
    whole: int = 0
    exact: Decimal = Decimal(0)
    real: float = 0.0
    yes: bool = False
    blob: bytes = b""
    uuid: UUID = UUID(int=0)
    day: date = date(2025, 1, 1)
    time: datetime = datetime(2025, 1, 1, tzinfo=UTC)
    seconds: EpochSeconds = datetime(2025, 1, 1, tzinfo=UTC)
    millis: EpochMillis = datetime(2025, 1, 1, tzinfo=UTC)
    colour: Colour = Colour.RED
    size: Size = Size.SMALL
    level: Level = Level.LOW
    either: int | str | None = None
    choice: Literal["a", "b", 3] = "a"
    maybe: int | None = None
    maybe_seven: int | None = 7
    maybe_time: EpochSeconds | None = None
    texts: set[str] = set()
    wholes: frozenset[int] = frozenset({1})
    exacts: set[Decimal] = set()
    blobs: set[bytes] = set()
    levels: set[Level] = set()
    moments: set[EpochMillis] = set()
    pair: tuple[str, int] = ("", 0)
    numbers: list[int | None] = []
    sets: list[set[str]] = []
    times: list[EpochMillis] = []
    time_map: dict[str, EpochSeconds | None] = {}
    deep: dict[str, list[dict[str, EpochMillis]]] = {}
    by_colour: dict[Colour, int] = {}
    by_number: dict[int, str] = {}
    by_day: dict[date, Level] = {}
    by_time: dict[datetime, int] = {}
    visit: Visit | None = None
    visits: list[Visit] = []
    visit_map: dict[str, Visit] = {}
    tree: Node = Node(name="root")
    user: UserId = UserId("")
    moment: Moment = None
    moment_list: list[Moment] = []
    anything: Any = None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
DECIMALS = st.builds(
    lambda negative, digits, exponent: Decimal((int(negative), tuple(map(int, str(digits))), exponent)),
    st.booleans(),
    st.integers(0, 10**38 - 1),
    st.integers(-130, 88),
)
WHOLES = st.one_of(st.integers(-1000, 1000), st.integers(-(10**38) + 1, 10**38 - 1), st.just(10**125))
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES)
REALS = st.one_of(
    st.floats(-1e6, 1e6),
    st.floats(1e-100, 1e100),
    st.sampled_from([0.1, -0.0, 1e22, 1.7976931348623157e100, 5e-100]),
).filter(lambda value: value == 0 or abs(value) > 1e-129)
VISITS = st.fixed_dictionaries(
    {
        "started_at": TIMES,
        "required_or_none": st.none() | st.integers(0, 9),
        "tags": st.sets(TEXT, max_size=2),
    },
    optional={
        "ended_at": st.none() | TIMES,
        "all_times": st.lists(TIMES, max_size=2),
        "shop_name": TEXT,
        "none_or_five": st.none() | st.integers(0, 9),
        "more_tags": st.frozensets(TEXT, max_size=2),
    },
).map(Visit.model_validate)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), WHOLES, DECIMALS, TEXT, st.binary(max_size=4)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)

STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "whole": WHOLES,
    "exact": DECIMALS,
    "real": REALS,
    "yes": st.booleans(),
    "blob": st.binary(max_size=8),
    "uuid": st.uuids(),
    "day": st.dates(),
    "time": TIMES,
    "seconds": TIMES,
    "millis": TIMES,
    "colour": st.sampled_from(Colour),
    "size": st.sampled_from(Size),
    "level": st.sampled_from(Level),
    "either": st.one_of(st.none(), WHOLES, TEXT),
    "choice": st.sampled_from(["a", "b", 3]),
    "maybe": st.none() | WHOLES,
    "maybe_seven": st.none() | st.integers(6, 8),
    "maybe_time": st.none() | TIMES,
    "texts": st.sets(TEXT, max_size=3),
    "wholes": st.frozensets(WHOLES, max_size=3),
    "exacts": st.sets(DECIMALS, max_size=3),
    "blobs": st.sets(st.binary(max_size=3), max_size=3),
    "levels": st.sets(st.sampled_from(Level)),
    "moments": st.sets(TIMES, max_size=3),
    "pair": st.tuples(TEXT, WHOLES),
    "numbers": st.lists(st.none() | WHOLES, max_size=3),
    "sets": st.lists(st.sets(TEXT, max_size=2), max_size=3),
    "times": st.lists(TIMES, max_size=3),
    "time_map": st.dictionaries(TEXT, st.none() | TIMES, max_size=3),
    "deep": st.dictionaries(TEXT, st.lists(st.dictionaries(TEXT, TIMES, max_size=2), max_size=2), max_size=2),
    "by_colour": st.dictionaries(st.sampled_from(Colour), WHOLES),
    "by_number": st.dictionaries(WHOLES, TEXT, max_size=3),
    "by_day": st.dictionaries(st.dates(), st.sampled_from(Level), max_size=3),
    "by_time": st.dictionaries(TIMES, st.integers(0, 9), max_size=3),
    "visit": st.none() | VISITS,
    "visits": st.lists(VISITS, max_size=2),
    "visit_map": st.dictionaries(TEXT, VISITS, max_size=2),
    "tree": st.builds(Node, name=TEXT, children=st.lists(st.builds(Node, name=TEXT), max_size=2)),
    "user": TEXT,
    "moment": st.none() | TIMES,
    "moment_list": st.lists(st.none() | TIMES, max_size=2),
    "anything": PLAIN,
}
