"""Values come back as they were: every type, alone and nested, and what is refused."""

# ruff: noqa: RUF012 (an entity copies its defaults)

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType

from tablewright.model import Entity, EpochMillis, EpochSeconds, Table
from tablewright.model.values.attribute_codec import decode, encode, number_text, stored_types, time_text


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


def test_every_field_is_tried() -> None:
    assert STRATEGIES.keys() | {"id"} == Thing.model_fields.keys()


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_value_comes_back(name: str) -> None:
    @settings(max_examples=50)
    @given(STRATEGIES[name])
    def round_trip(value: Any) -> None:
        thing = Thing.model_validate({name: value})
        read = Thing.of(thing.item())
        assert read == thing
        assert type(getattr(read, name)) is type(getattr(thing, name)) or name == "anything"

    round_trip()


@settings(max_examples=50)
@given(st.fixed_dictionaries({}, optional=STRATEGIES))
def test_a_whole_entity_comes_back(values: dict[str, Any]) -> None:
    thing = Thing.model_validate(values)
    assert Thing.of(thing.item()) == thing


@given(TIMES, TIMES)
def test_times_as_text_sort_as_times(one: datetime, other: datetime) -> None:
    assert (time_text(one) < time_text(other)) == (one < other)
    assert len(time_text(one)) == 27


def test_values_are_stored_in_the_way_of_dynamodb() -> None:
    time = datetime(2025, 11, 18, 11, 30, 0, 123456, tzinfo=timezone(timedelta(hours=1)))
    item = Thing(
        time=time, seconds=time, millis=time, exact=Decimal("1.50"), real=1e21, colour=Colour.BLUE, level=Level.HIGH,
        blob=b"a", texts={"b", "a"}, numbers=[1, None], maybe_seven=None, yes=True,
    ).item()  # fmt: skip
    assert item["time"] == {"S": "2025-11-18T10:30:00.123456Z"}
    assert item["seconds"] == {"N": "1763461800"}
    assert item["millis"] == {"N": "1763461800123"}
    assert item["exact"] == {"N": "1.5"}
    assert item["real"] == {"N": "1000000000000000000000"}
    assert item["colour"] == {"S": "blue"}
    assert item["level"] == {"N": "2"}
    assert item["blob"] == {"B": "YQ=="}
    assert item["texts"] == {"SS": ["a", "b"]}
    assert item["numbers"] == {"L": [{"N": "1"}, {"NULL": True}]}
    assert item["yes"] == {"BOOL": True}
    assert "maybe" not in item
    assert "exacts" not in item
    assert item["maybe_seven"] == {"NULL": True}


def test_a_nested_model_is_stored_under_its_own_names() -> None:
    start = datetime(2025, 11, 18, tzinfo=UTC)
    visit = Visit(started_at=start, all_times=[start], required_or_none=None, tags=set(), more_tags=frozenset())
    assert encode(visit) == {
        "M": {
            "startedAt": {"N": "1763424000000"},
            "allTimes": {"L": [{"N": "1763424000000"}]},
            "shop": {"S": ""},
            "noneOrFive": {"N": "5"},
            "requiredOrNone": {"NULL": True},
            "tags": {"L": []},
            "moreTags": {"L": []},
        }
    }


