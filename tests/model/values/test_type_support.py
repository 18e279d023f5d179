"""What is accepted when it is declared comes back from an item; what would not is refused, with what to do."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntFlag
from types import GenericAlias, new_class
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Union, get_args
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    AwareDatetime,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    FutureDate,
    HttpUrl,
    InstanceOf,
    Json,
    JsonValue,
    NaiveDatetime,
    PastDate,
    RootModel,
    SecretStr,
    SkipValidation,
    Strict,
    ValidationError,
    create_model,
)
from typing_extensions import TypedDict

from tablewright.model import Entity, EpochMillis, EpochSeconds, ModelError, Table
from tests.examples import examples
from tests.model.all_types import Colour, Level, Size

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
_NAMES = iter(range(10**9))


class Rights(IntFlag):
    READ = 1
    WRITE = 2


class Pairs(Enum):
    ONE = (1, 2)


class Parts(Enum):
    TENTH = 0.1


class Day(Enum):
    FIRST = date(2025, 1, 1)


class Point(NamedTuple):
    x: int
    day: date


class Ways(NamedTuple):
    how_long: timedelta


class Person(TypedDict):
    name: str
    born: NotRequired[date]


class Renamed(TypedDict):
    name: Annotated[str, Field(alias="n")]


class Waiting(TypedDict):
    how_long: timedelta


class Node(BaseModel):
    at: datetime
    kids: list[Node] = []


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")

    a: int = 0


class Counted(BaseModel):
    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, timedelta]


class Chosen(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices("z", "a"))


class ReadElsewhere(BaseModel):
    a: int = Field(0, validation_alias="z")


class WrittenElsewhere(BaseModel):
    a: int = Field(0, serialization_alias="z")


class Deep(BaseModel):
    a: int = Field(0, validation_alias=AliasPath("b", 0))


class Crossed(BaseModel):
    a: int = Field(0, validation_alias=AliasChoices("b", "a"))
    b: int = 1


class Swapped(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    a: int = Field(0, alias="b")
    b: int | None = Field(None, alias="c")


class StrictTimes(BaseModel):
    model_config = ConfigDict(strict=True)

    at: datetime


class StrictTexts(BaseModel):
    model_config = ConfigDict(strict=True)

    text: str = ""
    numbers: list[int] = []


Numbers = RootModel[list[int]]


def declared(annotation: Any, **config: Any) -> Any:
    """An entity with a field of a type."""
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {"id": str, "extra": annotation}}
    if config:
        namespace["model_config"] = config
    return new_class("Thing", (Entity,), {"table": Table("things", "id")}, lambda given: given.update(namespace))


def assert_comes_back(kind: Any, value: Any) -> None:
    entity = kind(id="1", extra=value)
    read = kind.of(entity.item())
    assert read == entity
    assert type(read.extra) is type(entity.extra)
    assert read.item() == entity.item()


REFUSED: dict[str, tuple[Any, str]] = {
    "a root model": (
        Numbers,
        "RootModel[list[int]] is a RootModel, of which only the root is stored; declare the type of the root itself",
    ),
    "an alias to read by": (
        ReadElsewhere,
        "ReadElsewhere.a is stored as 'a' and read as z; give it a single alias=...",
    ),
    "an alias to write by": (
        WrittenElsewhere,
        "WrittenElsewhere.a is stored as 'z' and read as a; give it a single alias=...",
    ),
    "a path": (Deep, "Deep.a has an AliasPath, which is not stored; give it a plain alias"),
    "the name of another": (Crossed, "Crossed.a would be read from 'b', which b is stored as; give it another alias"),
    "two names": (Swapped, "Swapped.b would be read from 'b', which a is stored as; give it another alias"),
    "extra members of a type": (
        Counted,
        "Counted declares a type for extra fields; declare a field that is a dict instead",
    ),
    "an address": (
        HttpUrl,
        "HttpUrl cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "addresses": (
        list[HttpUrl],
        "HttpUrl cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "a secret": (
        SecretStr,
        "SecretStr cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "JSON in text": (
        Json[list[int]],
        "Json parses text, but the parsed value is stored; declare the type of that value",
    ),
    "encoded bytes": (
        Base64Bytes,
        "its values are decoded at every validation, also when they are read; declare bytes or str, and decode before",
    ),
    "no validation": (
        SkipValidation[date],
        "SkipValidation cannot convert what is stored; remove it, or declare the type as it is stored",
    ),
    "an instance": (
        InstanceOf[date],
        "InstanceOf cannot convert what is stored; remove it, or declare the type as it is stored",
    ),
    "a day to come": (
        FutureDate,
        "FutureDate becomes invalid as time passes, and could no longer be read; declare a date or a datetime",
    ),
    "a time without a zone": (NaiveDatetime, "times need a time zone; declare a datetime"),
    "a length of time": (
        timedelta,
        "timedelta cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "a time of day": (time, "time cannot be stored in an item; use a type that can, or a pydantic model of such types"),
    "a queue": (deque[int], "deque cannot be stored in an item; use a list, a tuple, a set or a dict"),
    "any sequence": (
        Sequence[int],
        "Sequence may be a list or a tuple, which are stored the same way; declare one of them",
    ),
    "a strict time": (
        Annotated[datetime, Strict()],
        "datetime is stored as another type, which strict mode rejects; remove strict",
    ),
    "a strict choice": (
        Annotated[Size, Field(strict=True)],
        "Size is stored as another type, which strict mode rejects; remove strict",
    ),
    "a strict model": (
        StrictTimes,
        "StrictTimes.at: datetime is stored as another type, which strict mode rejects; remove strict",
    ),
    "strict keys": (
        dict[Annotated[int, Strict()], int],
        "the keys of a map are stored as text, which strict mode rejects for other types; remove strict",
    ),
    "a choice of pairs": (
        Pairs,
        "<Pairs.ONE: (1, 2)> would not be read back as the same value; use only strings or only integers",
    ),
    "a choice of fractions": (
        Parts,
        "<Parts.TENTH: 0.1> would not be read back as the same value; use only strings or only integers",
    ),
    "a choice of days": (
        Day,
        "<Day.FIRST: datetime.date(2025, 1, 1)> would not be read back as the same value; use only strings "
        "or only integers",
    ),
    "a choice of a choice": (
        Literal[Colour.RED],
        "<Colour.RED: 'red'> would not be read back as the same value; use only strings or only integers",
    ),
    "a set of truths": (set[bool], "the members of a set must be all text, all numbers or all bytes; use a list"),
    "a mixed set": (set[int | str], "the members of a set must be all text, all numbers or all bytes; use a list"),
    "a set with nothing": (
        frozenset[str | None],
        "the members of a set must be all text, all numbers or all bytes; use a list",
    ),
    "a set of pairs": (
        set[tuple[int, int]],
        "the members of a set must be all text, all numbers or all bytes; use a list",
    ),
    "keys of bytes": (
        dict[bytes, int],
        "the keys of a map are stored as text, and these would not be read back; use dict[str, ...] or a "
        "list of models",
    ),
    "keys of pairs": (
        dict[tuple[int, int], int],
        "the keys of a map are stored as text, and these would not be read back; use ",
    ),
    "keys of two kinds": (
        dict[int | str, int],
        "the keys of a map are stored as text, and these would not be read back; use ",
    ),
    "keys of any kind": (
        dict[Any, int],
        "the keys of a map are stored as text, and these would not be read back; use ",
    ),
    "keys of numbers": (
        dict[Literal["a", 1], int],
        "the keys of a map are stored as text, and these would not be read back; use ",
    ),
    "a typed dict": (
        Waiting,
        "timedelta cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
    "a renamed member": (Renamed, "Renamed: name has an alias; declare it as a pydantic model"),
    "a named tuple": (
        list[Ways],
        "timedelta cannot be stored in an item; use a type that can, or a pydantic model of such types",
    ),
}


@pytest.mark.parametrize(("annotation", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_type_that_does_not_come_back_is_refused_where_it_is_declared(annotation: Any, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        declared(annotation)
    assert str(caught.value).startswith("Thing.extra: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_inside_of_others_too(name: str) -> None:
    member = GenericAlias(dict, (str, GenericAlias(list, REFUSED[name][0])))
    fields: dict[str, Any] = {"held": (member, ...)}
    holder = create_model("Holder", **fields)
    with pytest.raises(ModelError, match=r"Thing\.extra: Holder\.held: "):
        declared(GenericAlias(tuple, (holder, ...)))


def test_a_set_that_may_be_none_is_none_by_default() -> None:
    assert_comes_back(declared(set[str] | None), {"x"})
    assert declared(set[str] | None)(id="1", extra=set()).item() == {"id": {"S": "1"}}
    with pytest.raises(
        ModelError,
        match=r"Thing\.extra: DynamoDB does not store empty sets, so an empty set would be read as the default; make "
        r"the default None or empty",
    ):
        declared(Annotated[set[str] | None, Field(default=frozenset({"x"}))])


def test_an_entity_does_not_take_what_it_does_not_declare() -> None:
    with pytest.raises(
        ModelError,
        match="Thing allows extra fields, which are not stored; remove extra='allow': attributes of other writers "
        "are kept in any case",
    ):
        declared(int, extra="allow")
    with pytest.raises(ModelError, match=r"Thing\.extra: datetime is stored as another type, which strict mode"):
        declared(datetime, strict=True)
    assert_comes_back(declared(EpochMillis, strict=True), NOON)


ACCEPTED: dict[str, tuple[Any, Any]] = {
    "extra members": (Loose, Loose.model_validate({"a": 1, "b": [1, {"c": None}], "d": {"x"}, "e": Decimal("0.5")})),
    "extra members in a list": (list[Loose], [Loose.model_validate({"b": "text"}), Loose()]),
    "one of several names": (Chosen, Chosen.model_validate({"z": 5})),
    "a strict model": (StrictTexts, StrictTexts(text="t", numbers=[1])),
    "a strict number": (Annotated[int, Strict()], 3),
    "any JSON": (JsonValue, {"a": [1, 0.1, -1.5e-7, 1e22, None, True, "text", {"b": {}}], "c": 2.5}),
    "JSON in a list": (list[JsonValue], [0.25, {"x": 0.5}]),
    "a fraction": (JsonValue, 0.1),
    "a past day": (PastDate, date(2020, 1, 1)),
    "a time with a zone": (AwareDatetime, NOON),
    "rights": (Rights, Rights.READ | Rights.WRITE),
    "a choice of a number": (Literal[Level.LOW], Level.LOW),
    "a choice of any plain kind": (Literal["a", 1, None, True], True),
    "a typed dict": (Person, {"name": "Ada", "born": date(1815, 12, 10)}),
    "a named tuple": (Point, Point(1, date(2025, 1, 1))),
    "an ordered dict": (OrderedDict[str, int], OrderedDict(b=1, a=2)),
    "a dict with a default": (defaultdict[str, int], defaultdict(int, a=1)),
    "any mapping": (Mapping[str, int], {"a": 1}),
    "a tree": (Node, Node(at=NOON, kids=[Node(at=NOON)])),
}


@pytest.mark.parametrize(("annotation", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_value_of_an_unusual_type_comes_back(annotation: Any, value: Any) -> None:
    assert_comes_back(declared(annotation), value)


def test_members_that_others_have_stored_in_a_model_survive_where_it_allows_them() -> None:
    item = {"id": {"S": "1"}, "extra": {"M": {"a": {"N": "1"}, "seen": {"L": [{"N": "1.50"}, {"SS": ["x"]}]}}}}
    thing = declared(Loose).of(item)
    thing.extra.a = 2
    kept = {"L": [{"N": "1.5"}, {"SS": ["x"]}]}
    assert thing.item()["extra"] == {"M": {"a": {"N": "2"}, "seen": kept}}


def test_an_extra_member_does_not_take_the_place_of_a_field() -> None:
    class Aliased(BaseModel):
        model_config = ConfigDict(extra="allow")

        shop_name: str = Field("", alias="shop")

    aliased = Aliased(shop="a")
    aliased.shop = "b"  # type: ignore[attr-defined]
    with pytest.raises(
        ValueError, match=r"Thing\.extra: shop is the stored name of Aliased\.shop_name; set shop_name instead"
    ):
        declared(Aliased)(id="1", extra=aliased).item()


@pytest.mark.parametrize("annotation", [Node, list[Node], dict[str, Node], Person | Node, Annotated[Node, "note"]])
def test_a_time_without_a_zone_is_not_read_in_any_model(annotation: Any) -> None:
    kind = declared(annotation)
    node: Any = {"M": {"at": {"S": "2025-01-01T00:00:00"}}}
    tree: Any = {"M": {"at": {"S": "2025-01-01T00:00:00Z"}, "kids": {"L": [node]}}}
    for stored in (node, tree):
        value = {"L": [stored]} if annotation == list[Node] else stored
        value = {"M": {"x": stored}} if annotation == dict[str, Node] else value
        with pytest.raises(ValidationError, match="timezone"):
            kind.of({"id": {"S": "1"}, "extra": value})


def test_a_number_that_no_float_means_is_not_read_as_json() -> None:
    kind = declared(JsonValue)
    with pytest.raises(ValidationError, match="not a valid JSON value"):
        kind.of({"id": {"S": "1"}, "extra": {"N": "0.12345678901234567890123456789"}})


# -- types that are made at random ------------------------------------------------------------------------------------

# A type, and a strategy for values of it.
Kinds = tuple[Any, st.SearchStrategy[Any]]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
TIMES = st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
REALS = st.integers(-(10**9), 10**9).map(lambda number: number / 1024)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | REALS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ATOMS: list[Kinds] = [
    (str, TEXT),
    (int, st.integers(-(10**20), 10**20)),
    (Decimal, st.decimals(-(10**6), 10**6, places=4)),
    (float, REALS),
    (bool, st.booleans()),
    (bytes, st.binary(max_size=3)),
    (date, st.dates()),
    (datetime, TIMES),
    (UUID, st.uuids()),
    (EpochSeconds, TIMES),
    (EpochMillis, TIMES),
    (Colour, st.sampled_from(Colour)),
    (Size, st.sampled_from(Size)),
    (Level, st.sampled_from(Level)),
    (Parts, st.sampled_from(Parts)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (Annotated[date, Strict()], st.dates()),
    (Annotated[float, Strict()], REALS),
    (JsonValue, JSON),
    (HttpUrl, st.just(HttpUrl("http://x.y/"))),
    (SecretStr, st.just(SecretStr("s"))),
    (Base64Bytes, st.just(b"YQ==")),
    (PastDate, st.dates(max_value=date(2020, 1, 1))),
    (timedelta, st.just(timedelta(1))),
    (Point, st.builds(Point, st.integers(0, 9), st.dates())),
    (Person, st.fixed_dictionaries({"name": TEXT}, optional={"born": st.dates()})),
    (Numbers, st.lists(st.integers(0, 9)).map(Numbers)),
    (Loose, st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9)).map(Loose.model_validate)),
    (Node, st.builds(Node, at=TIMES, kids=st.lists(st.builds(Node, at=TIMES), max_size=2))),
]
CONFIGS = [ConfigDict(), ConfigDict(extra="allow"), ConfigDict(populate_by_name=True), ConfigDict(strict=True)]
ALIASES = ["m0", "m1", "z"]


def model_of(draw: Any, members: list[Kinds]) -> Kinds:
    """A model with names of all kinds for its members, which may have defaults, or be None."""
    fields: dict[str, Any] = {}
    values: dict[str, st.SearchStrategy[Any]] = {}
    for number, (kind, some) in enumerate(members):
        options: dict[str, Any] = {}
        way = draw(st.sampled_from(["", "", "alias", "validation_alias", "serialization_alias", "choices"]))
        if way == "choices":
            options["validation_alias"] = AliasChoices(*draw(st.permutations(ALIASES)))
        elif way:
            options[way] = draw(st.sampled_from(ALIASES))
        name = f"m{number}"
        optional = draw(st.booleans())
        fields[name] = (_optional(kind) if optional else kind, Field(None if optional else ..., **options))
        values[name] = (st.none() | some) if optional else some
    config = draw(st.sampled_from(CONFIGS))
    made: type[BaseModel] = create_model(f"Model{next(_NAMES)}", __config__=config, **fields)
    return made, st.fixed_dictionaries({_given(made, name): some for name, some in values.items()}).map(
        lambda given: _or_nothing(made.model_validate, given)
    )


def _given(model: type[BaseModel], name: str) -> str:
    """The name that a member is given by."""
    alias = model.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else str(alias or name)


class Nothing:
    """What cannot be made: a set of lists, say."""


def _or_nothing(make: Any, given: Any) -> Any:
    try:
        return make(given)
    except (TypeError, ValidationError):
        return Nothing()


def _optional(kind: Any) -> Any:
    return Union[kind, None]  # noqa: UP007 (not every type has an operator)


def made_of(draw: Any, depth: int) -> Kinds:
    shape = draw(st.sampled_from(["atom", "list", "set", "map", "pair", "tuple", "union", "model", "sequence"]))
    if depth == 0 or shape == "atom":
        atom: Kinds = draw(st.sampled_from(ATOMS))
        return atom
    inner = made_of(draw, depth - 1)
    if shape == "list":
        return GenericAlias(list, inner[0]), st.lists(inner[1], max_size=2)
    if shape == "sequence":
        return GenericAlias(Sequence, inner[0]), st.lists(inner[1], max_size=2).map(tuple)
    if shape == "set":
        return GenericAlias(frozenset, inner[0]), st.lists(inner[1], max_size=2).map(
            lambda some: _or_nothing(frozenset, some)
        )
    if shape == "tuple":
        return GenericAlias(tuple, (inner[0], ...)), st.lists(inner[1], max_size=2).map(tuple)
    if shape == "union":
        return _optional(inner[0]), st.none() | inner[1]
    other = made_of(draw, depth - 1)
    if shape == "map":
        members = st.lists(st.tuples(other[1], inner[1]), max_size=2).map(lambda some: _or_nothing(dict, some))
        return GenericAlias(dict, (other[0], inner[0])), members
    if shape == "pair":
        return GenericAlias(tuple, (inner[0], other[0])), st.tuples(inner[1], other[1])
    return model_of(draw, [inner, other])


@settings(max_examples=examples(600), deadline=None)
@given(st.data())
def test_whatever_is_accepted_comes_back(data: st.DataObject) -> None:
    annotation, values = made_of(data.draw, 2)
    try:
        kind = declared(annotation)
    except ModelError:
        return
    try:
        entity = kind(id="1", extra=data.draw(values))
    except ValidationError:
        return
    read = kind.of(entity.item())
    if entity.extra == frozenset() and type(None) in get_args(annotation):
        # There are no empty sets in an item, and what is not there is None.
        assert read.extra is None
        return
    assert read.item() == entity.item()
    assert read == entity
