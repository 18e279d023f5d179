"""A field may be called anything: a name that means something else already is refused, and never swallowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import new_class
from typing import Annotated, Any

import pytest

from tablewright.model import (
    AttributeName,
    Collection,
    CollectionQuery,
    Entity,
    Get,
    GlobalIndex,
    Keys,
    MemberRead,
    ModelError,
    Numbered,
    Query,
    Table,
    Unique,
    attr,
    schema_of,
)
from tablewright.store import Store
from tests.declared_patterns import grouped, taking

UPDATE_WORDS = ["set", "add", "append", "discard", "remove", "expect", "is_", "size", "exists"]


def entity_with(name: str) -> type[Entity]:
    namespace = {"__module__": __name__, "__annotations__": {"id": str, name: str}}
    return new_class("Thing", (Entity,), {"table": Table("things", "id")}, lambda given: given.update(namespace))


@pytest.mark.parametrize(
    "name",
    ["item", "of", "keys", "upgrades", "copy", "json", "dict", "schema", "validate", "register", "mro", "schema_"],
)
@pytest.mark.filterwarnings("ignore:Field name")
def test_a_name_that_every_entity_has_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"call the field {name}__?, and store it under its name with AttributeName"):
        entity_with(name)


def test_such_an_attribute_has_a_field_of_another_name() -> None:
    class Thing(Entity, table=Table("things", "id")):
        id: str
        item_: Annotated[str, AttributeName("item")]

    assert Thing(id="1", item_="x").item()["item"] == {"S": "x"}


@pytest.mark.parametrize("name", [*UPDATE_WORDS, "limit", "where", "target", "changes", "self", "entity"])
def test_a_field_with_the_name_of_an_argument_is_set_as_any_other(name: str) -> None:
    thing = entity_with(name)
    schema_table = thing.schema_.table
    with Store.open() as store:
        store.ensure_tables(schema_table)
        stored = store.put(thing(**{"id": "1", name: "a"}))
        field: Any = getattr(thing, name)
        store.update(stored, attr(field).set("b"), expect=attr(field) == "a")
        assert getattr(stored, name) == "b"


def test_a_field_with_the_name_of_a_bound() -> None:
    spans = Table("spans", "PK", "SK", indexes=[GlobalIndex("bySince", "G", "H")])

    class Span(Entity, table=spans):
        id: str
        since: str
        until: str

        keys = Keys(PK="{id}", SK="{until}", G="{since}", H="{id}")

        @Query("bySince")
        def begun(self, since: str, id: str | None = None) -> None:
            """Those that began at a time."""

    with Store.open() as store:
        store.ensure_tables(spans)
        store.put(Span(id="1", since="a", until="b"))
        assert len(store.query(Span.begun("a")).items) == 1
        assert len(store.query(Span.begun("a", "2")).items) == 0
        assert len(store.query(Span.begun("a", "1")).items) == 1


@pytest.mark.parametrize("key", ["{since}", "{since}#{at}", "{at}#{since}"])
def test_a_bound_and_a_field_of_one_name_are_not_confused(key: str) -> None:
    message = r"takes since, which is a field of the sort key and the name of a bound; .* AttributeName\(\"since\"\)"
    with pytest.raises(ModelError, match=message):

        class Ranged(Entity, table=Table("spans", "PK", "SK")):
            id: str
            since: str
            at: str

            keys = Keys(PK="{id}", SK=key)

            @Query()
            def of_id(self, id: str, since: str | None = None) -> None:
                """All of an id."""


def test_a_field_with_the_name_of_a_bound_is_not_confused_with_the_bounds_of_another() -> None:
    with pytest.raises(ModelError, match="since is a field of the key and a bound of the range; rename the field"):

        class Ranged(Entity, table=Table("spans", "PK", "SK")):
            since: str
            at: str

            keys = Keys(PK="{since}", SK="{at}")

            @Query()
            def begun(self, since: str, *, until: str | None = None) -> None:
                """Those that began at a time."""


def test_a_field_with_the_name_of_a_bound_may_have_others() -> None:
    leases = Table("leases", "PK", "SK")

    class Lease(Entity, table=leases):
        id: str
        until: int

        keys = Keys(PK="{id}", SK="{until:05}")

        @Query()
        def held(self, id: str, *, before: int | None = None) -> None:
            """Leases that end before a time."""

    with Store.open() as store:
        store.ensure_tables(leases)
        store.write_many(Lease(id="1", until=number) for number in range(5))
        assert [lease.until for lease in store.query(Lease.held("1", before=3)).items] == [0, 1, 2]


def test_a_collection_has_one_member_for_an_entity() -> None:
    notes = Table("notes", "PK", "SK")

    class Note(Entity, table=notes):
        id: str
        number: int

        keys = Keys(PK="{id}", SK="{number:03}")

        @Get()
        def by_number(self, id: str, number: int) -> None: ...

    with pytest.raises(ModelError, match="first and second are both Note"):

        class Both(Collection):
            first: list[Note]
            second: list[Note]


@pytest.mark.parametrize("name", ["finish__", "values__", "values___", "pattern", "self_"])
def test_a_parameter_may_have_any_name(name: str) -> None:
    table = Table("things", "PK", "SK")
    by_id: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {"id": str, name: str},
        "keys": Keys(PK="{id}", SK=f"{{{name}}}"),
    }
    exec(f"def of_id(self, id: str, {name}: str | None = None) -> None: ...", by_id)
    by_id["of_id"] = Query()(by_id["of_id"])
    thing: Any = new_class("Thing", (Entity,), {"table": table}, lambda given: given.update(by_id))
    with Store.open() as store:
        store.ensure_tables(table)
        store.write_many(thing(id="1", **{name: each}) for each in "ab")
        assert len(store.query(thing.of_id("1")).items) == 2
        assert [getattr(each, name) for each in store.query(thing.of_id("1", "b")).items] == ["b"]


@pytest.mark.filterwarnings("ignore:Field name")
def test_the_name_that_is_advised_is_free() -> None:
    with pytest.raises(ModelError, match=r"call the field schema__, and store it"):
        entity_with("schema")
    entity_with("schema__")


def rows() -> tuple[Any, Any]:
    table = Table("rows", "PK", "SK")

    class Row(Entity, table=table):
        row_id: str
        number: int

        keys = Keys(PK="{row_id}", SK="A#{number:03}")

    class OldRow(Entity, table=table):
        row_id: str
        number: int

        keys = Keys(PK="{row_id}", SK="B#{number:03}")

    return Row, OldRow


def test_collection_members_with_a_common_name_prefix_are_distinguished() -> None:
    row, old_row = rows()

    class Both(Collection):
        rows: Annotated[list[row], MemberRead()]  # type: ignore[valid-type]
        rows_old: Annotated[list[old_row], MemberRead()]  # type: ignore[valid-type]

        @CollectionQuery()
        def of_id(self, row_id: str, *, rows_since: int | None = None, rows_old_since: int | None = None) -> None: ...

    with Store.open() as store:
        store.ensure_tables(schema_of(row).table)
        store.write_many(kind(row_id="1", number=number) for kind in (row, old_row) for number in range(4))
        found = store.collect(Both.of_id("1", rows_since=1, rows_old_since=3))
    assert found is not None
    members: list[list[Any]] = [found.rows, found.rows_old]
    assert [[each.number for each in member] for member in members] == [[1, 2, 3], [3]]


def test_a_field_of_the_partition_key_may_begin_with_the_name_of_a_member() -> None:
    kind, _ = rows()

    class Rows(Collection):
        row: Annotated[list[kind], MemberRead()]  # type: ignore[valid-type]

        @CollectionQuery()
        def of_id(self, row_id: str, *, row_since: int | None = None) -> None: ...

    with Store.open() as store:
        store.ensure_tables(schema_of(kind).table)
        store.write_many(kind(row_id="1", number=number) for number in range(4))
        found = store.collect(Rows.of_id("1", row_since=2))
    assert found is not None
    members: list[Any] = found.row
    assert [each.number for each in members] == [2, 3]


@pytest.mark.parametrize(
    ("declare", "place"),
    [
        (lambda: {"found": Query(), "where": lambda self, **_: attr(self.stauts) == "x"}, "Wrong.found, filter"),
        (lambda: {"one": grouped(Unique(), "number", "stauts")}, "Wrong.one"),
        (lambda: {"one": grouped(Numbered(), "number", "stauts")}, "Wrong.one"),
        (lambda: {"keys": Keys(PK="{id}", SK="{stauts}")}, "Wrong.keys, SK"),
    ],
)
def test_a_misspelt_field_is_refused_with_the_nearest_one(declare: Callable[[], dict[str, Any]], place: str) -> None:
    given = declare()
    body: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {"id": str, "status": str, "number": given.get("number", int)},
        "number": 0,
        "keys": given.get("keys", Keys(PK="{id}", SK="{status}")),
        "found": taking(given.get("found", Query()), "id", where=given.get("where")),
    }
    body |= {name: rule for name, rule in given.items() if name == "one"}
    with pytest.raises(ModelError, match=f"{re.escape(place)}: Wrong has no field 'stauts'; did you mean 'status'"):
        new_class("Wrong", (Entity,), {"table": Table("wrong", "PK", "SK")}, lambda target: target.update(body))