def test_a_counted_time_is_held_as_it_is_stored() -> None:
    time = datetime(2025, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    thing = Thing(seconds=time, millis=time)
    assert thing.seconds == time.replace(microsecond=0)
    assert thing.millis == time.replace(microsecond=123000)


def test_a_counted_time_can_be_given_as_a_number() -> None:
    thing = Thing.model_validate({"seconds": 1763461800, "millis": Decimal(1763461800123)})
    assert thing.item()["seconds"] == {"N": "1763461800"}
    assert thing.item()["millis"] == {"N": "1763461800123"}


def test_an_absent_set_is_empty_whatever_its_default() -> None:
    thing = Thing(wholes=frozenset())
    assert "wholes" not in thing.item()
    assert Thing.of(thing.item()).wholes == frozenset()


def test_floats_come_back_as_decimals_where_nothing_says_float() -> None:
    assert Thing.of(Thing(anything=[0.1, 1.0]).item()).anything == [Decimal("0.1"), 1]


# -- what is refused ------------------------------------------------------------------------------------------------

NAIVE = datetime(2025, 1, 1)


@pytest.mark.parametrize("name", ["time", "seconds", "millis", "maybe_time"])
def test_a_time_without_a_zone_is_refused_at_once(name: str) -> None:
    with pytest.raises(ValidationError, match="timezone info"):
        Thing.model_validate({name: NAIVE})


@pytest.mark.parametrize("values", [{"times": [NAIVE]}, {"by_time": {NAIVE: 1}}, {"moments": {NAIVE}}])
def test_so_is_one_inside_of_a_container(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="timezone info"):
        Thing.model_validate(values)


def test_a_default_that_looks_like_a_schema_stays_as_it_is() -> None:
    class Described(Entity, table=Table("described", "id")):
        id: str
        form: dict[str, Any] = {"type": "datetime"}

    assert Described(id="1").form == {"type": "datetime"}


def test_so_is_one_that_is_assigned() -> None:
    thing = Thing()
    with pytest.raises(ValidationError, match="timezone info"):
        thing.time = NAIVE


def test_so_is_a_counted_one_in_a_nested_model() -> None:
    with pytest.raises(ValidationError, match="has no time zone; give it one"):
        Visit(started_at=NAIVE, required_or_none=None, tags=set())


def test_any_other_is_refused_when_it_is_stored() -> None:
    with pytest.raises(ValueError, match="has no time zone; give it one"):
        Thing(anything=NAIVE).item()


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("-Infinity"), 10**38 + 1, Decimal("1E+126"), Decimal("1E-131"),
     Decimal("1." + "1" * 38), 1e300, 1e-300],
)  # fmt: skip
def test_a_number_that_dynamodb_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not a number that DynamoDB can hold"):
        encode(value)


@pytest.mark.parametrize("value", [{1, "a"}, {True}, {None}, {("a",)}])
def test_a_set_of_anything_but_texts_numbers_or_bytes_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="a set holds only text, only numbers, or only bytes"):
        encode(value)


def test_a_value_without_a_place_is_refused() -> None:
    with pytest.raises(TypeError, match=r"timedelta has no place in an item"):
        encode(timedelta(1))


def test_a_time_beyond_all_times_is_an_invalid_value() -> None:
    with pytest.raises(ValidationError, match="beyond the times"):
        Thing.of({"id": {"S": "1"}, "seconds": {"N": "9" * 30}})


# -- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("-5", -5), ("1.5", Decimal("1.5")), ("1E+3", Decimal(1000)), ("0", 0)]
)
def test_a_stored_number_is_an_int_where_it_is_written_as_one(text: str, value: Any) -> None:
    decoded = decode({"N": text})
    assert decoded == value
    assert type(decoded) is type(value)


@given(DECIMALS)
def test_numbers_are_written_plainly_and_never_rounded(value: Decimal) -> None:
    text = number_text(value)
    assert Decimal(text) == value
    assert "E" not in text
    assert text == "0" or "." not in text or not text.endswith("0")


@pytest.mark.parametrize(
    ("annotation", "types"),
    [
        (str, {"S"}),
        (bool, {"BOOL"}),
        (int | None, {"N", "NULL"}),
        (EpochMillis, {"N"}),
        (EpochSeconds | None, {"N", "NULL"}),
        (datetime, {"S"}),
        (Colour, {"S"}),
        (Level, {"N"}),
        (Literal["a", 3], {"S", "N"}),
        (list[str], {"L"}),
        (tuple[str, ...], {"L"}),
        (set[str], {"SET"}),
        (dict[str, Any], {"M"}),
        (Visit, {"M"}),
        (Any, {None}),
        (Annotated[str, "note"], {"S"}),
        (UserId, {"S"}),
        (Moment, {"N", "NULL"}),
    ],
)
def test_what_an_annotation_is_stored_as(annotation: Any, types: set[str | None]) -> None:
    assert stored_types(annotation) == types


def test_members_of_a_tuple_are_stored_each_as_its_own_type() -> None:
    class Span(Entity, table=Table("spans", "id")):
        id: str
        times: tuple[EpochMillis, EpochSeconds, datetime]

    moment = datetime(2026, 1, 15, tzinfo=UTC)
    span = Span(id="1", times=(moment, moment, moment))
    stored = [{"N": "1768435200000"}, {"N": "1768435200"}, {"S": "2026-01-15T00:00:00.000000Z"}]
    assert span.item()["times"] == {"L": stored}
    assert Span.of(span.item()) == span
