"""Entities beside each other, classes that are no entities, and slips of the pen: what is refused, and why."""

import re
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from types import new_class
from typing import Annotated, Any, cast

import pytest

from tablewright.model import (
    AttributeName,
    Collection,
    CollectionQuery,
    Entity,
    Expiry,
    Keys,
    Large,
    ModelError,
    Numbered,
    Query,
    Stamp,
    Table,
    Unique,
    attr,
    schema_of,
    schemas_of,
)
from tests.declared_patterns import taking
from tests.model.declaring import body_of, declared, table


class Status(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


# -- entities beside each other -------------------------------------------------------------------------------------


def test_two_entities_of_one_type_are_refused() -> None:
    where = table(type_attribute="type")
    declared({}, where)
    with pytest.raises(
        ModelError,
        match="Row: table 'Rows' already has an entity of the type 'Row'; give this one another type_name",
    ):
        declared({}, where)
    declared({}, where, type_name="Other")


def test_entities_whose_keys_can_be_equal_need_a_type_attribute() -> None:
    where = table()
    declared({}, where)
    message = (
        "Row and Row can have the same key in table 'Rows', and nothing distinguishes their items; begin their "
        "keys with different text, or give the table a type_attribute"
    )
    with pytest.raises(ModelError, match=message):
        declared({}, where, type_name="Other")
    with pytest.raises(ModelError, match=message):
        declared({"PK": str}, where, type_name="Other", keys=Keys(SK="ROW"))
    declared({}, where, type_name="Third", keys=Keys(PK="ROW#{id}", SK="OTHER#{id}"))
    assert [schema.type_name for schema in schemas_of(where)] == ["Row", "Third"]


# -- classes --------------------------------------------------------------------------------------------------------


def test_an_argument_that_is_none_is_refused() -> None:
    with pytest.raises(ModelError, match="class Row: unknown argument tabel; use table, naming or type_name"):
        new_class("Row", (Entity,), {"tabel": table()}, body_of({"__module__": __name__}))


def test_an_entity_without_a_table_has_no_schema() -> None:
    class Base(Entity):
        id: str

    class Kept(Base, table=Table("kept", "id")):
        pass

    class Derived(Kept):
        pass

    assert schema_of(Kept).entity is Kept
    for entity in (Base, Derived):
        with pytest.raises(ModelError, match=f"{entity.__name__} belongs to no table; declare it with table="):
            schema_of(entity)


def test_a_type_that_is_not_defined_yet_is_refused() -> None:
    with pytest.raises(ModelError, match="Row uses a type that is not defined yet; define it before"):
        declared({"later": "NotYet"})


# -- slips of the pen -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", [Unique, Large, AttributeName, Numbered, Stamp, Expiry])
def test_a_marker_without_its_brackets_is_refused(marker: type) -> None:
    with pytest.raises(
        ModelError, match=re.escape(f"Row.email has the marker class {marker.__name__} instead of an instance")
    ):
        declared({"email": Annotated[str, marker]})


def test_a_table_is_no_name() -> None:
    with pytest.raises(ModelError, match=re.escape("class Row: table= takes a Table, not 'rows'")):
        declared({}, cast("Table", "rows"))


def test_a_pattern_of_a_collection_does_not_take_the_name_of_a_method() -> None:
    row = declared({})
    with pytest.raises(ModelError, match=r"Whole\.of: collections have a method of that name; rename the pattern"):
        new_class(
            "Whole",
            (Collection,),
            {},
            lambda body: body.update(__annotations__={"row": row}, of=taking(CollectionQuery(), "id")),
        )


def test_an_attribute_has_a_name() -> None:
    with pytest.raises(ModelError, match=r"Row\.note has an empty attribute name; give it another AttributeName"):
        declared({"note": Annotated[str, AttributeName("")]})


def test_what_expires_at_once_is_refused() -> None:
    with pytest.raises(
        ModelError, match=r"Expiry\(datetime\.timedelta\(0\)\): the item would expire at once; use at least one second"
    ):
        Expiry(timedelta(0))


@pytest.mark.parametrize(
    "where",
    [lambda self, **_: attr(self.delay) == "soon", lambda self, **_: attr(self.delay).is_in(1, "soon")],
)
def test_a_filter_is_by_values_that_the_field_can_have(where: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match=r"Row\.delay: 'soon' is not valid"):
        declared({"delay": (int, 0)}, late=taking(Query(), "id", where=where))


def test_entities_that_inherit_a_pattern_have_bounds_of_their_own_sort_keys() -> None:
    class Dated(Entity):
        owner: str
        kind: str
        at: int

        @Query()
        def of_owner(self, owner: str, *, since: Any = None) -> None: ...

    class ByTime(Dated, table=Table("by_time", "owner", "SK")):
        keys = Keys(SK="{at:05}")

    class ByKind(Dated, table=Table("by_kind", "owner", "SK")):
        keys = Keys(SK="{kind}#{at:05}")

    assert ByTime.of_owner("o", since=1).range == "at"
    assert ByKind.of_owner("o", since="k").range == "kind"
    assert ByTime.of_owner("o").pattern is schema_of(ByTime).patterns["of_owner"]
