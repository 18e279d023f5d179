"""Which items of a page are of an entity: the same ones, whether they are looked at together or one by one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablewright.dynamo import Item
from tablewright.model import Entity, Keys, ModelError, Table, schema_of, schemas_of, sharded


class Typed(Entity, table=Table("typed", "PK", "SK", type_attribute="kind")):
    name: str
    keys = Keys(PK="A#{name}", SK="B")


class Templated(Entity, table=Table("templated", "PK", "SK")):
    name: str
    number: int
    keys = Keys(PK="A#{name}", SK="B#{number:02}")


class Half(Entity, table=Table("half", "PK", "SK")):
    PK: str
    number: int
    keys = Keys(SK="B#{number:02}")


class Plain(Entity, table=Table("plain", "PK", "SK")):
    PK: str
    SK: str


class Spread(Entity, table=Table("spread", "PK", "SK")):
    name: str
    number: int
    keys = Keys(PK=sharded("A#{name}", 2), SK="B#{number:02}")


ENTITIES = [Typed, Templated, Half, Plain, Spread]
INTERNAL = Plain.schema_.table.internal_key("unique", "x")["PK"]["S"]
TEXTS = st.sampled_from(["A#a", "A#a#0", "A#a#7", "A", "B", "B#01", "B#1", "B#x", "Typed", "Other", INTERNAL])
STORED = st.one_of(
    TEXTS.map(lambda text: {"S": text}), st.just({"N": "1"}), st.just({"B": "QQ=="}), st.just({"NULL": True})
)
ITEMS = st.lists(
    st.fixed_dictionaries({"PK": TEXTS.map(lambda text: {"S": text}), "SK": TEXTS.map(lambda text: {"S": text})})
    | st.fixed_dictionaries({}, optional={"PK": STORED, "SK": STORED, "kind": STORED}),
    max_size=4,
)


@pytest.mark.parametrize("entity", ENTITIES)
@given(items=ITEMS)
def test_matching_many_items_equals_matching_each(entity: type[Entity], items: list[Item]) -> None:
    schema = schema_of(entity)
    assert schema.matching(list(items)) == [item for item in items if schema.matches(item)]


@pytest.mark.parametrize("entity", ENTITIES)
@given(items=ITEMS)
def test_a_partition_that_is_known_makes_no_difference(entity: type[Entity], items: list[Item]) -> None:
    schema = schema_of(entity)
    partition = {"PK": {"S": "A#a#0" if entity is Spread else "A#a"}}
    inside = [{**item, **partition} for item in items]
    assert schema.matching(inside, True) == [item for item in inside if schema.matches(item)]


@pytest.mark.parametrize("entity", ENTITIES)
def test_an_item_of_the_entity_is_among_them_and_one_of_the_stores_own_is_not(entity: type[Entity]) -> None:
    values = {"name": "a", "number": 1, "PK": "p", "SK": "s"}
    own = entity(**{name: value for name, value in values.items() if name in entity.model_fields}).item()
    internal = {**own, **schema_of(entity).table.internal_key("unique", "x")}
    assert schema_of(entity).matching([own, internal, own]) == [own, own]


def test_entities_that_can_have_one_key_know_each_other_whichever_is_declared_first() -> None:
    table = Table("shared", "PK", "SK", type_attribute="kind")

    class First(Entity, table=table):
        name: str
        keys = Keys(PK="A#{name}", SK="X")

    class Apart(Entity, table=table):
        name: str
        keys = Keys(PK=sharded("B#{name}", 4), SK="X")

    class Second(Entity, table=table):
        name: str
        SK: str
        keys = Keys(PK="A#{name}")

    class Spilling(Entity, table=table):
        name: str
        keys = Keys(PK="B#{name}#1", SK="X")

    rivals = {schema.entity: [rival.entity for rival in schema.key_collisions] for schema in schemas_of(table)}
    assert rivals == {First: [Second], Apart: [Spilling], Second: [First], Spilling: [Apart]}
    assert schema_of(First).batch_obstacle() == "keys that Second can also have"


def test_sharded_keys_that_begin_otherwise_tell_entities_apart_without_a_type() -> None:
    table = Table("apart", "PK")

    class One(Entity, table=table):
        name: str
        keys = Keys(PK=sharded("A#{name}", 4))

    class Other(Entity, table=table):
        name: str
        keys = Keys(PK=sharded("B#{name}", 8))

    assert not schema_of(One).matches(Other(name="n").item())
    with pytest.raises(ModelError, match="Third and One can have the same key"):

        class Third(Entity, table=table):
            name: str
            number: int
            keys = Keys(PK="A#{name}#{number:1}")


def test_a_key_that_begins_with_a_time_is_distinguished_from_one_that_begins_with_text() -> None:
    table = Table("chat", "PK", "SK")

    class Membership(Entity, table=table):
        user: str
        room: str
        keys = Keys(PK="USER#{user}", SK="Join:{room}")

    class Comment(Entity, table=table):
        user: str
        said_at: datetime
        keys = Keys(PK="USER#{user}", SK="{said_at}")

    comment = Comment(user="ada", said_at=datetime(2026, 3, 2, tzinfo=UTC)).item()
    assert [schema_of(each).matches(comment) for each in (Comment, Membership)] == [True, False]
    assert not schema_of(Comment).matches(Membership(user="ada", room="art").item())
    # As other programs have stored it.
    assert schema_of(Comment).matches({**comment, "SK": {"S": "2026-03-02T10:00:00.001Z"}})
    with pytest.raises(ModelError, match=r"Note and \w+ can have the same key"):

        class Note(Entity, table=table):
            user: str
            title: str
            keys = Keys(PK="USER#{user}", SK="{title}")
