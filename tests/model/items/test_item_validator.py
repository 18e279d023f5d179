"""Items are read as they are stored, and what is read is what the decoded values make, whoever wrote the item."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tablewright.dynamo import Item
from tablewright.model import Entity, EpochMillis, Table, schema_of
from tablewright.model.schema import Schema
from tests.examples import examples
from tests.model.all_types import STRATEGIES, Thing

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
NUMBERS = st.sampled_from(["0", "7", "-3", "1.5", "1761955200", "1761955200123", "100000000000000000000", "0.001"])
SCALARS = st.one_of(
    st.builds(lambda text: {"S": text}, TEXT | st.sampled_from(["2025-01-01", "2025-01-01T00:00:00Z", "red", "7"])),
    st.builds(lambda text: {"N": text}, NUMBERS),
    st.builds(lambda truth: {"BOOL": truth}, st.booleans()),
    st.just({"NULL": True}),
    st.sampled_from([{"B": "YQ=="}, {"SS": ["a", "b"]}, {"NS": ["1", "2.5"]}, {"BS": ["YQ=="]}]),
)
STORED = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda members: {"L": members}, st.lists(inner, max_size=2)),
        st.builds(
            lambda members: {"M": members},
            st.dictionaries(st.sampled_from(["name", "startedAt", "shop", "tags"]) | TEXT, inner, max_size=3),
        ),
    ),
    max_leaves=4,
)


def plainly(schema: Schema[Entity], item: Item) -> Entity:
    """The entity that pydantic makes of the decoded values, without an item validator."""
    validate, schema.decoder._validate = schema.decoder._validate, None
    try:
        return schema.decode(item)
    finally:
        schema.decoder._validate = validate


def outcome(read: Any, item: Item) -> Any:
    """What a read gives, as far as anybody can tell it from another."""
    try:
        entity: Entity = read(item)
    except ValidationError as error:
        return error.errors(include_url=False, include_context=False)
    return [
        (entity.__dict__, entity.__pydantic_fields_set__, entity.__pydantic_private__, entity.__pydantic_extra__),
        {name: type(value) for name, value in entity.__dict__.items()},
    ]


def test_there_is_a_reader_for_an_entity_of_all_types() -> None:
    assert schema_of(Thing).decoder._validate is not None


@settings(max_examples=examples(200))
@given(st.fixed_dictionaries({}, optional=STRATEGIES), st.dictionaries(st.sampled_from(list(STRATEGIES)), STORED))
def test_a_reader_reads_what_the_decoded_values_make(values: dict[str, Any], foreign: Item) -> None:
    schema = schema_of(Thing)
    item = {**Thing.model_validate(values).item(), **foreign}
    assert outcome(schema.decode, item) == outcome(lambda stored: plainly(schema, stored), item)
    assert outcome(lambda stored: schema.decode_all([stored, stored])[1], item) == outcome(schema.decode, item)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_foreign_value_of_any_field_is_read_as_the_decoded_one(name: str) -> None:
    schema = schema_of(Thing)

    @settings(max_examples=40)
    @given(STORED)
    def same(stored: dict[str, Any]) -> None:
        item = {"id": {"S": "1"}, name: stored}
        assert outcome(schema.decode, item) == outcome(lambda each: plainly(schema, each), item)

    same()


TABLE = Table("readers", "id")


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int
    label: Annotated[str, AfterValidator(str.upper)] = "x"


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")

    count: int = 0


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    count: int = 0


class Odd(BaseModel):
    count: int = 0

    @model_validator(mode="before")
    @classmethod
    def counted(cls, values: Any) -> Any:
        return {"count": len(values)}


class Unusual(Entity, table=TABLE):
    id: str
    doubled: Annotated[int, BeforeValidator(lambda value: value * 2)] = 0
    shouted: Annotated[str, AfterValidator(str.upper)] = ""
    small: Annotated[int, Field(lt=10)] = 0
    exact: Annotated[int, Field(strict=True)] = 0
    inner: Inner | None = None
    inners: list[Inner] = Field(default_factory=list)
    loose: Loose = Loose()
    strict: Strict = Strict()
    odd: Odd = Odd()
    required: int | None
    times: dict[str, EpochMillis] = Field(default_factory=dict)

    @model_validator(mode="after")
    def checked(self) -> "Unusual":
        if self.shouted == "NO":
            raise ValueError("no")
        return self


UNUSUAL: list[Item] = [
    {"doubled": {"N": "4"}, "shouted": {"S": "hi"}},
    {"shouted": {"S": "no"}},
    {"small": {"N": "10"}},
    {"exact": {"N": "1"}, "required": {"N": "3"}},
    {"required": {"NULL": True}},
    {"inner": {"M": {"count": {"N": "1"}, "label": {"S": "a"}}}},
    {"inner": {"M": {"count": {"N": "1"}, "other": {"S": "a"}}}},
    {"inner": {"M": {}}},
    {"inners": {"L": [{"M": {"count": {"N": "1"}}}, {"M": {"count": {"N": "2"}}}]}},
    {"inners": {"L": [{"S": "not a map"}]}},
    {"loose": {"M": {"count": {"N": "1"}, "other": {"S": "a"}}}},
    {"strict": {"M": {"count": {"N": "1"}}}},
    {"strict": {"M": {"count": {"S": "1"}}}},
    {"odd": {"M": {"a": {"N": "1"}, "b": {"N": "1"}}}},
    {"times": {"M": {"a": {"N": "1761955200123"}}}},
    {"small": {"S": "3"}},
    {"shouted": {"N": "3"}},
    {"doubled": {"N": "1.5"}},
    {"somebody": {"S": "else's"}, "inner": {"NULL": True}},
]


@pytest.mark.parametrize("item", UNUSUAL, ids=str)
def test_validators_see_what_they_always_saw(item: Item) -> None:
    schema = schema_of(Unusual)
    assert schema.decoder._validate is not None
    whole = {"id": {"S": "1"}, **item}
    assert outcome(schema.decode, whole) == outcome(lambda stored: plainly(schema, stored), whole)


def test_an_entity_that_looks_at_all_its_values_has_them_decoded() -> None:
    seen = []

    class Looking(Entity, table=Table("looking", "id")):
        id: str
        number: Decimal = Decimal(0)

        @model_validator(mode="before")
        @classmethod
        def look(cls, values: Any) -> Any:
            seen.append(values)
            return values

    assert schema_of(Looking).decoder._validate is None
    assert Looking.of({"id": {"S": "1"}, "number": {"N": "2.5"}}).number == Decimal("2.5")
    assert seen == [{"id": "1", "number": Decimal("2.5")}]


def test_unknown_attributes_are_compared_copied_and_kept() -> None:
    item = {"id": {"S": "1"}, "somebody": {"S": "else's"}}
    thing = Thing.of(item)
    assert thing.item()["somebody"] == {"S": "else's"}
    assert thing.model_copy(update={"text": "t"}).item()["somebody"] == {"S": "else's"}
    assert thing == Thing.of(item)
    assert thing != Thing.of({"id": {"S": "1"}})
    assert Thing.of({"id": {"S": "1"}}) == Thing(id="1", wholes=frozenset())


def test_a_counted_time_that_is_stored_as_text_is_read_as_text() -> None:
    item = {"id": {"S": "1"}, "millis": {"S": "2025-01-01T00:00:00Z"}}
    assert Thing.of(item).millis == datetime(2025, 1, 1, tzinfo=UTC)
