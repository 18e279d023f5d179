"""Fields as expressions in reads and writes: what a condition says of an entity is what the service finds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tablewright.dynamo.expressions.builder import holds
from tablewright.model import (
    Entity,
    FieldCondition,
    Get,
    GlobalIndex,
    Keys,
    Large,
    ModelError,
    Projection,
    Query,
    Table,
    Unique,
    Version,
    attr,
)
from tablewright.store import Cancelled, Check, ConditionFailed, Create, Delete, NotFound, Put, Store, Update
from tablewright.store.flow.driver import Request

rows = Table(
    "Rows", "PK", "SK", indexes=[GlobalIndex("byState", "GSI1PK", "GSI1SK"), GlobalIndex("bare", "state", include=[])]
)


class Part(BaseModel):
    size: int = 1
    name: str = ""


class Row(Entity, table=rows):
    group: str
    number: int
    state: str = "new"
    count: int = 0
    weight: float | None = None
    tags: set[str] = Field(default_factory=set)
    parts: list[Part] = Field(default_factory=list)
    text: Annotated[str | None, Large()] = None

    keys = Keys(PK="G#{group}", SK="{number:05}", GSI1PK="S#{state}", GSI1SK="{count:05}")

    @Get()
    def by_number(self, group: str, number: int) -> None:
        """A row."""

    @Query()
    def of_group(self, group: str) -> None:
        """The rows of a group."""

    @Query("byState")
    def by_state(self, state: str) -> None:
        """The rows of a state, by their count."""

    @Query("bare")
    def bare(self, state: str) -> None:
        """The rows of a state, by an index without their attributes."""

    @Query()
    def heavy(self, group: str, than: float) -> FieldCondition:
        """The rows of a group that have more than a weight."""
        return attr(self.weight) > than


class RowNumber(Projection[Row]):
    number: int

    @Query("bare")
    def bare_numbers(self, state: str) -> None:
        """The numbers of a state, by the same index."""


class Named(Entity, table=rows):
    name: str
    code: Annotated[str, Unique()]
    state: str = "new"
    version: Version = 0

    keys = Keys(PK="N#{name}", SK="N")

    @Get()
    def by_name(self, name: str) -> None:
        """By name."""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as store:
        store.ensure_tables(rows)
        yield store


# -- conditions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """A condition, and the same in Python."""

    condition: FieldCondition
    holds: Callable[[Row], bool]


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def _ordered(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    """DynamoDB has no order for what is not there."""
    if left is None and compare not in (operator.eq, operator.ne):
        return False
    return bool(compare(left, right))


def compared(compare: Callable[[Any, Any], Any], number: int) -> Said:
    return Said(compare(attr(Row.count), number), lambda row: compare(row.count, number))


def weighed(compare: Callable[[Any, Any], Any], number: float) -> Said:
    return Said(compare(attr(Row.weight), number), lambda row: _ordered(compare, row.weight, number))


def sized(compare: Callable[[Any, Any], Any], number: int) -> Said:
    return Said(compare(attr(Row.tags).size(), number), lambda row: compare(len(row.tags), number))


def many(compare: Callable[[Any, Any], Any], number: int) -> Said:
    return Said(compare(attr(Row.parts).size(), number), lambda row: compare(len(row.parts), number))


def long(compare: Callable[[Any, Any], Any], number: int) -> Said:
    return Said(compare(attr(Row.state).size(), number), lambda row: compare(len(row.state), number))


def sorted_as(compare: Callable[[Any, Any], Any], text: str) -> Said:
    return Said(compare(attr(Row.state), text), lambda row: compare(row.state, text))


states = st.sampled_from(["new", "open", "shut"])
small = st.integers(0, 4)
leaves = st.one_of(
    st.builds(compared, st.sampled_from(COMPARISONS), small),
    st.builds(weighed, st.sampled_from(COMPARISONS), small.map(float)),
    st.builds(sorted_as, st.sampled_from(COMPARISONS), states),
    st.builds(long, st.sampled_from(COMPARISONS), st.integers(2, 5)),
    st.tuples(states, states).map(
        lambda each: Said(attr(Row.state).between(*sorted(each)), lambda row: min(each) <= row.state <= max(each))
    ),
    st.lists(states, max_size=2).map(lambda each: Said(attr(Row.state).is_in(*each), lambda row: row.state in each)),
    st.sampled_from("nos").map(
        lambda each: Said(attr(Row.state).begins_with(each), lambda row: row.state.startswith(each))
    ),
    st.sampled_from("ab").map(lambda each: Said(attr(Row.tags).contains(each), lambda row: each in row.tags)),
    st.tuples(small, small).map(
        lambda each: Said(attr(Row.count).between(*sorted(each)), lambda row: min(each) <= row.count <= max(each))
    ),
    small.map(lambda each: Said(attr(Row.parts).contains(Part(size=each)), lambda row: Part(size=each) in row.parts)),
    small.map(
        lambda each: Said(attr(Row.parts[0].size) == each, lambda row: bool(row.parts) and row.parts[0].size == each)
    ),
    st.just(Said(attr(Row.weight).is_(None), lambda row: row.weight is None)),
    st.just(Said(attr(Row.weight).is_not(None), lambda row: row.weight is not None)),
    st.builds(sized, st.sampled_from(COMPARISONS), st.integers(0, 2)),
    st.builds(many, st.sampled_from(COMPARISONS), st.integers(0, 2)),
    st.just(Said(attr(Row.weight).exists(), lambda row: row.weight is not None)),
    st.just(Said(attr(Row.weight).absent(), lambda row: row.weight is None)),
    st.just(Said(attr(Row.tags).stored_as("SS"), lambda row: bool(row.tags))),
    st.just(Said(attr(Row.parts) == [], lambda row: not row.parts)),
    st.just(Said(attr(Row.parts) != [], lambda row: bool(row.parts))),
    st.just(Said(attr(Row.tags) == set(), lambda row: not row.tags)),
    st.just(Said(attr(Row.tags) != set(), lambda row: bool(row.tags))),
    st.just(Said(attr(Row.count) == attr(Row.number), lambda row: row.count == row.number)),
)
said = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(
            lambda two: Said(two[0].condition & two[1].condition, lambda row: two[0].holds(row) and two[1].holds(row))
        ),
        st.tuples(inner, inner).map(
            lambda two: Said(two[0].condition | two[1].condition, lambda row: two[0].holds(row) or two[1].holds(row))
        ),
        inner.map(lambda one: Said(~one.condition, lambda row: not one.holds(row))),
    ),
    max_leaves=4,
)
drawn = st.builds(
    Row,
    group=st.just("g"),
    number=small,
    state=states,
    count=small,
    weight=st.none() | small.map(float),
    tags=st.sets(st.sampled_from("ab")),
    parts=st.lists(st.builds(Part, size=small), max_size=2),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Store]:
    """A store for many examples, each of which begins without rows."""
    with Store.open() as store:
        store.ensure_tables(rows)
        yield store


@given(st.lists(drawn, unique_by=lambda row: row.number), said, st.sampled_from([None, "state", "count", "parts"]))
def test_a_filter_finds_what_the_condition_says_of_entities(
    shared: Store, found: list[Row], said: Said, lacking: str | None
) -> None:
    store, condition = shared, said.condition
    store.write_many(delete=list(store.iterate(Row)))
    for row in found:
        store.put(row)
        if lacking is not None:
            # As it was stored before the field was declared.
            key = {name: row.item()[name] for name in rows.key}
            body = {"TableName": "Rows", "Key": key, "UpdateExpression": "REMOVE #a"}
            store.backend.call(Request("UpdateItem", {**body, "ExpressionAttributeNames": {"#a": lacking}}))
    stored = list(store.iterate(Row.of_group("g")))
    expected = [row.number for row in stored if said.holds(row)]
    assert [row.number for row in store.iterate(Row.of_group("g"), where=condition)] == expected
    assert sorted(row.number for row in store.scan(Row, where=condition).items) == expected
    assert store.count(Row.of_group("g"), where=condition) == len(expected)
    for row in stored:
        if said.holds(row):
            store.transact(Check(Row.by_number("g", row.number), condition), Delete(Row.by_number("x", 1)))
        else:
            with pytest.raises(ConditionFailed):
                store.delete(row, expect=condition)


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_text_that_is_not_stored_is_as_long_as_its_default(compare: Callable[[Any, Any], Any], number: int) -> None:
    condition = compare(attr(Row.state).size(), number)
    assert holds(condition.node, {"PK": {"S": "G#g"}}) is compare(len("new"), number)


def test_an_index_without_the_attribute_is_filtered_as_well(store: Store) -> None:
    for number in range(5):
        store.put(Row(group="g", number=number, count=number))
    assert {row.number for row in store.query(Row.bare("new"), where=attr(Row.count) > 2).items} == {3, 4}
    assert store.count(Row.bare("new"), where=attr(Row.count) > 2) == 2
    assert {row.number for row in store.query(RowNumber.bare_numbers("new"), where=attr(Row.count) > 2).items} == {3, 4}
    with pytest.raises(ModelError, match=r"Row.bare: state is part of the key that is read"):
        store.query(Row.bare("new"), where=attr(Row.state) == "new")


def test_a_pattern_may_return_a_filter(store: Store) -> None:
    for number in range(5):
        store.put(Row(group="g", number=number, weight=number / 2))
    assert [row.number for row in store.query(Row.heavy("g", 1.0)).items] == [3, 4]
    assert [row.number for row in store.iterate(Row.heavy("g", than=1.0), where=attr(Row.weight) < 2)] == [3]
    assert store.count(Row.heavy("g", 1)) == 2


def test_a_filter_is_part_of_what_a_cursor_is_for(store: Store) -> None:
    for number in range(6):
        store.put(Row(group="g", number=number, count=number % 2))
    page = store.query(Row.of_group("g"), limit=2, where=attr(Row.count) == 1)
    assert [row.number for row in page.items] == [1, 3]
    again = store.query(Row.of_group("g"), limit=2, where=attr(Row.count) == 1, cursor=page.cursor)
    assert [row.number for row in again.items] == [5]


def test_no_condition_is_on_a_large_field_or_on_another_entity(store: Store) -> None:
    with pytest.raises(ModelError, match="Large"):
        attr(Row.text) == "x"  # noqa: B015
    with pytest.raises(ModelError, match="one is about Row, the other about Named"):
        (attr(Row.count) > 1) & (attr(Named.state) == "new")
    row = store.put(Row(group="g", number=1))
    with pytest.raises(ModelError, match="a condition on Named, and this is a write of Row"):
        store.delete(row, expect=attr(Named.state) == "new")
    with pytest.raises(ModelError, match="takes a condition on Row"):
        store.query(Row.of_group("g"), where=attr(Named.state) == "new")
    with pytest.raises(ModelError, match=r"Named.state is changed in an update of Row"):
        store.update(row, attr(Named.state).set("x"))


# -- writes ---------------------------------------------------------------------------------------------------------


def test_changes_of_every_kind_and_the_keys_that_follow(store: Store) -> None:
    store.put(Row(group="g", number=1, count=2, weight=1.5, tags={"a"}, parts=[Part(size=1), Part(size=2)]))
    row = store.update(
        Row.by_number("g", 1),
        attr(Row.state).set("open"),
        attr(Row.count).set(attr(Row.count) + 5),
        attr(Row.weight).remove(),
        attr(Row.tags).add({"b"}),
        attr(Row.parts[0].size).add(10),
        expect=(attr(Row.state) == "new") & (attr(Row.count) < 3),
    )
    assert row == Row(group="g", number=1, state="open", count=7, tags={"a", "b"}, parts=[Part(size=11), Part(size=2)])
    assert [each.number for each in store.query(Row.by_state("open")).items] == [1]
    store.update(row, attr(Row.tags).discard({"a"}), attr(Row.parts).append(Part(size=3)), attr(Row.count).add(-1))
    assert (row.tags, len(row.parts), row.count) == ({"b"}, 3, 6)
    store.update(row, attr(Row.parts[0]).remove(), attr(Row.weight).set_if_absent(2.5))
    store.update(row, attr(Row.weight).set_if_absent(9.5), attr(Row.state).set_if_absent("lost"))
    assert ([part.size for part in row.parts], row.weight, row.state) == ([2, 3], 2.5, "open")
    assert store.verify(rows).is_clean


def test_a_computed_value_moves_the_keys_that_are_made_of_it(store: Store) -> None:
    row = store.put(Row(group="g", number=4, count=2))
    store.update(Row.by_number("g", 4), attr(Row.count).set(attr(Row.number) - attr(Row.count)))
    store.update(Row.by_number("g", 4), attr(Row.state).set_if_absent("lost"))
    assert [each.count for each in store.query(Row.by_state("new")).items] == [2]
    assert store.verify(rows).is_clean
    assert row.number == 4


class Aged(Entity, table=Table("Aged", "id")):
    """With fields that the items were stored without."""

    id: str
    level: int = 3
    limit: Annotated[int, Field(le=5)] = 4
    words: list[str] = Field(default=["first"])
    other: int = 0

    @Get()
    def by_id(self, id: str) -> None: ...


def test_what_is_not_stored_is_changed_from_its_default() -> None:
    with Store.open() as store:
        store.ensure_tables(Aged.schema_.table)

        def fresh() -> None:
            store.backend.call(Request("PutItem", {"TableName": "Aged", "Item": {"id": {"S": "1"}}}))

        fresh()
        aged = store.update(Aged.by_id("1"), attr(Aged.level).add(1), attr(Aged.words).append("second"))
        assert (aged.level, aged.words) == (4, ["first", "second"])
        fresh()
        aged = store.update(Aged.by_id("1"), attr(Aged.level).set(10 - attr(Aged.level)), attr(Aged.limit).add(1))
        assert (aged.level, aged.limit) == (7, 5)
        aged = store.update(Aged.by_id("1"), attr(Aged.level).add(1), attr(Aged.words).append("third"))
        assert (aged.level, aged.words) == (8, ["first", "third"])
        fresh()
        with pytest.raises(ConditionFailed, match="limit would be 6, and must be at most 5"):
            store.update(Aged.by_id("1"), attr(Aged.limit).add(2))
        assert store.update(Aged.by_id("1"), attr(Aged.other).set(attr(Aged.level))).other == 3
        assert store.update(Aged.by_id("1"), attr(Aged.limit).set_if_absent(2)).limit == 2


def test_what_is_changed_twice_is_refused(store: Store) -> None:
    row = store.put(Row(group="g", number=1))
    with pytest.raises(ModelError, match="changed twice"):
        store.update(row, attr(Row.count).add(1), attr(Row.count).set(3))
    with pytest.raises(ModelError, match="part of"):
        store.update(row, attr(Row.parts).append(Part()), attr(Row.parts[0].size).set(3))


def test_a_value_with_bounds_is_not_computed() -> None:
    class Bounded(Entity, table=Table("Bounded", "id")):
        id: str
        count: Annotated[int, Field(ge=0)] = 0

    with pytest.raises(ModelError, match="has bounds"):
        attr(Bounded.count).set(attr(Bounded.count) - 1)


def test_the_error_says_what_was_expected_and_what_is_so(store: Store) -> None:
    store.put(Row(group="g", number=1, count=7))
    with pytest.raises(ConditionFailed, match="state = open and count < 5 does not hold: state is new, count is 7"):
        store.update(
            Row.by_number("g", 1), attr(Row.count).add(1), expect=(attr(Row.state) == "open") & (attr(Row.count) < 5)
        )


def test_several_conditions_are_expected_together_and_the_first_that_does_not_hold_is_the_error(store: Store) -> None:
    store.put(Row(group="g", number=1, state="open", count=2))
    expected = [attr(Row.state) == "open", attr(Row.count) == 2]
    store.update(Row.by_number("g", 1), attr(Row.count).add(1), expect=expected)
    with pytest.raises(ConditionFailed, match=r"count = 2 does not hold: count is 3"):
        store.update(Row.by_number("g", 1), attr(Row.count).add(1), expect=expected)
    with pytest.raises(ConditionFailed, match=r"count = 2 does not hold"):
        store.delete(Row.by_number("g", 1), expect=iter(expected))
    with pytest.raises(ConditionFailed, match=r"count = 2 does not hold"):
        store.put(Row(group="g", number=1), expect=expected)
    # None at all are none.
    store.update(Row.by_number("g", 1), attr(Row.count).add(1), expect=[])
    assert store.delete(Row.by_number("g", 7), expect=[]) is False
    with pytest.raises(ModelError, match=r"expect takes conditions, such as attr\(Row.x\) == 1, not 's'"):
        store.delete(Row.by_number("g", 1), expect="state")  # type: ignore[arg-type]


def test_a_put_replaces_what_is_expected(store: Store) -> None:
    with pytest.raises(NotFound):
        store.put(Row(group="g", number=1), expect=attr(Row.count) == 0)
    store.put(Row(group="g", number=1))
    store.put(Row(group="g", number=1, count=3), expect=attr(Row.count) == 0)
    with pytest.raises(ConditionFailed):
        store.put(Row(group="g", number=1, count=4), expect=attr(Row.count) == 0)
    with pytest.raises(Cancelled, match="count = 0 does not hold"):
        store.transact(Put(Row(group="g", number=1), expect=attr(Row.count) == 0), Create(Row(group="g", number=2)))
    assert [row.count for row in store.iterate(Row.of_group("g"))] == [3]


def test_a_put_with_unique_values_and_a_version_replaces_what_is_expected(store: Store) -> None:
    with pytest.raises(NotFound):
        store.put(Named(name="a", code="1"), expect=attr(Named.state) == "new")
    named = store.create(Named(name="a", code="1"))
    named.code = "2"
    store.put(named, expect=attr(Named.state) == "new")
    store.update(named, attr(Named.state).set("shut"))
    named.code = "3"
    with pytest.raises(ConditionFailed):
        store.put(named, expect=attr(Named.state) == "new")
    store.create(Named(name="b", code="1"))
    store.transact(Update(Named.by_name("b"), attr(Named.code).set("3")))
    assert store.verify(rows).is_clean
