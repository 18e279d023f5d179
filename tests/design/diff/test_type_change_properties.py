"""Types that are made at random, and changed at random: what a diff calls free is read, and written back as it was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from types import GenericAlias, new_class
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from annotated_types import Ge, Le, MaxLen
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from tablewright.design.diff import Impact, changes, most_severe
from tablewright.design.diff.design_snapshot import snapshot
from tablewright.model import (
    Design,
    Entity,
    EpochMillis,
    EpochSeconds,
    Keys,
    ModelError,
    Table,
    TemplateError,
    schema_of,
)
from tests.examples import examples

# A type, and a strategy for values of it.
Kinds = tuple[Any, st.SearchStrategy[Any]]

TIMES = st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
WHOLE = TIMES.map(lambda time: time.replace(microsecond=0))
TEXTS = st.sampled_from(["", "a", "A", "abcd", "5", "2026-01-15", "2026-01-15T12:00:00Z"])
ATOMS: list[Kinds] = [
    (str, TEXTS),
    (Annotated[str, MaxLen(2)], st.sampled_from(["", "a", "bc"])),
    (int, st.integers(-(10**20), 10**20)),
    (Annotated[int, Ge(0), Le(100)], st.integers(0, 100)),
    (Decimal, st.decimals(-(10**6), 10**6, places=4)),
    (float, st.integers(-(10**9), 10**9).map(lambda number: number / 1024)),
    (bool, st.booleans()),
    (bytes, st.binary(max_size=3)),
    (date, st.dates(date(1980, 1, 1), date(2100, 1, 1))),
    (datetime, TIMES),
    (UUID, st.uuids()),
    (EpochSeconds, WHOLE),
    (EpochMillis, WHOLE),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Literal["a", 1], st.sampled_from(["a", 1])),
]
_NAMES = iter(range(10**9))


def model_of(members: list[Kinds]) -> Kinds:
    fields: dict[str, Any] = {f"m{number}": (kind, ...) for number, (kind, _) in enumerate(members)}
    made: type[BaseModel] = create_model(f"Model{next(_NAMES)}", **fields)
    values = {f"m{number}": values for number, (_, values) in enumerate(members)}
    return made, st.fixed_dictionaries(values).map(lambda given: made(**given))


def list_of(member: Kinds) -> Kinds:
    return GenericAlias(list, member[0]), st.lists(member[1], max_size=3)


def map_of(member: Kinds) -> Kinds:
    return GenericAlias(dict, (str, member[0])), st.dictionaries(st.sampled_from(["x", "y"]), member[1])


def pair_of(one: Kinds, other: Kinds) -> Kinds:
    return GenericAlias(tuple, (one[0], other[0])), st.tuples(one[1], other[1])


def optional(member: Kinds) -> Kinds:
    return member[0] | None if isinstance(member[0], type) else Union[member[0], None], st.none() | member[1]  # noqa: UP007


# How a type is made of others; a shape is kept while what is in it changes.
SHAPES: list[Callable[[Kinds, Kinds], Kinds]] = [
    lambda one, _: one,
    lambda one, _: list_of(one),
    lambda one, _: map_of(one),
    lambda one, _: list_of(optional(one)),
    lambda one, _: list_of(list_of(one)),
    lambda one, _: map_of(list_of(one)),
    lambda one, other: pair_of(one, other),
    lambda one, other: model_of([one, other]),
    lambda one, other: list_of(model_of([one, other])),
    lambda one, other: map_of(model_of([list_of(one), optional(other)])),
    lambda one, other: model_of([model_of([one]), map_of(model_of([other]))]),
]


def version(annotation: Any) -> Any:
    fields = {"id": str, "extra": annotation}
    namespace = {"__module__": __name__, "__annotations__": fields}
    return new_class("Thing", (Entity,), {"table": Table("things", "id")}, lambda given: given.update(namespace))


def is_free(old: Any, new: Any) -> bool:
    before, after = (snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new))
    return most_severe(changes(before, after)) in (None, Impact.FREE)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_what_is_free_is_read_and_written_back_as_it_was(data: st.DataObject) -> None:
    atoms, shapes = st.sampled_from(ATOMS), st.sampled_from(SHAPES)
    one, other, changed = data.draw(atoms), data.draw(atoms), data.draw(atoms)
    shape = data.draw(shapes)
    # Mostly the shape stays; what is in it is another type, or the same one.
    later = shape if data.draw(st.integers(0, 3)) else data.draw(shapes)
    before, after = shape(one, other), later(changed, other)
    old, new = version(before[0]), version(after[0])
    item = old(id="1", extra=data.draw(before[1])).item()
    assert old.of(item).item() == item
    if is_free(old, new):
        assert new.of(item).item() == item


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_type_does_not_differ_from_itself(data: st.DataObject) -> None:
    one, other = data.draw(st.sampled_from(ATOMS)), data.draw(st.sampled_from(ATOMS))
    kind = data.draw(st.sampled_from(SHAPES))(one, other)[0]
    old, new = version(kind), version(kind)
    before, after = (snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new))
    assert changes(before, after) == []


FORMS = ["{extra}", "X#{extra}", "{extra:number}", "{extra:date}", "{extra:020}"]


def keyed(annotation: Any, template: str) -> Any:
    fields = {"id": str, "extra": annotation}
    namespace = {"__module__": __name__, "__annotations__": fields, "keys": Keys(SK=template)}
    return new_class("Thing", (Entity,), {"table": Table("things", "id", "SK")}, lambda given: given.update(namespace))


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_a_key_without_a_reported_change_is_written_as_before(data: st.DataObject) -> None:
    template = data.draw(st.sampled_from(FORMS))
    before, after = data.draw(st.sampled_from(ATOMS)), data.draw(st.sampled_from(ATOMS))
    try:
        old, new = keyed(before[0], template), keyed(after[0], template)
        item = old(id="1", extra=data.draw(before[1])).item()
    except (ModelError, TemplateError):
        # A type, or a value, that has no place in such a key.
        return
    snapshots = [snapshot(Design("D", tables=[schema_of(each).table])) for each in (old, new)]
    if any(change.place == "Thing.keys.SK" for change in changes(*snapshots)):
        return
    try:
        again = new.of(item)
    except ValueError:
        # Refused, which is told of the field.
        return
    assert again.item()["SK"] == item["SK"]
