"""Values come back as they were: every type, alone and nested, and what is refused."""

# ruff: noqa: RUF012 (an entity copies its defaults)

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tablewright.model import Entity, EpochMillis, EpochSeconds, Table
from tablewright.model.values.attribute_codec import decode, encode, number_text, stored_types, time_text
from tests.model.all_types import DECIMALS, STRATEGIES, TIMES, Colour, Level, Moment, Thing, UserId, Visit


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
    with pytest.raises(ValueError, match="not a number that DynamoDB can store"):
        encode(value)


@pytest.mark.parametrize("value", [{1, "a"}, {True}, {None}, {("a",)}])
def test_a_set_of_anything_but_texts_numbers_or_bytes_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="the members of a set must be all text, all numbers or all bytes"):
        encode(value)


def test_a_value_without_a_place_is_refused() -> None:
    with pytest.raises(TypeError, match="has the type timedelta, which DynamoDB cannot store"):
        encode(timedelta(1))


def test_a_time_beyond_all_times_is_an_invalid_value() -> None:
    with pytest.raises(ValidationError, match="out of the range of Python's times"):
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
