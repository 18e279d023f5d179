"""Changes of a field's type: what a diff calls free is read, and written back as it was.

Every type of a list is changed into every other one. Where the diff has nothing against it, values that the old type
stored are read by the new one, and what it would write is what is stored.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import GenericAlias, new_class
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import pytest
from annotated_types import Ge, Gt, Le, LowerCase, Lt, MaxLen, MinLen, MultipleOf
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, create_model
from typing_extensions import TypeAliasType, TypedDict

from tablewright.design.diff import Impact, changes, most_severe
from tablewright.design.diff.design_snapshot import snapshot
from tablewright.model import Design, Entity, EpochMillis, EpochSeconds, Table, schema_of

DAY, NOON = date(2026, 1, 15), datetime(2026, 1, 15, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 15, tzinfo=UTC)
ID = UUID("00000000-0000-0000-0000-00000000000a")
T = TypeVar("T")


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Warm(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    x: int
    y: int = 0


class Spot(BaseModel):
    x: int
    y: int = 0
    name: str | None = None


class Moment(BaseModel):
    x: datetime


class Tree(BaseModel):
    value: date
    inner: list["Tree"] = []


class Timber(BaseModel):
    value: datetime
    inner: list["Timber"] = []


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: "Page[T] | None" = None


class Pair(NamedTuple):
    number: int
    text: str


class Bag(TypedDict):
    x: int
    y: int


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = "Rex"


class Puppy(BaseModel):
    kind: Literal["dog"] = "dog"
    name: date = DAY


class Lower(BaseModel):
    model_config = ConfigDict(str_to_lower=True, str_max_length=5)

    names: list[str]


class Names(BaseModel):
    names: list[str]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    names: list[str]


class Ping(BaseModel):
    pong: "Pong | None" = None
    day: date = DAY


class Pong(BaseModel):
    ping: Ping | None = None
    pong: "Pong | None" = None


class LatePing(BaseModel):
    pong: "LatePong | None" = None
    day: datetime = NOON


class LatePong(BaseModel):
    ping: LatePing | None = None
    pong: "LatePong | None" = None


Twice = TypeAliasType("Twice", tuple[T, T], type_params=(T,))

VALUES: dict[str, tuple[Any, Sequence[Any]]] = {
    "str": (str, ["", "a", "2026-01-15", "5", " A "]),
    "short str": (Annotated[str, MaxLen(3)], ["", "abc"]),
    "long str": (Annotated[str, MinLen(36)], ["x" * 36]),
    "lower str": (Annotated[str, StringConstraints(to_lower=True)], ["abc"]),
    "lower str only": (LowerCase[str], ["abc"]),
    "str like a": (Annotated[str, Field(pattern="^a")], ["abc"]),
    "uuid": (UUID, [ID]),
    "date": (date, [DAY]),
    "datetime": (datetime, [NOON, MIDNIGHT]),
    "date or datetime": (date | datetime, [DAY, NOON]),
    "datetime or date": (datetime | date, [DAY, NOON]),
    "seconds": (EpochSeconds, [NOON]),
    "milliseconds": (EpochMillis, [NOON]),
    "enum": (Colour, list(Colour)),
    "smaller enum": (Warm, list(Warm)),
    "literal": (Literal["red", "blue", "green"], ["green"]),
    "mixed literal": (Literal["red", 1], ["red", 1]),
    "int enum": (Level, list(Level)),
    "bool": (bool, [True, False]),
    "int": (int, [0, 5, -7, 2**60 + 1]),
    "positive int": (Annotated[int, Gt(0)], [1, 2**60 + 1]),
    "int from 1": (Annotated[int, Ge(1)], [1, 2**60 + 1]),
    "bounded int": (Annotated[int, Ge(0), Le(9)], [0, 9]),
    "int below 10": (Annotated[int, Ge(0), Lt(10)], [0, 9]),
    "even int": (Annotated[int, MultipleOf(2)], [0, 4]),
    "fourfold int": (Annotated[int, MultipleOf(4)], [0, 4]),
    "float": (float, [0.5, 1e20, 3.0]),
    "Decimal": (Decimal, [Decimal("0.1"), Decimal("1234567890.123456789012345678"), Decimal(5), Decimal(2**60 + 1)]),
    "few digits": (Annotated[Decimal, Field(max_digits=3)], [Decimal("1.25")]),
    "bytes": (bytes, [b"", b"abc"]),
    "int or str": (int | str, [5, "5", "a"]),
    "float or Decimal": (float | Decimal, [0.5, Decimal("0.25")]),
    "Decimal or float": (Decimal | float, [0.5, Decimal("0.25")]),
    "int or float": (int | float, [5, 0.5]),
    "float or int": (float | int, [5, 0.5]),
    "bool or int": (bool | int, [True, 5, 0, 1]),
    "date or str": (date | str, ["a", "2026-01-15"]),
    "uuid or str": (UUID | str, ["a", str(ID).upper()]),
    "enum or int": (Colour | int, [Colour.RED, 5]),
    "list of int or str": (list[int] | list[str], [[1], ["a"], []]),
    "list or map": (list[str] | dict[str, int], [["a"], {"a": 1}]),
    "str or None": (str | None, ["a", None]),
    "Any": (Any, ["a", 5, [1], {"a": 1}]),
    "list of str": (list[str], [[], ["a", "b"]]),
    "list of str or None": (list[str | None], [["a", None]]),
    "short list of str": (Annotated[list[str], MaxLen(1)], [["a"]]),
    "list of short str": (list[Annotated[str, Field(max_length=1)]], [["a", "b"]]),
    "list of int": (list[int], [[1, 2]]),
    "list of date": (list[date], [[DAY]]),
    "list of datetime": (list[datetime], [[NOON]]),
    "list of list of date": (list[list[date]], [[[DAY]]]),
    "list of Any": (list, [[1, "a", None]]),
    "tuple": (tuple[int, str], [(1, "a")]),
    "longer tuple": (tuple[int, str, str], [(1, "a", "b")]),
    "named tuple": (Pair, [Pair(1, "a")]),
    "tuple of any length": (tuple[str, ...], [(), ("a",)]),
    "tuple of str": (tuple[str, str], [("a", "b")]),
    "set of str": (set[str], [{"a", "b"}]),
    "set of date": (frozenset[date], [frozenset([DAY])]),
    "set of int": (set[int], [{1, 2}]),
    "map to str": (dict[str, str], [{}, {"a": "b"}]),
    "map to int": (dict[str, int], [{"a": 1}]),
    "map of int": (dict[int, int], [{1: 2}]),
    "map of date": (dict[date, int], [{DAY: 2}]),
    "map to lists of date": (dict[str, list[date]], [{"a": [DAY]}]),
    "map to lists of datetime": (dict[str, list[datetime]], [{"a": [NOON]}]),
    "model": (Point, [Point(x=1), Point(x=1, y=2)]),
    "larger model": (Spot, [Spot(x=1), Spot(x=1, name="a")]),
    "model of a time": (Moment, [Moment(x=NOON)]),
    "typed dict": (Bag, [{"x": 1, "y": 2}]),
    "list of models": (list[Point], [[Point(x=1)]]),
    "list of larger models": (list[Spot], [[Spot(x=1, name="b")]]),
    "tree": (Tree, [Tree(value=DAY, inner=[Tree(value=DAY)])]),
    "tree of times": (Timber, [Timber(value=NOON, inner=[Timber(value=NOON)])]),
    "page of int": (Page[int], [Page[int](items=[1], next=Page[int](items=[2]))]),
    "page of str": (Page[str], [Page[str](items=["a"])]),
    "cat or dog": (Annotated[Cat | Dog, Field(discriminator="kind")], [Cat(), Dog()]),
    "cat or puppy": (Cat | Puppy, [Cat(), Puppy()]),
    "dog": (Dog, [Dog()]),
    "names": (Names, [Names(names=["A", "abcdefgh"])]),
    "short names in lower case": (Lower, [Lower(names=["a"])]),
    "names and nothing else": (Closed, [Closed(names=["a"])]),
    "ping": (Ping, [Ping(pong=Pong(ping=Ping()))]),
    "late ping": (LatePing, [LatePing(pong=LatePong(ping=LatePing()))]),
    "two dates": (Twice[date], [(DAY, DAY)]),
    "two times": (Twice[datetime], [(NOON, NOON)]),
    "json": (JsonValue, ["a", 1, True, [1, {"a": [None]}]]),
    "deep": (dict[str, list[dict[str, Point | None]]], [{"a": [{"b": Point(x=1), "c": None}]}]),
    "deep and larger": (dict[str, list[dict[str, Spot | None]]], [{"a": [{"b": Spot(x=1), "c": None}]}]),
    "deep and smaller": (dict[str, list[dict[str, Point]]], [{"a": [{"b": Point(x=1)}]}]),
}


def version(annotation: Any, name: str = "Thing") -> Any:
    table = Table("things", "id")
    namespace = {"__module__": __name__, "__annotations__": {"id": str, "extra": annotation}}

    def fill(given: dict[str, Any]) -> None:
        given.update(namespace)

    return new_class(name, (Entity,), {"table": table}, fill)


def verdict(old: Any, new: Any) -> Impact | None:
    before, after = (snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new))
    return most_severe([change for change in changes(before, after) if change.place.startswith("Thing.extra")])


VERSIONS = {name: version(annotation) for name, (annotation, _) in VALUES.items()}


@pytest.mark.parametrize("old", VALUES)
def test_what_is_free_is_read_and_written_back_as_it_was(old: str) -> None:
    items = [VERSIONS[old](id="1", extra=value).item() for value in VALUES[old][1]]
    for new, other in VERSIONS.items():
        if verdict(VERSIONS[old], other) in (None, Impact.FREE):
            for item in items:
                assert other.of(item).item() == item, f"{old} becomes {new}"


def broken() -> Iterator[tuple[str, str]]:
    """Pairs of which a value shows that what was stored is refused, or becomes something else."""
    for old, (_, values) in VALUES.items():
        for new, other in VERSIONS.items():
            for value in values:
                item = VERSIONS[old](id="1", extra=value).item()
                try:
                    whole = other.of(item).item() == item
                except ValueError:
                    whole = False
                if not whole:
                    yield old, new
                    break


def test_what_breaks_is_never_free() -> None:
    pairs = list(broken())
    assert len(pairs) > 1000
    assert [pair for pair in pairs if verdict(VERSIONS[pair[0]], VERSIONS[pair[1]]) in (None, Impact.FREE)] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("date", "datetime"),
        ("datetime", "date"),
        ("datetime", "date or datetime"),
        ("Decimal", "int"),
        ("Decimal", "float"),
        ("float", "int"),
        ("int", "float"),
        ("int", "seconds"),
        ("seconds", "milliseconds"),
        ("str", "uuid"),
        ("str", "datetime"),
        ("str", "date"),
        ("str", "enum"),
        ("str", "lower str"),
        ("str", "lower str only"),
        ("literal", "enum"),
        ("enum", "smaller enum"),
        ("list of str", "list of int"),
        ("list of str", "list of short str"),
        ("list of str", "short list of str"),
        ("list of str or None", "list of str"),
        ("list of list of date", "list of date"),
        ("map to str", "map to int"),
        ("map to str", "map of date"),
        ("map to lists of date", "map to lists of datetime"),
        ("set of str", "set of int"),
        ("set of str", "set of date"),
        ("tuple", "longer tuple"),
        ("list of str", "tuple of str"),
        ("bounded int", "fourfold int"),
        ("even int", "fourfold int"),
        ("Decimal", "few digits"),
        ("larger model", "model"),
        ("tree", "tree of times"),
        ("page of int", "page of str"),
        ("cat or dog", "dog"),
        ("cat or dog", "cat or puppy"),
        ("Any", "str"),
        ("names", "short names in lower case"),
        ("names", "names and nothing else"),
        ("ping", "late ping"),
        ("two dates", "two times"),
        ("json", "str"),
        ("deep", "deep and smaller"),
        ("deep and larger", "deep"),
    ],
)
def test_what_is_unsafe(old: str, new: str) -> None:
    assert verdict(VERSIONS[old], VERSIONS[new]) is Impact.UNSAFE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("smaller enum", "enum"),
        ("enum", "literal"),
        ("enum", "str"),
        ("uuid", "str"),
        ("uuid", "long str"),
        ("date", "str"),
        ("date", "datetime or date"),
        ("seconds", "int"),
        ("int enum", "int"),
        ("int", "Decimal"),
        ("float", "Decimal"),
        ("bounded int", "float"),
        ("fourfold int", "even int"),
        ("str", "int or str"),
        ("str", "Any"),
        ("short str", "str"),
        ("list of short str", "list of str"),
        ("list of str", "list of str or None"),
        ("list of date", "list of str"),
        ("tuple of str", "tuple of any length"),
        ("tuple", "list of Any"),
        ("map of int", "map to int"),
        ("set of date", "set of str"),
        ("model", "larger model"),
        ("list of models", "list of larger models"),
        ("dog", "cat or dog"),
        ("short names in lower case", "names"),
        ("deep and smaller", "deep"),
        ("deep", "deep and larger"),
    ],
)
def test_what_is_wider_is_free(old: str, new: str) -> None:
    assert verdict(VERSIONS[old], VERSIONS[new]) is Impact.FREE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("positive int", "int from 1"),
        ("bounded int", "int below 10"),
        ("int below 10", "bounded int"),
        ("list of str", "tuple of any length"),
        ("tuple", "named tuple"),
    ],
)
def test_what_says_the_same_is_no_change(old: str, new: str) -> None:
    assert verdict(VERSIONS[old], VERSIONS[new]) is None


def test_no_type_differs_from_itself() -> None:
    for name, (annotation, _) in VALUES.items():
        assert verdict(version(annotation), version(annotation)) is None, name


def test_a_name_for_a_type_is_that_type() -> None:
    from typing import NewType

    Day = NewType("Day", date)
    assert verdict(version(date), version(Day)) is None
    assert verdict(version(Day), version(datetime)) is Impact.UNSAFE


def test_the_reason_says_what_is_inside_of_what() -> None:
    old, new = VERSIONS["map to lists of date"], VERSIONS["map to lists of datetime"]
    before, after = (snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new))
    (change,) = changes(before, after)
    assert change.what == "its values: its members: was a date, is now a datetime"
    assert any("Upgrades" in step for step in change.steps)


def test_members_of_models_have_places_of_their_own_however_deep_they_are() -> None:
    class Inner(BaseModel):
        day: date

    class Later(BaseModel):
        day: datetime

    old, new = version(dict[str, list[Inner | None]]), version(dict[str, list[Later | None]])
    before, after = (snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new))
    (change,) = changes(before, after)
    assert (change.place, change.impact) == ("Thing.extra.day", Impact.UNSAFE)


def test_models_that_contain_each_other_are_described_and_compared_once() -> None:
    names = [f"Block{number}" for number in range(12)]
    made: dict[str, Any] = {}
    for name in names:
        members: dict[str, Any] = {
            f"of_{other.lower()}": (f"list[{other}]", Field(default_factory=list)) for other in names
        }
        made[name] = create_model(name, **members)
    for model in made.values():
        model.model_rebuild(_types_namespace=made)
    first = made["Block0"]
    old, new = version(first), version(GenericAlias(list, first))
    described = snapshot(Design("D", tables=[schema_of(old).table]))
    (entity,) = described["tables"]["things"]["entities"].values()
    assert sorted(entity["models"]) == sorted(names)
    assert verdict(old, old) is None
    assert verdict(old, new) is Impact.UNSAFE


def test_a_model_that_is_changed_in_place_is_another_one() -> None:
    def holder(kind: Any) -> Any:
        class Part(BaseModel):
            value: kind
            inner: list["Part"] = []

        return Part

    old, new = holder(date), holder(datetime)
    containers: list[Callable[[Any], Any]] = [
        lambda part: part,
        lambda part: GenericAlias(list, part),
        lambda part: GenericAlias(dict, (str, GenericAlias(tuple, (part, ...)))),
    ]
    for whole in containers:
        assert verdict(version(whole(old)), version(whole(old))) is None
        assert verdict(version(whole(old)), version(whole(new))) is Impact.UNSAFE


def test_two_models_of_one_name_are_distinct() -> None:
    def holder(kind: Any) -> Any:
        class Part(BaseModel):
            value: kind

        return Part

    one, other, late = holder(str), holder(date), holder(datetime)
    pair, changed = GenericAlias(tuple, (one, other)), GenericAlias(tuple, (one, late))
    assert verdict(version(pair), version(pair)) is None
    assert verdict(version(pair), version(changed)) is Impact.UNSAFE


# -- unions, choices, and times --------------------------------------------------------------------------------------


class Person(BaseModel):
    name: str = ""


class Pet(BaseModel):
    name: str = ""


class Horse(BaseModel):
    name: str = ""
    hands: int = 16


class Empty(BaseModel):
    pass


class Named(BaseModel):
    name: int = 0


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (Person, Pet | Person, Impact.UNSAFE),
        (Person, Horse | Person, Impact.UNSAFE),
        (Person, Person | Pet, Impact.FREE),
        (Person, Person | Horse, Impact.FREE),
        # One that knows fewer of the members, or takes none of these values, fits worse.
        (Person, Empty | Person, Impact.FREE),
        (Person, Named | Person, Impact.FREE),
        (Person | Pet, Pet | Person, Impact.UNSAFE),
        (Pet | Person, Pet | Person | Horse, Impact.FREE),
        (list[Person], list[Pet | Person], Impact.UNSAFE),
        (list[Person], list[Pet] | list[Person], Impact.UNSAFE),
        (Person, dict[str, Any] | Person, Impact.UNSAFE),
        (Person, Person | dict[str, Any], Impact.FREE),
        (Person, Person | dict[str, str], Impact.UNSAFE),
        (Person, Person | dict[str, int], Impact.FREE),
        (dict[str, int], Empty | dict[str, int], Impact.FREE),
        (dict[str, Any], Person | dict[str, Any], Impact.UNSAFE),
    ],
)
def test_what_is_read_as_another_alternative_is_unsafe(old: Any, new: Any, kind: Impact) -> None:
    assert verdict(version(old), version(new)) is kind
    value = {Person: Person(name="Ada"), dict[str, int]: {"a": 1}}.get(old)
    if kind is Impact.FREE and value is not None:
        assert version(new).of(version(old)(id="1", extra=value).item()).extra == value


class Grade(IntEnum):
    LOW = 2
    HIGH = 4


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (Literal["\u00e9"], Annotated[str, MinLen(5)], Impact.UNSAFE),
        (Literal["\u00e9"], Annotated[str, MaxLen(1)], Impact.FREE),
        (Literal["\U0001f600"], Annotated[str, MaxLen(1)], Impact.FREE),
        (Grade, Annotated[int, Ge(0)], Impact.FREE),
        (Grade, Annotated[int, Ge(2), Le(4), MultipleOf(2)], Impact.FREE),
        (Grade, Annotated[int, Ge(3)], Impact.UNSAFE),
        (Grade, Annotated[int, Lt(4)], Impact.UNSAFE),
        (Grade, Annotated[int, MultipleOf(4)], Impact.UNSAFE),
        (datetime, AwareDatetime, None),
        (AwareDatetime | None, datetime | None, None),
        (list[datetime], list[AwareDatetime], None),
    ],
)
def test_values_are_measured_as_they_are(old: Any, new: Any, kind: Impact | None) -> None:
    assert verdict(version(old), version(new)) is kind
